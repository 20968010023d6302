"""Baselines: the sequence-to-sequence networks that the paper compares NPI with, and a transformer.

A baseline is a layout, which writes a problem as tokens, and a network that learns to go on. They never see a trace:
what they learn from is the problem and its answer.

Axes: T tokens, J sequences side by side, C channels, V distinct tokens, M width.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from npi.tasks.addition import answer

X, END, PAD = 10, 11, 12  # tokens beside the ten digits
TOKENS = 13
NOTHING = -100  # a target that does not count


class Example(NamedTuple):
    """What is read, a tuple of channels for each step, and what is to be said. Side by side, or one after the other."""

    source: list[tuple[int, ...]]
    target: list[int]


def sorting(problem: Sequence[int]) -> Example:
    """9 2 5, then 2 5 9."""
    return Example([(digit,) for digit in problem], [*sorted(problem), END])


def plain(problem: tuple[str, str]) -> Example:
    """90X160X, then 250."""
    first, second = problem
    return Example(
        [(X if character == "X" else int(character),) for character in f"{first}X{second}X"],
        [*_digits(answer(problem)), END],
    )


def reversed_plain(problem: tuple[str, str]) -> Example:
    """09X061X, then 052: the digits of least weight first, as transformers like it best."""
    first, second = problem
    return plain((first[::-1], second[::-1]))._replace(target=[*_digits(answer(problem)[::-1]), END])


def stacked(problem: tuple[str, str]) -> Example:
    """Both numbers at once, reversed; after them the sum, not reversed."""
    first, second, total = _columns(problem)
    read = [*zip(first, second, strict=True), *[(X, X)] * (len(total) + 1)]
    return Example(read, [*[X] * (len(total) + 1), *reversed(total)])


def easy(problem: tuple[str, str]) -> Example:
    """Both numbers at once, reversed, and at each step a digit of the sum, reversed."""
    first, second, total = _columns(problem)
    return Example([*zip(first, second, strict=True)], total)


def _digits(text: str) -> list[int]:
    return [int(character) for character in text]


def _columns(problem: tuple[str, str]) -> list[list[int]]:
    """The digits of both numbers and of their sum, from the last to the first, all as long as the longest."""
    texts = (*problem, answer(problem))
    width = max(map(len, texts))
    return [_digits(text.zfill(width)[::-1]) for text in texts]


class Batch(NamedTuple):
    """Examples side by side, padded."""

    source: Int[Tensor, "J T C"]
    lengths: Int[Tensor, " J"]  # of the sources; like the next, not on a GPU
    spoken: Int[Tensor, " J"]  # lengths of the targets
    target: Int[Tensor, "J T"]  # NOTHING where it is padded

    def of(self, rows: np.ndarray) -> Batch:
        """Some of the examples."""
        chosen = torch.from_numpy(rows)
        lengths, spoken = self.lengths[chosen], self.spoken[chosen]
        there = chosen.to(self.source.device, non_blocking=True)
        source, target = self.source[there, : int(lengths.max())], self.target[there, : int(spoken.max())]
        return Batch(source, lengths, spoken, target)


def batch_of(examples: Sequence[Example], device: str | torch.device = "cpu") -> Batch:
    channels = len(examples[0].source[0])
    lengths = torch.tensor([len(example.source) for example in examples])
    spoken = torch.tensor([len(example.target) for example in examples])
    source = np.full((len(examples), int(lengths.max()), channels), PAD)
    target = np.full((len(examples), int(spoken.max())), NOTHING)
    for row, example in enumerate(examples):
        source[row, : len(example.source)] = example.source
        target[row, : len(example.target)] = example.target
    return Batch(torch.from_numpy(source).to(device), lengths, spoken, torch.from_numpy(target).to(device))


class Network(nn.Module, ABC):
    """What all baselines have in common: `loss` to learn by, `say` to be judged by."""

    @abstractmethod
    def loss(self, batch: Batch) -> Float[Tensor, ""]: ...

    @abstractmethod
    def say(self, batch: Batch, steps: int) -> Int[Tensor, "J T"]:
        """What it says by itself, `steps` tokens of it."""


def _loss(said: Float[Tensor, "J T V"], target: Int[Tensor, "J T"]) -> Float[Tensor, ""]:
    return cross_entropy(said.flatten(0, 1), target.flatten(), ignore_index=NOTHING)


class Aligned(Network):
    """An LSTM that says one token for each step it reads."""

    def __init__(self, channels: int = 2, width: int = 256, layers: int = 2):
        super().__init__()
        self.read = nn.ModuleList(nn.Embedding(TOKENS, width) for _ in range(channels))
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.out = nn.Linear(width, TOKENS)

    def forward(self, batch: Batch) -> Float[Tensor, "J T V"]:
        embedded = torch.stack([read(batch.source[..., c]) for c, read in enumerate(self.read)]).sum(0)
        packed = pack_padded_sequence(embedded, batch.lengths, batch_first=True, enforce_sorted=False)
        return self.out(pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0])

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return _loss(self(batch), batch.target)

    def say(self, batch: Batch, steps: int) -> Int[Tensor, "J T"]:
        return self(batch).argmax(-1)


class Seq2Seq(Network):
    """An LSTM that reads, and another that goes on from its state, token by token, with what was said before."""

    def __init__(self, width: int = 256, layers: int = 2):
        super().__init__()
        self.read = nn.Embedding(TOKENS, width)
        self.encoder = nn.LSTM(width, width, layers, batch_first=True)
        self.decoder = nn.LSTM(width, width, layers, batch_first=True)
        self.out = nn.Linear(width, TOKENS)

    def encode(self, batch: Batch) -> tuple[Tensor, Tensor]:
        embedded = self.read(batch.source[..., 0])
        packed = pack_padded_sequence(embedded, batch.lengths, batch_first=True, enforce_sorted=False)
        return self.encoder(packed)[1]

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        before = torch.cat([torch.full_like(batch.target[:, :1], X), batch.target[:, :-1]], 1)
        said, _ = self.decoder(self.read(before.clamp_min(0)), self.encode(batch))
        return _loss(self.out(said), batch.target)

    def say(self, batch: Batch, steps: int) -> Int[Tensor, "J T"]:
        state, token = self.encode(batch), torch.full_like(batch.target[:, :1], X)
        tokens = []
        for _ in range(steps):
            said, state = self.decoder(self.read(token), state)
            token = self.out(said).argmax(-1)
            tokens.append(token)
        return torch.cat(tokens, 1)


class Transformer(Network):
    """A decoder-only transformer with rotary positions, which reads and goes on in one sequence."""

    def __init__(self, width: int = 128, layers: int = 4, heads: int = 4):
        super().__init__()
        self.read = nn.Embedding(TOKENS, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.out = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, TOKENS))

    def forward(self, tokens: Int[Tensor, "J T"]) -> Float[Tensor, "J T V"]:
        hidden = self.read(tokens)
        for block in self.blocks:
            hidden = block(hidden)
        return self.out(hidden)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """Sources are of any length: each target is put where its source ends, and only then comes the padding."""
        lengths = batch.lengths.to(batch.source.device)[:, None]
        steps, heard = batch.target.shape[1], batch.source.shape[1]
        place = torch.arange(heard + steps, device=lengths.device)
        both = torch.cat([batch.source[..., 0], batch.target.clamp_min(0)], 1)
        joined = torch.where(place < lengths, place, (heard + place - lengths).clamp_max(heard + steps - 1))
        tokens = both.gather(1, joined)
        said = self(tokens[:, :-1])
        answers = (lengths - 1 + place[:steps])[..., None].expand(-1, -1, said.shape[-1])
        return _loss(said.gather(1, answers), batch.target)

    def say(self, batch: Batch, steps: int) -> Int[Tensor, "J T"]:
        """Sequences of like length go on together, so that none is padded before it."""
        said = torch.full((len(batch.source), steps), PAD, device=batch.source.device)
        for length in batch.lengths.unique().tolist():
            rows = (batch.lengths == length).nonzero()[:, 0].to(said.device)
            tokens = batch.source[rows, :length, 0]
            for step in range(steps):
                said[rows, step] = self(tokens)[:, -1].argmax(-1)
                tokens = torch.cat([tokens, said[rows, step : step + 1]], 1)
        return said


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.attend = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        self.think = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, hidden: Float[Tensor, "J T M"]) -> Float[Tensor, "J T M"]:
        parts = self.attend(self.before(hidden)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts
        attended = scaled_dot_product_attention(_turned(query), _turned(key), value, is_causal=True)
        hidden = hidden + self.join(attended.transpose(1, 2).flatten(2))
        return hidden + self.think(hidden)


def _turned(parts: Float[Tensor, "J _ T M"]) -> Float[Tensor, "J _ T M"]:
    """Rotary positions: each pair of numbers is turned by an angle that grows with the place."""
    half = parts.shape[-1] // 2
    speed = 10_000.0 ** (-torch.arange(half, device=parts.device) / half)
    angle = torch.arange(parts.shape[-2], device=parts.device)[:, None] * speed
    left, right = parts.split(half, -1)
    return torch.cat([left * angle.cos() - right * angle.sin(), left * angle.sin() + right * angle.cos()], -1)


@dataclass(frozen=True)
class Baseline:
    """A layout, the network that is to learn it, and the learning rate and weight decay with which it did best."""

    layout: Callable[[Any], Example]
    network: Callable[[], Network]
    rate: float
    decay: float = 0.0


BASELINES = {
    "s2s-sorting": Baseline(sorting, Seq2Seq, 3e-3, 0.3),
    "s2s-plain": Baseline(plain, Seq2Seq, 1e-3),
    "s2s-stacked": Baseline(stacked, Aligned, 1e-3),
    "s2s-easy": Baseline(easy, Aligned, 1e-3),
    "transformer": Baseline(reversed_plain, Transformer, 1e-3),
}


@dataclass(frozen=True)
class FitConfig:
    """How to train a baseline.

    batch_size      examples for each update
    updates         how many
    learning_rate   of AdamW, at first; it falls to nothing along a cosine
    weight_decay    of AdamW
    grad_clip       the norm to which gradients are clipped
    judge_every     how often it is judged on problems held back; the weights that did best are kept
    """

    batch_size: int = 64
    updates: int = 3_000
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    grad_clip: float = 1.0
    judge_every: int = 100


@dataclass(frozen=True)
class Progress:
    update: int
    loss: float
    held_back: float  # share of the problems held back that were right, at the last look


def fit(
    network: Network,
    examples: Sequence[Example],
    held_back: Sequence[Example],
    config: FitConfig = FitConfig(),
    seed: int = 0,
) -> Iterator[Progress]:
    """Train a network on examples; in the end it has the weights that did best on those held back."""
    rng = np.random.default_rng(seed)
    device = next(network.parameters()).device
    known = batch_of(examples, device)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
    )
    best, kept = -1.0, copy.deepcopy(network.state_dict())
    for update in range(1, config.updates + 1):
        network.train()
        loss = network.loss(known.of(rng.integers(len(examples), size=config.batch_size)))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), config.grad_clip)
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * 0.5 * (1 + np.cos(np.pi * (update - 1) / config.updates))
        optimizer.step()
        if update % config.judge_every == 0 or update == config.updates:
            share = sum(right(network, held_back)) / len(held_back)
            if share >= best:
                best, kept = share, copy.deepcopy(network.state_dict())
        yield Progress(update, loss.item(), best)
    network.load_state_dict(kept)


@torch.inference_mode()
def right(network: Network, examples: Sequence[Example], at_once: int = 256) -> list[bool]:
    """Of which examples a network says all that is to be said, and no more."""
    network.eval()
    device = next(network.parameters()).device
    judged: list[bool] = []
    for start in range(0, len(examples), at_once):
        batch = batch_of(examples[start : start + at_once], device)
        said = network.say(batch, batch.target.shape[1])
        judged += ((said == batch.target) | (batch.target == NOTHING)).all(1).tolist()
    return judged
