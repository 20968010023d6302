"""Encoders: an observation as a vector (the paper's f_enc). Each environment has its own.

Axes: B steps, F fields of the observation, A arguments, D width of the state encoding, I images, H their side,
G width of the image features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn

FIELD_INIT_STD = 0.1  # of the initial rows; larger ones make the encoder memorise combinations of fields
CONTRAST_FLOOR = 0.05  # added to an image's standard deviation, so that a plain image is not amplified into noise


class FieldEncoder(nn.Module):
    """Embeds one-hot fields and arguments, adds image features if there are any: s_t = f_enc(e_t, a_t), equation 1."""

    offsets: Tensor

    def __init__(
        self,
        fields: Mapping[str, int],
        argument_sizes: Sequence[int],
        image_width: int,
        hidden_width: int,
        state_width: int,
    ):
        super().__init__()
        sizes = [*fields.values(), *argument_sizes]
        # The product of a matrix with concatenated one-hot vectors is a sum of its rows, so look the rows up.
        self.rows = nn.EmbeddingBag(sum(sizes), hidden_width, mode="sum")
        nn.init.normal_(self.rows.weight, std=FIELD_INIT_STD)
        self.bias = nn.Parameter(torch.zeros(hidden_width))
        self.image = nn.Linear(image_width, hidden_width, bias=False) if image_width else None
        self.out = nn.Linear(hidden_width, state_width)
        self.register_buffer("offsets", torch.tensor([0, *sizes[:-1]]).cumsum(0), persistent=False)

    def forward(
        self,
        observation: Int[Tensor, "B F"],
        args: Int[Tensor, "B A"],
        image_features: Float[Tensor, "B G"] | None = None,
    ) -> Float[Tensor, "B D"]:
        hidden = self.rows(torch.cat([observation, args], 1) + self.offsets) + self.bias
        if self.image is not None and image_features is not None:
            hidden = hidden + self.image(image_features)
        return self.out(torch.relu(hidden))


class ImageEncoder(nn.Module):
    """Three passes of stride-2 convolution and pooling, as in the paper (its f_CNN).

    Only the first pooling halves the image. If all three did, 128 x 128 pixels would end as 2 x 2 cells, too few to
    tell neighbouring poses apart; this way they end as 8 x 8.

    If the environment has auxiliary labels, the image features may be a bottleneck: the predicted class probabilities
    of each label, and nothing else.
    """

    def __init__(
        self,
        side: int,
        channels: Sequence[int],
        feature_width: int,
        label_sizes: Sequence[int] = (),
        bottleneck: bool = True,
    ):
        super().__init__()
        pools = (nn.MaxPool2d(2), nn.MaxPool2d(3, stride=1, padding=1), nn.MaxPool2d(3, stride=1, padding=1))
        layers: list[nn.Module] = []
        for before, after, kernel, pool in zip((3, *channels), channels, (5, 5, 3), pools, strict=False):
            convolution = nn.Conv2d(before, after, kernel, stride=2, padding=kernel // 2)
            layers += [convolution, pool, nn.BatchNorm2d(after), nn.ReLU()]
        self.convolutions = nn.Sequential(*layers)
        cells = (side // 16) ** 2  # three convolutions and one pooling halve the side four times
        self.features = nn.Linear(cells * channels[-1], feature_width)
        self.label_sizes = list(label_sizes)
        self.label_head = nn.Linear(feature_width, sum(label_sizes)) if label_sizes else None
        self.bottleneck = bottleneck

    def forward(self, rgb: Float[Tensor, "I 3 H H"]) -> Float[Tensor, "I G"]:
        # Lighting differs between images, so normalise each by its own mean and deviation. Every fourth pixel is enough
        # to estimate them.
        sample = rgb[:, :, ::4, ::4]
        mean, deviation = sample.mean((1, 2, 3), keepdim=True), sample.std((1, 2, 3), keepdim=True) + CONTRAST_FLOOR
        normalised = rgb.contiguous(memory_format=torch.channels_last).sub(mean).div_(deviation)
        features = torch.relu(self.features(self.convolutions(normalised).flatten(1)))
        return features if self.label_head is None or not self.bottleneck else self._probabilities(features)

    def label_probabilities(self, image_features: Float[Tensor, "I G"]) -> Float[Tensor, "I _"]:
        """The predicted class probabilities of each auxiliary label."""
        return image_features if self.bottleneck else self._probabilities(image_features)

    def _probabilities(self, features: Float[Tensor, "I _"]) -> Float[Tensor, "I _"]:
        assert self.label_head is not None
        return torch.cat([logits.softmax(1) for logits in self.label_head(features).split(self.label_sizes, dim=1)], 1)


def to_rgb(pixels: UInt8[Tensor, "I 4 H H"]) -> Float[Tensor, "I 3 H H"]:
    """The colours of RGBA images, scaled to 0..1. Alpha is for augmentation alone and is never shown to a network."""
    return pixels[:, :3].float() / 255
