"""Lazy tapes and graphs as objects: they answer when they may, refuse the rest, and are read from tables with care."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from npi import RIGHT, Graph, GraphKind, Tape, TapeKind
from npi.language.graph import NONE, WHITE
from npi.proof.lazy_graph import AbstractGraph, LazyGraph
from npi.proof.lazy_tape import COUNTED_SPANS, AbstractTape, LazyTape
from npi.proof.oracle import Oracle, Refused

SYMBOLS = TapeKind(symbols=2, heads=2)
VALUES = TapeKind(symbols=None, heads=2)
ENDLESS = TapeKind(symbols=2, heads=2, beyond=0)
GRAPH = GraphKind(counted=2)
ONE_CELL = AbstractTape((None,), (False, False), (0, 0), "end")

QUESTIONS: list[tuple[str, tuple[int, ...]]] = [
    ("read", ()),
    ("greater", (0, 1)),
    ("same", (0, 1)),
    ("empty", ()),
    ("at_start", ()),
    ("at_last", ()),
]
CHANGES: list[tuple[str, tuple[int, ...]]] = [
    ("write", (1,)),
    ("swap", (0, 1)),
    ("jump", (0, 1)),
    ("push", (0, 1)),
    ("pop", (0, 1)),
    ("move", (1,)),
]
GRAPH_QUESTIONS: list[tuple[str, tuple[int, ...]]] = [("start", ()), ("child", ()), ("empty", ())]
GRAPH_CHANGES: list[tuple[str, tuple[int, ...]]] = [
    (name, ()) for name in ("open_start", "open_child", "next_start", "next_child", "close")
]


def lazy_tape() -> Any:
    oracle = Oracle()
    return LazyTape(SYMBOLS, oracle, ONE_CELL), oracle


def lazy_graph() -> Any:
    oracle = Oracle()
    return LazyGraph(GRAPH, oracle, AbstractGraph(WHITE, NONE)), oracle


LAZY = pytest.mark.parametrize(("make", "concrete"), [(lazy_tape, Tape), (lazy_graph, Graph)])


@LAZY
def test_it_passes_for_a_concrete_one(make, concrete):
    lazy, _ = make()
    assert isinstance(lazy, concrete)
    assert lazy.__class__ is concrete
    with pytest.raises(TypeError, match="unhashable"):
        hash(lazy)


@LAZY
@pytest.mark.parametrize(
    ("use", "message"),
    [
        (repr, "can be shown as text"),
        (str, "can be shown as text"),
        (dir, "lists its names"),
        (copy.copy, "can be copied"),
        (copy.deepcopy, "can be copied"),
        (pickle.dumps, "can be copied"),
        (lambda lazy: lazy.length, "has 'length'"),
        (lambda lazy: lazy._length, "has '_length'"),
        (lambda lazy: lazy.length__, "has 'length__'"),
        (lambda lazy: getattr(lazy, "__length"), "has '__length'"),
    ],
)
def test_what_only_a_concrete_one_could_do_is_refused(make, concrete, use, message):
    lazy, oracle = make()
    with pytest.raises(Refused, match=message):
        use(lazy)
    assert message in oracle.refusal


@LAZY
def test_python_may_ask_for_names_of_its_own(make, concrete):
    lazy, _ = make()
    assert not hasattr(lazy, "__index__")


@pytest.mark.parametrize(
    ("make", "method", "args"),
    [(lazy_tape, *use) for use in QUESTIONS + CHANGES]
    + [(lazy_graph, *use) for use in GRAPH_QUESTIONS + GRAPH_CHANGES],
)
def test_it_answers_only_while_the_environment_runs(make, method, args):
    lazy, oracle = make()
    getattr(lazy, method)(*args)
    oracle.enabled = False
    with pytest.raises(Refused, match="only observe and act may use tapes and graphs"):
        getattr(lazy, method)(*args)


@pytest.mark.parametrize(
    ("make", "method", "args"),
    [(lazy_tape, *use) for use in CHANGES] + [(lazy_graph, *use) for use in GRAPH_CHANGES],
)
def test_it_does_not_change_while_the_environment_observes(make, method, args):
    lazy, oracle = make()
    oracle.observing = True
    with pytest.raises(Refused, match="observe changes a tape or a graph"):
        getattr(lazy, method)(*args)


@pytest.mark.parametrize(("method", "args"), [(name, args) for name, args in QUESTIONS + CHANGES if name != "empty"])
@pytest.mark.parametrize("head", [-1, 2, 0.5, None])
def test_a_head_that_a_tape_does_not_have_is_an_error(method, args, head):
    """On both kinds of tape, in each place where a head is given, even where the operation would do nothing."""
    for place in range(max(1, len(args) - (method in ("write", "move")))):
        heads = [0, 0] if len(args) == 2 else [0]
        heads[place] = head
        given = (*args, *heads) if method in ("write", "move") else heads
        spans = SYMBOLS.tape([0, 1]), LazyTape(SYMBOLS, Oracle(), ONE_CELL._replace(spans=1))
        spans[0].push(0, 0)
        for tape in spans:
            with pytest.raises(IndexError, match="there is no head"):
                getattr(tape, method)(*given)
            if method == "move":
                with pytest.raises(IndexError, match="there is no head"):
                    tape.move(7, head)


@pytest.mark.parametrize("head", [True, 1.0, np.int64(1)])
def test_a_head_is_whatever_equals_its_number(head):
    """On both kinds of tape: code of a task could tell them apart by an error."""
    for tape in (SYMBOLS.tape([0, 1, 1]), LazyTape(SYMBOLS, Oracle(), GOOD_TAPES[1][1]._replace(heads=(0, 0)))):
        tape.move(RIGHT, head)
        assert not tape.same(0, head)
        tape.jump(0, head)
        tape.write(1, head)
        assert (tape.same(0, 1), tape.read(0)) == (True, 1)


def test_without_a_number_head_0_is_meant():
    tape = LazyTape(SYMBOLS, oracle := Oracle(), GOOD_TAPES[1][1]._replace(heads=(0, 0)))

    def run():
        tape.load_abstract(GOOD_TAPES[1][1]._replace(heads=(0, 0)))
        tape.move(RIGHT, 1)
        tape.write(0, 1)
        tape.write(1)
        return tape.read(), tape.read(0), tape.same(0, 1)

    assert {shown for shown in oracle.outcomes(run) if not shown[2]} == {(1, 1, False)}


def test_no_error_tells_a_lazy_one_from_a_concrete_one():
    graphs: tuple[Any, Any] = (LazyGraph(GRAPH, Oracle(), AbstractGraph(WHITE, NONE)), GRAPH.graph([("a", ())]))
    tapes: tuple[Any, Any] = lazy_tape()[0], SYMBOLS.tape([0])
    for lazy, concrete in (tapes, graphs):
        for use in (len, lambda one: one[0], lambda one: one < one, lambda one: one()):
            messages = []
            for each in (lazy, concrete):
                with pytest.raises(TypeError) as error:
                    use(each)
                messages.append(str(error.value))
            assert messages[0] == messages[1]


GOOD_TAPES = [
    (SYMBOLS, ONE_CELL),
    (SYMBOLS, AbstractTape((0, 1, None), (True, False, True, False), (2, 0), "end")),
    (VALUES, AbstractTape((None, None), (False, True, False), (0, 1), "end", ((0, 1, True),), COUNTED_SPANS, True)),
    (ENDLESS, AbstractTape((1,), (False, False), (0, 0), "given")),
    (ENDLESS, AbstractTape((0,), (False, True), (0, 0), "beyond")),
]
TAPE_FAULTS: list[dict[str, Any]] = [
    {"cells": ()},
    {"cells": (2,)},
    {"cells": (-1,)},
    {"cells": (True,)},
    {"cells": ("0",)},
    {"cells": (1.0,)},
    {"gaps": (False,)},
    {"gaps": (False, False, False)},
    {"gaps": (0, False)},
    {"gaps": (False, 1)},
    {"heads": (0,)},
    {"heads": (0, 0, 0)},
    {"heads": (0, 1)},
    {"heads": (-1, 0)},
    {"heads": (False, 0)},
    {"heads": (0, None)},
    {"tail": "given"},
    {"tail": "beyond"},
    {"tail": None},
    {"greater": ((0, 1, True),)},
    {"greater": ((-1, 0, True),)},
    {"greater": ((0, 0),)},
    {"greater": ((0, 0, True, True),)},
    {"greater": ((0, 0, 1),)},
    {"greater": ((0, False, True),)},
    {"spans": -1},
    {"spans": COUNTED_SPANS + 1},
    {"spans": True},
    {"spans": 1.0},
    {"maybe_more": 1},
    {"maybe_more": None},
]


@pytest.mark.parametrize(("kind", "tape"), GOOD_TAPES)
def test_an_abstract_tape_fits_its_kind(kind, tape):
    assert tape.fits(kind)


@pytest.mark.parametrize("fault", TAPE_FAULTS, ids=str)
def test_an_abstract_tape_with_a_fault_does_not_fit(fault):
    assert not ONE_CELL._replace(**fault).fits(SYMBOLS)


@pytest.mark.parametrize(
    "fault",
    [
        {"cells": (0, None, 2)},
        {"gaps": (False, False, False, 1)},
        {"heads": (0, 3)},
        {"greater": ((0, 1, True), (0, 3, True))},
        {"greater": ((0, 1, True), (1, 2))},
        {"greater": ((0, 1, True), (1, 2, 0))},
    ],
    ids=str,
)
def test_a_fault_in_one_of_several_is_enough(fault):
    assert not GOOD_TAPES[1][1]._replace(**fault).fits(SYMBOLS)


def test_symbols_and_ends_are_those_of_the_kind():
    assert not ONE_CELL.fits(ENDLESS)
    assert not ONE_CELL._replace(cells=(0,)).fits(VALUES)


@pytest.mark.parametrize("graph", [AbstractGraph(WHITE, NONE), AbstractGraph(None, None), AbstractGraph(2, 3, 2, True)])
def test_an_abstract_graph_fits_its_kind(graph):
    assert graph.fits(GRAPH)


@pytest.mark.parametrize(
    "fault",
    [
        *({field: wrong} for field in ("start", "child") for wrong in (4, -1, True, "1", 1.0)),
        *({"open_vertices": wrong} for wrong in (-1, 3, True, None, 1.0)),
        *({"maybe_more": wrong} for wrong in (1, None)),
    ],
    ids=str,
)
def test_an_abstract_graph_with_a_fault_does_not_fit(fault):
    assert not AbstractGraph(WHITE, NONE, 1)._replace(**fault).fits(GRAPH)
