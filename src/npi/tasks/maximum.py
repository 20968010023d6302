"""The maximum of an array of digits: sort the array, then move pointer 1 to its right end.

This is the paper's example of new programs on a trained core: MAX and RJMP are taught by memory rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from npi.language.program import program
from npi.tasks import sorting
from npi.tasks.sorting import POINTER1, SortingPad, bubblesort, bubblesort_recursive, rshift


@program
def rjmp(pad: SortingPad) -> None:
    while not pad.observe().end1:
        rshift(pad)


@program(name="MAX")
def maximum(pad: SortingPad) -> None:
    bubblesort(pad)
    rjmp(pad)


@program(name="RJMP")
def rjmp_recursive(pad: SortingPad) -> None:
    if not pad.observe().end1:
        rshift(pad)
        rjmp_recursive(pad)


@program(name="MAX")
def maximum_recursive(pad: SortingPad) -> None:
    bubblesort_recursive(pad)
    rjmp_recursive(pad)


def answer(problem: Sequence[int]) -> int:
    return max(problem)


def result(pad: SortingPad) -> int:
    return pad.array.read(POINTER1)


loop = replace(
    sorting.loop,
    name="maximum",
    main=maximum,
    answer=answer,
    result=result,
    show=str,
    sizes=range(1, 11),  # longer arrays would only take longer to sort
    builds_on=(bubblesort, rshift),
)
recursive = replace(loop, teacher="recursive", main=maximum_recursive)
