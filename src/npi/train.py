"""Training: distinct frames to batches, the adaptive curriculum, the loss and the loop.

Every frame is a training sequence of its own, so all programs of all tasks learn in parallel. Many frames are the same;
each distinct one is kept once.

Axes as in model.py, and: S steps of all frames, J frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from npi.model import NPI, Outputs
from npi.program import Frame
from npi.task import Task, distinct_frames


@dataclass(frozen=True)
class Batch:
    """Frames side by side, longest first, their steps packed time step by time step."""

    sizes: Int[Tensor, " T"]  # how many frames are still going at each time step
    column: Int[Tensor, " S"]  # which frame of the batch each step belongs to
    env: Int[Tensor, " S"]
    seen: Int[Tensor, "S F"]
    programs: Int[Tensor, " S"]
    args: Int[Tensor, "S A"]
    stop: Bool[Tensor, " S"]
    next_program: Int[Tensor, " S"]
    next_args: Int[Tensor, "S A"]


class Lessons:
    """The distinct frames of some tasks, as tensors."""

    def __init__(self, frames: Iterable[tuple[str, Frame]], programs: list[str]):
        """Frames come with the name of their environment; `programs` are the memory rows of the model."""
        frames = list(frames)
        row = {name: index for index, name in enumerate(programs)}
        self.programs = programs
        self.envs = sorted({env for env, _ in frames})
        width = max(len(frame.steps[0].seen) for _, frame in frames)
        self.program = np.array([row[frame.call.program] for _, frame in frames])
        self.length = np.array([len(frame.steps) for _, frame in frames])
        self.offset = np.concatenate([[0], self.length.cumsum()[:-1]])
        env = {name: index for index, name in enumerate(self.envs)}
        self.env = np.array([env[name] for name, _ in frames])
        self.args = torch.tensor([frame.call.args for _, frame in frames])
        steps = [step for _, frame in frames for step in frame.steps]
        none = frames[0][1].call.args
        self.seen = torch.tensor([(*map(int, step.seen), *[0] * (width - len(step.seen))) for step in steps])
        self.stop = torch.tensor([step.decision is None for step in steps])
        self.next_program = torch.tensor([0 if step.decision is None else row[step.decision.program] for step in steps])
        self.next_args = torch.tensor([none if step.decision is None else step.decision.args for step in steps])

    def __len__(self) -> int:
        return len(self.length)

    def batch(self, chosen: np.ndarray) -> Batch:
        length = self.length[chosen]
        time = np.arange(length.max())[:, None]
        going = time < length  # [T, frames]
        column = np.broadcast_to(np.arange(len(chosen)), going.shape)[going]
        steps = torch.from_numpy((self.offset[chosen] + time)[going])
        return Batch(
            sizes=torch.from_numpy(going.sum(1)),
            column=torch.from_numpy(column),
            env=torch.from_numpy(self.env[chosen][column]),
            seen=self.seen[steps],
            programs=torch.from_numpy(self.program[chosen][column]),
            args=self.args[torch.from_numpy(chosen[column])],
            stop=self.stop[steps],
            next_program=self.next_program[steps],
            next_args=self.next_args[steps],
        )
