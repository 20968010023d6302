"""Every operation of a lazy tape is covered, tested on all small tapes (docs/proof.md, "Every operation is covered").

The claim: let an abstract tape stand for a concrete one. Apply an operation to both. Then for at least one combination
of the oracle's choices both give the same answer, and the new abstract tape stands for the new concrete one.

The test begins with all pairs of a small problem and an abstract tape that stands for it. It applies every operation to
both members of every pair, and so finds new pairs, until there are none. What an abstract tape stands for is written
here by its definition, and what a tape does is written a second time in samples/tape_model.py.
"""

from __future__ import annotations

from itertools import combinations

import pytest
from samples.tape_model import ASKING, Operation, State, apply, operations, starts

from npi.language.tape import Tape, TapeKind
from npi.proof.lazy_tape import COUNTED_SPANS, AbstractTape, LazyTape
from npi.proof.oracle import Oracle

EXPLICIT = 3  # explicit cells of an abstract endless tape here; one that ends has no more than the tape it stands for
MOST_SPANS = COUNTED_SPANS + 1  # spans that are saved at a time here: more than an abstract tape counts
FORGET: Operation = ("forget", ())

RADII = ((0, 0), (0, 1), (1, 1))
MOVING = ("move", "jump", "same", "at_start", "at_last")
SYMBOLS = ("read", "write", *MOVING)
VALUES = ("greater", "swap", *MOVING)
SPANS = ("push", "pop", "empty", *MOVING)

# A kind, methods, and a size: problems have at most so many cells, and heads of an endless tape visit one more.
Case = tuple[TapeKind, tuple[str, ...], int]


def kinds(heads: int, symbols: int | None, *starts: dict, radii=RADII) -> list[TapeKind]:
    return [
        TapeKind(symbols, heads, **start, symbol_radius=radius, cell_radius=cells)
        for start in starts
        for radius, cells in radii
    ]


FAR = [{"far": far, "home": home} for far in ((), (0,)) for home in ("left", "right")]
ENDLESS = [
    {"home": home, "beyond": beyond, "given": given}
    for home in ("left", "right")
    for beyond in (0, 1)
    for given in (True, False)
]
ONE = kinds(1, 2, *FAR, radii=(*RADII, (1, 0), (2, 2)))
ONE_ENDLESS = kinds(1, 3, *ENDLESS, radii=(*RADII, (2, 0)))
TWO, TWO_ENDLESS = kinds(2, 2, FAR[0], FAR[3]), kinds(2, 2, *ENDLESS[2:4])
TWO_VALUES, THREE_VALUES = kinds(2, None, FAR[0], FAR[3]), kinds(3, None, FAR[2])
TWO_SPANS, ENDLESS_SPANS = kinds(2, None, FAR[0], FAR[3], radii=RADII[:2]), kinds(2, 2, ENDLESS[1], radii=RADII[:2])
# Every kind of declaration with all methods; `greater` and `push` multiply the pairs, so these tapes are shorter.
CASES: list[Case] = [
    *((kind, SYMBOLS, 3) for kind in (*ONE, *TWO)),
    *((kind, SYMBOLS, 2) for kind in (*ONE_ENDLESS, *TWO_ENDLESS)),
    *((kind, (*SYMBOLS, "greater", "swap"), 2) for kind in TWO),
    *((kind, VALUES, 2) for kind in (*TWO_VALUES, *THREE_VALUES)),
    *((kind, SPANS, 2) for kind in TWO_SPANS[::2]),
    (ENDLESS_SPANS[0], SPANS, 1),
]
# Two heads and a third cell, three heads, or spans whose ends are remembered.
LONG_CASES: list[Case] = [
    *((kind, SPANS, 2) for kind in TWO_SPANS[1::2]),
    (ENDLESS_SPANS[1], SPANS, 1),
    (TWO[1], ("greater", "swap", "write", "move"), 3),
    (TWO_VALUES[1], VALUES, 3),
    (THREE_VALUES[1], ("greater", "swap", "move"), 3),
]


def stands_for(kind: TapeKind, abstract: AbstractTape, tape: State) -> bool:
    """Whether an abstract tape stands for a concrete one, by definition: its explicit cells have places that fit."""
    if not (abstract.spans <= len(tape.spans) and (abstract.maybe_more or abstract.spans == len(tape.spans))):
        return False
    last = len(tape.cells)
    if kind.beyond is not None:  # places farther out than any that head or cell needs: all hold `beyond`
        last = max(last, *(head + 1 for head in tape.heads)) + len(abstract.cells)
    return any(_places_fit(kind, abstract, tape, places) for places in combinations(range(last), len(abstract.cells)))


def _places_fit(kind: TapeKind, abstract: AbstractTape, tape: State, places: tuple[int, ...]) -> bool:
    """Whether the explicit cells may lie at these places."""
    adjacent = 0
    for place, gap in zip(places, abstract.gaps, strict=False):
        if place != adjacent and not gap:
            return False
        adjacent = place + 1
    if tuple(places[cell] for cell in abstract.heads) != tape.heads:
        return False
    for symbol, place in zip(abstract.cells, places, strict=True):
        if symbol is not None and symbol != tape.symbol(kind, place):
            return False
    for first, second, known in abstract.greater:
        if (tape.symbol(kind, places[first]) > tape.symbol(kind, places[second])) != known:
            return False
    if not abstract.gaps[-1] and any(place >= adjacent for span in tape.spans for place in span):
        return False  # heads have been there, so these cells are explicit or in a gap
    return abstract.gaps[-1] or _tail_fits(kind, abstract, tape.cells[adjacent:])


def _tail_fits(kind: TapeKind, abstract: AbstractTape, rest: tuple[int, ...]) -> bool:
    """Whether the tail may stand for the cells after the last explicit one, if no gap lies between."""
    if abstract.tail == "given":
        return kind.beyond not in rest  # the rest of the problem, then `beyond` for ever
    return not rest  # the tape ends, or holds only `beyond`


def outcomes(kind: TapeKind, abstract: AbstractTape, operation: Operation) -> list[tuple[object, AbstractTape]]:
    """What a lazy tape may answer, and the abstract tape after it, for every combination of the oracle's choices."""
    name, args = operation
    oracle = Oracle()

    def run() -> tuple[object, AbstractTape]:
        tape = LazyTape(kind, oracle, abstract)
        if operation == FORGET:
            return None, tape.abstract_remembered()
        return getattr(tape, name)(*args), tape.abstract_state()

    return oracle.outcomes(run)


def first_pairs(kind: TapeKind, longest: int) -> list[tuple[State, AbstractTape]]:
    oracle = Oracle()
    abstract = oracle.outcomes(lambda: LazyTape.abstract_start(kind, oracle, {}, 0))
    pairs = [(tape, a) for tape in starts(kind, longest) for a in abstract if stands_for(kind, a, tape)]
    assert {tape for tape, _ in pairs} == {*starts(kind, longest)}, "a problem is not among the initial states"
    return pairs


def within(kind: TapeKind, size: int, tape: State, explicit: int = 0) -> bool:
    """Whether a concrete tape, and an abstract one with so many explicit cells, are small enough to go on from."""
    near = kind.beyond is None or (max(tape.heads) <= size and explicit <= EXPLICIT)
    return near and len(tape.spans) <= MOST_SPANS


def check_covered(kind: TapeKind, names: tuple[str, ...], size: int) -> int:
    """Assert the claim for a kind and some methods; returns how many pairs there are."""
    pending = first_pairs(kind, size)
    pairs = {*pending}
    known: dict[tuple[AbstractTape, Operation], list[tuple[object, AbstractTape]]] = {}
    covers: dict[tuple[AbstractTape, State], bool] = {}
    todo = [*operations(kind, *names), FORGET]
    while pending:
        tape, abstract = pending.pop()
        assert abstract.fits(kind)
        for operation in todo:
            expected, after = (None, tape) if operation == FORGET else apply(kind, tape, operation)
            if (abstract, operation) not in known:
                known[abstract, operation] = outcomes(kind, abstract, operation)
            found = []
            for shown, result in known[abstract, operation]:
                if (result, after) not in covers:
                    covers[result, after] = stands_for(kind, result, after)
                if shown == expected and covers[result, after]:
                    found.append(result)
            assert found, f"{operation} on {tape}: {abstract} stands for it, and cannot do what it does"
            new = {(after, result) for result in found if within(kind, size, after, len(result.cells))} - pairs
            pairs |= new
            pending += new
    return len(pairs)


@pytest.mark.parametrize(
    ("kind", "names", "size"), [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in LONG_CASES)]
)
def test_every_operation_is_covered_on_all_small_tapes(kind, names, size):
    assert check_covered(kind, names, size) >= 10


@pytest.mark.parametrize(("kind", "names", "size"), CASES)
def test_a_concrete_tape_does_what_the_model_does(kind, names, size):
    """Every operation on every small tape that operations lead to. Each tape is built by repeating them."""
    first = starts(kind, size)
    paths: dict[State, tuple[State, list[Operation]]] = {state: (state, []) for state in first}
    pending = [*first]
    changing = operations(kind, *(name for name in names if name not in ASKING))
    asking = operations(kind, *(name for name in ASKING if kind.symbols is not None or name != "read"))
    while pending:
        state = pending.pop()
        for operation in changing:
            _, after = apply(kind, state, operation)
            if within(kind, size, after) and after not in paths:
                origin, path = paths[state]
                paths[after] = (origin, [*path, operation])
                pending.append(after)
    for state, (origin, path) in paths.items():
        tape = build(kind, origin)
        for name, args in path:
            getattr(tape, name)(*args)
        for name, args in asking:
            assert getattr(tape, name)(*args) == apply(kind, state, (name, args))[0], (origin, path, name, args)
        cells = tape.contents() if kind.home == "left" else tape.contents()[::-1]
        assert [*state.cells] == cells[: len(state.cells)]
        assert all(cell == kind.beyond for cell in cells[len(state.cells) :])


def build(kind: TapeKind, state: State) -> Tape:
    """A concrete tape of a problem."""
    return kind.tape(state.cells if kind.home == "left" else state.cells[::-1])
