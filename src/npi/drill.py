"""Practice as part of training: rows of memory for practice programs, and batches of their frames.

The embedding of a practice program is put together from its features, each a learnt vector, so that none can be learnt
by heart: the core must learn what the parts of a program mean, and how they go together. Embeddings are moved a little
at random each time they are used, so that what is near one means the same, and one for a new program can be found by
gradient descent (teaching.py). All of this is dropped when training ends: what stays is a core that can be told by a
row what to do.

Axes: R rows, K width of a key, P of an embedding, I pictures, G width of what is seen in one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from npi.lessons import Batch, Lessons
from npi.model import NPI, Memory, Prior
from npi.practice import Practice
from npi.program import Frame

NOISE = 0.15  # how far embeddings are moved
SPREAD = 0.3  # of the vector of a feature, at first
HASTE = 5.0  # how much faster than the rest these vectors are learnt: each is needed now and then only


class Drill(nn.Module):
    """Practice programs: their rows, and their frames."""

    features: Tensor
    called: Tensor

    def __init__(
        self, model: NPI, practice: Sequence[tuple[Practice, list[Frame]]], device: str | torch.device = "cpu"
    ):
        super().__init__()
        row = {item.name: index for index, (item, _) in enumerate(practice)}
        pairs = [(item.env, frame) for item, frames in practice for frame in frames]
        self.own, self.captions = len(model.programs), model.config.captions
        self.lessons = Lessons(pairs, [*model.programs, *row], device)
        self.groups = self.lessons.alike(np.arange(len(self.lessons)))
        known: dict[Hashable, int] = {}
        features = [
            [known.setdefault(_common(feature, row), 1 + len(known)) for feature in item.features()]
            for item, _ in practice
        ]
        width = max(map(len, features))
        table = torch.tensor([[*numbers, *[0] * (width - len(numbers))] for numbers in features])
        self.register_buffer("features", table, persistent=False)  # 0: none
        called = [[row[name] for name in item.calls() if name in row] or [-1] for item, _ in practice]
        self.register_buffer("called", torch.tensor([first for first, *_ in called]), persistent=False)  # -1: none
        self.keys = nn.Parameter(torch.randn(len(row), model.config.key) * model.config.key**-0.5 / HASTE)
        self.parts = nn.Parameter(torch.randn(1 + len(known), model.config.program) * SPREAD / HASTE)
        self.callee = nn.Linear(model.config.key, model.config.program, bias=False)

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Frames to practise."""
        return self.lessons.longest_first(self.groups.draw(count, rng))

    def memory(self, model: NPI, batch: Batch, rng: np.random.Generator) -> tuple[Batch, Memory]:
        """The rows that a batch needs, the model's own first, and the batch with its programs by these rows."""
        called = batch.next_program[batch.next_program >= self.own]
        practised = torch.cat([batch.program, called]).unique()
        place = torch.arange(self.own + len(self.keys), device=practised.device)
        place[practised] = self.own + torch.arange(len(practised), device=practised.device)
        keys, embeddings = self.rows(practised - self.own)
        generator = torch.Generator(keys.device).manual_seed(int(rng.integers(2**62)))
        moved = embeddings + NOISE * torch.randn(embeddings.shape, generator=generator, device=keys.device)
        memory = Memory(torch.cat([model.keys, keys]), torch.cat([model.embeddings, moved]))
        return replace(batch, program=place[batch.program], next_program=place[batch.next_program]), memory

    def rows(self, which: Int[Tensor, " R"]) -> Memory:
        """The key of each program, and its embedding: the sum of its features, and of what it practised calls."""
        embeddings = HASTE * nn.functional.embedding_bag(self.features[which], self.parts, mode="sum", padding_idx=0)
        called = self.called[which]
        callee = self.callee(HASTE * nn.functional.embedding(called.clamp_min(0), self.keys))
        return Memory(HASTE * nn.functional.embedding(which, self.keys), embeddings + callee * (called >= 0)[:, None])

    @torch.no_grad()
    def prior(self) -> Prior:
        """What the embeddings of practice programs are like: those of new programs should not be otherwise."""
        return Prior.of(self.rows(torch.arange(len(self.keys), device=self.keys.device)).embeddings)

    def told(self, env: str, which: Int[Tensor, " I"]) -> Float[Tensor, "I G"]:
        """What practice sees of pictures: not them, but what is to be said of them."""
        numbers = self.lessons.captions[env][which].T
        said = [nn.functional.one_hot(number, size) for number, size in zip(numbers, self.captions[env], strict=True)]
        return torch.cat(said, 1).float()


def _common(feature: tuple[Hashable, ...], row: dict[str, int]) -> Hashable:
    """That a practised program is called is one feature for all of them: which one it is, its key tells."""
    return (*feature[:-1], "practised") if feature[0] == "program" and feature[-1] in row else feature
