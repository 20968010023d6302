"""Practice as part of training: rows of memory for practice programs, and batches of their frames.

The rows are learnt beside the core and dropped when training ends: what stays is a core that can be told by a row what
to do. Rows are moved a little at random each time they are used, so that what is near a row means the same, and a row
for a new program can be found by gradient descent (teaching.py).

Axes: I pictures, G width of what is seen in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from npi.lessons import Batch, Lessons
from npi.model import NPI, Memory
from npi.practice import Practice
from npi.program import Frame

NOISE = 0.15  # how far rows are moved


class Drill(nn.Module):
    """Practice programs: their rows, and their frames."""

    def __init__(
        self, model: NPI, practice: Sequence[tuple[Practice, list[Frame]]], device: str | torch.device = "cpu"
    ):
        super().__init__()
        names = [item.name for item, _ in practice]
        pairs = [(item.env, frame) for item, frames in practice for frame in frames]
        self.own, self.captions = len(model.programs), model.config.captions
        self.lessons = Lessons(pairs, [*model.programs, *names], device)
        self.frames_of = [np.nonzero(self.lessons.program == self.own + row)[0] for row in range(len(names))]
        self.keys = nn.Parameter(torch.randn(len(names), model.config.key) * model.config.key**-0.5)
        self.embeddings = nn.Parameter(torch.randn(len(names), model.config.program))

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Frames to practise, each of a program drawn with equal chances."""
        chosen = [self.frames_of[row] for row in rng.integers(len(self.frames_of), size=count)]
        return self.lessons.longest_first(np.array([frames[rng.integers(len(frames))] for frames in chosen]))

    def memory(self, model: NPI, batch: Batch, rng: np.random.Generator) -> tuple[Batch, Memory]:
        """The rows that a batch needs, the model's own first, and the batch with its programs by these rows."""
        called = batch.next_program[batch.next_program >= self.own]
        practised = torch.cat([batch.program, called]).unique()
        place = torch.arange(self.own + len(self.keys), device=practised.device)
        place[practised] = self.own + torch.arange(len(practised), device=practised.device)
        keys, embeddings = self.keys[practised - self.own], self.embeddings[practised - self.own]
        generator = torch.Generator(keys.device).manual_seed(int(rng.integers(2**62)))
        moved = embeddings + NOISE * torch.randn(embeddings.shape, generator=generator, device=keys.device)
        memory = Memory(torch.cat([model.keys, keys]), torch.cat([model.embeddings, moved]))
        return replace(batch, program=place[batch.program], next_program=place[batch.next_program]), memory

    def told(self, env: str, which: Int[Tensor, " I"]) -> Float[Tensor, "I G"]:
        """What practice sees of pictures: not them, but what is to be said of them."""
        numbers = self.lessons.captions[env][which].T
        said = [nn.functional.one_hot(number, size) for number, size in zip(numbers, self.captions[env], strict=True)]
        return torch.cat(said, 1).float()
