"""Formulas: the shortest Python found for a column of a finite table, in terms of its other columns.

A table is a set of rows that can occur; what a formula says of any other row is free. Searched for are conditions

    one test             seen.end1, seen.first != BLANK, 3 <= seen.out <= 5, seen.value1 > seen.value2
    a few tests          all joined by `and`, or all by `or`; else an `or` of few `and`s
    a bounded sum        seen.first % 10 + seen.second % 10 > 9

and values: a sum of columns, perhaps with a constant, perhaps modulo a number. What is found is right on every row.
That no shorter one exists is not promised: the search is bounded, and an `or` of `and`s is found greedily. Where
nothing is found, a row is looked up in a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

TESTS = 4  # joined by one `and` or `or`
TERMS = 3  # of an `or` of `and`s, and of a sum
MANY = 10  # columns: of more, none are compared or summed
TRIES = 5000  # to join tests


class Formula(NamedTuple):
    """Python, and how much of it there is to read: about one for each name and number."""

    text: str
    cost: float


@dataclass(frozen=True)
class Column:
    """A named number: what it is in each row, how many values it may have, and what they are called."""

    text: str
    values: tuple[int, ...]
    size: int
    called: Callable[[int], str] = str


class _Test(NamedTuple):
    formula: Formula
    rows: int  # those in which it holds, as the bits of a number


def conditions(columns: Sequence[Column], wanted: Sequence[bool]) -> tuple[Formula, Formula] | None:
    """A condition that holds in the wanted rows and in no other, and one that holds in the others alone."""
    columns = [column for column in columns if len(set(column.values)) > 1]
    tests, rows, every = list(_tests(columns, wanted)), _bits(wanted), (1 << len(wanted)) - 1
    sums = list(_sums_tested(columns, wanted))
    holds = _condition(tests, [above for above, _ in sums], rows, every)
    fails = _condition(tests, [below for _, below in sums], every & ~rows, every)
    holds = holds or (fails and _not(fails))
    fails = fails or (holds and _not(holds))
    return (holds, fails) if holds and fails else None


def _condition(tests: Sequence[_Test], sums: Sequence[Formula], rows: int, every: int) -> Formula | None:
    inside = [_Test(f, holds) for f, holds in tests if not holds & ~rows]
    outside = [_Test(f, every & ~holds) for f, holds in tests if not rows & ~holds]
    found = [_joined(inside, rows, " or "), _joined(outside, every & ~rows, " and "), *sums]
    best = min((f for f in found if f is not None), key=lambda f: f.cost, default=None)
    return best or _either(tests, rows, every)


def _not(formula: Formula) -> Formula:
    return Formula(f"not ({formula.text})", formula.cost + 0.5)


def value(columns: Sequence[Column], wanted: Sequence[int]) -> Formula | None:
    """A sum that is what is wanted in each row."""
    if len(set(wanted)) == 1:
        return Formula(str(wanted[0]), 1)
    moduli = [None, *range(max(wanted) + 1, max(wanted) + 12)]
    for text, cost, sums in _sums([column for column in columns if len(set(column.values)) > 1]):
        for modulus in moduli:
            offsets = {w - s if modulus is None else (w - s) % modulus for w, s in zip(wanted, sums, strict=True)}
            if len(offsets) == 1:
                (offset,) = offsets
                shifted = text if not offset else f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"
                if modulus is None:
                    return Formula(shifted, cost + bool(offset))
                inner = f"({shifted})" if " " in shifted else shifted
                return Formula(f"{inner} % {modulus}", cost + bool(offset) + 1)
    return None


def lookup(columns: Sequence[Column], wanted: Sequence[Any]) -> tuple[Formula, dict[Any, Any]]:
    """What to look a row up by, as few columns as will do, and what is wanted for each key."""
    kept = list(columns)
    for column in reversed(columns):
        fewer = [other for other in kept if other is not column]
        if fewer and _keyed(fewer, wanted) is not None:
            kept = fewer
    keyed = _keyed(kept, wanted)
    assert keyed is not None, "rows that differ in nothing are wanted to differ"
    text = kept[0].text if len(kept) == 1 else f"({', '.join(column.text for column in kept)})"
    return Formula(text, 10 + len(kept)), keyed


def _keyed(columns: Sequence[Column], wanted: Sequence[Any]) -> dict[Any, Any] | None:
    keyed: dict[Any, Any] = {}
    keys = zip(*(column.values for column in columns), strict=True)
    for key, what in zip(keys, wanted, strict=True):
        if keyed.setdefault(key[0] if len(columns) == 1 else key, what) != what:
            return None
    return keyed


def _bits(rows: Sequence[object]) -> int:
    return int("".join("1" if row else "0" for row in rows) or "0", 2)


def _tests(columns: Sequence[Column], wanted: Sequence[bool]) -> Iterator[_Test]:
    for text, values, size, called in ((c.text, c.values, c.size, c.called) for c in columns):
        if size == 2:
            yield _Test(Formula(text, 1), _bits(values))
            yield _Test(Formula(f"not {text}", 1.1), _bits([not v for v in values]))
            continue
        present = sorted(set(values))
        for v in present:
            cost = 2.1 if called(v).isdigit() else 2  # a name says more
            yield _Test(Formula(f"{text} == {called(v)}", cost), _bits([u == v for u in values]))
            yield _Test(Formula(f"{text} != {called(v)}", cost), _bits([u != v for u in values]))
        for v in present[1:]:
            yield _Test(Formula(f"{text} < {called(v)}", 2.2), _bits([u < v for u in values]))
            yield _Test(Formula(f"{text} >= {called(v)}", 2.2), _bits([u >= v for u in values]))
        for side in (True, False):
            some = sorted({v for v, w in zip(values, wanted, strict=True) if w == side})
            if len(some) > 1 and some == present[present.index(some[0]) : present.index(some[-1]) + 1]:
                between = f"{called(some[0])} <= {text} <= {called(some[-1])}"
                inside = _bits([v in some for v in values])
                yield _Test(Formula(between, 3), inside)
                yield _Test(Formula(f"not {between}", 3.1), (1 << len(values)) - 1 & ~inside)
            elif 1 < len(some) <= len(present) // 2:
                members = f"({', '.join(map(called, some))})"
                yield _Test(Formula(f"{text} in {members}", 1.5 + len(some)), _bits([v in some for v in values]))
                yield _Test(
                    Formula(f"{text} not in {members}", 1.5 + len(some)), _bits([v not in some for v in values])
                )
    for one, other in combinations(columns, 2) if len(columns) <= MANY else ():
        if one.size == other.size:
            for sign, holds in _COMPARED.items():
                if one.size > 2 or sign in ("==", "!="):
                    rows = _bits([holds(u, v) for u, v in zip(one.values, other.values, strict=True)])
                    cost = 2.3 if one.size > 2 else 2.6  # to join two bits by a word reads better
                    yield _Test(Formula(f"{one.text} {sign} {other.text}", cost), rows)


_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "==": lambda u, v: u == v,
    "!=": lambda u, v: u != v,
    "<": lambda u, v: u < v,
    ">": lambda u, v: u > v,
    "<=": lambda u, v: u <= v,
    ">=": lambda u, v: u >= v,
}


def _sums(columns: Sequence[Column]) -> Iterator[tuple[str, float, list[int]]]:
    """Sums of columns, the plain before those of remainders; with what they cost and are."""
    if len(columns) > MANY:
        return
    for count, modulo in product(range(1, TERMS + 1), (False, True)):
        for some in combinations(columns, count):
            for modulus in range(2, max(column.size for column in some)) if modulo else (None,):
                texts = [c.text if modulus is None else f"{c.text} % {modulus}" for c in some]
                terms = [c.values if modulus is None else [v % modulus for v in c.values] for c in some]
                sums = [sum(row) for row in zip(*terms, strict=True)]
                yield " + ".join(texts), (3 if modulo else 2) * count, sums


def _sums_tested(columns: Sequence[Column], wanted: Sequence[bool]) -> Iterator[tuple[Formula, Formula]]:
    """The first sum that is greater in all wanted rows than in all others, or smaller in all; and its contrary."""
    for text, cost, sums in _sums(columns):
        if " + " in text:
            yes = {s for s, w in zip(sums, wanted, strict=True) if w}
            no = {s for s, w in zip(sums, wanted, strict=True) if not w}
            for one, other in ((yes, no), (no, yes)):
                if min(one) > max(other):
                    above = Formula(f"{text} > {max(other)}", cost + 2)
                    below = Formula(f"{text} < {min(one)}", cost + 2)
                    yield (above, below) if one is yes else (below, above)
                    return


def _joined(tests: Sequence[_Test], rows: int, word: str) -> Formula | None:
    """The cheapest few tests that cover all rows together, joined by a word."""
    useful: list[_Test] = []
    for test in sorted(tests, key=lambda test: test.formula.cost):
        if test.rows and not any(not test.rows & ~better.rows for better in useful):
            useful.append(test)
    best: tuple[float, list[_Test]] | None = None
    tried = 0

    def choose(chosen: list[_Test], left: int, cost: float) -> None:
        nonlocal best, tried
        tried += 1
        if tried > TRIES or (best is not None and cost >= best[0]):
            return
        if not left:
            best = (cost, chosen)
        elif len(chosen) < TESTS:
            first = left & -left
            for test in useful:
                if test.rows & first:
                    choose([*chosen, test], left & ~test.rows, cost + test.formula.cost + 0.5 * bool(chosen))

    choose([], rows, 0.0)
    if best is None:
        return None
    order = {id(test): place for place, test in enumerate(tests)}
    chosen = sorted(best[1], key=lambda test: order[id(test)])  # as the columns come
    return Formula(word.join(test.formula.text for test in chosen), best[0])


def _either(tests: Sequence[_Test], rows: int, every: int) -> Formula | None:
    """An `or` of `and`s, each made to cover as much as it can."""
    terms: list[str] = []
    cost, left = 0.0, rows
    while left and len(terms) < TERMS:
        holds, chosen = every, []
        while holds & ~rows and len(chosen) < TESTS:
            test = max(tests, key=lambda t: _gain(t, holds, rows, left))
            if holds & test.rows == holds:
                return None
            holds &= test.rows
            chosen.append(test)
        if holds & ~rows or not holds & left:
            return None
        terms.append(" and ".join(test.formula.text for test in chosen))
        cost += sum(test.formula.cost + 0.5 for test in chosen)
        left &= ~holds
    return None if left else Formula(" or ".join(f"({term})" if " and " in term else term for term in terms), cost)


def _gain(test: _Test, holds: int, rows: int, left: int) -> float:
    """How much better the wanted rows that are left are told from the unwanted ones."""
    yes, no = (holds & test.rows & left).bit_count(), (holds & test.rows & ~rows).bit_count()
    return yes / (yes + no) - test.formula.cost / 100 if yes else -1.0
