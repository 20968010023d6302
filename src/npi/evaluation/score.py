"""Score a decider on test problems: correct answers, and traces equal to the teacher's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from npi.language.interpreter import Decider, run_batch
from npi.language.record import record
from npi.language.task import Task
from npi.language.trace import Limits, Trace

Z_95 = 1.959964  # the 97.5 % quantile of the standard normal distribution: two-sided 95 % intervals
BATCH = 256  # problems that run together, in one forward pass per step
EXAMPLES_OF_ERRORS = 3  # problems with wrong answers that a score names
# The step limit of a batch of runs: STEP_FACTOR times the steps of the teacher's longest run, plus EXTRA_STEPS for
# short problems. A run that needs more no longer follows its teacher.
STEP_FACTOR, EXTRA_STEPS = 2, 100


@dataclass(frozen=True)
class Score:
    """How many test problems a decider solves.

    size      of the problems; None if they are of several sizes
    problems  how many problems the decider ran
    answers   how many answers are correct
    traces    how many traces equal the teacher's, decision by decision
    runaways  how many runs were stopped by a limit
    wrong     some problems with a wrong answer
    """

    size: int | None
    problems: int
    answers: int
    traces: int
    runaways: int
    wrong: tuple[Any, ...]

    @property
    def answers_interval(self) -> tuple[float, float]:
        """The 95 % interval of the fraction of correct answers."""
        return interval(self.answers, self.problems)

    @property
    def traces_interval(self) -> tuple[float, float]:
        """The 95 % interval of the fraction of traces that equal the teacher's."""
        return interval(self.traces, self.problems)


def score_sizes(
    task: Task, decider: Decider, sizes: Sequence[int], problems: int, seed: int = 0, batch: int = BATCH
) -> Iterator[Score]:
    """Score a decider on the corner cases and random problems of each size."""
    for size in sizes:
        yield replace(score_problems(task, decider, task.test_problems(size, problems, seed), batch), size=size)


def score_frames(
    task: Task, matches_teacher: Callable[[Any], bool], sizes: Sequence[int], problems: int, seed: int = 0
) -> Iterator[Score]:
    """Score by traces alone: an answer counts as correct if the trace equals the teacher's.

    `matches_teacher` decides that for a problem; `npi.training.metrics.matches_teacher` does it in one forward pass.
    """
    for size in sizes:
        chosen = task.test_problems(size, problems, seed)
        wrong = [problem for problem in chosen if not matches_teacher(problem)]
        right = len(chosen) - len(wrong)
        yield Score(size, len(chosen), right, right, 0, tuple(wrong[:EXAMPLES_OF_ERRORS]))


def score_problems(task: Task, decider: Decider, problems: Sequence[Any], batch: int = BATCH) -> Score:
    """Let a decider solve problems, `batch` of them at a time, and compare its runs with the teacher's."""
    answers = traces = runaways = 0
    wrong: list[Any] = []
    remaining = iter(problems)
    while part := list(islice(remaining, batch)):
        expected = [Trace.of(record(task.env.of(problem), task.main)) for problem in part]
        envs = [task.env.of(problem) for problem in part]
        longest = max(len(trace.decisions) for trace in expected)
        runs = run_batch(envs, task.call, decider, Limits(steps=STEP_FACTOR * longest + EXTRA_STEPS))
        for problem, env, trace, teachers in zip(part, envs, runs, expected, strict=True):
            right = not trace.runaway and task.result(env) == task.answer(problem)
            answers += right
            traces += trace == teachers
            runaways += trace.runaway is not None
            if not right and len(wrong) < EXAMPLES_OF_ERRORS:
                wrong.append(problem)
    return Score(None, len(problems), answers, traces, runaways, tuple(wrong))


def interval(successes: float, trials: int) -> tuple[float, float]:
    """The 95 % interval of a fraction: Wilson's, which holds for fractions of 0 and 1 as well."""
    if trials == 0:
        return 0.0, 1.0
    z, fraction = Z_95, successes / trials
    middle = (fraction + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(fraction * (1 - fraction) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return max(0.0, middle - half), min(1.0, middle + half)
