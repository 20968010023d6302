"""Topological sort by depth-first search: an order in which every edge points forward.

The search opens a vertex when it first reaches it, and closes it when all of its children are closed. A closed vertex
goes in front of those closed before. A program observes the colour of the start vertex, the colour of the next child of
the vertex opened last, and whether no vertex is open. It observes no names, edges or sizes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple, TypeAlias

from npi.errors import BadInput
from npi.language.env import Env
from npi.language.graph import COLOURS, NONE, WHITE, Graph, GraphKind
from npi.language.program import act, program
from npi.language.task import Task

OPEN, NEXT, CLOSE = OPS = range(3)
START, CHILD = VERTICES = range(2)

GRAPH = GraphKind()
CHAINS = 0.2  # fraction of random problems that are chains, the graphs on which the search goes deepest
# An error about a file quotes so many bad lines, each up to so many characters.
LINES_SHOWN, CHARACTERS_SHOWN = 3, 60

Vertices: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]  # each with its children
Colour = Annotated[int, COLOURS]


class Observation(NamedTuple):
    start: Colour
    child: Colour
    empty: Annotated[int, range(2)]


class GraphPad(Env):
    def __init__(self, graph: Graph):
        self.graph = graph

    @classmethod
    def of(cls, problem: Vertices) -> GraphPad:
        return cls(GRAPH.graph(problem))

    @classmethod
    def tapes(cls) -> tuple[GraphKind, ...]:
        return (GRAPH,)

    def observe(self) -> Observation:
        return Observation(self.graph.start(), self.graph.child(), self.graph.empty())

    def act(self, op: Annotated[int, OPS], vertex: Annotated[int, VERTICES], _: Annotated[int, range(1)], /) -> None:
        """OPEN the start vertex or the next child, advance either to the NEXT one, or CLOSE the vertex opened last."""
        graph = self.graph
        if op == OPEN and vertex == START:
            graph.open_start()
        elif op == OPEN and vertex == CHILD:
            graph.open_child()
        elif op == NEXT and vertex == START:
            graph.next_start()
        elif op == NEXT and vertex == CHILD:
            graph.next_child()
        elif op == CLOSE:
            graph.close()

    @classmethod
    def describe(cls, args: tuple[int, ...]) -> str:
        op, vertex, _ = args
        which = ("START", "CHILD")[vertex]
        return {OPEN: f"OPEN {which}", NEXT: f"NEXT {which}", CLOSE: "CLOSE"}[op]


@program
def estep(pad: GraphPad) -> None:
    """Open the next child if it is white; skip it if not; if there is none left, close the vertex."""
    child = pad.observe().child
    if child == WHITE:
        act(pad, OPEN, CHILD)
    elif child == NONE:
        act(pad, CLOSE)
    else:
        act(pad, NEXT, CHILD)


@program
def explore(pad: GraphPad) -> None:
    while not pad.observe().empty:
        estep(pad)


@program
def visit(pad: GraphPad) -> None:
    if pad.observe().start == WHITE:
        act(pad, OPEN, START)
        explore(pad)


@program
def toposort(pad: GraphPad) -> None:
    while pad.observe().start != NONE:
        visit(pad)
        act(pad, NEXT, START)


# The recursive teacher: every loop above becomes a program that calls itself.


@program(name="EXPLORE")
def explore_recursive(pad: GraphPad) -> None:
    if not pad.observe().empty:
        estep(pad)
        explore_recursive(pad)


@program(name="VISIT")
def visit_recursive(pad: GraphPad) -> None:
    if pad.observe().start == WHITE:
        act(pad, OPEN, START)
        explore_recursive(pad)


@program(name="TOPOSORT")
def toposort_recursive(pad: GraphPad) -> None:
    if pad.observe().start != NONE:
        visit_recursive(pad)
        act(pad, NEXT, START)
        toposort_recursive(pad)


def sample(rng: Random, size: int) -> Vertices:
    """A chain, or random edges, up to twice as many as vertices. The list of vertices is in no related order."""
    names = [str(number) for number in range(1, size + 1)]
    hidden = rng.sample(names, size)  # an order that every edge follows, so there is no cycle
    if rng.random() < CHAINS:
        edges = list(pairwise(hidden))
    else:
        pairs = (sorted(rng.sample(range(size), 2)) for _ in range(rng.randint(0, 2 * size) if size > 1 else 0))
        edges = [(hidden[before], hidden[after]) for before, after in pairs]
    return _vertices(names, edges)


def corner_cases(size: int) -> list[Vertices]:
    """A chain in the order of the list and against it, no edges, and one vertex before all others or after them."""
    names = [str(number) for number in range(1, size + 1)]
    chain = list(pairwise(names))
    backwards = [(after, before) for before, after in chain]
    star = [(names[-1], name) for name in names[:-1]]
    shapes = (chain, backwards, [], star, [(after, before) for before, after in star])
    return [_vertices(names, edges) for edges in shapes]


def _vertices(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> Vertices:
    """Every vertex with its children, each of them once."""
    children: dict[str, dict[str, None]] = {name: {} for name in names}
    for before, after in edges:
        children[before][after] = None
    return tuple((name, tuple(found)) for name, found in children.items())


def answer(problem: Vertices) -> list[str]:
    """The order that depth-first search gives, which is one of several right ones; here without the programs."""
    children = dict(problem)
    reached: set[str] = set()
    closed: list[str] = []
    for start in children:
        if start in reached:
            continue
        reached.add(start)
        path = [(start, iter(children[start]))]
        while path:
            vertex, left = path[-1]
            child = next((child for child in left if child not in reached), None)
            if child is None:
                closed.append(vertex)
                path.pop()
            else:
                reached.add(child)
                path.append((child, iter(children[child])))
    return closed[::-1]


def parse(words: Sequence[str]) -> Vertices:
    """Edges as words (shirt:tie), and files of edges."""
    lines: list[tuple[str, ...]] = []
    for word in words:
        if os.path.exists(word):
            lines += _lines_of(Path(word))
        else:
            before, colon, after = word.partition(":")
            if not (before and colon and after) or ":" in after:
                raise BadInput(
                    f"{word!r} is neither an edge nor an existing file: write shirt:tie for shirt before tie, or "
                    f"name a file with one edge per line, such as: shirt tie"
                )
            lines.append((before, after))
    if not lines:
        what = f"{' '.join(words)} names no vertex" if words else "there is nothing to sort"
        raise BadInput(f"{what}: give edges such as shirt:tie tie:jacket, or a file with one edge per line")
    names = dict.fromkeys(name for line in lines for name in line)
    problem = _vertices(list(names), [(line[0], line[1]) for line in lines if len(line) == 2])
    try:
        GraphPad.of(problem)
    except ValueError as error:
        raise BadInput(f"{error}, so there is no order to put it in: leave out one of these edges") from error
    return problem


def _lines_of(file: Path) -> list[tuple[str, ...]]:
    """The names on each line of a file: two for an edge, one for a vertex. Empty lines and # comments are left out."""
    if file.is_dir():
        raise BadInput(f"{file} is a folder: name a file with one edge per line, such as: shirt tie")
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} holds something other than text: name a file with one edge per line") from error
    lines, faults = [], []
    for number, line in enumerate(text.split("\n"), 1):
        names = tuple(line.split())
        if not names or line.lstrip().startswith("#"):
            continue
        if len(names) > 2 or not "".join(names).isprintable():
            shown = line if len(line) <= CHARACTERS_SHOWN else line[:CHARACTERS_SHOWN] + "..."
            faults.append(f"line {number} is {shown!r}")
        lines.append(names)
    if faults:
        more = f", and {len(faults) - LINES_SHOWN:,} more" if len(faults) > LINES_SHOWN else ""
        raise BadInput(
            f"{file}: {', '.join(faults[:LINES_SHOWN])}{more}: write two names on a line, the first of which comes "
            f"before the second, or one name for a vertex without edges"
        )
    return lines


def show(order: Sequence[str]) -> str:
    return " ".join(order)


loop = Task(
    name="toposort",
    teacher="loop",
    env=GraphPad,
    main=toposort,
    sample=sample,
    answer=answer,
    result=lambda pad: pad.graph.order(),
    parse=parse,
    show=show,
    sizes=range(1, 9),
    examples=16,
    corner_cases=corner_cases,
)
recursive = replace(loop, teacher="recursive", main=toposort_recursive)
