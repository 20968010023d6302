"""Lazy tapes: one sketch that stands for tapes of every length and content, with the methods of a concrete tape.

A sketch draws the cells near the heads. Between drawn cells, and between them and the ends of the tape, there may be a
gap: any number of cells, perhaps none, with any symbols. What a sketch leaves open is decided when it matters: a head
that moves into a gap finds either the cell drawn behind it or one more cell; a cell whose symbol is not known gets one
when it is read; an end that may or may not be there is asked for. Each time an oracle chooses, and whoever explores
goes through all its choices. `docs/proof.md` argues why this covers every concrete tape.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

from npi.language.tape import LEFT, RIGHT, TapeKind
from npi.proof.oracle import Oracle

NOTED = 2  # how many noted spans are counted; more are some more
Tail = Literal["end", "given", "beyond"]  # what follows the last cell drawn and the gap behind it


class AbstractTape(NamedTuple):
    """A lazy tape, from its home end outwards."""

    cells: tuple[int | None, ...]  # None: any symbol
    gaps: tuple[bool, ...]  # gaps[i] is before cell i; the last is behind all cells
    heads: tuple[int, ...]  # the cell each head is on
    tail: Tail
    greater: tuple[tuple[int, int, bool], ...] = ()  # two cells, and whether the first is known to hold the greater
    noted: int = 0  # how many spans are known to be noted; which they are, is forgotten
    more: bool = False  # whether below these there may be more


class LazyTape:
    """A tape that stands for many. It has the methods of `Tape` that an environment may use, and no others."""

    __slots__ = (
        "__beyond",
        "__cells",
        "__drawn",
        "__gaps",
        "__greater",
        "__heads",
        "__more",
        "__near",
        "__noted",
        "__oracle",
        "__outward",
        "__symbols",
        "__tail",
    )

    def __init__(self, kind: TapeKind, oracle: Oracle, sketch: AbstractTape):
        self.__symbols, self.__beyond, self.__oracle = kind.symbols, kind.beyond, oracle
        self.__near, self.__drawn = kind.near, max(kind.near, kind.drawn)
        self.__outward = RIGHT if kind.home == "left" else LEFT
        self.load(sketch)

    @staticmethod
    def first(kind: TapeKind, oracle: Oracle, chosen: dict[TapeKind, int]) -> AbstractTape:
        """A tape as it may be at first, whatever the problem is; lengths are kept for tapes that have the same."""
        heads = (0,) * kind.heads
        if kind.beyond is None:
            measured = kind.length_of or kind
            if measured not in chosen:
                chosen[measured] = oracle.choose(2)
            # one cell, or at least two
            if not chosen[measured]:
                return AbstractTape((None,), (False, False), heads, "end")
            if kind.far:
                heads = tuple(int(head in kind.far) for head in range(kind.heads))
                return AbstractTape((None, None), (False, True, False), heads, "end")
            return AbstractTape((None, None), (False, False, True), heads, "end")
        if kind.given:
            assert kind.symbols is not None
            symbols = [symbol for symbol in range(kind.symbols) if symbol != kind.beyond]
            return AbstractTape((symbols[oracle.choose(len(symbols))],), (False, False), heads, "given")
        return AbstractTape((kind.beyond,), (False, False), heads, "beyond")

    def load(self, sketch: AbstractTape) -> None:
        self.__cells, self.__gaps = list(sketch.cells), list(sketch.gaps)
        self.__heads = list(sketch.heads)
        self.__tail: Tail = sketch.tail
        self.__greater = {(first, second): known for first, second, known in sketch.greater}
        self.__noted, self.__more = sketch.noted, sketch.more

    def read(self, head: int = 0) -> int:
        self.__oracle.check_open()
        if self.__symbols is None:
            raise TypeError("what this tape holds can be compared and swapped, not read")
        place = self.__heads[head]
        symbol = self.__cells[place]
        if symbol is None:
            symbol = self.__cells[place] = self.__oracle.choose(self.__symbols)
        return symbol

    def write(self, symbol: int, head: int = 0) -> None:
        self.__oracle.check_open()
        if self.__symbols is not None and 0 <= symbol < self.__symbols:
            self.__cells[self.__heads[head]] = symbol

    def greater(self, head: int, other: int) -> bool:
        self.__oracle.check_open()
        first, second = self.__heads[head], self.__heads[other]
        if first == second:
            return False
        known = self.__greater.get((first, second))
        if known is None:
            # if the second is greater, the first is not
            known = not self.__greater.get((second, first), False) and bool(self.__oracle.choose(2))
            self.__greater[first, second] = known
        return known

    def swap(self, head: int, other: int) -> None:
        self.__oracle.check_open()
        first, second = self.__heads[head], self.__heads[other]
        places = {first: second, second: first}
        self.__greater = {
            (places.get(one, one), places.get(two, two)): known for (one, two), known in self.__greater.items()
        }
        cells = self.__cells
        cells[first], cells[second] = cells[second], cells[first]

    def same(self, head: int, other: int) -> bool:
        self.__oracle.check_open()
        return self.__heads[head] == self.__heads[other]

    def jump(self, head: int, other: int) -> None:
        self.__oracle.check_open()
        self.__heads[head] = self.__heads[other]

    def push(self, first: int, last: int) -> None:
        self.__oracle.check_open()
        if self.__heads[first] <= self.__heads[last]:
            self.__more = self.__more or self.__noted == NOTED
            self.__noted = min(self.__noted + 1, NOTED)

    def pop(self, first: int, last: int) -> None:
        self.__oracle.check_open()
        if not self.empty():
            self.__noted -= 1
            self.__lose(first, -1)
            self.__lose(last, self.__heads[first])

    def empty(self) -> bool:
        self.__oracle.check_open()
        if not self.__noted and self.__more:
            if self.__oracle.choose(2):
                self.__noted = 1
            else:
                self.__more = False
        return not self.__noted

    def __lose(self, head: int, least: int) -> None:
        """A head may be anywhere from some cell on: on a cell that is drawn, or on one in a gap behind it."""
        places = [(place, False) for place in range(max(least, 0), len(self.__cells))]
        places += [(place, True) for place, gap in enumerate(self.__gaps) if gap and place > least]
        place, new = places[self.__oracle.choose(len(places))]
        if new:
            self.__insert(place, before=True, behind=True)
        self.__heads[head] = place

    def move(self, direction: int, head: int = 0) -> None:
        self.__oracle.check_open()
        if direction not in (LEFT, RIGHT):
            return
        if direction == self.__outward:
            if not self.__at_far(head):
                place = self.__heads[head] + 1
                if place < len(self.__cells):
                    self.__settle(place)
                self.__heads[head] += 1
        elif not self.__at_home(head):
            place = self.__heads[head]
            self.__settle(place, inward=True)
            self.__heads[head] -= 1

    def at_start(self, head: int = 0) -> bool:
        self.__oracle.check_open()
        return self.__at_home(head) if self.__outward == RIGHT else self.__at_end(head)

    def at_last(self, head: int = 0) -> bool:
        self.__oracle.check_open()
        return self.__at_home(head) if self.__outward == LEFT else self.__at_end(head)

    def __settle(self, place: int, inward: bool = False) -> None:
        """Decide what a head finds in the gap before a cell: nothing, or one more cell at its side of the gap."""
        if not self.__gaps[place]:
            return
        if self.__oracle.choose(2) == 0:
            self.__gaps[place] = False
        elif inward:  # the new cell is next to the head, which comes from behind; the gap stays before it
            self.__insert(place, before=True, behind=False)
        else:
            self.__insert(place, before=False, behind=True)

    def __insert(self, place: int, before: bool, behind: bool) -> None:
        """A cell with any symbol in the gap at `place`, with or without a gap left on each side."""
        self.__cells.insert(place, None)
        self.__gaps[place : place + 1] = [before, behind]
        self.__heads = [head + (head >= place) for head in self.__heads]
        self.__greater = {
            (first + (first >= place), second + (second >= place)): known
            for (first, second), known in self.__greater.items()
        }

    def __at_home(self, head: int) -> bool:
        if self.__heads[head]:
            return False
        if self.__gaps[0]:
            if self.__oracle.choose(2):
                self.__insert(0, before=True, behind=False)
                return False
            self.__gaps[0] = False
        return True

    def __at_end(self, head: int) -> bool:
        """Whether a head is on the last cell of a tape that ends; a tape that goes on for ever has no such cell."""
        return self.__tail == "end" and self.__at_far(head)

    def __at_far(self, head: int) -> bool:
        """Whether there is nothing behind the cell of a head; if there may be something, there is from now on."""
        last = len(self.__cells) - 1
        if self.__heads[head] < last:
            return False
        if self.__gaps[-1]:
            if self.__oracle.choose(2):
                self.__insert(last + 1, before=False, behind=True)
                return False
            self.__gaps[-1] = False
        if self.__tail == "end":
            return True
        self.__cells.append(self.__next())
        self.__gaps.append(False)
        return False

    def __next(self) -> int:
        """The symbol of the first cell that no head has been on."""
        assert self.__beyond is not None
        if self.__tail == "given":
            assert self.__symbols is not None
            choice = self.__oracle.choose(self.__symbols)  # one of the problem's symbols, or their end
            if choice != self.__beyond:
                return choice
            self.__tail = "beyond"
        return self.__beyond

    def sketch(self) -> AbstractTape:
        """What is drawn now, without the cells that are far from every head and the symbols to be forgotten."""
        pairs = sorted((*pair, known) for pair, known in self.__greater.items()) if self.__greater else ()
        drawn = AbstractTape(
            tuple(self.__cells),
            tuple(self.__gaps),
            tuple(self.__heads),
            self.__tail,
            tuple(pairs),
            self.__noted,
            self.__more,
        )
        return _forget(drawn, self.__near, self.__drawn)


@cache
def _forget(all_of_it: AbstractTape, symbols: int, radius: int) -> AbstractTape:
    """A sketch without the cells that are far from every head; symbols are kept no farther than said."""
    cells, gaps, heads, tail, greater, noted, more = all_of_it
    known, drawn = _within(all_of_it, symbols), sorted(_within(all_of_it, radius))
    left_out = []
    expected = 0  # the cell that follows if none is left out
    for place in drawn:
        left_out.append(place > expected or gaps[place])
        expected = place + 1
    left_out.append(expected < len(cells) or gaps[-1])
    return AbstractTape(
        tuple(cells[place] if place in known else None for place in drawn),
        tuple(left_out),
        tuple(drawn.index(head) for head in heads),
        tail,
        tuple(
            (drawn.index(first), drawn.index(second), which)
            for first, second, which in greater
            if first in known and second in known
        ),
        noted,
        more,
    )


def _within(sketch: AbstractTape, radius: int) -> set[int]:
    """The cells no farther than this from some head, with no gap between."""
    near = set(sketch.heads)
    for head in sketch.heads:
        for step in (-1, 1):
            place = head
            for _ in range(radius):
                gap = sketch.gaps[place if step < 0 else place + 1]
                place += step
                if gap or not 0 <= place < len(sketch.cells):
                    break
                near.add(place)
    return near
