"""Domain randomisation: a picture as it might have looked elsewhere, with what it shows unchanged.

Surroundings, colours, contrast, size, place, blur and noise vary; the pose does not. Axes: I pictures, H their side.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn.functional import avg_pool2d, grid_sample

SIZE = (0.92, 1.1)  # how much smaller or larger than it was
SHIFT = 0.09  # how far from its place, as a share of half the picture
GRAINS = 16  # distinct pictures of noise in one call


def augment(pictures: UInt8[Tensor, "I 4 H H"], rng: np.random.Generator) -> Float[Tensor, "I 3 H H"]:
    """Every picture in a way of its own. Most of the time goes into moving pixels, so each step touches few of them."""
    count, side, device = len(pictures), pictures.shape[-1], pictures.device

    def tensor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values.astype(np.float32)).to(device)

    def some(share: float) -> Tensor:
        return torch.from_numpy(np.nonzero(rng.random(count) < share)[0]).to(device)

    shown = pictures[:, :3].float().div_(255)
    elsewhere = some(0.5)
    alpha = pictures[elsewhere, 3:].float().div_(255)
    height = torch.linspace(0, 1, side, device=device)[:, None]
    top, bottom = tensor(rng.random((2, len(elsewhere), 3, 1, 1)))
    surroundings = torch.lerp(top, bottom, height).expand(-1, -1, -1, side)
    shown[elsewhere] = torch.lerp(surroundings, shown[elsewhere], alpha)

    mixing = np.eye(3) + 0.15 * rng.standard_normal((count, 3, 3)) * (rng.random((count, 1, 1)) < 0.7)
    contrast = rng.uniform(0.7, 1.2, (count, 1, 1))
    brightness = rng.uniform(0.4, 0.6, (count, 3, 1)) - 0.5 * contrast
    shown = torch.baddbmm(tensor(brightness), tensor(contrast * mixing), shown.flatten(2)).view_as(shown)

    line = (torch.arange(side, device=device) + 0.5) * 2 / side - 1
    places = torch.stack(torch.meshgrid(line, line, indexing="xy"), -1)
    size, shift = rng.uniform(*SIZE, (count, 1, 1, 1)), rng.uniform(-SHIFT, SHIFT, (count, 1, 1, 2))
    places = places / tensor(size) + tensor(shift)
    shown = grid_sample(shown, places, padding_mode="border", align_corners=False)  # more of the same at the edges

    blurred = some(0.15)
    shown[blurred] = avg_pool2d(shown[blurred], 3, stride=1, padding=1, count_include_pad=False)
    seed = int(rng.integers(2**62))
    grain = torch.randn(GRAINS, *shown.shape[1:], generator=torch.Generator(device).manual_seed(seed), device=device)
    amounts = tensor(rng.uniform(0, 0.04, (count, 1, 1, 1)))
    for start in range(0, count, GRAINS):
        part = shown[start : start + GRAINS]
        part.addcmul_(grain[: len(part)], amounts[start : start + GRAINS])
    return shown
