"""Baselines: the sequence-to-sequence networks that the paper compares NPI with, and a transformer.

A baseline is a layout, which writes a problem and its answer as tokens, and a network that predicts the answer.
Baselines learn from problems and answers; they never see a trace.

Axes: T tokens, B sequences of a batch, C channels, V vocabulary, D width.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from npi.evaluation.transformer import Block
from npi.tasks.addition import answer

X, END, PAD = 10, 11, 12  # tokens after the ten digits: separator, end of the answer, padding
VOCABULARY = 13
IGNORE = -100  # a padded target, on which there is no loss
MAX_OFFSET, PLACES = 100, 128  # of abacus positions: as published, numbers of up to 100 digits are within reach


class Example(NamedTuple):
    """A problem and its answer as tokens.

    source  one token per channel for each input step
    target  one token for each input step (`Aligned`), or a sequence that follows the input, with END
    """

    source: list[tuple[int, ...]]
    target: list[int]


def sorting(problem: Sequence[int]) -> Example:
    """The sequence 9 2 5, then the target 2 5 9."""
    return Example([(digit,) for digit in problem], [*sorted(problem), END])


def plain(problem: tuple[str, str]) -> Example:
    """The sequence 90X160X, then the target 250."""
    first, second = problem
    return Example(
        [(X if character == "X" else int(character),) for character in f"{first}X{second}X"],
        [*_digits(answer(problem)), END],
    )


def reversed_plain(problem: tuple[str, str]) -> Example:
    """The sequence 09X061X, then the target 052: reversed digits, which are easier for a transformer."""
    first, second = problem
    return plain((first[::-1], second[::-1]))._replace(target=[*_digits(answer(problem)[::-1]), END])


def stacked(problem: tuple[str, str]) -> Example:
    """Both numbers in two parallel channels, reversed; then the sum, not reversed."""
    first, second, total = _columns(problem)
    source = [*zip(first, second, strict=True), *[(X, X)] * (len(total) + 1)]
    return Example(source, [*[X] * (len(total) + 1), *reversed(total)])


def easy(problem: tuple[str, str]) -> Example:
    """Both numbers in two parallel channels, reversed, with one digit of the reversed sum as target of each step."""
    first, second, total = _columns(problem)
    return Example([*zip(first, second, strict=True)], total)


def _digits(text: str) -> list[int]:
    return [int(character) for character in text]


def _columns(problem: tuple[str, str]) -> list[list[int]]:
    """The digits of both numbers and of their sum, least significant first, padded with zeros to the same length."""
    texts = (*problem, answer(problem))
    width = max(map(len, texts))
    return [_digits(text.zfill(width)[::-1]) for text in texts]


class Batch(NamedTuple):
    """A padded batch of examples."""

    source: Int[Tensor, "B T C"]
    lengths: Int[Tensor, " B"]  # of the sources; stays on the CPU
    target_lengths: Int[Tensor, " B"]  # stays on the CPU
    target: Int[Tensor, "B T"]  # IGNORE where padded

    def of(self, rows: np.ndarray) -> Batch:
        """Some of the examples."""
        chosen = torch.from_numpy(rows)
        lengths, target_lengths = self.lengths[chosen], self.target_lengths[chosen]
        on_device = chosen.to(self.source.device, non_blocking=True)
        source = self.source[on_device, : int(lengths.max())]
        target = self.target[on_device, : int(target_lengths.max())]
        return Batch(source, lengths, target_lengths, target)


def batch_of(examples: Sequence[Example], device: str | torch.device = "cpu") -> Batch:
    """Pad examples to the longest."""
    channels = len(examples[0].source[0])
    lengths = torch.tensor([len(example.source) for example in examples])
    target_lengths = torch.tensor([len(example.target) for example in examples])
    source = np.full((len(examples), int(lengths.max()), channels), PAD)
    target = np.full((len(examples), int(target_lengths.max())), IGNORE)
    for row, example in enumerate(examples):
        source[row, : len(example.source)] = example.source
        target[row, : len(example.target)] = example.target
    return Batch(torch.from_numpy(source).to(device), lengths, target_lengths, torch.from_numpy(target).to(device))


class Network(nn.Module, ABC):
    """The interface of all baselines: `loss` for training, `generate` for testing."""

    @abstractmethod
    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """The mean cross entropy of the target tokens."""

    @abstractmethod
    def generate(self, batch: Batch, steps: int) -> Int[Tensor, "B T"]:
        """The first `steps` tokens of the predicted answers, decoded greedily."""


def _loss(logits: Float[Tensor, "B T V"], target: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    return cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=IGNORE)


class Aligned(Network):
    """An LSTM that predicts one token for each input step."""

    def __init__(self, channels: int = 2, width: int = 256, layers: int = 2):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(VOCABULARY, width) for _ in range(channels))
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.out = nn.Linear(width, VOCABULARY)

    def forward(self, batch: Batch) -> Float[Tensor, "B T V"]:
        embedded = torch.stack([embedding(batch.source[..., c]) for c, embedding in enumerate(self.embeddings)]).sum(0)
        packed = pack_padded_sequence(embedded, batch.lengths, batch_first=True, enforce_sorted=False)
        return self.out(pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0])

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return _loss(self(batch), batch.target)

    def generate(self, batch: Batch, steps: int) -> Int[Tensor, "B T"]:
        return self(batch).argmax(-1)


class Seq2Seq(Network):
    """An encoder LSTM, and a decoder LSTM that starts from its state and predicts the answer token by token."""

    def __init__(self, width: int = 256, layers: int = 2):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.encoder = nn.LSTM(width, width, layers, batch_first=True)
        self.decoder = nn.LSTM(width, width, layers, batch_first=True)
        self.out = nn.Linear(width, VOCABULARY)

    def encode(self, batch: Batch) -> tuple[Tensor, Tensor]:
        embedded = self.embedding(batch.source[..., 0])
        packed = pack_padded_sequence(embedded, batch.lengths, batch_first=True, enforce_sorted=False)
        return self.encoder(packed)[1]

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        previous = torch.cat([torch.full_like(batch.target[:, :1], X), batch.target[:, :-1]], 1)
        hidden, _ = self.decoder(self.embedding(previous.clamp_min(0)), self.encode(batch))
        return _loss(self.out(hidden), batch.target)

    def generate(self, batch: Batch, steps: int) -> Int[Tensor, "B T"]:
        state, token = self.encode(batch), torch.full_like(batch.target[:, :1], X)
        tokens = []
        for _ in range(steps):
            hidden, state = self.decoder(self.embedding(token), state)
            token = self.out(hidden).argmax(-1)
            tokens.append(token)
        return torch.cat(tokens, 1)


class Transformer(Network):
    """A decoder-only transformer; problem and answer form one sequence.

    Its positions are rotary, or `abacus` (McLeish et al., 2024): a learned embedding of each digit's place in its
    number, so that digits of the same significance look alike. In training all places of a sequence are moved by a
    random offset, so that the places of numbers longer than those of training are known too.
    """

    def __init__(self, width: int = 128, layers: int = 4, heads: int = 4, abacus: bool = False):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(PLACES, width) if abacus else None
        self.blocks = nn.ModuleList(Block(width, heads, rotary=not abacus) for _ in range(layers))
        self.out = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, VOCABULARY))

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        hidden = self.embedding(tokens)
        if self.places is not None:
            hidden = hidden + self.places(self._places(tokens))
        for block in self.blocks:
            hidden = block(hidden)
        return self.out(hidden)

    def _places(self, tokens: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
        """The place of each digit in its number, from 1, moved by the offset in training; 0 for other tokens."""
        position = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
        digit = tokens < X
        before = torch.where(digit, -1, position).cummax(1).values  # the last token that is no digit
        offset = torch.zeros_like(tokens[:, :1])
        if self.training:
            offset = torch.randint(MAX_OFFSET + 1, offset.shape, device=tokens.device)
        return torch.where(digit, (position - before + offset).clamp_max(PLACES - 1), 0)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """Sources differ in length, so each target is moved to follow its source directly; the padding comes last."""
        lengths = batch.lengths.to(batch.source.device)[:, None]
        steps, source_steps = batch.target.shape[1], batch.source.shape[1]
        position = torch.arange(source_steps + steps, device=lengths.device)
        both = torch.cat([batch.source[..., 0], batch.target.clamp_min(0)], 1)
        joined = torch.where(
            position < lengths, position, (source_steps + position - lengths).clamp_max(source_steps + steps - 1)
        )
        tokens = both.gather(1, joined)
        logits = self(tokens[:, :-1])
        answers = (lengths - 1 + position[:steps])[..., None].expand(-1, -1, logits.shape[-1])
        return _loss(logits.gather(1, answers), batch.target)

    def generate(self, batch: Batch, steps: int) -> Int[Tensor, "B T"]:
        """Sequences of the same length are decoded together, so that no source is padded."""
        predicted = torch.full((len(batch.source), steps), PAD, device=batch.source.device)
        for length in batch.lengths.unique().tolist():
            rows = (batch.lengths == length).nonzero()[:, 0].to(predicted.device)
            tokens = batch.source[rows, :length, 0]
            for step in range(steps):
                predicted[rows, step] = self(tokens)[:, -1].argmax(-1)
                tokens = torch.cat([tokens, predicted[rows, step : step + 1]], 1)
        return predicted


@dataclass(frozen=True)
class Baseline:
    """A layout, a network, and the learning rate and weight decay that were best on validation problems."""

    layout: Callable[[Any], Example]
    network: Callable[[], Network]
    learning_rate: float
    weight_decay: float = 0.0


BASELINES = {
    "s2s-sorting": Baseline(sorting, Seq2Seq, 3e-3, 0.3),
    "s2s-plain": Baseline(plain, Seq2Seq, 1e-3),
    "s2s-stacked": Baseline(stacked, Aligned, 1e-3),
    "s2s-easy": Baseline(easy, Aligned, 1e-3),
    "transformer": Baseline(reversed_plain, Transformer, 1e-3),
    "transformer-abacus": Baseline(reversed_plain, partial(Transformer, abacus=True), 1e-3),
}


@dataclass(frozen=True)
class FitConfig:
    """How to train a baseline.

    updates         number of updates
    learning_rate   of AdamW at the start; a half cosine takes it to 0
    batch_size      examples per update
    weight_decay    of AdamW
    grad_clip       bound on the gradient norm
    eval_every      updates between validations; the best weights are kept
    """

    updates: int = 3_000
    learning_rate: float = 1e-3
    batch_size: int = 64
    weight_decay: float = 0.0
    grad_clip: float = 1.0
    eval_every: int = 100


@dataclass(frozen=True)
class FitProgress:
    """The state of training after an update."""

    update: int
    loss: float
    validation_accuracy: float  # the best so far


def fit(
    network: Network,
    examples: Sequence[Example],
    validation: Sequence[Example],
    config: FitConfig = FitConfig(),
    seed: int = 0,
) -> Iterator[FitProgress]:
    """Train a network on examples. It ends with the weights that were best on the validation examples."""
    rng = np.random.default_rng(seed)
    device = next(network.parameters()).device
    training_set = batch_of(examples, device)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
    )
    best, best_weights = -1.0, copy.deepcopy(network.state_dict())
    for update in range(1, config.updates + 1):
        network.train()
        loss = network.loss(training_set.of(rng.integers(len(examples), size=config.batch_size)))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), config.grad_clip)
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * 0.5 * (1 + np.cos(np.pi * (update - 1) / config.updates))
        optimizer.step()
        if update % config.eval_every == 0 or update == config.updates:
            accuracy = sum(correct(network, validation)) / len(validation)
            if accuracy >= best:
                best, best_weights = accuracy, copy.deepcopy(network.state_dict())
        yield FitProgress(update, loss.item(), best)
    network.load_state_dict(best_weights)


@torch.inference_mode()
def correct(network: Network, examples: Sequence[Example], at_once: int = 256) -> list[bool]:
    """For each example, whether the network predicts the whole target."""
    network.eval()
    device = next(network.parameters()).device
    results: list[bool] = []
    for start in range(0, len(examples), at_once):
        batch = batch_of(examples[start : start + at_once], device)
        predicted = network.generate(batch, batch.target.shape[1])
        results += ((predicted == batch.target) | (batch.target == IGNORE)).all(1).tolist()
    return results
