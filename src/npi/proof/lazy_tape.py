"""Lazy tapes: one abstract tape stands for tapes of every length and content, with the methods of a concrete tape.

An abstract tape has explicit cells, those near the heads, and gaps. A gap lies between two explicit cells, or between
one of them and an end of the tape, and stands for any number of cells, perhaps none, with any symbols.

A lazy tape leaves undetermined what no operation has needed yet. An operation that needs it asks an oracle to choose:
the symbol of a cell that is read, whether a gap that a head moves into is empty, whether a cell is the last one. The
exploration tries every combination of choices. `docs/proof.md` argues why this covers every concrete tape.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Never, TypeVar

from npi.language.tape import LEFT, RIGHT, Tape, TapeKind, as_symbol, no_head
from npi.proof.oracle import CONCRETE_ONLY, Oracle

# An abstract tape counts saved spans (see Tape.push) up to this many, then notes "perhaps more". Two are enough for
# quicksort, the one built-in task that saves spans; a higher count makes more abstract states.
COUNTED_SPANS = 2
# What follows the last explicit cell and the gap after it: the end of the tape, the cells of the problem that no head
# has visited yet, or the symbol `beyond` for ever.
Tail = Literal["end", "given", "beyond"]
T = TypeVar("T")


class AbstractTape(NamedTuple):
    """The abstract state of a lazy tape. Cells are listed from the home end outwards."""

    cells: tuple[int | None, ...]  # symbols of the explicit cells; None: any symbol
    gaps: tuple[bool, ...]  # gaps[i]: whether there is a gap before cell i; the last entry: after all cells
    heads: tuple[int, ...]  # the cell under each head
    tail: Tail
    greater: tuple[tuple[int, int, bool], ...] = ()  # two cells, and whether the first holds the greater value
    spans: int = 0  # how many spans are certainly saved; where they begin and end is not kept
    maybe_more: bool = False  # whether more spans may be saved, deeper in the stack

    def fits(self, kind: TapeKind) -> bool:
        """Whether this is an abstract tape of a kind, with values of the right types: tables are read from files."""
        cells, places = len(self.cells), [place for fact in self.greater for place in fact[:2]]
        symbols = range(kind.symbols or 0)
        return (
            all(cell is None or (type(cell) is int and cell in symbols) for cell in self.cells)
            and len(self.gaps) == cells + 1
            and len(self.heads) == kind.heads
            and all(type(place) is int and 0 <= place < cells for place in (*self.heads, *places))
            and all(len(fact) == 3 for fact in self.greater)
            and all(type(flag) is bool for flag in (*self.gaps, *(fact[2] for fact in self.greater), self.maybe_more))
            and type(self.spans) is int
            and 0 <= self.spans <= COUNTED_SPANS
            and self.tail in (["end"] if kind.beyond is None else ["given", "beyond"])
        )


class LazyTape:
    """A tape that stands for many. It has the methods of `Tape` that an environment may use, and no others."""

    __slots__ = (
        "__beyond",
        "__cell_radius",
        "__cells",
        "__gaps",
        "__greater",
        "__heads",
        "__loaded",
        "__maybe_more",
        "__oracle",
        "__outward",
        "__spans",
        "__symbol_radius",
        "__symbols",
        "__tail",
    )
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # see the comment in Env

    def __init__(self, kind: TapeKind, oracle: Oracle, state: AbstractTape):
        self.__symbols, self.__beyond, self.__oracle = kind.symbols, kind.beyond, oracle
        self.__symbol_radius = kind.symbol_radius
        self.__cell_radius = max(kind.symbol_radius, kind.cell_radius)
        self.__outward = RIGHT if kind.home == "left" else LEFT
        self.load_abstract(state)

    def __getattr__(self, name: str) -> Never:
        if name.startswith("__") and name.endswith("__"):  # Python itself asks for these
            raise AttributeError(name)
        self.__oracle.refuse(CONCRETE_ONLY.format(f"no abstract tape has {name!r}"))

    @property  # so that `isinstance` cannot tell it from a concrete one
    def __class__(self) -> type:  # pyright: ignore
        return Tape

    def __repr__(self) -> Never:
        self.__oracle.refuse(CONCRETE_ONLY.format("no abstract tape can be shown as text"))

    def __dir__(self) -> Never:
        self.__oracle.refuse(CONCRETE_ONLY.format("no abstract tape lists its names"))

    def __copy__(self) -> Never:
        self.__oracle.refuse_copy()

    def __deepcopy__(self, memo: object) -> Never:
        self.__oracle.refuse_copy()

    def __reduce_ex__(self, protocol: object) -> Never:
        self.__oracle.refuse_copy()

    @staticmethod
    def abstract_start(kind: TapeKind, oracle: Oracle, lengths: dict[int, int], measure: int) -> AbstractTape:
        """An abstract tape that some problem may start with.

        `lengths` keeps what the oracle chose for each tape that ends, and `measure` is the number of the tape whose
        length this one has: its own, unless it is declared to be as long as another.
        """
        heads = (0,) * kind.heads
        if kind.beyond is None:
            if measure not in lengths:
                lengths[measure] = oracle.choose(2)  # 0: one cell; 1: at least two
            if not lengths[measure]:
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

    def load_abstract(self, state: AbstractTape) -> None:
        self.__loaded = state
        # Tuples are replaced, not changed, so `state` sees at once what is as it was.
        self.__cells, self.__gaps, self.__heads = state.cells, state.gaps, state.heads
        self.__tail: Tail = state.tail
        self.__greater, self.__spans, self.__maybe_more = state.greater, state.spans, state.maybe_more

    def read(self, head: int = 0) -> int:
        self.__oracle.check_enabled()
        if self.__symbols is None:
            raise TypeError("the values on this tape can be compared and swapped, not read")
        place = self.__place(head)
        symbol = self.__cells[place]
        if symbol is None:
            symbol = self.__oracle.choose(self.__symbols)
            self.__cells = _replaced(self.__cells, place, symbol)
        return symbol

    def write(self, symbol: int, head: int = 0) -> None:
        self.__oracle.check_acting()
        place = self.__place(head)
        if self.__symbols is not None and 0 <= (symbol := as_symbol(symbol)) < self.__symbols:
            self.__cells = _replaced(self.__cells, place, symbol)
            # Comparisons with the value that was there are void.
            self.__greater = tuple(fact for fact in self.__greater if place not in fact[:2])

    def greater(self, head: int, other: int) -> bool:
        self.__oracle.check_enabled()
        first, second = self.__place(head), self.__place(other)
        if first == second:
            return False
        facts = {fact[:2]: fact[2] for fact in self.__greater}
        if (first, second) not in facts:
            # If the second value is greater, the first is not; otherwise both answers are possible.
            known = not facts.get((second, first), False) and bool(self.__oracle.choose(2))
            self.__greater = tuple(sorted((*self.__greater, (first, second, known))))
            return known
        return facts[first, second]

    def swap(self, head: int, other: int) -> None:
        self.__oracle.check_acting()
        first, second = self.__place(head), self.__place(other)
        swapped = {first: second, second: first}
        self.__greater = tuple(
            sorted((swapped.get(one, one), swapped.get(two, two), known) for one, two, known in self.__greater)
        )
        cells = self.__cells
        self.__cells = _replaced(_replaced(cells, first, cells[second]), second, cells[first])

    def same(self, head: int, other: int) -> bool:
        self.__oracle.check_enabled()
        return self.__place(head) == self.__place(other)

    def jump(self, head: int, other: int) -> None:
        self.__oracle.check_acting()
        place = self.__place(other)
        if self.__place(head) != place:
            self.__heads = _replaced(self.__heads, head, place)

    def push(self, first: int, last: int) -> None:
        self.__oracle.check_acting()
        if self.__place(first) <= self.__place(last):
            self.__maybe_more = self.__maybe_more or self.__spans == COUNTED_SPANS
            self.__spans = min(self.__spans + 1, COUNTED_SPANS)

    def pop(self, first: int, last: int) -> None:
        self.__oracle.check_acting()
        if not self.empty() and self.__place(first) >= 0 and self.__place(last) >= 0:  # both heads exist
            self.__spans -= 1
            self.__place_anywhere(first)
            self.__place_anywhere(last, not_before=self.__place(first))

    def empty(self) -> bool:
        self.__oracle.check_enabled()
        if not self.__spans and self.__maybe_more:
            if self.__oracle.choose(2):
                self.__spans = 1
            else:
                self.__maybe_more = False
        return not self.__spans

    def move(self, direction: int, head: int = 0) -> None:
        self.__oracle.check_acting()
        self.__place(head)
        if direction not in (LEFT, RIGHT):
            return
        if direction == self.__outward:
            if not self.__on_outermost_cell(head):
                place = self.__place(head) + 1
                if place < len(self.__cells):
                    self.__resolve_gap(place)
                self.__heads = _replaced(self.__heads, head, self.__place(head) + 1)
        elif not self.__on_home_cell(head):
            place = self.__place(head)
            self.__resolve_gap(place, inward=True)
            self.__heads = _replaced(self.__heads, head, self.__place(head) - 1)

    def at_start(self, head: int = 0) -> bool:
        self.__oracle.check_enabled()
        return self.__on_home_cell(head) if self.__outward == RIGHT else self.__on_last_cell(head)

    def at_last(self, head: int = 0) -> bool:
        self.__oracle.check_enabled()
        return self.__on_home_cell(head) if self.__outward == LEFT else self.__on_last_cell(head)

    def __place(self, head: int) -> int:
        """The cell under a head, by its place among the explicit cells."""
        if head not in range(len(self.__heads)):
            raise no_head(head, len(self.__heads))
        return self.__heads[int(head)]  # as on a concrete tape, whatever equals a number is one

    def __place_anywhere(self, head: int, not_before: int = -1) -> None:
        """Put a head on any cell from `not_before` outwards; -1: also on one in the gap at the home end.

        A chosen cell in a gap becomes explicit.
        """
        places = [(place, False) for place in range(max(not_before, 0), len(self.__cells))]
        places += [(place, True) for place, gap in enumerate(self.__gaps) if gap and place > not_before]
        place, in_gap = places[self.__oracle.choose(len(places))]
        if in_gap:
            self.__insert(place, gap_before=True, gap_after=True)
        self.__heads = _replaced(self.__heads, head, place)

    def __resolve_gap(self, place: int, inward: bool = False) -> None:
        """Choose what a head finds that moves into the gap before a cell: nothing, or another cell, now explicit.

        `inward`: the head comes from the cell at `place` and moves towards the home end.
        """
        if not self.__gaps[place]:
            return
        if self.__oracle.choose(2) == 0:
            self.__gaps = _replaced(self.__gaps, place, False)
        elif inward:  # the new cell is the next one inwards, so the rest of the gap is before it
            self.__insert(place, gap_before=True, gap_after=False)
        else:
            self.__insert(place, gap_before=False, gap_after=True)

    def __insert(self, place: int, gap_before: bool, gap_after: bool) -> None:
        """Replace the gap before the cell at `place` by a new explicit cell, with a gap before and after it or not."""
        self.__cells = (*self.__cells[:place], None, *self.__cells[place:])
        self.__gaps = (*self.__gaps[:place], gap_before, gap_after, *self.__gaps[place + 1 :])
        self.__heads = tuple(head + (head >= place) for head in self.__heads)
        self.__greater = tuple(
            (first + (first >= place), second + (second >= place), known) for first, second, known in self.__greater
        )

    def __on_home_cell(self, head: int) -> bool:
        if self.__place(head):
            return False
        if self.__gaps[0]:
            if self.__oracle.choose(2):
                self.__insert(0, gap_before=True, gap_after=False)
                return False
            self.__gaps = _replaced(self.__gaps, 0, False)
        return True

    def __on_last_cell(self, head: int) -> bool:
        """Whether a head is on the last cell of a tape that ends. An endless tape has no last cell."""
        return self.__place(head) >= 0 and self.__tail == "end" and self.__on_outermost_cell(head)

    def __on_outermost_cell(self, head: int) -> bool:
        """Whether no cell lies farther out than a head's. If the oracle chooses that one does, it becomes explicit."""
        outermost = len(self.__cells) - 1
        if self.__place(head) < outermost:
            return False
        if self.__gaps[-1]:
            if self.__oracle.choose(2):
                self.__insert(outermost + 1, gap_before=False, gap_after=True)
                return False
            self.__gaps = (*self.__gaps[:-1], False)
        if self.__tail == "end":
            return True
        self.__cells = (*self.__cells, self.__next_symbol())
        self.__gaps = (*self.__gaps, False)
        return False

    def __next_symbol(self) -> int:
        """The symbol of the first cell that no head has visited."""
        assert self.__beyond is not None
        if self.__tail == "given":
            assert self.__symbols is not None
            choice = self.__oracle.choose(self.__symbols)  # a symbol of the problem; `beyond`: the problem ends here
            if choice != self.__beyond:
                return choice
            self.__tail = "beyond"
        return self.__beyond

    def abstract_state(self) -> AbstractTape:
        """The abstract state: all that is known now. It is the object that was loaded, if nothing has changed."""
        loaded = self.__loaded
        if (
            self.__cells is loaded.cells
            and self.__gaps is loaded.gaps
            and self.__heads is loaded.heads
            and self.__tail == loaded.tail
            and self.__greater is loaded.greater
            and self.__spans == loaded.spans
            and self.__maybe_more == loaded.maybe_more
        ):
            return loaded
        return AbstractTape(
            self.__cells, self.__gaps, self.__heads, self.__tail, self.__greater, self.__spans, self.__maybe_more
        )

    def abstract_remembered(self) -> AbstractTape:
        """The abstract state, without the cells and symbols that are too far from every head."""
        return forget(self.abstract_state(), self.__symbol_radius, self.__cell_radius)


LazyTape.__name__ = Tape.__name__  # Python's own errors name the type


def _replaced(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    """A tuple with another value at one place."""
    place = int(place)
    return (*values[:place], value, *values[place + 1 :])


def forget(state: AbstractTape, symbol_radius: int, cell_radius: int) -> AbstractTape:
    """Keep the cells at most `cell_radius` from a head, and their symbols at most `symbol_radius` from a head."""
    cells, gaps, heads, tail, greater, spans, maybe_more = state
    with_symbol, kept = _cells_near_heads(state, symbol_radius), sorted(_cells_near_heads(state, cell_radius))
    kept_gaps = []
    adjacent = 0  # the cell next to the last kept one; a gap begins if it is not kept
    for place in kept:
        kept_gaps.append(place > adjacent or gaps[place])
        adjacent = place + 1
    kept_gaps.append(adjacent < len(cells) or gaps[-1])
    return AbstractTape(
        tuple(cells[place] if place in with_symbol else None for place in kept),
        tuple(kept_gaps),
        tuple(kept.index(head) for head in heads),
        tail,
        tuple(
            (kept.index(first), kept.index(second), known)
            for first, second, known in greater
            if first in with_symbol and second in with_symbol
        ),
        spans,
        maybe_more,
    )


def _cells_near_heads(state: AbstractTape, radius: int) -> set[int]:
    """The explicit cells at most `radius` cells from a head, with no gap between them and the head."""
    near = set(state.heads)
    for head in state.heads:
        for step in (-1, 1):
            place = head
            for _ in range(radius):
                gap = state.gaps[place if step < 0 else place + 1]
                place += step
                if gap or not 0 <= place < len(state.cells):
                    break
                near.add(place)
    return near
