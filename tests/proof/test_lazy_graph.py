"""Lazy graphs stand for concrete ones: whatever happens on a graph can happen on its sketch."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.graphs import OPERATIONS, PAIRS, acyclic

from npi.language.graph import BLACK, GRAY, NONE, WHITE, GraphKind
from npi.proof.lazy_graph import AbstractGraph, LazyGraph
from npi.proof.oracle import Oracle


def ways(kind, sketch, operations, look=True):
    """Every state in which a lazy graph may be after some operations, with what it then shows."""
    oracle = Oracle()
    while True:
        graph = LazyGraph(kind, oracle, sketch)
        for operation in operations:
            getattr(graph, operation)()
        shown = observation(graph) if look else None
        yield graph.sketch(), shown
        if not oracle.advance():
            return


def observation(graph):
    return graph.start(), graph.child(), graph.empty()


def follow(kind, graph, operations, looks):
    """All states of sketches that agree with a concrete graph, of which some operations are looked at."""
    states = {LazyGraph.first(kind, Oracle(), {})}
    for operation, look in zip(operations, looks, strict=True):
        getattr(graph, operation)()
        expected = observation(graph) if look else None
        states = {
            state for sketch in states for state, shown in ways(kind, sketch, [operation], look) if shown == expected
        }
        assert states, f"the concrete graph did what no sketch could, at {operation}"
    return states


@pytest.mark.parametrize("counted", [1, 2, 3])
@settings(max_examples=200, deadline=None)
@given(PAIRS, st.lists(st.tuples(st.sampled_from([*OPERATIONS, "open_child"]), st.booleans()), max_size=40))
def test_what_happens_on_a_graph_can_happen_on_its_sketch(counted, pairs, actions):
    follow(GraphKind(counted), acyclic(pairs), [a for a, _ in actions], [look for _, look in actions])


@settings(max_examples=200, deadline=None)
@given(PAIRS, st.lists(st.sampled_from([*OPERATIONS, "open_child", "next_child", "close"]), max_size=60))
def test_nothing_is_left_open_of_a_sketch_that_is_looked_at_and_counts_all(pairs, operations):
    states = follow(GraphKind(counted=9), acyclic(pairs), operations, [True] * len(operations))
    assert len(states) == 1  # of five vertices, no more than five are open


@pytest.mark.parametrize("colours", [(WHITE, BLACK), (NONE, BLACK), (NONE, WHITE)])
def test_the_check_above_can_fail(monkeypatch, colours):
    """A lazy graph that leaves out what may be is found out."""
    monkeypatch.setattr("npi.proof.lazy_graph.NOT_OPEN", colours)
    operations = ["open_start", "close", "next_start", "open_start", "open_child", "close", "next_child"]
    with pytest.raises(AssertionError, match="no sketch could"):
        follow(GraphKind(), acyclic([(0, 1), (0, 3)]), operations, [True] * len(operations))


def test_what_a_sketch_knows():
    kind = GraphKind()
    states = dict.fromkeys(shown for _, shown in ways(kind, AbstractGraph(WHITE, NONE), ["open_start"]))
    assert list(states) == [(GRAY, NONE, False), (GRAY, WHITE, False), (GRAY, BLACK, False)]
    shown = {shown for _, shown in ways(kind, AbstractGraph(GRAY, NONE, 1), ["close"])}
    assert shown == {(BLACK, NONE, True)}  # the only one open is the start vertex
    shown = {shown for _, shown in ways(kind, AbstractGraph(GRAY, NONE, 2), ["close"])}
    assert shown == {(GRAY, BLACK, False)}  # its parent has come to what was closed
    shown = {shown for _, shown in ways(kind, AbstractGraph(GRAY, NONE, 1, True), ["close"])}
    assert shown == {(GRAY, BLACK, False), (BLACK, NONE, True)}
    assert [s for s, _ in ways(kind, AbstractGraph(GRAY, WHITE, 2), ["open_child"], False)] == [
        AbstractGraph(GRAY, None, 2, True)
    ]


def test_a_lazy_graph_has_no_more_to_offer_than_a_graph_and_answers_when_asked_to():
    oracle = Oracle()
    graph: Any = LazyGraph(GraphKind(), oracle, AbstractGraph(WHITE, NONE))
    for forbidden in (len, iter, lambda g: g[0], lambda g: g.order(), lambda g: g.vertices):
        with pytest.raises((TypeError, AttributeError)):
            forbidden(graph)
    oracle.open = False
    for method in ("start", "child", "empty", *OPERATIONS):
        with pytest.raises(AttributeError, match="looked at by observe and act alone"):
            getattr(graph, method)()
