"""Augmentation of images and of other observations.

Images get a random background, colours, contrast, scale, position, blur and noise; the pose stays the same. All
strengths were chosen by experiment on rendered cars; with stronger ones the pose was recognised less often
(docs/LOG.md). Of observations without images, some fields are replaced by random values.

Axes: I images, H their side, S steps, F fields of an observation.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.nn.functional import avg_pool2d, grid_sample

BACKGROUND_PROBABILITY = 0.5  # of a new background: a vertical gradient between two random colours
COLOUR_PROBABILITY = 0.7  # of mixing the colour channels
COLOUR_MIXING = 0.15  # standard deviation of the mixing matrix around the identity
CONTRAST = (0.7, 1.2)  # range of the factor on colours
BRIGHTNESS = (0.4, 0.6)  # range of the value that 0.5 in a colour channel becomes
SCALE = (0.92, 1.1)  # range of the factor on the object's size
MAX_SHIFT = 0.09  # how far the image is moved at most, as a fraction of half its side
BLUR_PROBABILITY = 0.15
MAX_NOISE = 0.04  # standard deviation at most
NOISE_IMAGES = 16  # noise patterns drawn in one call, which its images share in turn: one for each image takes too long


def randomise_fields(
    observation: Int[Tensor, "S F"], sizes: Int[np.ndarray, "S F"], probability: float, rng: np.random.Generator
) -> Int[Tensor, "S F"]:
    """Replace each field with this probability by a random value.

    `sizes` are the numbers of values that the fields have; fields of size 0 stay as they are.
    """
    replaced = (rng.random(sizes.shape) < probability) & (sizes > 0)
    values = (rng.random(sizes.shape) * sizes).astype(np.int64)
    where, what = (torch.from_numpy(array).to(observation.device) for array in (replaced, values))
    return torch.where(where, what, observation)


def augment(images: UInt8[Tensor, "I 4 H H"], rng: np.random.Generator) -> Float[Tensor, "I 3 H H"]:
    """Augment RGBA images at random, and return their colours, scaled to 0..1 before contrast and noise.

    Reading and writing pixels takes most of the time, so backgrounds and blur are computed only for the images that get
    them.
    """
    count, side, device = len(images), images.shape[-1], images.device

    def tensor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values.astype(np.float32)).to(device)

    def random_subset(probability: float) -> Tensor:
        return torch.from_numpy(np.nonzero(rng.random(count) < probability)[0]).to(device)

    augmented = images[:, :3].float().div_(255)
    replaced = random_subset(BACKGROUND_PROBABILITY)
    alpha = images[replaced, 3:].float().div_(255)
    height = torch.linspace(0, 1, side, device=device)[:, None]
    top, bottom = tensor(rng.random((2, len(replaced), 3, 1, 1)))
    background = torch.lerp(top, bottom, height).expand(-1, -1, -1, side)
    augmented[replaced] = torch.lerp(background, augmented[replaced], alpha)

    mixed = rng.standard_normal((count, 3, 3)) * (rng.random((count, 1, 1)) < COLOUR_PROBABILITY)
    mixing = np.eye(3) + COLOUR_MIXING * mixed
    contrast = rng.uniform(*CONTRAST, (count, 1, 1))
    brightness = rng.uniform(*BRIGHTNESS, (count, 3, 1)) - 0.5 * contrast
    augmented = torch.baddbmm(tensor(brightness), tensor(contrast * mixing), augmented.flatten(2)).view_as(augmented)

    line = (torch.arange(side, device=device) + 0.5) * 2 / side - 1
    grid = torch.stack(torch.meshgrid(line, line, indexing="xy"), -1)
    scale, shift = rng.uniform(*SCALE, (count, 1, 1, 1)), rng.uniform(-MAX_SHIFT, MAX_SHIFT, (count, 1, 1, 2))
    grid = grid / tensor(scale) + tensor(shift)
    augmented = grid_sample(augmented, grid, padding_mode="border", align_corners=False)

    blurred = random_subset(BLUR_PROBABILITY)
    augmented[blurred] = avg_pool2d(augmented[blurred], 3, stride=1, padding=1, count_include_pad=False)
    generator = torch.Generator(device).manual_seed(int(rng.integers(2**62)))
    noise = torch.randn(NOISE_IMAGES, *augmented.shape[1:], generator=generator, device=device)
    strength = tensor(rng.uniform(0, MAX_NOISE, (count, 1, 1, 1)))
    for start in range(0, count, NOISE_IMAGES):
        part = augmented[start : start + NOISE_IMAGES]
        part.addcmul_(noise[: len(part)], strength[start : start + NOISE_IMAGES])
    return augmented
