"""How often a decider solves a task: right answers, and right traces."""

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


@dataclass(frozen=True)
class Score:
    """Results on some problems, all of one size or of any. A right trace is the teacher's, decision by decision."""

    size: int | None
    problems: int
    answers: int
    traces: int
    runaways: int
    wrong: tuple[Any, ...]  # some problems answered wrongly


def evaluate(
    task: Task, decider: Decider, sizes: Sequence[int], problems: int, seed: int = 0, together: int = 256
) -> Iterator[Score]:
    """Judge a decider on the corner cases and random problems of each size."""
    for size in sizes:
        yield replace(judge(task, decider, task.test_problems(size, problems, seed), together), size=size)


def evaluate_frames(
    task: Task, matches_teacher: Callable[[Any], bool], sizes: Sequence[int], problems: int, seed: int = 0
) -> Iterator[Score]:
    """The same, where only whether a problem is run as the teacher runs it is asked (see `npi.train.follows`)."""
    for size in sizes:
        chosen = task.test_problems(size, problems, seed)
        wrong = [problem for problem in chosen if not matches_teacher(problem)]
        right = len(chosen) - len(wrong)
        yield Score(size, len(chosen), right, right, 0, tuple(wrong[:3]))


def judge(task: Task, decider: Decider, problems: Sequence[Any], together: int = 256) -> Score:
    """Let a decider solve problems, `together` of them at a time, and compare with the teacher."""
    answers = traces = runaways = 0
    wrong: list[Any] = []
    remaining = iter(problems)
    while part := list(islice(remaining, together)):
        expected = [Trace.of(record(task.env.of(problem), task.main)) for problem in part]
        envs = [task.env.of(problem) for problem in part]
        longest = max(len(trace.decisions) for trace in expected)
        # whoever needs twice the teacher's steps has lost its way
        got = run_batch(envs, task.call, decider, Limits(steps=2 * longest + 100))
        for problem, env, mine, teachers in zip(part, envs, got, expected, strict=True):
            right = not mine.runaway and task.result(env) == task.answer(problem)
            answers += right
            traces += mine == teachers
            runaways += mine.runaway is not None
            if not right and len(wrong) < 3:
                wrong.append(problem)
    return Score(None, len(problems), answers, traces, runaways, tuple(wrong))


def interval(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson's, which is sound at 0 and 1 too)."""
    if trials == 0:
        return 0.0, 1.0
    z = 1.959964
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return max(0.0, middle - half), min(1.0, middle + half)
