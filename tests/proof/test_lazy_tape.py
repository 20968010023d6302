"""Lazy tapes cover concrete ones: whatever happens on a tape can happen on its abstract tape."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npi.language.tape import LEFT, RIGHT, TapeKind
from npi.proof.lazy_tape import AbstractTape, LazyTape
from npi.proof.oracle import Oracle, Refused

KINDS = [
    TapeKind(symbols=3, heads=2),
    TapeKind(symbols=3, heads=2, symbol_radius=1),
    TapeKind(symbols=3, heads=1, home="right", beyond=2),
    TapeKind(symbols=3, heads=2, home="right", beyond=2, symbol_radius=2),
    TapeKind(symbols=3, heads=1, beyond=0, given=False, symbol_radius=1),
]

ACTIONS = st.tuples(st.sampled_from(["move", "write", "read", "ends", "forget"]), st.integers(-1, 3), st.integers(0, 1))


class Follower:
    """A concrete tape, and all abstract tapes that have agreed with it so far."""

    def __init__(self, kind, cells, observe=None):
        observe = observe or observe_cells
        self.kind = kind
        self.tape = kind.tape(cells)
        self.states = set()  # abstract tapes under which every observation so far is possible
        for initial in all_outcomes(lambda oracle: LazyTape.abstract_start(kind, oracle, {}, 0)):
            self.states |= {state for state, shown in self.after(initial, observe) if shown == observe(self.tape, kind)}
        assert self.states

    def after(self, state, action):
        """Every abstract tape that an action may lead to, and what it shows."""

        def run(oracle):
            tape = LazyTape(self.kind, oracle, state)
            shown = action(tape, self.kind)
            return tape, shown

        for tape, shown in all_outcomes(run):
            yield tape.abstract_state(), shown

    def do(self, action):
        expected = action(self.tape, self.kind)
        states = set()
        for before in self.states:
            states |= {state for state, shown in self.after(before, action) if shown == expected}
        self.states = states
        assert states, "no abstract tape could do what the concrete one did"

    def forget(self):
        self.states = {LazyTape(self.kind, Oracle(), state).abstract_remembered() for state in self.states}


def all_outcomes(run):
    oracle = Oracle()
    while True:
        yield run(oracle)
        if not oracle.advance():
            return


def observe_cells(tape, kind):
    return tuple((tape.read(h), tape.at_start(h), tape.at_last(h)) for h in range(kind.heads))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=120, deadline=None)
@given(cells=st.lists(st.integers(0, 2), min_size=1, max_size=6), actions=st.lists(ACTIONS, max_size=14))
def test_what_happens_on_a_tape_can_happen_on_its_abstract_tape(kind, cells, actions):
    if kind.beyond is not None:  # the symbols of a problem, then blanks for ever
        cells = [cell for cell in cells if cell != kind.beyond] or [1 if kind.beyond != 1 else 0]
    follower = Follower(kind, cells if kind.given else [])
    for what, value, head in actions:
        head = min(head, kind.heads - 1)
        if what == "forget":
            follower.forget()
        elif what == "read":
            follower.do(observe_cells)
        elif what == "ends":
            follower.do(lambda tape, _, head=head: (tape.at_start(head), tape.at_last(head)))
        else:

            def act(tape, kind, what=what, value=value, head=head):
                getattr(tape, what)(value, head)
                return observe_cells(tape, kind)

            follower.do(act)


SORTABLE = [
    TapeKind(symbols=None, heads=2),
    TapeKind(symbols=None, heads=3, far=(2,), cell_radius=0),
    TapeKind(symbols=None, heads=3, far=(2,), home="right"),
]
OPERATIONS = ["move", "swap", "jump", "push", "pop", "forget"]


def observe_places(tape, kind):
    heads = range(kind.heads)
    pairs = [(tape.greater(h, o), tape.same(h, o)) for h in heads for o in heads]
    return tape.empty(), pairs, [(tape.at_start(h), tape.at_last(h)) for h in heads]


@pytest.mark.parametrize("kind", SORTABLE, ids=str)
@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(st.integers(0, 9), min_size=1, max_size=5),
    actions=st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 2), st.integers(0, 2)), max_size=6),
)
def test_comparisons_swaps_and_spans_on_a_tape_are_possible_on_its_abstract_tape(kind, cells, actions):
    follower = Follower(kind, cells, observe_places)
    for what, first, second in actions:
        if what == "forget":
            follower.forget()
            continue
        head, other = min(first, kind.heads - 1), min(second, kind.heads - 1)

        def act(tape, kind, what=what, head=head, other=other):
            getattr(tape, what)(head, other)  # move takes a direction and a head, the others two heads
            return observe_places(tape, kind)

        follower.do(act)


def test_values_that_can_only_be_compared_cannot_be_read():
    for tape in (
        SORTABLE[0].tape(["b", "a"]),
        LazyTape(SORTABLE[0], Oracle(), AbstractTape((None,), (False, True), (0, 0), "end")),
    ):
        with pytest.raises(TypeError, match="compared and swapped, not read"):
            tape.read()
        tape.write(1)
    words = SORTABLE[0].tape(["b", "a"])
    words.move(RIGHT, 1)
    assert words.greater(0, 1)
    words.swap(0, 1)
    assert not words.greater(0, 1)
    assert words.contents() == ["a", "b"]


def test_the_check_above_can_fail():
    """An abstract tape that covers tapes of one cell alone does not cover one of three cells."""
    kind = TapeKind(symbols=2)
    follower = Follower(kind, [0, 1, 1])
    follower.states = {AbstractTape((0,), (False, False), (0,), "end")}
    with pytest.raises(AssertionError, match="no abstract tape could"):
        follower.do(lambda tape, _: (tape.move(RIGHT), tape.at_last()))


def test_an_oracle_tries_every_combination_once():
    combinations = list(
        all_outcomes(lambda oracle: (a := oracle.choose(2), oracle.choose(3) if a else 0, oracle.choose(1)))
    )
    assert combinations == [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 2, 0)]


def test_an_abstract_tape_keeps_what_is_near_a_head_and_forgets_the_rest():
    kind = TapeKind(symbols=5, symbol_radius=0)
    tape = LazyTape(kind, Oracle(), AbstractTape((1, 2, 3, 4), (False,) * 5, (3,), "end"))
    assert tape.abstract_remembered() == AbstractTape((None, 4), (True, False, False), (1,), "end")
    tape = LazyTape(
        TapeKind(symbols=5, symbol_radius=2), Oracle(), AbstractTape((1, 2, 3, 4), (False,) * 5, (3,), "end")
    )
    assert tape.abstract_remembered() == AbstractTape((2, 3, 4), (True, False, False, False), (2,), "end")
    tape = LazyTape(kind, Oracle(), AbstractTape((1, 2), (False, True, False), (1,), "end"))
    assert tape.abstract_remembered() == AbstractTape((2,), (True, False), (0,), "end")


def test_a_lazy_tape_has_the_methods_of_a_tape_alone():
    tape: Any = LazyTape(TapeKind(symbols=2), Oracle(), AbstractTape((None,), (False, True), (0,), "end"))
    for forbidden in (len, iter, lambda t: t[0]):
        with pytest.raises(TypeError):
            forbidden(tape)
    for forbidden in (lambda t: t.contents(), lambda t: t.cells, lambda t: hasattr(t, "contents")):
        with pytest.raises(Refused, match="only a concrete tape or graph allows"):
            forbidden(tape)
    tape.move(LEFT)
    tape.move(7)
    assert tape.at_start()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            TapeKind(symbols=2, heads=2),
            [
                AbstractTape((None,), (False, False), (0, 0), "end"),
                AbstractTape((None, None), (False, False, True), (0, 0), "end"),
            ],
        ),
        (
            TapeKind(symbols=2, heads=2, far=(1,)),
            [
                AbstractTape((None,), (False, False), (0, 0), "end"),
                AbstractTape((None, None), (False, True, False), (0, 1), "end"),
            ],
        ),
        (
            TapeKind(symbols=3, beyond=1),
            [AbstractTape((symbol,), (False, False), (0,), "given") for symbol in (0, 2)],
        ),
        (TapeKind(symbols=3, beyond=1, given=False), [AbstractTape((1,), (False, False), (0,), "beyond")]),
    ],
)
def test_an_abstract_tape_starts_with_nothing_that_no_problem_has(kind, expected):
    assert list(all_outcomes(lambda oracle: LazyTape.abstract_start(kind, oracle, {}, 0))) == expected


def test_writing_forgets_comparisons_with_the_cell_alone():
    facts = ((0, 2, True), (1, 2, False), (2, 0, False))
    state = AbstractTape((0, 0, 0), (False,) * 4, (0, 1, 2), "end", facts)
    for place in range(3):
        tape = LazyTape(TapeKind(symbols=2, heads=3), Oracle(), state)
        tape.write(1, place)
        assert tape.abstract_state().greater == tuple(fact for fact in facts if place not in fact[:2])


def test_pop_puts_heads_on_cells_and_into_gaps_and_nowhere_else():
    kind = TapeKind(symbols=None, heads=2)
    state = AbstractTape((None, None), (False, False, True), (0, 0), "end", spans=1)

    def pop(oracle):
        tape = LazyTape(kind, oracle, state)
        tape.pop(0, 1)
        return tape.abstract_state()

    found = [(len(after.cells), after.gaps, after.heads) for after in all_outcomes(pop)]
    two, three, four = (False, False, True), (False, False, True, True), (False, False, True, True, True)
    assert found == [
        (2, two, (0, 0)),
        (2, two, (0, 1)),
        (3, three, (0, 2)),
        (2, two, (1, 1)),
        (3, three, (1, 2)),
        (3, three, (2, 2)),
        (4, four, (2, 3)),
    ]


def after(kind, state, method, *args):
    """Every abstract tape that a method may lead to, with its answer."""

    def run(oracle):
        tape = LazyTape(kind, oracle, state)
        return getattr(tape, method)(*args), tape.abstract_state()

    return list(all_outcomes(run))


def test_a_head_that_moves_into_a_gap_is_next_to_where_it_was():
    kind = TapeKind(symbols=2)
    gap = AbstractTape((None, 1), (False, True, False), (1,), "end")
    assert after(kind, gap, "move", LEFT) == [
        (None, AbstractTape((None, 1), (False, False, False), (0,), "end")),
        (None, AbstractTape((None, None, 1), (False, True, False, False), (1,), "end")),
    ]
    assert after(kind, gap._replace(heads=(0,)), "move", RIGHT) == [
        (None, AbstractTape((None, 1), (False, False, False), (1,), "end")),
        (None, AbstractTape((None, None, 1), (False, False, True, False), (1,), "end")),
    ]


def test_an_endless_tape_goes_on_with_the_problem_and_then_with_the_symbol_beyond():
    kind = TapeKind(symbols=3, beyond=2)
    given = AbstractTape((0,), (False, False), (0,), "given")
    ended = AbstractTape((0, 2), (False,) * 3, (1,), "beyond")
    assert after(kind, given, "move", RIGHT) == [
        (None, AbstractTape((0, 0), (False,) * 3, (1,), "given")),
        (None, AbstractTape((0, 1), (False,) * 3, (1,), "given")),
        (None, ended),
    ]
    assert after(kind, ended, "move", RIGHT) == [(None, AbstractTape((0, 2, 2), (False,) * 4, (2,), "beyond"))]


def test_an_endless_tape_has_no_last_cell():
    kind = TapeKind(symbols=3, beyond=2)
    given = AbstractTape((0,), (False, True), (0,), "given")
    assert after(kind, given, "at_last") == [(False, given)]
    for head in (-1, 1):
        with pytest.raises(IndexError, match="there is no head"):
            after(kind, given, "at_last", head)


@pytest.mark.parametrize(
    ("gaps", "remembered"),
    [
        ((False, True, False, False), AbstractTape((1,), (False, True), (0,), "end")),
        ((True, False, False, False), AbstractTape((1, 2), (True, False, True), (0,), "end")),
        ((False, False, True, False), AbstractTape((1, 2), (False, False, True), (0,), "end")),
    ],
)
def test_a_gap_ends_what_is_near_a_head(gaps, remembered):
    kind = TapeKind(symbols=5, symbol_radius=1)
    tape = LazyTape(kind, Oracle(), AbstractTape((1, 2, 3), gaps, (0,), "end"))
    assert tape.abstract_remembered() == remembered
