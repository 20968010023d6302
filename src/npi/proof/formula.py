"""Formulas: short Python expressions that compute a target from the columns of a finite table.

A row of the table is a case that can occur, and each row has a target. A formula gives the target of every row; for
values that are in no row it may give anything, so it can be shorter than the teacher's own expression. There are

    conditions, for targets that are true or false
        one atom          seen.end1, seen.first != BLANK, 3 <= seen.out <= 5, seen.value1 > seen.value2
        a few atoms       all joined by `and`, or all by `or`; if there is none of these, an `or` of a few `and`s
        a bounded sum     seen.first % 10 + seen.second % 10 > 9
    sums, for targets that are numbers
        of a few columns  seen.first + 2, (seen.first + seen.second + seen.carry) % 10
    lookups, for any targets: a key (a column, or a tuple of columns) that finds the target in a constant

The search is bounded, and an `or` of `and`s is found greedily, so a shorter formula may exist. Of the formulas found,
the one with the lowest cost is the easiest to read. Sets of rows are bit masks: bit 0 is the last row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

# Bounds of the search. Larger ones find formulas that are harder to read than a lookup, and take longer.
MAX_ATOMS = 4  # joined by one `and` or `or`
MAX_TERMS = 3  # of an `or` of `and`s, and of a sum
MAX_COLUMNS = 10  # with more, columns are neither compared with each other nor added: too many pairs and triples
MAX_CHOICES = 5000  # search steps for the cheapest atoms to join; each takes microseconds
MODULI = 11  # tried for a sum, from the smallest that can give all targets: 10 to 20 where the greatest target is 9

# Costs: how much there is to read. A name or a number costs about 1; fractions decide between formulas of equal length.
NUMBER = 1.0
BIT = 1.0  # a column of two values, used as a truth value
NOT_BIT = 1.1
EQUALITY = 2.0  # with a named value
EQUALITY_WITH_NUMBER = 2.1  # more than with a name, which tells the reader more
ORDER = 2.2  # `<` or `>=`: `==` is easier to understand
RANGE = 3.0  # low <= column <= high
NOT_RANGE = 3.1
MEMBERSHIP = 1.5  # `in (...)`; each member adds a NUMBER
COLUMNS_COMPARED = 2.3
BITS_COMPARED = 2.6  # two bits are easier to understand when joined by `and` or `or`
JOINING_WORD = 0.5  # `and`, `or`, and `not` before parentheses
TERM = 2.0  # of a sum
REMAINDER_TERM = 3.0  # a term with `% number`
THRESHOLD = 2.0  # `> number` after a sum
LOOKUP = 10.0  # the reader has to find the constant and search it; each column of the key adds a NUMBER
COST_PER_PRECISION = 100.0  # in a greedy choice, cost only decides between atoms of nearly equal precision


class Formula(NamedTuple):
    """A Python expression and its cost."""

    text: str
    cost: float


@dataclass(frozen=True)
class Column:
    """A number that every row has.

    text        the expression for it
    values      its value in each row
    size        how many values it can have; with two, it is used as a truth value
    value_name  how a value is written: a number, or the name of a constant
    """

    text: str
    values: tuple[int, ...]
    size: int
    value_name: Callable[[int], str] = str


class _Atom(NamedTuple):
    """A condition with one comparison or none."""

    formula: Formula
    rows: int  # a mask of the rows in which it is true


def find_conditions(columns: Sequence[Column], targets: Sequence[bool]) -> tuple[Formula, Formula] | None:
    """A condition that is true in exactly the rows with a true target, and its negation; None if none is found."""
    columns = [column for column in columns if len(set(column.values)) > 1]
    atoms, rows, every = list(_atoms(columns, targets)), _mask(targets), (1 << len(targets)) - 1
    thresholds = list(_sum_thresholds(columns, targets))
    condition = _find_condition(atoms, [holds for holds, _ in thresholds], rows, every)
    negation = _find_condition(atoms, [fails for _, fails in thresholds], every & ~rows, every)
    condition = condition or (negation and _negate(negation))
    negation = negation or (condition and _negate(condition))
    return (condition, negation) if condition and negation else None


def _find_condition(atoms: Sequence[_Atom], thresholds: Sequence[Formula], rows: int, every: int) -> Formula | None:
    """The cheapest condition that is true in exactly these rows."""
    # For `or`: atoms that are true in none of the other rows; together they must cover these rows.
    for_or = [atom for atom in atoms if not atom.rows & ~rows]
    # For `and`: atoms that are false in none of these rows; together they must be false in all other rows.
    for_and = [_Atom(formula, every & ~holds) for formula, holds in atoms if not rows & ~holds]
    found = [_cheapest_cover(for_or, rows, " or "), _cheapest_cover(for_and, every & ~rows, " and "), *thresholds]
    best = min((formula for formula in found if formula is not None), key=lambda formula: formula.cost, default=None)
    return best or _or_of_ands(atoms, rows, every)


def _negate(formula: Formula) -> Formula:
    return Formula(f"not ({formula.text})", formula.cost + JOINING_WORD)


def find_sum(columns: Sequence[Column], targets: Sequence[int]) -> Formula | None:
    """A sum of columns, perhaps plus a number and modulo another, that equals the target of every row."""
    if len(set(targets)) == 1:
        return Formula(str(targets[0]), NUMBER)
    smallest = max(targets) + 1
    moduli = [None, *range(smallest, smallest + MODULI)]
    for text, cost, sums in _sums([column for column in columns if len(set(column.values)) > 1]):
        for modulus in moduli:
            differences = [target - total for target, total in zip(targets, sums, strict=True)]
            offsets = {d if modulus is None else d % modulus for d in differences}
            if len(offsets) == 1:
                (offset,) = offsets
                shifted = text if not offset else f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"
                shifted_cost = cost + NUMBER * bool(offset)
                if modulus is None:
                    return Formula(shifted, shifted_cost)
                inner = f"({shifted})" if " " in shifted else shifted
                return Formula(f"{inner} % {modulus}", shifted_cost + NUMBER)
    return None


def find_lookup(columns: Sequence[Column], targets: Sequence[Any]) -> tuple[Formula, dict[Any, Any]]:
    """A key made of as few columns as possible, and the target for each of its values."""
    kept = list(columns)
    for column in reversed(columns):
        fewer = [other for other in kept if other is not column]
        if fewer and _targets_by_key(fewer, targets) is not None:
            kept = fewer
    by_key = _targets_by_key(kept, targets)
    assert by_key is not None, "two rows are equal but have different targets"
    text = kept[0].text if len(kept) == 1 else f"({', '.join(column.text for column in kept)})"
    return Formula(text, LOOKUP + NUMBER * len(kept)), by_key


def _targets_by_key(columns: Sequence[Column], targets: Sequence[Any]) -> dict[Any, Any] | None:
    """The target for each key; None if rows with the same key have different targets."""
    by_key: dict[Any, Any] = {}
    keys = zip(*(column.values for column in columns), strict=True)
    for key, target in zip(keys, targets, strict=True):
        if by_key.setdefault(key[0] if len(columns) == 1 else key, target) != target:
            return None
    return by_key


def _mask(rows: Sequence[object]) -> int:
    return int("".join("1" if row else "0" for row in rows) or "0", 2)


def _atoms(columns: Sequence[Column], targets: Sequence[bool]) -> Iterator[_Atom]:
    for text, values, size, value_name in ((c.text, c.values, c.size, c.value_name) for c in columns):
        if size == 2:
            yield _Atom(Formula(text, BIT), _mask(values))
            yield _Atom(Formula(f"not {text}", NOT_BIT), _mask([not v for v in values]))
            continue
        present = sorted(set(values))
        for v in present:
            cost = EQUALITY_WITH_NUMBER if value_name(v).isdigit() else EQUALITY
            yield _Atom(Formula(f"{text} == {value_name(v)}", cost), _mask([u == v for u in values]))
            yield _Atom(Formula(f"{text} != {value_name(v)}", cost), _mask([u != v for u in values]))
        for v in present[1:]:
            yield _Atom(Formula(f"{text} < {value_name(v)}", ORDER), _mask([u < v for u in values]))
            yield _Atom(Formula(f"{text} >= {value_name(v)}", ORDER), _mask([u >= v for u in values]))
        for side in (True, False):
            members = sorted({v for v, target in zip(values, targets, strict=True) if target == side})
            inside = _mask([v in members for v in values])
            if len(members) > 1 and members == present[present.index(members[0]) : present.index(members[-1]) + 1]:
                between = f"{value_name(members[0])} <= {text} <= {value_name(members[-1])}"
                yield _Atom(Formula(between, RANGE), inside)
                yield _Atom(Formula(f"not {between}", NOT_RANGE), (1 << len(values)) - 1 & ~inside)
            elif 1 < len(members) <= len(present) // 2:  # of more, the others make the shorter list
                listed = f"({', '.join(map(value_name, members))})"
                cost = MEMBERSHIP + NUMBER * len(members)
                yield _Atom(Formula(f"{text} in {listed}", cost), inside)
                yield _Atom(Formula(f"{text} not in {listed}", cost), (1 << len(values)) - 1 & ~inside)
    for one, other in combinations(columns, 2) if len(columns) <= MAX_COLUMNS else ():
        if one.size == other.size:
            for sign, holds in _COMPARISONS.items():
                if one.size > 2 or sign in ("==", "!="):
                    rows = _mask([holds(u, v) for u, v in zip(one.values, other.values, strict=True)])
                    cost = COLUMNS_COMPARED if one.size > 2 else BITS_COMPARED
                    yield _Atom(Formula(f"{one.text} {sign} {other.text}", cost), rows)


_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "==": lambda u, v: u == v,
    "!=": lambda u, v: u != v,
    "<": lambda u, v: u < v,
    ">": lambda u, v: u > v,
    "<=": lambda u, v: u <= v,
    ">=": lambda u, v: u >= v,
}


def _sums(columns: Sequence[Column]) -> Iterator[tuple[str, float, list[int]]]:
    """Sums of columns, then of their remainders, short ones first: the text, the cost, and the sum in each row."""
    if len(columns) > MAX_COLUMNS:
        return
    for count, modulo in product(range(1, MAX_TERMS + 1), (False, True)):
        for some in combinations(columns, count):
            for modulus in range(2, max(column.size for column in some)) if modulo else (None,):
                texts = [c.text if modulus is None else f"{c.text} % {modulus}" for c in some]
                terms = [c.values if modulus is None else [v % modulus for v in c.values] for c in some]
                sums = [sum(row) for row in zip(*terms, strict=True)]
                yield " + ".join(texts), (REMAINDER_TERM if modulo else TERM) * count, sums


def _sum_thresholds(columns: Sequence[Column], targets: Sequence[bool]) -> Iterator[tuple[Formula, Formula]]:
    """A condition such as a + b > 9 on the first sum that separates the targets, with its negation, or nothing."""
    for text, cost, sums in _sums(columns):
        if " + " in text:  # one column alone is an atom
            true = {total for total, target in zip(sums, targets, strict=True) if target}
            false = {total for total, target in zip(sums, targets, strict=True) if not target}
            for upper, lower in ((true, false), (false, true)):
                if min(upper) > max(lower):
                    above = Formula(f"{text} > {max(lower)}", cost + THRESHOLD)
                    below = Formula(f"{text} < {min(upper)}", cost + THRESHOLD)
                    yield (above, below) if upper is true else (below, above)
                    return


def _cheapest_cover(atoms: Sequence[_Atom], rows: int, word: str) -> Formula | None:
    """The cheapest few atoms that cover all rows together, joined by a word: a bounded branch-and-bound search."""
    useful: list[_Atom] = []  # all but those whose rows a single cheaper atom covers
    for atom in sorted(atoms, key=lambda atom: atom.formula.cost):
        if atom.rows and not any(not atom.rows & ~cheaper.rows for cheaper in useful):
            useful.append(atom)
    best: tuple[float, list[_Atom]] | None = None
    choices = 0

    def extend(chosen: list[_Atom], uncovered: int, cost: float) -> None:
        nonlocal best, choices
        choices += 1
        if choices > MAX_CHOICES or (best is not None and cost >= best[0]):
            return
        if not uncovered:
            best = (cost, chosen)
        elif len(chosen) < MAX_ATOMS:
            lowest = uncovered & -uncovered
            for atom in useful:
                if atom.rows & lowest:
                    word_cost = JOINING_WORD * bool(chosen)
                    extend([*chosen, atom], uncovered & ~atom.rows, cost + atom.formula.cost + word_cost)

    extend([], rows, 0.0)
    if best is None:
        return None
    position = {id(atom): index for index, atom in enumerate(atoms)}
    chosen = sorted(best[1], key=lambda atom: position[id(atom)])  # in the order of the columns
    return Formula(word.join(atom.formula.text for atom in chosen), best[0])


def _or_of_ands(atoms: Sequence[_Atom], rows: int, every: int) -> Formula | None:
    """An `or` of `and`s that is true in exactly these rows, found greedily."""
    terms: list[str] = []
    cost, uncovered = 0.0, rows
    while uncovered and len(terms) < MAX_TERMS:
        holds, chosen = every, []  # the rows in which the `and` of the chosen atoms is true
        while holds & ~rows and len(chosen) < MAX_ATOMS:
            atom = max(atoms, key=lambda atom: _score(atom, holds, rows, uncovered))
            if holds & atom.rows == holds:
                return None
            holds &= atom.rows
            chosen.append(atom)
        if holds & ~rows or not holds & uncovered:
            return None
        terms.append(" and ".join(atom.formula.text for atom in chosen))
        cost += sum(atom.formula.cost + JOINING_WORD for atom in chosen)
        uncovered &= ~holds
    if uncovered:
        return None
    return Formula(" or ".join(f"({term})" if " and " in term else term for term in terms), cost)


def _score(atom: _Atom, holds: int, rows: int, uncovered: int) -> float:
    """How well an atom, added to an `and`, separates the uncovered rows from the rows in which it must be false."""
    true, false = (holds & atom.rows & uncovered).bit_count(), (holds & atom.rows & ~rows).bit_count()
    return true / (true + false) - atom.formula.cost / COST_PER_PRECISION if true else -1.0
