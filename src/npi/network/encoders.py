"""Encoders: what an environment shows, as a vector (the paper's f_enc). Each belongs to one environment.

Axes: B questions, F fields of the observation, A arguments, D width of the state encoding, I pictures, H their side, G
width of what is seen in a picture, C numbers of its caption.
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
    """Three passes of stride-2 convolution and pooling, as in the paper (its f_CNN).

    Only the first pooling shrinks the picture. If all three do, a side of 128 ends as 2 x 2 cells, too few to tell
    neighbouring poses apart; like this it ends as 8 x 8.

    Where pictures have captions, what is seen in a picture is what would be said of it: the probabilities of each
    number of its caption, and nothing else. From these few numbers the core learns what it does not from many free
    ones.
    """

    def __init__(self, side: int, channels: Sequence[int], features: int, captions: Sequence[int]):
        super().__init__()
        pools = (nn.MaxPool2d(2), nn.MaxPool2d(3, stride=1, padding=1), nn.MaxPool2d(3, stride=1, padding=1))
        passes: list[nn.Module] = []
        for before, after, kernel, pool in zip((3, *channels), channels, (5, 5, 3), pools, strict=False):
            convolution = nn.Conv2d(before, after, kernel, stride=2, padding=kernel // 2)
            passes += [convolution, pool, nn.BatchNorm2d(after), nn.ReLU()]
        self.passes = nn.Sequential(*passes)
        self.features = nn.Linear((side // 16) ** 2 * channels[-1], features)
        self.captions = list(captions)
        self.caption = nn.Linear(features, sum(captions)) if captions else None

    def forward(self, colours: Float[Tensor, "I 3 H H"]) -> Float[Tensor, "I G"]:
        # Light differs from picture to picture: what counts is how a pixel differs from the rest of its picture.
        some = colours[:, :, ::4, ::4]
        mean, spread = some.mean((1, 2, 3), keepdim=True), some.std((1, 2, 3), keepdim=True) + 0.05
        centred = colours.contiguous(memory_format=torch.channels_last).sub(mean).div_(spread)
        features = torch.relu(self.features(self.passes(centred).flatten(1)))
        if self.caption is None:
            return features
        return torch.cat([logits.softmax(1) for logits in self.caption(features).split(self.captions, dim=1)], 1)


def colours(pictures: UInt8[Tensor, "I 4 H H"]) -> Float[Tensor, "I 3 H H"]:
    """What is seen of pictures: their colours, in 0..1."""
    return pictures[:, :3].float() / 255
