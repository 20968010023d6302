"""Tapes: rows of cells with heads on them.

An environment declares the kind of each of its tapes once (`TapeKind`), and then reads, writes and moves heads. It
never sees a position or a length. So the same environment code also runs on an abstract tape, which stands for tapes of
every length: that is how programs are proved.

A tape is bounded at its home end, where its heads start. At the other end it is bounded too, or it continues without
end with the symbol `beyond`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import Any, Literal

LEFT = 0  # the directions a head moves in
RIGHT = 1
COMPARED = 8  # values of a tape at most, when it is checked that `>` orders them


@dataclass(frozen=True)
class TapeKind:
    """What is known of a tape before any of its cells is read.

    symbols        cells hold 0 .. symbols-1; None: values that can be ordered; they are compared and swapped, never
                   read
    heads          how many heads the tape has
    far            the heads that start at the end that is not home, if the tape ends there
    home           the end where all other heads start
    beyond         the symbol of all cells past the other end; None: the tape ends there
    given          whether the problem determines the cells; otherwise all of them are `beyond` at first
    length_of      another kind of tape in the same environment, whose tapes have the same length
    symbol_radius  for a proof: symbols at most this far from a head are remembered
    cell_radius    for a proof: cells at most this far from a head are remembered, even where their symbols are not,
                   and so whether the head is next to an end

    Larger radii are never wrong, but a proof then has more abstract states to explore.

    >>> from npi import RIGHT, TapeKind
    >>> tape = TapeKind(symbols=2).tape([1, 0])
    >>> tape.read(), tape.at_start()
    (1, True)
    >>> tape.move(RIGHT)
    >>> tape.read(), tape.at_last()
    (0, True)
    """

    symbols: int | None
    heads: int = 1
    far: tuple[int, ...] = ()
    home: Literal["left", "right"] = "left"
    beyond: int | None = None
    given: bool = True
    length_of: TapeKind | None = None
    symbol_radius: int = 0
    cell_radius: int = 1

    def __post_init__(self) -> None:
        for what, number, least in (
            ("symbols", 1 if self.symbols is None else self.symbols, 1),
            ("heads", self.heads, 1),
            ("symbol_radius", self.symbol_radius, 0),
            ("cell_radius", self.cell_radius, 0),
        ):
            if type(number) is not int or number < least:
                raise ValueError(f"{what} is {number!r}, but must be a whole number of at least {least}")
        if self.home not in ("left", "right"):
            raise ValueError(f"home is {self.home!r}, but must be 'left' or 'right'")
        far, length_of = vars(self)["far"], vars(self)["length_of"]
        if not isinstance(far, tuple):
            raise ValueError(f"far is {self.far!r}, but must be a tuple of heads, such as (1,)")
        if not isinstance(length_of, TapeKind | None):
            raise ValueError(f"length_of is {self.length_of!r}, but must be the kind of another tape")
        if missing := [head for head in self.far if head not in range(self.heads)]:
            raise ValueError(f"far names the heads {missing}, but the tape has heads 0 to {self.heads - 1}")
        if self.far and self.beyond is not None:
            raise ValueError(
                f"heads {self.far} are to start at the other end, but the tape has none: it continues with the symbol "
                f"{self.beyond}; leave out far or beyond"
            )
        if self.beyond is not None and self.beyond not in range(self.symbols or 0):
            symbols = "none" if self.symbols is None else f"0..{self.symbols - 1}"
            raise ValueError(f"beyond is {self.beyond!r}, but must be a symbol of the tape; it has {symbols}")
        if self.beyond is not None and self.given and self.symbols == 1:
            raise ValueError("the problem gives cells, but beyond is the only symbol: add one, or declare given=False")
        if self.beyond is not None:
            object.__setattr__(self, "beyond", as_symbol(self.beyond))

    def tape(self, cells: Iterable[Any]) -> Tape:
        """A tape of this kind; `cells` are given from left to right."""
        return Tape(self, cells)


class HeadPlaces(dict[int, int]):
    """The cell under each head. There is no head -1: negative numbers do not count from the end."""

    def __missing__(self, head: int) -> int:
        raise no_head(head, len(self))


def no_head(head: Any, heads: int) -> IndexError:
    """The error for a head that a tape does not have, concrete or abstract."""
    return IndexError(f"there is no head {head!r}: the tape has heads 0 to {heads - 1}")


def as_symbol(value: Any) -> int:
    """A symbol as a plain integer. Where it comes from, such as an array or an enumeration, must make no difference."""
    return value if type(value) is int else int(index(value))


class Tape:
    """A concrete tape. Heads are numbered from 0. A move past a bounded end leaves the head where it is.

    A tape can also save spans of cells on a stack, as a recursive sort does with the parts still to be sorted.

    >>> from npi import Tape, TapeKind
    >>> tape = Tape(TapeKind(symbols=10), [9, 2, 5])
    >>> tape.write(7)
    >>> tape.contents()
    [7, 2, 5]
    """

    # Two leading underscores: no subclass or environment reaches them by accident. There is no len, no index and no
    # iteration, on purpose: an abstract tape has no length and no positions.
    __slots__ = ("__at", "__beyond", "__cells", "__outward", "__spans", "__symbols")
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # see the comment in Env

    def __init__(self, kind: TapeKind, cells: Iterable[Any]):
        self.__symbols, self.__beyond = kind.symbols, kind.beyond
        self.__cells = list(cells)  # from the home end outwards
        self.__outward = RIGHT
        if kind.home == "right":
            self.__cells.reverse()
            self.__outward = LEFT
        if not self.__cells:
            if kind.beyond is None:
                raise ValueError("a tape bounded at both ends needs at least one cell")
            self.__cells.append(kind.beyond)
        if kind.symbols is not None:
            self.__cells = [as_symbol(symbol) for symbol in self.__cells]
            for symbol in self.__cells:
                if not 0 <= symbol < kind.symbols:
                    raise ValueError(f"symbol {symbol} is outside 0..{kind.symbols - 1}, the symbols of this tape")
        end = len(self.__cells) - 1
        self.__at = HeadPlaces((head, end if head in kind.far else 0) for head in range(kind.heads))
        self.__spans: list[tuple[int, int]] = []  # first and last cell of each saved span, counted from the home end

    def read(self, head: int = 0) -> int:
        """The symbol under a head."""
        if self.__symbols is None:
            raise TypeError("the values of this tape can be compared and swapped, not read")
        return self.__cells[self.__at[head]]

    def write(self, symbol: int, head: int = 0) -> None:
        """Write a symbol under a head. A number that is no symbol of this tape changes nothing."""
        place = self.__at[head]
        if self.__symbols is not None and 0 <= (symbol := as_symbol(symbol)) < self.__symbols:
            self.__cells[place] = symbol

    def greater(self, head: int, other: int) -> bool:
        """Whether the value under one head is greater than the value under another."""
        here, there = self.__at[head], self.__at[other]
        return here != there and bool(self.__cells[here] > self.__cells[there])

    def swap(self, head: int, other: int) -> None:
        """Exchange the values under two heads."""
        cells, here, there = self.__cells, self.__at[head], self.__at[other]
        cells[here], cells[there] = cells[there], cells[here]

    def same(self, head: int, other: int) -> bool:
        """Whether two heads are on the same cell."""
        return self.__at[head] == self.__at[other]

    def jump(self, head: int, other: int) -> None:
        """Put a head where another is."""
        place = self.__at[other]
        if self.__at[head] != place:
            self.__at[head] = place

    def push(self, first: int, last: int) -> None:
        """Save the span from head `first` to head `last` on the stack. Heads in the opposite order save nothing."""
        if self.__at[first] <= self.__at[last]:
            self.__spans.append((self.__at[first], self.__at[last]))

    def pop(self, first: int, last: int) -> None:
        """Remove the span saved last, and put two heads at its ends. If there is none, the heads stay."""
        here = self.__at
        if self.__spans and here[first] >= 0 and here[last] >= 0:  # looks both heads up before anything changes
            here[first], here[last] = self.__spans.pop()

    def empty(self) -> bool:
        """Whether no span is saved."""
        return not self.__spans

    def move(self, direction: int, head: int = 0) -> None:
        """Move a head one cell to the LEFT or RIGHT; any other direction changes nothing."""
        at = self.__at[head]
        if direction == self.__outward:
            at += 1
            if at == len(self.__cells):
                if self.__beyond is None:
                    return
                self.__cells.append(self.__beyond)
            self.__at[head] = at
        elif direction in (LEFT, RIGHT) and at:
            self.__at[head] = at - 1

    def at_start(self, head: int = 0) -> bool:
        """Whether a head is on the leftmost cell."""
        return self.__at[head] == (0 if self.__outward == RIGHT else self.__end())

    def at_last(self, head: int = 0) -> bool:
        """Whether a head is on the rightmost cell."""
        return self.__at[head] == (0 if self.__outward == LEFT else self.__end())

    def __end(self) -> int:
        """The cell at the end that is not home; -1, where no head can be, if the tape does not end there."""
        return len(self.__cells) - 1 if self.__beyond is None else -1

    def start_fault(self, kind: TapeKind) -> str:
        """How this tape, at the start of a problem, differs from a tape of a kind; empty if it does not."""
        end = len(self.__cells) - 1
        starts = {head: end if head in kind.far else 0 for head in range(kind.heads)}
        if (self.__symbols, self.__beyond) != (kind.symbols, kind.beyond):
            return (
                f"has symbols={self.__symbols} and beyond={self.__beyond}, declared are symbols={kind.symbols} and "
                f"beyond={kind.beyond}"
            )
        if self.__outward != (RIGHT if kind.home == "left" else LEFT):
            return f"starts at the other end, declared is home={kind.home!r}"
        if self.__at != starts or self.__spans:
            return (
                f"has its heads at {list(self.__at.values())}, counted from its home end, declared is "
                f"{list(starts.values())}"
            )
        first = self.__cells[:COMPARED]
        if kind.symbols is None and any(one > other and other > one for one in first for other in first):
            return "has values of which each is greater than the other, so `>` does not order them"
        if kind.beyond is not None and not kind.given and any(cell != kind.beyond for cell in self.__cells):
            return "has cells that are given by the problem, declared is given=False"
        if kind.beyond is not None and kind.given and kind.beyond in self.__cells:
            return f"has the symbol {kind.beyond} among the given cells, which is declared as the one beyond them"
        return ""

    def contents(self) -> list[Any]:
        """All cells from left to right: for reading a result, never for `observe` or `act`."""
        return self.__cells[::-1] if self.__outward == LEFT else list(self.__cells)
