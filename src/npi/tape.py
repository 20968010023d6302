"""Tapes: rows of cells with heads on them, the only memory a pad environment has.

An environment says once what each of its tapes is (`TapeKind`) and then reads, writes and moves. It never sees a
position or a length, so the same environment code also runs on a tape that stands for tapes of every length, which is
how programs are proved. A tape starts at its home end, where all heads begin; it is bounded there. At the other end it
is bounded too, or goes on for ever with the symbol `beyond`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

LEFT, RIGHT = 0, 1  # the directions a head moves in


@dataclass(frozen=True)
class TapeKind:
    """What is known of a tape before any cell is seen.

    symbols  cells hold 0 .. symbols-1
    heads    how many heads it has, all on the home cell at first
    home     the end where the heads begin
    beyond   the symbol of the cells past the other end, for ever; None: the tape ends there
    given    whether the problem gives its cells; otherwise they are all `beyond` at first
    near     for a proof: how far from a head symbols are remembered; more is never wrong, but makes it longer
    length_of  another kind whose tapes in the same environment have the same length
    """

    symbols: int
    heads: int = 1
    home: Literal["left", "right"] = "left"
    beyond: int | None = None
    given: bool = True
    near: int = 0
    length_of: TapeKind | None = None

    def tape(self, cells: Iterable[int]) -> Tape:
        """A tape of this kind; `cells` are given from left to right."""
        return Tape(self, cells)


class Tape:
    """A concrete tape. Heads are numbered from 0. A move past a bounded end leaves the head where it is."""

    # Two leading underscores: no subclass or environment reaches them by accident. There is no len, no index and no
    # iteration, on purpose: see the module docstring.
    __slots__ = ("__at", "__beyond", "__cells", "__outward", "__symbols")

    def __init__(self, kind: TapeKind, cells: Iterable[int]):
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
        for symbol in self.__cells:
            if not 0 <= symbol < kind.symbols:
                raise ValueError(f"symbol {symbol} is outside 0..{kind.symbols - 1}, the symbols of this tape")
        self.__at = [0] * kind.heads

    def read(self, head: int = 0) -> int:
        return self.__cells[self.__at[head]]

    def write(self, symbol: int, head: int = 0) -> None:
        """Write a symbol under a head; one that the tape does not have is not written."""
        if 0 <= symbol < self.__symbols:
            self.__cells[self.__at[head]] = symbol

    def move(self, direction: int, head: int = 0) -> None:
        """Move a head one cell to the LEFT or RIGHT; any other direction means nothing and moves nothing."""
        if direction == self.__outward:
            at = self.__at[head] + 1
            if at == len(self.__cells):
                if self.__beyond is None:
                    return
                self.__cells.append(self.__beyond)
            self.__at[head] = at
        elif direction in (LEFT, RIGHT) and self.__at[head]:
            self.__at[head] -= 1

    def at_start(self, head: int = 0) -> bool:
        """Whether a head is on the leftmost cell."""
        return self.__at[head] == (0 if self.__outward == RIGHT else self.__far())

    def at_last(self, head: int = 0) -> bool:
        """Whether a head is on the rightmost cell."""
        return self.__at[head] == (0 if self.__outward == LEFT else self.__far())

    def __far(self) -> int:
        return len(self.__cells) - 1 if self.__beyond is None else -1

    def contents(self) -> list[int]:
        """All cells from left to right: for reading a result, never for `observe` or `act`."""
        return self.__cells[::-1] if self.__outward == LEFT else list(self.__cells)
