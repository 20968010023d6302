"""Lessons: the distinct frames of some tasks, as tensors, and batches of them.

Pictures are stored once each too, and a batch names them by index: each is encoded once, however many steps see it.

Axes: S steps, J frames, T time steps of a batch, F fields of an observation, A arguments, I pictures, H their side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int, UInt8
from torch import Tensor

from npi.errors import BadInput
from npi.language.image import Picture
from npi.language.program import ACT, ARGS, Frame
from npi.language.task import Task, distinct_frames


@dataclass(frozen=True)
class Batch:
    """Frames side by side, longest first, their steps packed time step by time step."""

    going: Int[
        Tensor, " T"
    ]  # how many frames are still going at each time step (on the CPU, as PackedSequence wants it)
    frame: Int[Tensor, " S"]  # which frame of the batch each step belongs to
    env: Int[Tensor, " S"]
    seen: Int[Tensor, "S F"]
    picture: Int[Tensor, " S"]  # which of the environment's pictures, 0 where it has none
    program: Int[Tensor, " S"]
    args: Int[Tensor, "S A"]
    stop: Bool[Tensor, " S"]
    next_program: Int[Tensor, " S"]
    next_args: Int[Tensor, "S A"]


class Lessons:
    """Every distinct frame once. `programs` are the rows of the model's memory, in order."""

    def __init__(self, frames: Iterable[tuple[str, Frame]], programs: list[str], device: str | torch.device = "cpu"):
        """Each frame comes with the name of its environment."""
        pairs = list(frames)
        steps = [step for _, frame in pairs for step in frame.steps]
        row = {name: index for index, name in enumerate(programs)}
        self.programs = programs
        self.envs = sorted({env for env, _ in pairs})
        self.env = np.array([self.envs.index(env) for env, _ in pairs])
        self.program = np.array([row[frame.call.program] for _, frame in pairs])
        self.length = np.array([len(frame.steps) for _, frame in pairs])
        self.first = self.length.cumsum() - self.length  # where the steps of each frame begin

        def tensor(values: list) -> Tensor:
            return torch.tensor(values, device=device)

        numbers = [tuple(int(value) for value in step.seen if not isinstance(value, Picture)) for step in steps]
        first_steps = dict(zip(self.env.tolist(), self.first.tolist(), strict=True))
        self.fields = [len(numbers[first_steps[index]]) for index in range(len(self.envs))]
        width = max(self.fields)
        none = (0,) * ARGS
        self.args = tensor([frame.call.args for _, frame in pairs])
        self.seen = tensor([values + (0,) * (width - len(values)) for values in numbers])
        self.stop = tensor([step.decision is None for step in steps])
        self.next_program = tensor([0 if step.decision is None else row[step.decision.program] for step in steps])
        self.next_args = tensor([none if step.decision is None else step.decision.args for step in steps])
        self.collect_pictures(pairs, device)

    def collect_pictures(self, pairs: list[tuple[str, Frame]], device: str | torch.device) -> None:
        """The distinct pictures of each environment, and which of them each step sees."""
        tables: dict[str, dict[Picture, int]] = {}
        picture = [0] * len(self.stop)
        for (env, frame), first in zip(pairs, self.first.tolist(), strict=True):
            for index, step in enumerate(frame.steps):
                if isinstance(step.seen[-1], Picture):
                    table = tables.setdefault(env, {})
                    picture[first + index] = table.setdefault(step.seen[-1], len(table))
        self.picture = torch.tensor(picture, device=device)
        self.pictures = {env: _stack(table).to(device) for env, table in tables.items()}
        self.captions = {env: torch.tensor([p.caption for p in table], device=device) for env, table in tables.items()}

    def __len__(self) -> int:
        return len(self.length)

    def alike(self, among: np.ndarray) -> Groups:
        """Some frames, those of the same program with the same decisions together."""
        decided = torch.cat([self.stop[:, None], self.next_program[:, None], self.next_args], 1).cpu().numpy()
        groups: dict[tuple[int, bytes], list[int]] = {}
        for frame in among.tolist():
            steps = slice(self.first[frame], self.first[frame] + self.length[frame])
            groups.setdefault((int(self.program[frame]), decided[steps].tobytes()), []).append(frame)
        chosen = sorted(groups, key=lambda key: key[0])
        return Groups([groups[key] for key in chosen], np.array([program for program, _ in chosen]))

    def batch(self, chosen: np.ndarray) -> Batch:
        """A batch of these frames, which must be sorted longest first (`longest_first`)."""
        time = np.arange(int(self.length[chosen[0]]))[:, None]
        going = time < self.length[chosen]  # [T, J]
        column = np.broadcast_to(np.arange(len(chosen)), going.shape)[going]

        def tensor(values: np.ndarray) -> Tensor:
            return torch.from_numpy(values).to(self.args.device)

        steps = tensor((self.first[chosen] + time)[going])
        frames = chosen[column]
        return Batch(
            going=torch.from_numpy(going.sum(1)),
            frame=tensor(column),
            env=tensor(self.env[frames]),
            seen=self.seen[steps],
            picture=self.picture[steps],
            program=tensor(self.program[frames]),
            args=self.args[tensor(frames)],
            stop=self.stop[steps],
            next_program=self.next_program[steps],
            next_args=self.next_args[steps],
        )

    def pictures_of(self, env: str, among: np.ndarray) -> Tensor:
        """Which pictures of an environment the frames marked show."""
        chosen = np.nonzero(among & (self.env == self.envs.index(env)))[0]
        steps = np.concatenate(
            [np.arange(f, f + n) for f, n in zip(self.first[chosen], self.length[chosen], strict=True)]
        )
        return self.picture[torch.from_numpy(steps).to(self.picture.device)].unique()

    def longest_first(self, chosen: np.ndarray) -> np.ndarray:
        return chosen[np.argsort(-self.length[chosen], kind="stable")]


class Groups:
    """Frames in groups, from which each group has the same chance: rare decisions are drawn as often as common ones."""

    def __init__(self, groups: Collection[Collection[int]], program: np.ndarray):
        self.frames = np.concatenate([np.array(group) for group in groups])
        self.count = np.array([len(group) for group in groups])
        self.first = self.count.cumsum() - self.count
        # The groups of each program, which lie together: where they begin, and how many there are.
        _, self.group, self.groups = np.unique(program, return_index=True, return_counts=True)

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Frames of programs drawn with equal chances, each of a group drawn with equal chances."""
        program = rng.integers(len(self.group), size=count)
        group = self.group[program] + rng.integers(self.groups[program])
        return self.frames[self.first[group] + rng.integers(self.count[group])]


def _stack(pictures: Collection[Picture]) -> UInt8[Tensor, "I 4 H H"]:
    """One by one: they can be gigabytes."""
    side = next(iter(pictures)).pixels.shape[0]
    stacked = torch.empty(len(pictures), 4, side, side, dtype=torch.uint8)
    for place, picture in zip(stacked, pictures, strict=True):
        place.copy_(torch.from_numpy(picture.pixels).permute(2, 0, 1))
    return stacked


def demonstrations(tasks: Iterable[Task], seed: int) -> Iterator[tuple[str, Frame]]:
    """The distinct frames of several tasks, each with the name of its environment."""
    seen: set[tuple[str, Frame]] = set()
    for task in tasks:
        for frame in distinct_frames(task, task.examples_of(seed)):
            pair = (task.env.__name__, frame)
            if pair not in seen:
                seen.add(pair)
                yield pair


def programs_of(frames: Iterable[tuple[str, Frame]]) -> list[str]:
    """The programs that occur in frames, called or running, ACT first."""
    called = {ACT}
    for _, frame in frames:
        called.add(frame.call.program)
    if not called - {ACT}:
        raise BadInput("there is nothing to learn: no task gave any frame")
    return sorted(called, key=lambda name: (name != ACT, name))
