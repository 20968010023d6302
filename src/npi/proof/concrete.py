"""Concrete runs: do they stay within what exploration found?

Exploration trusts what a task declares: that its tapes hold all of its state, that a problem starts them as their kinds
say, that its teacher is honest. Concrete runs cannot prove this, but they find many tasks that break it. So a proof
begins with `check_task` and with sampled problems: every history of their runs must be among those explored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npi.errors import NotProvable
from npi.language.check import check_task
from npi.language.graph import Graph
from npi.language.tape import Tape, TapeKind
from npi.language.task import Task
from npi.proof.abstract_env import AbstractEnv
from npi.proof.histories import Histories

SAMPLED_PROBLEMS = 500  # at least; corner cases of the sampled sizes come in addition
SMALLEST_SIZES = 12  # of the task's sizes: longer problems show few new histories and take much longer
MAX_PROBLEM_TEXT = 80  # characters of a problem that a message shows


def check_concrete_runs(task: Task[Any, Any], abstract: AbstractEnv, histories: Histories) -> int:
    """Raise NotProvable unless the task has no fault and concrete runs stay within the histories of its exploration.

    Returns how many problems were run.
    """
    if faults := check_task(task).faults:
        raise NotProvable(f"{task.name} has a fault, so nothing about it can be proved: {faults[0]}")
    problems = list(_problems(task))
    for problem in problems:
        env = task.env.of(problem)
        if fault := _start_fault(abstract, env):
            raise NotProvable(
                f"{task.env.__name__}.of({short_text(problem)}) builds what tapes() does not declare: {fault}"
            )
        for recording in task.demonstrate(problem):
            for frame in dict.fromkeys(recording):
                for step, node in zip(frame.steps, histories.nodes_of(frame), strict=True):
                    if node is None or histories.decision[node] != step.decision:
                        raise NotProvable(
                            f"exploration missed a history of {frame.call.program} that the problem "
                            f"{short_text(problem)} leads to, with the observation {step.observation}: "
                            f"{task.env.__name__} keeps state outside its tapes, or behaves differently when it runs "
                            f"again"
                        )
    return len(problems)


def _problems(task: Task[Any, Any]) -> Iterator[Any]:
    sizes = sorted(task.sizes)[:SMALLEST_SIZES]
    each = -(-SAMPLED_PROBLEMS // len(sizes))
    for size in sizes:
        corner_cases = len(task.corner_cases(size))
        yield from task.test_problems(size, corner_cases + each, 0)


def _start_fault(abstract: AbstractEnv, env: Any) -> str:
    """How the tapes and graphs of a concrete environment differ from the declared ones; empty if they do not."""
    structures: list[Any] | None = abstract.concrete_structures(env)
    if structures is None:
        return "it keeps its tapes in other attributes"
    kinds: tuple[Any, ...] = abstract.kinds
    lengths: dict[int, int] = {}
    for number, (kind, structure) in enumerate(zip(kinds, structures, strict=True)):
        expected: Any = Tape if isinstance(kind, TapeKind) else Graph
        if not isinstance(structure, expected):
            return f"where number {number + 1} of the tapes and graphs belongs, there is {structure!r}"
        if fault := structure.start_fault(kind):
            return f"number {number + 1} of the tapes and graphs {fault}"
        if isinstance(structure, Tape):
            lengths[number] = len(structure.contents())
    for number, length in lengths.items():
        measure = abstract.measure(number)
        if length != lengths[measure]:
            return (
                f"tape {number + 1} has {length} cells and tape {measure + 1} has {lengths[measure]}, but length_of "
                f"promises equal lengths"
            )
    return ""


def short_text(problem: Any) -> str:
    """A problem as messages show it: the middle of a long one is left out."""
    text = repr(problem)
    return text if len(text) <= MAX_PROBLEM_TEXT else f"{text[: MAX_PROBLEM_TEXT - 20]}...{text[-12:]}"
