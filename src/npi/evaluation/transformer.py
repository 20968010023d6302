"""Blocks of a causal transformer, the core of two baselines.

Axes: B sequences, T tokens, D width, H heads, E width of a head.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

ROTARY_BASE = 10_000.0  # of the wavelengths of rotary positions, as published


class Cache(NamedTuple):
    """The keys and values of the tokens before the next one, in one block."""

    keys: Float[Tensor, "B H T E"]
    values: Float[Tensor, "B H T E"]


class Block(nn.Module):
    """A transformer block: causal self-attention and an MLP, each after a LayerNorm and with a residual connection.

    Without `rotary` positions, attention sees positions only if the tokens' embeddings show them.
    """

    def __init__(self, width: int, heads: int, rotary: bool = True):
        super().__init__()
        self.heads, self.rotary = heads, rotary
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        query, key, value = self._split(hidden, 0)
        return self._finish(hidden, scaled_dot_product_attention(query, key, value, is_causal=True))

    def step(self, hidden: Float[Tensor, "B 1 D"], cache: Cache | None) -> tuple[Float[Tensor, "B 1 D"], Cache]:
        """The output for the next token, given those before it."""
        query, key, value = self._split(hidden, 0 if cache is None else cache.keys.shape[2])
        if cache is not None:
            key, value = torch.cat([cache.keys, key], 2), torch.cat([cache.values, value], 2)
        return self._finish(hidden, scaled_dot_product_attention(query, key, value)), Cache(key, value)

    def _split(self, hidden: Float[Tensor, "B T D"], first: int) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of tokens, the first of which is at position `first`."""
        query, key, value = self.qkv(self.norm(hidden)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return (_rotate(query, first), _rotate(key, first), value) if self.rotary else (query, key, value)

    def _finish(self, hidden: Float[Tensor, "B T D"], attended: Float[Tensor, "B H T E"]) -> Float[Tensor, "B T D"]:
        hidden = hidden + self.project(attended.transpose(1, 2).flatten(2))
        return hidden + self.mlp(hidden)


def _rotate(parts: Float[Tensor, "B H T E"], first: int) -> Float[Tensor, "B H T E"]:
    """Rotary positions: each pair of channels is rotated by an angle proportional to the position."""
    half = parts.shape[-1] // 2
    speed = ROTARY_BASE ** (-torch.arange(half, device=parts.device) / half)
    angle = torch.arange(first, first + parts.shape[-2], device=parts.device)[:, None] * speed
    left, right = parts.split(half, -1)
    return torch.cat([left * angle.cos() - right * angle.sin(), left * angle.sin() + right * angle.cos()], -1)
