"""Domain randomisation: a picture as it might have looked elsewhere, with what it shows unchanged.

Surroundings, colours, contrast, size, place, blur, noise and hidden parts vary; the pose does not. Axes: I pictures, H
their side.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn.functional import avg_pool2d, interpolate, pad

GROUPS = 8  # pictures are scaled so many lots at a time, each lot alike
ROOM = 24  # pixels between the places a picture may be moved to, from side to side
GRAINS = 16  # distinct pictures of noise in one call


def vary(pictures: UInt8[Tensor, "I 4 H H"], rng: np.random.Generator) -> Float[Tensor, "I 3 H H"]:
    """Every picture in a way of its own. Most of the time goes into moving pixels, so each step touches few of them."""
    count, device = len(pictures), pictures.device

    def tensor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values.astype(np.float32)).to(device)

    def some(share: float) -> Tensor:
        return torch.from_numpy(np.nonzero(rng.random(count) < share)[0]).to(device)

    shown = pictures[:, :3].float().div_(255)
    elsewhere = some(0.5)
    alpha = pictures[elsewhere, 3:].float().div_(255)
    height = torch.linspace(0, 1, pictures.shape[-1], device=device)[:, None]
    top, bottom = tensor(rng.random((2, len(elsewhere), 3, 1, 1)))
    surroundings = torch.lerp(top, bottom, height).expand(-1, -1, -1, pictures.shape[-1])
    shown[elsewhere] = torch.lerp(surroundings, shown[elsewhere], alpha)

    mixing = np.eye(3) + 0.25 * rng.standard_normal((count, 3, 3)) * (rng.random((count, 1, 1)) < 0.7)
    contrast = rng.uniform(0.6, 1.3, (count, 1, 1))
    brightness = rng.uniform(0.4, 0.6, (count, 3, 1)) - 0.5 * contrast
    shown = torch.baddbmm(tensor(brightness), tensor(contrast * mixing), shown.flatten(2)).view_as(shown)

    shown = _place(shown, rng)
    blurred = some(0.15)
    shown[blurred] = avg_pool2d(shown[blurred], 3, stride=1, padding=1, count_include_pad=False)
    seed = int(rng.integers(2**62))
    grain = torch.randn(GRAINS, *shown.shape[1:], generator=torch.Generator(device).manual_seed(seed), device=device)
    amounts = tensor(rng.uniform(0, 0.04, (count, 1, 1, 1)))
    for start in range(0, count, GRAINS):
        part = shown[start : start + GRAINS]
        part.addcmul_(grain[: len(part)], amounts[start : start + GRAINS])
    return _hide(shown, rng)


def _place(shown: Tensor, rng: np.random.Generator) -> Tensor:
    """Another size and another place; what comes in at the edges is more of the same."""
    side = shown.shape[-1]
    placed = torch.empty_like(shown)
    for lot in np.array_split(rng.permutation(len(shown)), min(GROUPS, len(shown))):
        size = round(side * rng.uniform(0.84, 1.18))
        scaled = interpolate(shown[lot], size=size, mode="bilinear")
        scaled = pad(scaled, (max(0, side - size) // 2 + ROOM // 2,) * 4, mode="replicate")
        spare = scaled.shape[-1] - side
        corners = (spare - ROOM) // 2 + rng.integers(0, ROOM + 1, (len(lot), 2))
        for from_, to, (x, y) in zip(scaled, lot.tolist(), corners.clip(0, spare).tolist(), strict=True):
            placed[to] = from_[:, y : y + side, x : x + side]
    return placed


def _hide(shown: Tensor, rng: np.random.Generator) -> Tensor:
    """A part of some pictures, behind something of one colour."""
    side = shown.shape[-1]
    for index in np.nonzero(rng.random(len(shown)) < 0.15)[0].tolist():
        (y, x), (h, w) = rng.integers(0, side, 2), rng.integers(side // 16, side // 4, 2)
        shown[index, :, y : y + h, x : x + w] = float(rng.random())
    return shown
