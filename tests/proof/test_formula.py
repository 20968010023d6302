"""Formulas: correct on every row, and as short as a person would write them."""

from collections.abc import Callable
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from npi.proof.formula import Column, find_conditions, find_lookup, find_sum

DIGITS = range(10)


def columns(rows, sizes, value_name: Callable[[int], str] = str):
    return [
        Column(name, values, size, value_name)
        for name, values, size in zip("abcd", zip(*rows, strict=True), sizes, strict=False)
    ]


def found_conditions(rows, sizes, target, value_name: Callable[[int], str] = str):
    """The texts of the condition found for a target, and of its negation."""
    pair = find_conditions(columns(rows, sizes, value_name), [bool(target(*row)) for row in rows])
    assert pair is not None
    return [formula.text for formula in pair]


def test_conditions_are_as_a_person_writes_them():
    bits = list(product(range(2), repeat=3))
    assert found_conditions(bits, (2, 2, 2), lambda a, b, c: b) == ["b", "not b"]
    assert found_conditions(bits, (2, 2, 2), lambda a, b, c: a and not c) == ["a and not c", "not a or c"]
    assert found_conditions(bits, (2, 2, 2), lambda a, b, c: a != b) == ["a != b", "a == b"]
    pairs = list(product(DIGITS, repeat=2))
    assert found_conditions(pairs, (10, 10), lambda a, b: a > b) == ["a > b", "a <= b"]
    assert found_conditions(pairs, (10, 10), lambda a, b: a > 6) == ["a >= 7", "a < 7"]
    assert found_conditions(pairs, (10, 10), lambda a, b: 3 < a < 7) == ["4 <= a <= 6", "not 4 <= a <= 6"]
    assert found_conditions(pairs, (10, 10), lambda a, b: b in (1, 5)) == ["b in (1, 5)", "b not in (1, 5)"]
    assert found_conditions(pairs, (10, 10), lambda a, b: a + b > 9) == ["a + b > 9", "a + b < 10"]
    four = found_conditions(pairs, (10, 10), lambda a, b: a == 4, lambda v: "FOUR" if v == 4 else str(v))
    assert four[0] == "a == FOUR"


def test_combinations_that_are_not_rows_make_conditions_shorter():
    rows = [(a, b, 1 - a) for a in range(2) for b in range(2) if a or b]
    assert found_conditions(rows, (2, 2, 2), lambda a, b, c: a and b and not c) == ["a and b", "not b or c"]
    assert found_conditions([(0, 3), (1, 4)], (2, 10), lambda a, b: b == 4) == ["a", "not a"]


def test_a_condition_can_be_an_or_of_ands():
    rows = list(product(range(2), repeat=4))
    found = found_conditions(rows, (2, 2, 2, 2), lambda a, b, c, d: (a and b) or (c and d))
    assert found == ["(a and b) or (c and d)", "not ((a and b) or (c and d))"]


def test_numbers_are_sums_of_columns():
    rows = list(product(range(11), range(11), (1, 10)))
    targets = [sum(v for v in row if v != 10) % 10 for row in rows]
    found = find_sum(columns(rows, (11, 11, 11)), targets)
    assert found is not None
    assert found.text == "(a + b + c) % 10"
    plain = find_sum(columns(rows, (11, 11, 11)), [row[1] for row in rows])
    assert plain is not None
    assert plain.text == "b"
    shifted = find_sum(columns(rows, (11, 11, 11)), [row[0] + 2 for row in rows])
    assert shifted is not None
    assert shifted.text == "a + 2"
    assert find_sum(columns(rows, (11, 11, 11)), [row[0] * row[1] for row in rows]) is None


def test_the_key_of_a_lookup_has_as_few_columns_as_possible():
    rows = list(product(range(3), range(3), range(2)))
    key, table = find_lookup(columns(rows, (3, 3, 2)), [row[0] * row[1] for row in rows])
    assert key.text == "(a, b)"
    assert table == {(a, b): a * b for a in range(3) for b in range(3)}


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 1)), min_size=2, max_size=20, unique=True
)


@settings(max_examples=200, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_every_formula_is_correct_on_every_row(rows, rng):
    targets = [rng.random() < 0.5 for _ in rows]
    targets[0], targets[1] = True, False
    names = [dict(zip("abc", row, strict=True)) for row in rows]
    pair = find_conditions(columns(rows, (4, 4, 2)), targets)
    if pair is not None:
        assert [bool(eval(pair[0].text, name)) for name in names] == targets
        assert [not eval(pair[1].text, name) for name in names] == targets
    numbers = [rng.choice([row[0], (row[1] + row[2]) % 3]) for row in rows]
    found = find_sum(columns(rows, (4, 4, 2)), numbers)
    if found is not None:
        assert [eval(found.text, name) for name in names] == numbers
    key, table = find_lookup(columns(rows, (4, 4, 2)), numbers)
    assert [table[eval(key.text, name)] for name in names] == numbers
