"""What a tape does, written a second time, as plainly as possible: for comparison with `Tape` and `LazyTape`."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from npi import LEFT, RIGHT, TapeKind

Operation = tuple[str, tuple[int, ...]]  # the name of a method, and its arguments
ASKING = ("read", "greater", "same", "empty", "at_start", "at_last")  # the methods that change nothing


class State(NamedTuple):
    """A tape at one moment. Places are counted from the home end."""

    cells: tuple[Any, ...]  # from the home end outwards; of an endless tape, without the symbols beyond that end it
    heads: tuple[int, ...]
    spans: tuple[tuple[int, int], ...] = ()

    def symbol(self, kind: TapeKind, place: int) -> Any:
        return self.cells[place] if place < len(self.cells) else kind.beyond


def start(kind: TapeKind, cells: tuple[Any, ...]) -> State:
    """The tape of a problem. `cells` are listed from the home end outwards."""
    return State(cells, tuple(len(cells) - 1 if head in kind.far else 0 for head in range(kind.heads)))


def starts(kind: TapeKind, longest: int) -> list[State]:
    """The tapes of all problems with at most so many cells. Of values that are only compared, there are three."""
    if kind.beyond is not None and not kind.given:
        return [start(kind, ())]
    symbols = [symbol for symbol in range(kind.symbols or 3) if symbol != kind.beyond]
    return [start(kind, cells) for length in range(1, longest + 1) for cells in product(symbols, repeat=length)]


def operations(kind: TapeKind, *names: str) -> list[Operation]:
    """Every way to call some of the methods."""
    heads = range(kind.heads)
    arguments = {
        "read": [(head,) for head in heads],
        # one symbol too many, and one too few: they change nothing
        "write": list(product(range(-1, (kind.symbols or 1) + 1), heads)),
        "move": list(product((LEFT, RIGHT, 2), heads)),
        "at_start": [(head,) for head in heads],
        "at_last": [(head,) for head in heads],
        "empty": [()],
    }
    return [(name, args) for name in names for args in arguments.get(name, list(product(heads, repeat=2)))]


def apply(kind: TapeKind, state: State, operation: Operation) -> tuple[Any, State]:
    """What a method answers, and the tape afterwards."""
    name, args = operation
    cells, heads, spans = state
    ends = kind.beyond is None
    outwards = RIGHT if kind.home == "left" else LEFT

    def with_cells(changes: dict[int, Any]) -> State:
        length = max(len(cells), *(place + 1 for place in changes))
        changed = [changes.get(place, state.symbol(kind, place)) for place in range(length)]
        while not ends and changed and changed[-1] == kind.beyond:
            changed.pop()
        return state._replace(cells=tuple(changed))

    def with_heads(changes: dict[int, int]) -> State:
        return state._replace(heads=tuple(changes.get(head, place) for head, place in enumerate(heads)))

    if name == "write":
        symbol, head = args
        written = kind.symbols is not None and 0 <= symbol < kind.symbols
        return None, with_cells({heads[head]: symbol}) if written else state
    if name == "move":
        direction, head = args
        place = heads[head] + (0 if direction not in (LEFT, RIGHT) else 1 if direction == outwards else -1)
        inside = place >= 0 and not (ends and place >= len(cells))
        return None, with_heads({head: place}) if inside else state
    if name == "empty":
        return not spans, state
    here = heads[args[0]]
    if name == "read":
        return state.symbol(kind, here), state
    if name in ("at_start", "at_last"):
        at_home = here == 0
        at_end = ends and here == len(cells) - 1
        return (at_home if (name == "at_start") == (kind.home == "left") else at_end), state
    first, second = args
    there = heads[second]
    if name == "same":
        return here == there, state
    if name == "greater":
        return here != there and state.symbol(kind, here) > state.symbol(kind, there), state
    if name == "swap":
        return None, with_cells({here: state.symbol(kind, there), there: state.symbol(kind, here)})
    if name == "jump":
        return None, with_heads({first: there})
    if name == "push":
        return None, state._replace(spans=(*spans, (here, there))) if here <= there else state
    assert name == "pop"
    if not spans:
        return None, state
    # The last assignment counts if both heads are the same one.
    return None, with_heads(dict(zip(args, spans[-1], strict=True)))._replace(spans=spans[:-1])
