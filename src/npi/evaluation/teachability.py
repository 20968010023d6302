"""Teachability: how many programs that a model has never seen can be taught to it by rows of memory alone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from npi.evaluation.exercises import EXERCISES
from npi.language.task import Task
from npi.network.model import NPI
from npi.training.metrics import matches_teacher
from npi.training.practice import ProgramSampler
from npi.training.teach import TeachConfig, TeachingSet, count_wrong, learn, teach

STARTS, OTHERS = 16000, 1000  # states from which a random program is demonstrated, and others on which it is judged
PROBLEMS = 50  # on which an exercise is judged
TOGETHER = 50  # random programs taught side by side


@dataclass(frozen=True)
class Attempt:
    """One program taught. `held` says whether it was right on every input it was not taught with."""

    program: str
    env: str
    frames: int
    wrong: int
    held: bool
    seconds: float


def random_programs(
    model: NPI, task: Task, count: int, seed: int = 0, config: TeachConfig = TeachConfig()
) -> Iterator[Attempt]:
    """Teach random programs on a task's environment, each on its own, several side by side."""
    gym = ProgramSampler(task, f"unseen {seed}")
    for first in range(0, count, TOGETHER):
        lessons, others = [], []
        for index in range(first, min(first + TOGETHER, count)):
            practice = gym.make(f"UNSEEN {index}")
            rng = Random(f"{seed} {practice.name}")
            for taken, starts in ((lessons, STARTS), (others, OTHERS)):
                frames = [(gym.env, frame) for frame in gym.frames(practice, rng, starts)]
                taken.append(TeachingSet((practice.name,), frames))
        began = time.perf_counter()
        *_, reached = learn(model, lessons, config, seed)
        each = (time.perf_counter() - began) / len(lessons)
        for lesson, other, rows in zip(lessons, others, reached, strict=True):
            held = not rows.wrong and not count_wrong(model, other, rows.memory)
            yield Attempt(lesson.programs[0], gym.env, rows.frames, rows.wrong, held, each)


def exercises(
    model: NPI, tasks: Sequence[Task] = EXERCISES, seed: int = 0, config: TeachConfig = TeachConfig()
) -> Iterator[Attempt]:
    """Teach exercises, one after the other, each to the model as it is."""
    for task in tasks:
        if task.env.__name__ not in model.config.fields:
            continue
        began = time.perf_counter()
        taught = teach(model, task, (), config, seed)
        seconds = time.perf_counter() - began
        sizes = task.sizes[: max(1, len(task.sizes) // 2)]
        each = -(-PROBLEMS // len(sizes))
        problems = [problem for size in sizes for problem in task.test_problems(size, each, seed)]
        held = taught.learned and all(matches_teacher(taught.model, task, problem) for problem in problems)
        yield Attempt(task.name, task.env.__name__, taught.frames, taught.wrong, held, seconds)
