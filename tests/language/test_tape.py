import re
from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npi import LEFT, RIGHT, GraphKind, Tape, TapeKind

moves = st.lists(st.tuples(st.sampled_from(["move", "write"]), st.integers(0, 1), st.integers(-1, 4)), max_size=60)


class Model:
    """The simplest tape there is: a dictionary and numbers, for comparison."""

    def __init__(self, kind, cells):
        right_home = kind.home == "right"
        self.kind, self.low, self.high = kind, 0, len(cells) - 1
        self.cells = dict(enumerate(cells))
        self.at = [self.high if right_home else 0] * kind.heads
        if kind.beyond is not None:
            self.low, self.high = (-(10**9), self.high) if right_home else (0, 10**9)

    def read(self, head):
        return self.cells.get(self.at[head], self.kind.beyond)

    def move(self, direction, head):
        to = self.at[head] + {LEFT: -1, RIGHT: 1}.get(direction, 0)
        self.at[head] = min(max(to, self.low), self.high)

    def write(self, symbol, head):
        if 0 <= symbol < self.kind.symbols:
            self.cells[self.at[head]] = symbol


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=8),
    st.sampled_from(["left", "right"]),
    st.sampled_from([None, 3]),
    moves,
)
def test_a_tape_does_what_a_dictionary_does(cells, home, beyond, operations):
    kind = TapeKind(symbols=4, heads=2, home=home, beyond=beyond)
    tape, model = kind.tape(cells), Model(kind, cells)
    for operation, head, value in operations:
        getattr(tape, operation)(value, head)
        getattr(model, operation)(value, head)
        for h in (0, 1):
            assert tape.read(h) == model.read(h)
            assert tape.at_start(h) == (model.at[h] == model.low)
            assert tape.at_last(h) == (model.at[h] == model.high)


def test_contents_are_given_from_left_to_right():
    kind = TapeKind(symbols=10, home="right", beyond=9)
    tape = kind.tape([1, 2, 3])
    for _ in range(4):
        tape.move(LEFT)
    tape.write(7)
    assert tape.contents() == [7, 9, 1, 2, 3][-5:]


@pytest.mark.parametrize(
    "around", ["len(tape)", "tape[0]", "list(tape)", "tape.cells", "tape._cells", "tape.__cells", "tape.position"]
)
def test_there_is_no_way_around_the_methods(around):
    tape = TapeKind(symbols=2).tape([0, 1])
    with pytest.raises((TypeError, AttributeError)):
        eval(around, {"tape": tape})
    with pytest.raises(AttributeError):
        tape.note = 1  # type: ignore[attr-defined]  # that this is refused is the point


def test_what_no_tape_can_hold_is_refused():
    with pytest.raises(ValueError, match=r"symbol 7 is outside 0\.\.1"):
        TapeKind(symbols=2).tape([0, 7])
    with pytest.raises(ValueError, match="at least one cell"):
        Tape(TapeKind(symbols=2), [])


@pytest.mark.parametrize("blank", [IntEnum("Symbol", [("ONE", 1), ("BLANK", 2)]).BLANK, np.int64(2), 2])
def test_beyond_is_a_plain_integer(blank):
    kind = TapeKind(symbols=3, beyond=blank)
    assert (type(kind.beyond), kind.beyond) == (int, 2)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"symbols": 0}, "symbols is 0, but must be a whole number of at least 1"),
        ({"symbols": True}, "symbols is True, but must be a whole number"),
        ({"symbols": 2.0}, "symbols is 2.0, but must be a whole number"),
        ({"symbols": 2, "heads": 0}, "heads is 0, but must be a whole number of at least 1"),
        ({"symbols": 2, "symbol_radius": -1}, "symbol_radius is -1, but must be a whole number of at least 0"),
        ({"symbols": 2, "cell_radius": -1}, "cell_radius is -1, but must be a whole number of at least 0"),
        ({"symbols": 2, "home": "up"}, "home is 'up', but must be 'left' or 'right'"),
        (
            {"symbols": 2, "heads": 2, "far": (1, 2, -1)},
            r"far names the heads \[2, -1\], but the tape has heads 0 to 1",
        ),
        ({"symbols": 2, "far": [0]}, r"far is \[0\], but must be a tuple of heads"),
        ({"symbols": 2, "length_of": GraphKind()}, "length_of is GraphKind.*, but must be the kind of another tape"),
        ({"symbols": 2, "far": (0,), "beyond": 1}, "leave out far or beyond"),
        ({"symbols": 2, "beyond": 2}, r"beyond is 2, but must be a symbol of the tape; it has 0\.\.1"),
        ({"symbols": 2, "beyond": -1}, "beyond is -1, but must be a symbol"),
        ({"symbols": None, "beyond": 0}, "beyond is 0, but must be a symbol of the tape; it has none"),
        ({"symbols": 1, "beyond": 0}, "beyond is the only symbol: add one, or declare given=False"),
    ],
)
def test_a_kind_that_makes_no_sense_is_refused(declared, message):
    with pytest.raises(ValueError, match=message):
        TapeKind(**declared)


def test_kinds_that_make_sense():
    assert TapeKind(symbols=1) == TapeKind(symbols=1, heads=1, given=True, symbol_radius=0, cell_radius=1)
    assert TapeKind(symbols=1, beyond=0, given=False).tape([]).contents() == [0]
    assert TapeKind(symbols=None, heads=2, far=(0, 1), cell_radius=0).tape([3, 1]).at_last(1)
    with pytest.raises(ValueError, match=r"symbol 2 is outside 0\.\.1, the symbols of this tape"):
        TapeKind(symbols=2).tape([0, 2])
    with pytest.raises(ValueError, match=r"symbol -1 is outside 0\.\.1"):
        TapeKind(symbols=2).tape([-1])


def test_symbols_are_plain_integers_and_head_0_is_meant_if_none_is_named():
    tape = TapeKind(symbols=2, heads=2).tape([True, np.int64(1)])
    tape.move(RIGHT, 1)
    assert [type(tape.read(head)) for head in (0, 1)] == [int, int]
    assert (tape.at_start(), tape.at_last()) == (True, False)
    tape.write(0)
    assert tape.contents() == [0, 1]


class AlwaysGreater(int):
    """A number that says that it is greater than any other, and than itself."""

    def __gt__(self, other: object) -> bool:
        return True

    def __ge__(self, other: object) -> bool:
        return False  # only > is used


def test_no_value_is_greater_than_itself():
    tape = TapeKind(symbols=None, heads=2).tape([AlwaysGreater(1), 0])
    assert not tape.greater(0, 1)
    tape.move(RIGHT, 1)
    assert tape.greater(0, 1)


ODD = [AlwaysGreater(1), AlwaysGreater(2)]


@pytest.mark.parametrize(
    ("declared", "built", "cells", "fault"),
    [
        ({}, {}, [0, 1], ""),
        ({"far": (1,)}, {"far": (1,)}, [0, 1, 1], ""),
        ({"home": "right"}, {"home": "right"}, [0, 1], ""),
        ({"symbols": None}, {"symbols": None}, [5, 3, 3], ""),
        ({"beyond": 1, "given": True}, {"beyond": 1}, [0, 0], ""),
        ({"beyond": 1, "given": False}, {"beyond": 1}, [1, 1], ""),
        ({}, {"symbols": 3}, [0], "has symbols=3 and beyond=None, declared are symbols=2 and beyond=None"),
        ({}, {"beyond": 1}, [0], "has symbols=2 and beyond=1, declared are symbols=2 and beyond=None"),
        ({"home": "right"}, {}, [0, 1], "starts at the other end, declared is home='right'"),
        ({}, {"home": "right"}, [0, 1], "starts at the other end, declared is home='left'"),
        ({"far": (1,)}, {}, [0, 1, 1], r"has its heads at \[0, 0\], counted from its home end, declared is \[0, 2\]"),
        ({}, {"far": (0,)}, [0, 1], r"has its heads at \[1, 0\], counted from its home end, declared is \[0, 0\]"),
        ({"symbols": None}, {"symbols": None}, [0] * 7 + ODD, "has values of which each is greater than the other"),
        ({"symbols": None}, {"symbols": None}, [0] * 8 + ODD, ""),  # only the first eight are compared
        ({"beyond": 1, "given": False}, {"beyond": 1}, [1, 0], "has cells that are given by the problem"),
        ({"beyond": 1}, {"beyond": 1}, [0, 1], "has the symbol 1 among the given cells"),
    ],
)
def test_a_tape_that_does_not_start_as_declared_is_noticed(declared, built, cells, fault):
    kind = TapeKind(**{"symbols": 2, "heads": 2} | declared)
    tape = TapeKind(**{"symbols": 2, "heads": 2} | built).tape(cells)
    assert re.match(fault + ("" if fault else "$"), tape.start_fault(kind))


def test_a_tape_that_was_used_is_noticed():
    kind = TapeKind(symbols=2, heads=2)
    for use in (lambda tape: tape.move(RIGHT), lambda tape: tape.move(RIGHT, 1), lambda tape: tape.push(0, 1)):
        tape = kind.tape([0, 1])
        use(tape)
        assert "has its heads at" in tape.start_fault(kind)
