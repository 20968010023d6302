"""Graphs: what can be done to one, and what cannot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples.graphs import OPERATIONS, PAIRS, acyclic

from npi import GraphKind
from npi.language.graph import BLACK, GRAY, NONE, WHITE


@given(PAIRS, st.lists(st.sampled_from(OPERATIONS), max_size=60))
def test_the_start_vertex_is_open_while_anything_is_and_no_child_ever_is(pairs, operations):
    graph = acyclic(pairs)
    for operation in operations:
        getattr(graph, operation)()
        assert (graph.start() == GRAY) == (not graph.empty())
        assert graph.child() != GRAY
        assert not graph.empty() or graph.child() == NONE
        assert len(set(graph.order())) == len(graph.order())


def test_a_search_by_hand():
    """a before b and c, b before c; c is listed first."""
    graph = GraphKind().graph([("c", ()), ("a", ("b", "c")), ("b", ("c",))])

    def seen_after(*operations):
        for operation in operations:
            getattr(graph, operation)()
        return graph.start(), graph.child(), graph.empty()

    assert seen_after() == (WHITE, NONE, True)
    assert seen_after("close", "open_child", "next_child") == (WHITE, NONE, True)  # there is nothing to do it to
    assert seen_after("open_start") == (GRAY, NONE, False)
    assert seen_after("open_start", "next_start", "next_child") == (GRAY, NONE, False)
    assert seen_after("close") == (BLACK, NONE, True)
    assert seen_after("open_start") == (BLACK, NONE, True)  # it is not white
    assert seen_after("next_start", "open_start") == (GRAY, WHITE, False)
    assert seen_after("open_child") == (GRAY, BLACK, False)  # in b, which has come to c
    assert seen_after("open_child") == (GRAY, BLACK, False)
    assert seen_after("next_child") == (GRAY, NONE, False)
    assert seen_after("close") == (GRAY, BLACK, False)  # in a, which is still at b
    assert seen_after("next_child") == (GRAY, BLACK, False)
    assert seen_after("next_child", "close") == (BLACK, NONE, True)
    assert seen_after("next_start") == (BLACK, NONE, True)
    assert seen_after("next_start") == seen_after("next_start") == (NONE, NONE, True)
    assert graph.order() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "around", ["len(graph)", "graph[0]", "list(graph)", "graph.vertices", "graph._open", "graph.__open", "graph.note"]
)
def test_there_is_no_way_around_the_methods(around):
    graph = GraphKind().graph([("a", ())])
    with pytest.raises((TypeError, AttributeError)):
        eval(around, {"graph": graph})
    with pytest.raises(AttributeError):
        graph.note = 1  # type: ignore[attr-defined]  # that this is refused is the point


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        ([], "at least one vertex"),
        ([("a", ()), ("a", ())], "listed twice"),
        ([("a", ("b",))], "b, a child of a, is not among the vertices"),
        ([("a", ("a",))], "a -> a is a cycle"),
        ([("a", ("b",)), ("b", ("c",)), ("c", ("b",))], "(b -> c -> b|c -> b -> c) is a cycle"),
        ([(i, ((i + 1) % 19,)) for i in range(19)], r"^(\d+ -> ){19}\d+ is a cycle"),
        ([(i, ((i + 1) % 20,)) for i in range(20)], r"^(\d+ -> ){10}\.\.\. \(1 more\) \.\.\.( -> \d+){10} is a cycle"),
    ],
)
def test_what_no_search_can_be_made_on_is_refused(vertices, message):
    with pytest.raises(ValueError, match=message):
        GraphKind().graph(vertices)


def test_open_vertices_are_counted():
    for counted in (0, 1.5, True):
        with pytest.raises(ValueError, match=f"counted is {counted}"):
            GraphKind(counted=counted)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "operations", [["next_start"], ["open_start"], ["open_start", "close"], ["open_start", "close", "next_start"]]
)
def test_a_search_that_has_begun_is_noticed(operations):
    graph = GraphKind().graph([("a", ["b"]), ("b", [])])
    assert graph.start_fault(GraphKind()) == ""
    for operation in operations:
        getattr(graph, operation)()
    assert graph.start_fault(GraphKind()) == "is a graph whose search has begun already"
