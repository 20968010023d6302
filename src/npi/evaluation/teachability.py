"""Teachability: how many new programs a model learns by memory rows alone.

Random programs come from the grammar of practice programs; exercises.py holds programs with a meaning.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from npi.evaluation.exercises import EXERCISES
from npi.language.task import Task
from npi.network.model import NPI
from npi.training.metrics import matches_teacher
from npi.training.program_sampler import ProgramSampler
from npi.training.row_trainer import TeachConfig, TeachingSet, count_wrong_frames, train_rows
from npi.training.teach import teach_task

TEACHING_STARTS = 16000  # random states from which a random program is demonstrated; 4,000 were too few (docs/LOG.md)
TEST_STARTS = 1000  # other random states, from which it is tested
TEST_PROBLEMS = 50  # on which an exercise is tested, rounded up to equally many of each size
PROGRAMS_AT_ONCE = 50  # random programs taught side by side; more need more memory


@dataclass(frozen=True)
class Attempt:
    """One program taught to a model by memory rows.

    frames, wrong  frames it was taught with, and how many of them are wrong in the end
    right_on_tests whether all taught frames are right, and all tests: frames of a random program, traces of an exercise
    test_frames    how many distinct frames a random program was tested on; None for an exercise, which is tested on
                   problems
    unseen_frames  how many of the test frames it was not taught with
    """

    program: str
    env: str
    frames: int
    wrong: int
    right_on_tests: bool
    seconds: float
    test_frames: int | None = None
    unseen_frames: int | None = None


def teach_random_programs(
    model: NPI, task: Task, count: int, seed: int = 0, config: TeachConfig = TeachConfig(), start: int = 0
) -> Iterator[Attempt]:
    """Teach random programs on a task's environment, each on its own, several side by side.

    Programs are numbered; `start` is the number of the first, a multiple of PROGRAMS_AT_ONCE. A program depends only on
    its number and the seed.
    """
    sampler = ProgramSampler(task, f"unseen {seed}")
    for index in range(start):
        sampler.sample(f"UNSEEN {index}")  # the sampler must be in the state in which it samples program `start`
    for first in range(start, start + count, PROGRAMS_AT_ONCE):
        teaching_sets, test_sets = [], []
        for index in range(first, min(first + PROGRAMS_AT_ONCE, start + count)):
            practice = sampler.sample(f"UNSEEN {index}")
            rng = Random(f"{seed} {practice.name}")
            for sets, starts in ((teaching_sets, TEACHING_STARTS), (test_sets, TEST_STARTS)):
                frames = [(sampler.env_name, frame) for frame in sampler.frames(practice, rng, starts)]
                sets.append(TeachingSet((practice.name,), frames))
        began = time.perf_counter()
        *_, reached = train_rows(model, teaching_sets, config, seed)
        each = (time.perf_counter() - began) / len(teaching_sets)
        for taught, test, result in zip(teaching_sets, test_sets, reached, strict=True):
            right = not result.wrong and not count_wrong_frames(model, test, result)
            test_frames = set(test.frames)
            unseen = len(test_frames - set(taught.frames))
            yield Attempt(
                taught.programs[0],
                sampler.env_name,
                result.frames,
                result.wrong,
                right,
                each,
                len(test_frames),
                unseen,
            )


def teach_exercises(
    model: NPI, tasks: Sequence[Task] = EXERCISES, seed: int = 0, config: TeachConfig = TeachConfig()
) -> Iterator[Attempt]:
    """Teach exercises, each on its own to the same model; those whose environment the model lacks are left out."""
    for task in tasks:
        if task.env.__name__ not in model.config.fields:
            continue
        began = time.perf_counter()
        result = teach_task(model, task, (), config, seed)
        seconds = time.perf_counter() - began
        sizes = task.sizes[: max(1, len(task.sizes) // 2)]  # the smaller half: large problems take long to record
        each = -(-TEST_PROBLEMS // len(sizes))  # rounded up
        problems = [problem for size in sizes for problem in task.test_problems(size, each, seed)]
        right = result.learned and all(matches_teacher(result.model, task, problem) for problem in problems)
        yield Attempt(task.name, task.env.__name__, result.frames, result.wrong, right, seconds)
