"""Image augmentation: the look changes, the pose does not."""

import numpy as np
import pytest
import torch
from torch.nn.functional import avg_pool2d

from npi.cars.procedural import make_car
from npi.cars.render import Renderer
from npi.network.encoders import to_rgb
from npi.training.augment import augment


@pytest.fixture(scope="module")
def images():
    view = Renderer(make_car(0)).view(30, 15)
    return torch.from_numpy(np.stack([view] * 24)).permute(0, 3, 1, 2).contiguous()


def test_every_image_is_augmented_differently(images):
    augmented = augment(images, np.random.default_rng(0))
    assert augmented.shape == (24, 3, 128, 128)
    assert augmented.isfinite().all()
    difference = (augmented[1:] - augmented[:-1]).abs().mean((1, 2, 3))
    assert (difference > 0.01).all()
    assert (augmented - to_rgb(images)).abs().mean() > 0.05


def test_the_same_seed_gives_the_same_images(images):
    first, again, other = (augment(images, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_given_images_are_not_changed(images):
    before = images.clone()
    augment(images, np.random.default_rng(0))
    assert torch.equal(images, before)


def test_no_image_is_mirrored():
    """A square to the upper left of the centre stays there under any scale, shift and colour."""
    images = torch.full((60, 4, 128, 128), 128, dtype=torch.uint8)
    images[:, 3] = 255
    images[:, :3, 30:50, 20:40] = 255
    grey = augment(images, np.random.default_rng(3)).mean(1)
    contrast = avg_pool2d((grey - grey.flatten(1).median(1).values[:, None, None]).abs()[:, None], 9, 1)[:, 0]
    rows, columns = np.unravel_index(contrast.flatten(1).argmax(1).numpy(), contrast.shape[1:])
    assert ((rows < 60) & (columns < 60)).all()
