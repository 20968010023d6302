"""Lazy tapes stand for concrete ones: whatever happens on a tape can happen on its sketch."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npi.language.tape import LEFT, RIGHT, TapeKind
from npi.proof.lazy_tape import AbstractTape, LazyTape
from npi.proof.oracle import Oracle

KINDS = [
    TapeKind(symbols=3, heads=2),
    TapeKind(symbols=3, heads=2, near=1),
    TapeKind(symbols=3, heads=1, home="right", beyond=2),
    TapeKind(symbols=3, heads=2, home="right", beyond=2, near=2),
    TapeKind(symbols=3, heads=1, beyond=0, given=False, near=1),
]

ACTIONS = st.tuples(st.sampled_from(["move", "write", "read", "ends", "forget"]), st.integers(-1, 3), st.integers(0, 1))


class Guide:
    """An oracle that is made to agree with a concrete tape: it looks for choices under which both show the same."""

    def __init__(self, kind, cells, show=None):
        show = show or look
        self.kind, self.actions = kind, []
        self.tape = kind.tape(cells)
        self.states = set()  # every state in which a sketch that has agreed so far may be
        for sketch in every(lambda oracle: LazyTape.first(kind, oracle, {})):
            self.states |= {state for state, shown in self.after(sketch, show) if shown == show(self.tape, kind)}
        assert self.states

    def after(self, sketch, do):
        """All that may come of doing something, and what each shows."""

        def run(oracle):
            tape = LazyTape(self.kind, oracle, sketch)
            shown = do(tape, self.kind)
            return tape, shown

        for tape, shown in every(run):
            yield full(tape), shown

    def do(self, action):
        expected = action(self.tape, self.kind)
        states = set()
        for sketch in self.states:
            states |= {state for state, shown in self.after(sketch, action) if shown == expected}
        self.states = states
        assert states, "the concrete tape did what no sketch could"

    def forget(self):
        self.states = {LazyTape(self.kind, Oracle(), state).sketch() for state in self.states}


def every(run):
    oracle = Oracle()
    while True:
        yield run(oracle)
        if not oracle.advance():
            return


def full(tape):
    """All of a lazy tape, with nothing forgotten."""
    hidden = {name.removeprefix("_LazyTape__"): getattr(tape, name) for name in dir(tape) if "LazyTape__" in name}
    greater = tuple(sorted((first, second, known) for (first, second), known in hidden["greater"].items()))
    cells, gaps, heads = (tuple(hidden[name]) for name in ("cells", "gaps", "heads"))
    return AbstractTape(cells, gaps, heads, hidden["tail"], greater, hidden["noted"], hidden["more"])


def look(tape, kind):
    return tuple((tape.read(h), tape.at_start(h), tape.at_last(h)) for h in range(kind.heads))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=120, deadline=None)
@given(cells=st.lists(st.integers(0, 2), min_size=1, max_size=6), actions=st.lists(ACTIONS, max_size=14))
def test_what_happens_on_a_tape_can_happen_on_its_sketch(kind, cells, actions):
    if kind.beyond is not None:  # the symbols of a problem, then blanks for ever
        cells = [cell for cell in cells if cell != kind.beyond] or [1 if kind.beyond != 1 else 0]
    guide = Guide(kind, cells if kind.given else [])
    for what, value, head in actions:
        head = min(head, kind.heads - 1)
        if what == "forget":
            guide.forget()
        elif what == "read":
            guide.do(look)
        elif what == "ends":
            guide.do(lambda tape, _, head=head: (tape.at_start(head), tape.at_last(head)))
        else:

            def act(tape, kind, what=what, value=value, head=head):
                getattr(tape, what)(value, head)
                return look(tape, kind)

            guide.do(act)


HELD = [
    TapeKind(symbols=None, heads=2),
    TapeKind(symbols=None, heads=3, far=(2,), drawn=0),
    TapeKind(symbols=None, heads=3, far=(2,), home="right"),
]
PLACES = ["move", "swap", "jump", "push", "pop", "forget"]


def look_at_places(tape, kind):
    heads = range(kind.heads)
    pairs = [(tape.greater(h, o), tape.same(h, o)) for h in heads for o in heads]
    return tape.empty(), pairs, [(tape.at_start(h), tape.at_last(h)) for h in heads]


@pytest.mark.parametrize("kind", HELD, ids=str)
@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(st.integers(0, 9), min_size=1, max_size=5),
    actions=st.lists(st.tuples(st.sampled_from(PLACES), st.integers(0, 2), st.integers(0, 2)), max_size=6),
)
def test_what_is_compared_swapped_and_noted_on_a_tape_can_be_on_its_sketch(kind, cells, actions):
    guide = Guide(kind, cells, look_at_places)
    for what, first, second in actions:
        if what == "forget":
            guide.forget()
            continue
        head, other = min(first, kind.heads - 1), min(second, kind.heads - 1)

        def act(tape, kind, what=what, head=head, other=other):
            getattr(tape, what)(head, other)  # a direction and a head, to move; two heads, for all else
            return look_at_places(tape, kind)

        guide.do(act)


def test_what_can_only_be_compared_cannot_be_read():
    for tape in (
        HELD[0].tape(["b", "a"]),
        LazyTape(HELD[0], Oracle(), AbstractTape((None,), (False, True), (0, 0), "end")),
    ):
        with pytest.raises(TypeError, match="compared and swapped, not read"):
            tape.read()
        tape.write(1)
    words = HELD[0].tape(["b", "a"])
    words.move(RIGHT, 1)
    assert words.greater(0, 1)
    words.swap(0, 1)
    assert not words.greater(0, 1)
    assert words.contents() == ["a", "b"]


def test_the_check_above_can_fail():
    """A lazy tape that forgets to leave an end open is found out."""
    kind = TapeKind(symbols=2)
    guide = Guide(kind, [0, 1, 1])
    guide.states = {AbstractTape((0,), (False, False), (0,), "end")}
    with pytest.raises(AssertionError, match="no sketch could"):
        guide.do(lambda tape, _: (tape.move(RIGHT), tape.at_last()))


def test_an_oracle_goes_all_ways_once():
    ways = list(every(lambda oracle: (a := oracle.choose(2), oracle.choose(3) if a else 0, oracle.choose(1))))
    assert ways == [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 2, 0)]


def test_a_sketch_keeps_what_is_near_and_forgets_the_rest():
    kind = TapeKind(symbols=5, near=0)
    tape = LazyTape(kind, Oracle(), AbstractTape((1, 2, 3, 4), (False,) * 5, (3,), "end"))
    assert tape.sketch() == AbstractTape((None, 4), (True, False, False), (1,), "end")
    tape = LazyTape(TapeKind(symbols=5, near=2), Oracle(), AbstractTape((1, 2, 3, 4), (False,) * 5, (3,), "end"))
    assert tape.sketch() == AbstractTape((2, 3, 4), (True, False, False, False), (2,), "end")
    tape = LazyTape(kind, Oracle(), AbstractTape((1, 2), (False, True, False), (1,), "end"))
    assert tape.sketch() == AbstractTape((2,), (True, False), (0,), "end")


def test_a_lazy_tape_has_no_more_to_offer_than_reading_writing_and_moving():
    tape: Any = LazyTape(TapeKind(symbols=2), Oracle(), AbstractTape((None,), (False, True), (0,), "end"))
    for forbidden in (len, iter, lambda t: t[0], lambda t: t.contents(), lambda t: t.cells):
        with pytest.raises((TypeError, AttributeError)):
            forbidden(tape)
    tape.move(LEFT)
    tape.move(7)
    assert tape.at_start()
