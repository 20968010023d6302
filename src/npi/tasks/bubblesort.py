"""Bubble sort of any values that can be compared: numbers of any size, words.

The programs are those of `sorting`. The pad shows no values, only whether the first is greater than the second. So the
learned program does not depend on digits, and it has far fewer observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from npi.errors import BadInput
from npi.language.tape import TapeKind
from npi.tasks import sorting
from npi.tasks.sorting import POINTER1, POINTER2, Bit, SortingPad

VALUES = TapeKind(symbols=None, heads=2)
COUNT = TapeKind(symbols=1, length_of=VALUES)


class Observation(NamedTuple):
    greater: Bit
    start1: Bit
    end1: Bit
    start2: Bit
    end2: Bit
    end3: Bit


class ComparisonPad(SortingPad):
    @classmethod
    def of(cls, problem: Sequence[Any]) -> ComparisonPad:
        return cls(VALUES.tape(problem), COUNT.tape([0] * len(problem)))

    @classmethod
    def tapes(cls) -> tuple[TapeKind, ...]:
        return VALUES, COUNT

    def observe(self) -> Observation:  # pyright: ignore[reportIncompatibleMethodOverride]  # other fields
        values = self.array
        return Observation(
            values.greater(POINTER1, POINTER2),
            values.at_start(POINTER1),
            values.at_last(POINTER1),
            values.at_start(POINTER2),
            values.at_last(POINTER2),
            self.count.at_last(),
        )


def sample(rng: Random, size: int) -> tuple[int, ...]:
    """Integers from a range small enough that some are equal."""
    return tuple(rng.randint(-size, 2 * size) for _ in range(size))


def corner_cases(size: int) -> list[tuple[int, ...]]:
    """Reversed, sorted and all-equal arrays, and one whose smallest value is last."""
    rising = tuple(range(-1000, 1000 * size, 1000))[:size]
    return [rising[::-1], rising, (7,) * size, (*rising[1:], rising[0])]


def parse(words: Sequence[str]) -> tuple[int, ...] | tuple[str, ...]:
    """Integers if all words are integers, otherwise the words themselves."""
    if not words:
        raise BadInput("there is nothing to sort: give numbers or words, such as 512 -3 77 12")
    try:
        return tuple(map(int, words))
    except ValueError:
        return tuple(words)


loop = replace(
    sorting.loop,
    name="bubblesort",
    env=ComparisonPad,
    sample=sample,
    parse=parse,
    sizes=range(1, 7),
    examples=16,
    corner_cases=corner_cases,
)
recursive = replace(loop, teacher="recursive", main=sorting.bubblesort_recursive)
