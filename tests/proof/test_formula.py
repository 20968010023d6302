"""Formulas: right on every row, and short where a person would find a short one."""

from collections.abc import Callable
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from npi.proof.formula import Column, conditions, lookup, value

DIGITS = range(10)


def columns(rows, sizes, called: Callable[[int], str] = str):
    return [
        Column(name, values, size, called)
        for name, values, size in zip("abcd", zip(*rows, strict=True), sizes, strict=False)
    ]


def holds(rows, sizes, wanted, called: Callable[[int], str] = str):
    pair = conditions(columns(rows, sizes, called), [bool(wanted(*row)) for row in rows])
    assert pair is not None
    return [formula.text for formula in pair]


def test_conditions_are_what_a_person_would_write():
    bits = list(product(range(2), repeat=3))
    assert holds(bits, (2, 2, 2), lambda a, b, c: b) == ["b", "not b"]
    assert holds(bits, (2, 2, 2), lambda a, b, c: a and not c) == ["a and not c", "not a or c"]
    assert holds(bits, (2, 2, 2), lambda a, b, c: a != b) == ["a != b", "a == b"]
    pairs = list(product(DIGITS, repeat=2))
    assert holds(pairs, (10, 10), lambda a, b: a > b) == ["a > b", "a <= b"]
    assert holds(pairs, (10, 10), lambda a, b: a > 6) == ["a >= 7", "a < 7"]
    assert holds(pairs, (10, 10), lambda a, b: 3 < a < 7) == ["4 <= a <= 6", "not 4 <= a <= 6"]
    assert holds(pairs, (10, 10), lambda a, b: b in (1, 5)) == ["b in (1, 5)", "b not in (1, 5)"]
    assert holds(pairs, (10, 10), lambda a, b: a + b > 9) == ["a + b > 9", "a + b < 10"]
    assert holds(pairs, (10, 10), lambda a, b: a == 4, lambda v: "FOUR" if v == 4 else str(v))[0] == "a == FOUR"


def test_rows_that_cannot_be_are_free():
    rows = [(a, b, 1 - a) for a in range(2) for b in range(2) if a or b]
    assert holds(rows, (2, 2, 2), lambda a, b, c: a and b and not c) == ["a and b", "not b or c"]
    assert holds([(0, 3), (1, 4)], (2, 10), lambda a, b: b == 4) == ["a", "not a"]


def test_either_of_two_cases():
    rows = list(product(range(2), repeat=4))
    found = holds(rows, (2, 2, 2, 2), lambda a, b, c, d: (a and b) or (c and d))
    assert found == ["(a and b) or (c and d)", "not ((a and b) or (c and d))"]


def test_values_are_sums():
    rows = list(product(range(11), range(11), (1, 10)))
    wanted = [sum(v for v in row if v != 10) % 10 for row in rows]
    found = value(columns(rows, (11, 11, 11)), wanted)
    assert found is not None
    assert found.text == "(a + b + c) % 10"
    plain = value(columns(rows, (11, 11, 11)), [row[1] for row in rows])
    assert plain is not None
    assert plain.text == "b"
    shifted = value(columns(rows, (11, 11, 11)), [row[0] + 2 for row in rows])
    assert shifted is not None
    assert shifted.text == "a + 2"
    assert value(columns(rows, (11, 11, 11)), [row[0] * row[1] for row in rows]) is None


def test_a_row_is_looked_up_by_as_little_as_will_do():
    rows = list(product(range(3), range(3), range(2)))
    key, table = lookup(columns(rows, (3, 3, 2)), [row[0] * row[1] for row in rows])
    assert key.text == "(a, b)"
    assert table == {(a, b): a * b for a in range(3) for b in range(3)}


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 1)), min_size=2, max_size=20, unique=True
)


@settings(max_examples=200, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_what_is_found_is_right_on_every_row(rows, rng):
    wanted = [rng.random() < 0.5 for _ in rows]
    wanted[0], wanted[1] = True, False
    names = [dict(zip("abc", row, strict=True)) for row in rows]
    pair = conditions(columns(rows, (4, 4, 2)), wanted)
    if pair is not None:
        assert [bool(eval(pair[0].text, name)) for name in names] == wanted
        assert [not eval(pair[1].text, name) for name in names] == wanted
    numbers = [rng.choice([row[0], (row[1] + row[2]) % 3]) for row in rows]
    found = value(columns(rows, (4, 4, 2)), numbers)
    if found is not None:
        assert [eval(found.text, name) for name in names] == numbers
    key, table = lookup(columns(rows, (4, 4, 2)), numbers)
    assert [table[eval(key.text, name)] for name in names] == numbers
