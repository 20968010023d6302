"""Concrete runs: do they stay within what exploration found?

Exploration trusts what a task declares: that its tapes hold all of its state, that a problem starts them as their kinds
say, that its teacher is honest. Concrete runs cannot prove this, but they find many tasks that break it. So a proof
begins with `check_task`, with sampled problems, and with small problems of every declared kind, whatever the task
samples: every history of their runs must be among those explored.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from random import Random
from typing import Any

from npi.errors import NotProvable
from npi.language.check import check_task
from npi.language.env import Env
from npi.language.graph import Graph, GraphKind
from npi.language.program import Frame
from npi.language.record import record
from npi.language.tape import Tape, TapeKind
from npi.language.task import Task
from npi.language.trace import Limits, Runaway
from npi.proof.abstract_env import AbstractEnv
from npi.proof.histories import Histories
from npi.proof.python_names import PLAIN
from npi.proof.teacher import Teacher

SAMPLED_PROBLEMS = 500  # at least; corner cases of the sampled sizes come in addition
DECLARED_LENGTH = 5  # cells of a tape, or vertices of a graph, in declared problems at most
DECLARED_PROBLEMS = 60  # of each length; if there are no more, all of them
LONG_LENGTH, LONG_PROBLEMS = 40, 2  # of a few longer ones, which show what depends on the size or depth of a run
LONGEST_RUN = Limits(steps=10_000, depth=10_000)  # 500 such runs take about a quarter of a minute
SMALLEST_SIZES = 6  # of the task's sizes: longer problems show few new histories and take much longer
MAX_PROBLEM_TEXT = 80  # characters of a problem that a message shows


def check_concrete_runs(task: Task[Any, Any], teacher: Teacher, histories: Histories) -> int:
    """Raise NotProvable unless the task has no fault and concrete runs stay within the histories of its exploration.

    `teacher` is that of the exploration. Returns how many problems were run.
    """
    smallest = replace(task, sizes=sorted(task.sizes)[:SMALLEST_SIZES])
    if faults := check_task(smallest).faults:
        raise NotProvable(f"{task.name} has a fault, so nothing about it can be proved: {faults[0]}")
    teacher.repeat(Random(0))
    abstract = teacher.abstract
    sampled = list(_problems(smallest))
    for problem in sampled:
        env = task.env.of(problem)
        if fault := _start_fault(abstract, env):
            raise NotProvable(
                f"{task.env.__name__}.of({short_text(problem)}) builds what tapes() does not declare: {fault}"
            )
        _check_run(task, teacher, histories, env, f"the problem {short_text(problem)}")
    declared = list(_declared_problems(abstract))
    for cells in declared:
        env = task.env(*(kind_.tape(given) if isinstance(kind_, TapeKind) else kind_.graph(given)
                         for kind_, given in zip(abstract.kinds, cells, strict=True)))  # fmt: skip
        _check_run(task, teacher, histories, env, f"a problem with the cells {short_text(cells)}")
    return len(sampled) + len(declared)


def _check_run(task: Task[Any, Any], teacher: Teacher, histories: Histories, env: Env, problem: str) -> None:
    """Run the teacher on a concrete environment, and look each of its histories up.

    A run is followed up to LONGEST_RUN: a teacher need not end on problems that its task does not draw.
    """
    ended = True
    for program in (task.main, *task.extra_programs):
        if not ended:
            break
        try:
            frames: Sequence[Frame] = record(env, program, limits=LONGEST_RUN)
        except Runaway as error:
            frames, ended = error.frames, False
        for frame in dict.fromkeys(frames):
            for step, node in zip(frame.steps, histories.nodes_of(frame), strict=True):
                if node is None or histories.decision[node] != step.decision:
                    raise NotProvable(
                        f"exploration missed a history of {frame.call.program} that {problem} leads to, with the "
                        f"observation {step.observation}: {task.env.__name__} keeps state outside its tapes, or tells "
                        f"concrete tapes from abstract ones"
                    )
                teacher.abstract.check_form(step.observation)
    teacher.abstract.watch.check()
    teacher.watch.check()


def _declared_problems(abstract: AbstractEnv) -> Iterator[tuple[Any, ...]]:
    """Small problems of the declared kinds, whatever `sample` draws: cells of each tape, vertices of each graph.

    A proof covers all of them.
    """
    rng = Random(0)
    for length in range(1, DECLARED_LENGTH + 1):
        choices = [_contents(kind, length) for kind in abstract.kinds]
        count = prod(len(one) for one in choices)
        if count <= DECLARED_PROBLEMS:
            yield from product(*choices)
        else:
            yield from (tuple(map(rng.choice, choices)) for _ in range(DECLARED_PROBLEMS))
    for _ in range(LONG_PROBLEMS):
        yield tuple(rng.choice(_contents(kind, LONG_LENGTH)) for kind in abstract.kinds)
    # Tapes that are not declared to be equally long.
    for _ in range(DECLARED_PROBLEMS):
        lengths = [rng.randint(1, DECLARED_LENGTH) for _ in abstract.kinds]
        yield tuple(
            rng.choice(_contents(kind, lengths[abstract.measure(number)])) for number, kind in enumerate(abstract.kinds)
        )


@functools.cache
def _contents(kind: TapeKind | GraphKind, length: int) -> list[Any]:
    """What a tape or graph of a kind may hold at first; of many possibilities, a sample."""
    rng = Random(length)
    if isinstance(kind, GraphKind):
        vertices = range(length)  # each edge leads to a later vertex, so there is no cycle
        listed = [
            [(v, tuple(w for w in vertices if w > v and rng.random() < density)) for v in vertices]
            for density in (0.0, 0.3, 0.6, 1.0)
        ]
        return [rng.sample(graph, length) for graph in listed]
    if kind.beyond is not None and not kind.given:
        return [()]
    # Three values have every order, with ties.
    symbols = range(3) if kind.symbols is None else [symbol for symbol in range(kind.symbols) if symbol != kind.beyond]
    if len(symbols) ** length <= DECLARED_PROBLEMS:
        return list(product(symbols, repeat=length))
    constant = [(symbol,) * length for symbol in symbols]
    return constant + [tuple(rng.choices(symbols, k=length)) for _ in range(DECLARED_PROBLEMS)]


def _problems(task: Task[Any, Any]) -> Iterator[Any]:
    each = -(-SAMPLED_PROBLEMS // len(task.sizes))
    for size in task.sizes:
        corner_cases = len(task.corner_cases(size))
        yield from task.test_problems(size, corner_cases + each, 0)


def _start_fault(abstract: AbstractEnv, env: Any) -> str:
    """How the tapes and graphs of a concrete environment differ from the declared ones; empty if they do not."""
    if type(env) is not abstract.env_class:
        return f"a {type(env).__name__}, and {abstract.env_class.__name__} is what is proved"
    structures: list[Any] | None = abstract.concrete_structures(env)
    if structures is None:
        more = sorted(vars(env).keys() - abstract.attributes.keys())
        beside = f": __init__ does not make {', '.join(more)}" if more else ""
        return f"it keeps its tapes in other attributes, or one of them in two places{beside}"
    if len({*map(id, structures)}) < len(structures):
        return "one tape or graph stands where two are declared"
    kinds: tuple[Any, ...] = abstract.kinds
    lengths: dict[int, int] = {}
    for number, (kind, structure) in enumerate(zip(kinds, structures, strict=True)):
        expected: Any = Tape if isinstance(kind, TapeKind) else Graph
        if type(structure) is not expected:
            return f"where number {number + 1} of the tapes and graphs belongs, there is {structure!r}"
        if fault := structure.start_fault(kind):
            return f"number {number + 1} of the tapes and graphs {fault}"
        if isinstance(structure, Tape):
            cells = structure.contents()
            if odd := [cell for cell in cells if not _is_plain_value(cell)]:
                return f"number {number + 1} holds {odd[0]!r}: a value that is compared must be a number or a text"
            lengths[number] = len(cells)
    for number, length in lengths.items():
        measure = abstract.measure(number)
        if length != lengths[measure]:
            return (
                f"tape {number + 1} has {length} cells and tape {measure + 1} has {lengths[measure]}, but length_of "
                f"promises equal lengths"
            )
    return ""


def _is_plain_value(value: Any) -> bool:
    """Whether comparing a value with `>` calls no code that a task could have written."""
    return type(value) in PLAIN or (type(value) is tuple and all(map(_is_plain_value, value)))


def short_text(problem: Any) -> str:
    """A problem as messages show it: the middle of a long one is left out."""
    text = repr(problem)
    return text if len(text) <= MAX_PROBLEM_TEXT else f"{text[: MAX_PROBLEM_TEXT - 20]}...{text[-12:]}"
