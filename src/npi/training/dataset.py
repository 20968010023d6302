"""The training set: every distinct frame of some tasks once, as tensors, and batches of them.

Images are stored once each too. A batch refers to them by index, so that each is encoded once, however many steps show
it.

Axes: S steps, J frames, T time steps of a batch, F fields of an observation, A arguments, I images, H their side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Int, UInt8
from torch import Tensor

from npi.errors import BadInput
from npi.language.image import Image
from npi.language.program import ACT, ARGS, Frame
from npi.language.task import Task, distinct_frames

EnvFrame: TypeAlias = tuple[str, Frame]  # a frame with the name of its environment


@dataclass(frozen=True)
class Batch:
    """Frames side by side, longest first, their steps packed time step by time step as PackedSequence packs them."""

    batch_sizes: Int[Tensor, " T"]  # how many frames are still running at each time step; stays on the CPU
    frame: Int[Tensor, " S"]  # which frame of the batch each step belongs to
    env: Int[Tensor, " S"]
    observation: Int[Tensor, "S F"]
    image: Int[Tensor, " S"]  # index into the environment's images; 0 if it shows none
    program: Int[Tensor, " S"]
    args: Int[Tensor, "S A"]
    stop: Bool[Tensor, " S"]  # the teacher's decision: return,
    next_program: Int[Tensor, " S"]  # or call this program
    next_args: Int[Tensor, "S A"]  # with these arguments


class FrameDataset:
    """Every distinct frame once. `programs` are the rows of the model's memory, in order."""

    def __init__(self, frames: Iterable[EnvFrame], programs: list[str], device: str | torch.device = "cpu"):
        pairs = list(frames)
        steps = [step for _, frame in pairs for step in frame.steps]
        row = {name: index for index, name in enumerate(programs)}
        self.programs = programs
        # One entry for each frame, in NumPy, from which batches are sampled:
        self.envs = sorted({env for env, _ in pairs})
        self.env = np.array([self.envs.index(env) for env, _ in pairs])
        self.program = np.array([row[frame.call.program] for _, frame in pairs])
        self.length = np.array([len(frame.steps) for _, frame in pairs])
        self.first = self.length.cumsum() - self.length  # where the steps of each frame begin

        def tensor(values: list) -> Tensor:
            return torch.tensor(values, device=device)

        # One entry for each step, as tensors, except `args`, which has one for each frame:
        field_values = [
            tuple(int(value) for value in step.observation if not isinstance(value, Image)) for step in steps
        ]
        a_step = dict(zip(self.env.tolist(), self.first.tolist(), strict=True))  # of each environment
        self.field_counts = [len(field_values[a_step[index]]) for index in range(len(self.envs))]
        width = max(self.field_counts)
        no_args = (0,) * ARGS
        self.args = tensor([frame.call.args for _, frame in pairs])
        self.observation = tensor([values + (0,) * (width - len(values)) for values in field_values])
        self.stop = tensor([step.decision is None for step in steps])
        self.next_program = tensor([0 if step.decision is None else row[step.decision.program] for step in steps])
        self.next_args = tensor([no_args if step.decision is None else step.decision.args for step in steps])
        self._collect_images(pairs, device)

    def _collect_images(self, pairs: list[EnvFrame], device: str | torch.device) -> None:
        """Store the distinct images of each environment with their labels, and which of them each step shows."""
        tables: dict[str, dict[Image, int]] = {}
        image = [0] * len(self.stop)
        for (env, frame), first in zip(pairs, self.first.tolist(), strict=True):
            for index, step in enumerate(frame.steps):
                if isinstance(step.observation[-1], Image):
                    table = tables.setdefault(env, {})
                    image[first + index] = table.setdefault(step.observation[-1], len(table))
        self.image = torch.tensor(image, device=device)
        self.images = {env: _stack(table).to(device) for env, table in tables.items()}
        self.labels = {env: torch.tensor([im.labels for im in table], device=device) for env, table in tables.items()}

    def __len__(self) -> int:
        return len(self.length)

    def batch(self, chosen: np.ndarray) -> Batch:
        """A batch of these frames, which must be sorted longest first (`longest_first`)."""
        time = np.arange(int(self.length[chosen[0]]))[:, None]
        running = time < self.length[chosen]  # [T, J]
        column = np.broadcast_to(np.arange(len(chosen)), running.shape)[running]

        def tensor(values: np.ndarray) -> Tensor:
            return torch.from_numpy(values).to(self.args.device)

        steps = tensor((self.first[chosen] + time)[running])
        frames = chosen[column]
        return Batch(
            batch_sizes=torch.from_numpy(running.sum(1)),
            frame=tensor(column),
            env=tensor(self.env[frames]),
            observation=self.observation[steps],
            image=self.image[steps],
            program=tensor(self.program[frames]),
            args=self.args[tensor(frames)],
            stop=self.stop[steps],
            next_program=self.next_program[steps],
            next_args=self.next_args[steps],
        )

    def longest_first(self, chosen: np.ndarray) -> np.ndarray:
        return chosen[np.argsort(-self.length[chosen], kind="stable")]

    def images_of(self, env: str, mask: np.ndarray) -> Tensor:
        """The indices of an environment's images that the frames in a mask show."""
        chosen = np.nonzero(mask & (self.env == self.envs.index(env)))[0]
        steps = np.concatenate(
            [np.arange(f, f + n) for f, n in zip(self.first[chosen], self.length[chosen], strict=True)]
        )
        return self.image[torch.from_numpy(steps).to(self.image.device)].unique()

    def balanced_sampler(self, frames: np.ndarray) -> BalancedSampler:
        """A sampler over some frames. Frames of one program with the same sequence of decisions form a group."""
        decisions = torch.cat([self.stop[:, None], self.next_program[:, None], self.next_args], 1).cpu().numpy()
        groups: dict[tuple[int, bytes], list[int]] = {}
        for frame in frames.tolist():
            steps = slice(self.first[frame], self.first[frame] + self.length[frame])
            groups.setdefault((int(self.program[frame]), decisions[steps].tobytes()), []).append(frame)
        keys = sorted(groups, key=lambda key: key[0])
        return BalancedSampler([groups[key] for key in keys], np.array([program for program, _ in keys]))


class BalancedSampler:
    """Samples a program, then one of its groups of frames, then a frame, each uniformly: rare decisions come up often.

    `program` holds the program of each group; groups of the same program must be consecutive.
    """

    def __init__(self, groups: Collection[Collection[int]], program: np.ndarray):
        self.frames = np.concatenate([np.array(group) for group in groups])
        self.group_size = np.array([len(group) for group in groups])
        self.group_start = self.group_size.cumsum() - self.group_size
        _, self.first_group, self.group_count = np.unique(program, return_index=True, return_counts=True)

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        program = rng.integers(len(self.first_group), size=count)
        group = self.first_group[program] + rng.integers(self.group_count[program])
        return self.frames[self.group_start[group] + rng.integers(self.group_size[group])]


def _stack(images: Collection[Image]) -> UInt8[Tensor, "I 4 H H"]:
    """All images in one tensor. Copied one by one, because a second copy of all could need gigabytes."""
    side = next(iter(images)).pixels.shape[0]
    stacked = torch.empty(len(images), 4, side, side, dtype=torch.uint8)
    for place, image in zip(stacked, images, strict=True):
        place.copy_(torch.from_numpy(image.pixels).permute(2, 0, 1))
    return stacked


def record_frames(tasks: Iterable[Task], seed: int) -> Iterator[EnvFrame]:
    """The distinct frames of several tasks' teachers on their training problems."""
    known: set[EnvFrame] = set()
    for task in tasks:
        for frame in distinct_frames(task, task.training_problems(seed)):
            pair = (task.env.__name__, frame)
            if pair not in known:
                known.add(pair)
                yield pair


def program_names(frames: Iterable[EnvFrame]) -> list[str]:
    """The programs that these frames run, ACT first, the others sorted: the rows of a model's memory, in order."""
    names = {ACT} | {frame.call.program for _, frame in frames}
    if names == {ACT}:
        raise BadInput("there is nothing to learn: no task gave any frame")
    return sorted(names, key=lambda name: (name != ACT, name))
