"""Pictures varied at random: what they show stays, how they look does not."""

import numpy as np
import pytest
import torch
from torch.nn.functional import avg_pool2d

from npi.cars.procedural import make_car
from npi.cars.render import Renderer
from npi.network.encoders import to_rgb
from npi.training.augment import augment


@pytest.fixture(scope="module")
def pictures():
    view = Renderer(make_car(0)).view(30, 15)
    return torch.from_numpy(np.stack([view] * 24)).permute(0, 3, 1, 2).contiguous()


def test_every_picture_in_a_way_of_its_own(pictures):
    varied = augment(pictures, np.random.default_rng(0))
    assert varied.shape == (24, 3, 128, 128)
    assert varied.isfinite().all()
    apart = (varied[1:] - varied[:-1]).abs().mean((1, 2, 3))
    assert (apart > 0.01).all()
    assert (varied - to_rgb(pictures)).abs().mean() > 0.05


def test_the_same_seed_gives_the_same_pictures(pictures):
    first, again, other = (augment(pictures, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_pictures_given_are_not_changed(pictures):
    before = pictures.clone()
    augment(pictures, np.random.default_rng(0))
    assert torch.equal(pictures, before)


def test_nothing_is_mirrored():
    """A square to the upper left of the middle stays there, whatever its size, place and colour."""
    pictures = torch.full((60, 4, 128, 128), 128, dtype=torch.uint8)
    pictures[:, 3] = 255
    pictures[:, :3, 30:50, 20:40] = 255
    varied = augment(pictures, np.random.default_rng(3)).mean(1)
    apart = avg_pool2d((varied - varied.flatten(1).median(1).values[:, None, None]).abs()[:, None], 9, 1)[:, 0]
    rows, columns = np.unravel_index(apart.flatten(1).argmax(1).numpy(), apart.shape[1:])
    assert ((rows < 60) & (columns < 60)).all()
