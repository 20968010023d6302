"""Encoders: what an environment shows, as a vector (the paper's f_enc). Each belongs to one environment.

Axes: B questions, F fields of the observation, A arguments, D width of the state encoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class FieldEncoder(nn.Module):
    """One-hot fields and arguments through an MLP: s_t = f_enc(e_t, a_t), equation 1."""

    offsets: Tensor

    def __init__(self, fields: Mapping[str, int], arguments: Sequence[int], hidden: int, width: int):
        super().__init__()
        sizes = [*fields.values(), *arguments]
        self.fields = dict(fields)
        # A product with concatenated one-hot vectors is a sum of rows: look the rows up instead.
        self.rows = nn.EmbeddingBag(sum(sizes), hidden, mode="sum")
        nn.init.normal_(self.rows.weight, std=0.1)  # small: larger rows are learnt by heart, combination by combination
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.out = nn.Linear(hidden, width)
        offsets = torch.tensor([0, *sizes[:-1]]).cumsum(0)
        self.register_buffer("offsets", offsets, persistent=False)

    def forward(self, seen: Int[Tensor, "B F"], args: Int[Tensor, "B A"]) -> Float[Tensor, "B D"]:
        hidden = self.rows(torch.cat([seen, args], 1) + self.offsets) + self.bias
        return self.out(torch.relu(hidden))
