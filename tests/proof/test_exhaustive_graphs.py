"""Every operation of a lazy graph is covered, tested on all small graphs: see test_exhaustive_tapes.py.

What a graph does is written here a second time, and so is what an abstract graph stands for.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from samples.graphs import OPERATIONS, graphs

from npi.language.graph import BLACK, GRAY, NONE, WHITE, GraphKind
from npi.proof.lazy_graph import AbstractGraph, LazyGraph
from npi.proof.oracle import Oracle

ASKING = ("start", "child", "empty")
Vertices = tuple[tuple[str, tuple[str, ...]], ...]  # each with its children
SMALL = [*graphs(3)]
# Every vertex on one path, so that more are open than an abstract graph counts, and a child that is closed when seen.
LONG: Vertices = (("a", ("b", "c", "e")), ("b", ("c",)), ("c", ("d",)), ("d", ("e",)), ("e", ()))
# A path from whose every vertex another one leads off: more vertices are opened after some of them were closed.
COMB: Vertices = (
    ("a", ("b", "x")),
    ("b", ("c", "y")),
    ("c", ("d", "z")),
    ("d", ("w",)),
    *((leaf, ()) for leaf in "wxyz"),
)


class State(NamedTuple):
    """A graph at one moment."""

    start: int = 0  # place of the start vertex
    stack: tuple[tuple[str, int], ...] = ()  # open vertices, each with the place of its next child
    closed: tuple[str, ...] = ()


def apply(vertices: Vertices, state: State, operation: str) -> tuple[object, State]:
    """What a method answers, and the graph afterwards."""
    start, stack, closed = state
    children = dict(vertices)

    def colour(name: str) -> int:
        return BLACK if name in closed else GRAY if any(name == vertex for vertex, _ in stack) else WHITE

    at_start = vertices[start][0] if start < len(vertices) else None
    top, place = stack[-1] if stack else ("", 0)
    at_child = children[top][place] if stack and place < len(children[top]) else None
    if operation == "start":
        return NONE if at_start is None else colour(at_start), state
    if operation == "child":
        return NONE if at_child is None else colour(at_child), state
    if operation == "empty":
        return stack == (), state
    if operation == "open_start" and at_start is not None and colour(at_start) == WHITE:
        return None, State(start, (*stack, (at_start, 0)), closed)
    if operation == "open_child" and at_child is not None and colour(at_child) == WHITE:
        return None, State(start, (*stack, (at_child, 0)), closed)
    if operation == "next_start" and at_start is not None and not stack:
        return None, State(start + 1, stack, closed)
    if operation == "next_child" and at_child is not None:
        return None, State(start, (*stack[:-1], (top, place + 1)), closed)
    if operation == "close" and stack:
        return None, State(start, stack[:-1], (*closed, top))
    return None, state


def stands_for(vertices: Vertices, abstract: AbstractGraph, state: State) -> bool:
    """Whether an abstract graph stands for a concrete one, by definition."""
    seen = [apply(vertices, state, name)[0] for name in ("start", "child")]
    known = (abstract.start, abstract.child)
    colours = all(one == other if one is not None else other != GRAY for one, other in zip(known, seen, strict=True))
    opened = len(state.stack)
    return colours and (opened >= abstract.open_vertices if abstract.maybe_more else opened == abstract.open_vertices)


def outcomes(kind: GraphKind, abstract: AbstractGraph, operation: str) -> list[tuple[object, AbstractGraph]]:
    oracle = Oracle()

    def run() -> tuple[object, AbstractGraph]:
        graph = LazyGraph(kind, oracle, abstract)
        return getattr(graph, operation)(), graph.abstract_remembered()

    return oracle.outcomes(run)


@pytest.mark.parametrize("counted", [1, 2, 3])
def test_every_operation_is_covered_on_all_small_graphs(counted):
    kind = GraphKind(counted)
    known = {}
    for vertices in (*SMALL, LONG, COMB):
        first = (State(), LazyGraph.abstract_start(kind, Oracle(), {}, 0))
        assert stands_for(vertices, first[1], first[0])
        pairs, pending = {first}, [first]
        while pending:
            state, abstract = pending.pop()
            assert abstract.fits(kind)
            for operation in (*ASKING, *OPERATIONS):
                expected, after = apply(vertices, state, operation)
                if (abstract, operation) not in known:
                    known[abstract, operation] = outcomes(kind, abstract, operation)
                new = {
                    (after, result)
                    for shown, result in known[abstract, operation]
                    if shown == expected and stands_for(vertices, result, after)
                }
                assert new, (
                    f"{operation} on {state} of {vertices}: {abstract} stands for it, and cannot do what it does"
                )
                pending += new - pairs
                pairs |= new


def test_a_concrete_graph_does_what_the_model_does():
    """Every operation on every small graph, in every state that operations lead to."""
    for vertices in (*SMALL, LONG, COMB):
        paths: dict[State, list[str]] = {State(): []}
        pending = [State()]
        while pending:
            state = pending.pop()
            graph = GraphKind().graph(vertices)
            for operation in paths[state]:
                getattr(graph, operation)()
            assert graph.order() == [*state.closed[::-1]]
            for operation in ASKING:
                assert getattr(graph, operation)() == apply(vertices, state, operation)[0], (paths[state], operation)
            for operation in OPERATIONS:
                _, after = apply(vertices, state, operation)
                if after not in paths:
                    paths[after] = [*paths[state], operation]
                    pending.append(after)
