"""Encoders: what an environment shows, as a vector (the paper's f_enc). Each belongs to one environment.

Axes: B questions, F fields of the observation, A arguments, D width of the state encoding, I pictures, H their side, G
width of what is seen in a picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn


class FieldEncoder(nn.Module):
    """One-hot fields and arguments and what a picture shows, through an MLP: s_t = f_enc(e_t, a_t), equation 1."""

    offsets: Tensor

    def __init__(self, fields: Mapping[str, int], arguments: Sequence[int], glimpse: int, hidden: int, width: int):
        super().__init__()
        sizes = [*fields.values(), *arguments]
        self.fields = dict(fields)
        # A product with concatenated one-hot vectors is a sum of rows: look the rows up instead.
        self.rows = nn.EmbeddingBag(sum(sizes), hidden, mode="sum")
        nn.init.normal_(self.rows.weight, std=0.1)  # small: larger rows are learnt by heart, combination by combination
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.glimpse = nn.Linear(glimpse, hidden, bias=False) if glimpse else None
        self.out = nn.Linear(hidden, width)
        offsets = torch.tensor([0, *sizes[:-1]]).cumsum(0)
        self.register_buffer("offsets", offsets, persistent=False)

    def forward(
        self, seen: Int[Tensor, "B F"], args: Int[Tensor, "B A"], glimpse: Float[Tensor, "B G"] | None = None
    ) -> Float[Tensor, "B D"]:
        hidden = self.rows(torch.cat([seen, args], 1) + self.offsets) + self.bias
        if self.glimpse is not None and glimpse is not None:
            hidden = hidden + self.glimpse(glimpse)
        return self.out(torch.relu(hidden))


class PictureEncoder(nn.Module):
    """Three passes of stride-2 convolution and pooling, as in the paper (its f_CNN)."""

    def __init__(self, side: int, channels: Sequence[int], width: int):
        super().__init__()
        passes: list[nn.Module] = []
        for before, after, kernel in zip((3, *channels), channels, (5, 3, 3), strict=False):
            passes += [nn.Conv2d(before, after, kernel, stride=2, padding=kernel // 2), nn.MaxPool2d(2), nn.ReLU()]
        cells = (side // 4 ** len(channels)) ** 2
        self.passes = nn.Sequential(*passes)
        self.out = nn.Linear(cells * channels[-1], width)

    def forward(self, colours: Float[Tensor, "I 3 H H"]) -> Float[Tensor, "I G"]:
        # Light differs from picture to picture: what counts is how a pixel differs from the rest of its picture.
        some = colours[:, :, ::4, ::4]
        mean, spread = some.mean((1, 2, 3), keepdim=True), some.std((1, 2, 3), keepdim=True) + 0.05
        centred = ((colours - mean) / spread).contiguous(memory_format=torch.channels_last)
        return torch.relu(self.out(self.passes(centred).flatten(1)))


def colours(pictures: UInt8[Tensor, "I 4 H H"]) -> Float[Tensor, "I 3 H H"]:
    """What is seen of pictures: their colours, in 0..1."""
    return pictures[:, :3].float() / 255
