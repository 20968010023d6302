from enum import IntEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npi import LEFT, RIGHT, Tape, TapeKind

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
