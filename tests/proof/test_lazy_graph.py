"""Lazy graphs cover concrete ones: whatever happens on a graph can happen on its abstract graph."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples.graphs import OPERATIONS, PAIRS, acyclic

from npi.language.graph import BLACK, GRAY, NONE, WHITE, GraphKind
from npi.proof.lazy_graph import AbstractGraph, LazyGraph
from npi.proof.oracle import Oracle, Refused


def outcomes(kind, state, operations, observed=True):
    """Every abstract state that operations on a lazy graph may lead to, with what it then shows."""
    oracle = Oracle()
    while True:
        graph = LazyGraph(kind, oracle, state)
        for operation in operations:
            getattr(graph, operation)()
        shown = observation(graph) if observed else None
        yield graph.abstract_remembered(), shown
        if not oracle.advance():
            return


def observation(graph):
    return graph.start(), graph.child(), graph.empty()


def follow(kind, graph, operations, observed):
    """The abstract states that agree with a concrete graph. `observed`: after which operations both are observed."""
    states = {LazyGraph.abstract_start(kind, Oracle(), {}, 0)}
    for operation, compared in zip(operations, observed, strict=True):
        getattr(graph, operation)()
        expected = observation(graph) if compared else None
        states = {
            after
            for state in states
            for after, shown in outcomes(kind, state, [operation], compared)
            if shown == expected
        }
        assert states, f"no abstract graph could do what the concrete one did at {operation}"
    return states


@pytest.mark.parametrize("counted", [1, 2, 3])
@settings(max_examples=200, deadline=None)
@given(PAIRS, st.lists(st.tuples(st.sampled_from([*OPERATIONS, "open_child"]), st.booleans()), max_size=40))
def test_what_happens_on_a_graph_can_happen_on_its_abstract_graph(counted, pairs, actions):
    follow(GraphKind(counted), acyclic(pairs), [a for a, _ in actions], [observed for _, observed in actions])


@settings(max_examples=200, deadline=None)
@given(PAIRS, st.lists(st.sampled_from([*OPERATIONS, "open_child", "next_child", "close"]), max_size=60))
def test_one_abstract_graph_remains_if_every_step_is_observed_and_every_open_vertex_counted(pairs, operations):
    states = follow(GraphKind(counted=9), acyclic(pairs), operations, [True] * len(operations))
    assert len(states) == 1  # of five vertices, no more than five are open


@pytest.mark.parametrize("colours", [(WHITE, BLACK), (NONE, BLACK), (NONE, WHITE)])
def test_the_check_above_can_fail(monkeypatch, colours):
    """A lazy graph that misses a possible colour is found out."""
    monkeypatch.setattr("npi.proof.lazy_graph.POSSIBLE_COLOURS", colours)
    operations = ["open_start", "close", "next_start", "open_start", "open_child", "close", "next_child"]
    with pytest.raises(AssertionError, match="no abstract graph could"):
        follow(GraphKind(), acyclic([(0, 1), (0, 3)]), operations, [True] * len(operations))


def test_opening_and_closing_a_vertex():
    kind = GraphKind()
    states = dict.fromkeys(shown for _, shown in outcomes(kind, AbstractGraph(WHITE, NONE), ["open_start"]))
    assert list(states) == [(GRAY, NONE, False), (GRAY, WHITE, False), (GRAY, BLACK, False)]
    shown = {shown for _, shown in outcomes(kind, AbstractGraph(GRAY, NONE, 1), ["close"])}
    assert shown == {(BLACK, NONE, True)}  # the only open vertex is the start vertex
    shown = {shown for _, shown in outcomes(kind, AbstractGraph(GRAY, NONE, 2), ["close"])}
    assert shown == {(GRAY, BLACK, False)}  # the closed vertex is the next child of its parent
    shown = {shown for _, shown in outcomes(kind, AbstractGraph(GRAY, NONE, 1, True), ["close"])}
    assert shown == {(GRAY, BLACK, False), (BLACK, NONE, True)}
    assert [s for s, _ in outcomes(kind, AbstractGraph(GRAY, NONE, 2, True), ["close"], False)] == [
        AbstractGraph(GRAY, BLACK, 1, True)  # another one is certainly open
    ]
    assert [s for s, _ in outcomes(kind, AbstractGraph(GRAY, WHITE, 2), ["open_child"], False)] == [
        AbstractGraph(GRAY, None, 2, True)
    ]


def test_a_lazy_graph_has_the_methods_of_a_graph_alone_and_answers_only_while_the_oracle_is_enabled():
    oracle = Oracle()
    graph: Any = LazyGraph(GraphKind(), oracle, AbstractGraph(WHITE, NONE))
    for forbidden in (len, iter, lambda g: g[0]):
        with pytest.raises(TypeError):
            forbidden(graph)
    for forbidden in (lambda g: g.order(), lambda g: g.vertices):
        with pytest.raises(Refused, match="only a concrete tape or graph allows"):
            forbidden(graph)
    oracle.enabled = False
    for method in ("start", "child", "empty", *OPERATIONS):
        with pytest.raises(Refused, match="only observe and act may use"):
            getattr(graph, method)()


def test_past_the_last_vertex_there_is_none():
    for state, operation in ((AbstractGraph(NONE, NONE), "next_start"), (AbstractGraph(GRAY, NONE, 1), "next_child")):
        assert [after for after, _ in outcomes(GraphKind(), state, [operation], False)] == [state]
