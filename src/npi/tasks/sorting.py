"""Bubble sort of an array of digits.

Pointers 1 and 2 compare and swap neighbours. Pointer 3 counts the sweeps over the array, on a separate tape of the
same length. A program observes the two values, whether pointers 1 and 2 are at the start or the end, and whether
pointer 3 is at the end. Pointers stop at the ends: after a sweep both 1 and 2 are on the last element, and after RESET
on the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Annotated, NamedTuple

from npi.errors import BadInput
from npi.language.env import Env
from npi.language.program import act, program
from npi.language.tape import LEFT, RIGHT, Tape, TapeKind
from npi.language.task import Task

DIGITS = range(10)
POINTER1, POINTER2, POINTER3 = POINTERS = range(3)
MOVE, SWAP = OPS = range(2)

ARRAY = TapeKind(symbols=len(DIGITS), heads=2)
COUNT = TapeKind(symbols=1, length_of=ARRAY)  # its one symbol means nothing: only the place of the pointer counts

Digit = Annotated[int, DIGITS]
Bit = Annotated[int, range(2)]


class Observation(NamedTuple):
    value1: Digit
    value2: Digit
    start1: Bit
    end1: Bit
    start2: Bit
    end2: Bit
    end3: Bit

    @property
    def greater(self) -> bool:
        return self.value1 > self.value2


class SortingPad(Env):
    def __init__(self, array: Tape, count: Tape):
        self.array, self.count = array, count

    @classmethod
    def of(cls, problem: Sequence[int]) -> SortingPad:
        return cls(ARRAY.tape(problem), COUNT.tape([0] * len(problem)))

    @classmethod
    def tapes(cls) -> tuple[TapeKind, ...]:
        return ARRAY, COUNT

    def observe(self) -> Observation:
        array = self.array
        return Observation(
            array.read(POINTER1),
            array.read(POINTER2),
            array.at_start(POINTER1),
            array.at_last(POINTER1),
            array.at_start(POINTER2),
            array.at_last(POINTER2),
            self.count.at_last(),
        )

    def act(self, op: Annotated[int, OPS], pointer: Annotated[int, POINTERS], direction: Bit, /) -> None:
        """MOVE a pointer to the LEFT or RIGHT, or SWAP the values under pointers 1 and 2."""
        if op == MOVE:
            if pointer == POINTER3:
                self.count.move(direction)
            elif pointer in (POINTER1, POINTER2):
                self.array.move(direction, pointer)
        elif op == SWAP:
            self.array.swap(POINTER1, POINTER2)

    @classmethod
    def describe(cls, args: tuple[int, ...]) -> str:
        op, pointer, direction = args
        return "SWAP 1 2" if op == SWAP else f"PTR {pointer + 1} {('LEFT', 'RIGHT')[direction]}"


@program
def compswap(pad: SortingPad) -> None:
    if pad.observe().greater:
        act(pad, SWAP)


@program
def rshift(pad: SortingPad) -> None:
    act(pad, MOVE, POINTER1, RIGHT)
    act(pad, MOVE, POINTER2, RIGHT)


@program
def lshift(pad: SortingPad) -> None:
    act(pad, MOVE, POINTER1, LEFT)
    act(pad, MOVE, POINTER2, LEFT)


@program
def bstep(pad: SortingPad) -> None:
    compswap(pad)
    rshift(pad)


@program
def bubble(pad: SortingPad) -> None:
    act(pad, MOVE, POINTER2, RIGHT)
    while not pad.observe().end1:
        bstep(pad)


@program
def reset(pad: SortingPad) -> None:
    while not pad.observe().start2:
        lshift(pad)
    act(pad, MOVE, POINTER3, RIGHT)


@program
def bubblesort(pad: SortingPad) -> None:
    while not pad.observe().end3:
        bubble(pad)
        reset(pad)


# The recursive teacher: every loop above becomes a program that calls itself.


@program(name="LSHIFT")
def lshift_recursive(pad: SortingPad) -> None:
    if not pad.observe().start2:
        act(pad, MOVE, POINTER1, LEFT)
        act(pad, MOVE, POINTER2, LEFT)
        lshift_recursive(pad)


@program(name="BSTEP")
def bstep_recursive(pad: SortingPad) -> None:
    if not pad.observe().end1:
        compswap(pad)
        rshift(pad)
        bstep_recursive(pad)


@program(name="BUBBLE")
def bubble_recursive(pad: SortingPad) -> None:
    act(pad, MOVE, POINTER2, RIGHT)
    bstep_recursive(pad)


@program(name="RESET")
def reset_recursive(pad: SortingPad) -> None:
    lshift_recursive(pad)
    act(pad, MOVE, POINTER3, RIGHT)


@program(name="BUBBLESORT")
def bubblesort_recursive(pad: SortingPad) -> None:
    if not pad.observe().end3:
        bubble_recursive(pad)
        reset_recursive(pad)
        bubblesort_recursive(pad)


def sample(rng: Random, size: int) -> tuple[int, ...]:
    """Random digits; in half of the arrays at most four distinct ones, else nearly every long array would hold a 9."""
    kinds = rng.sample(DIGITS, rng.randint(1, 4)) if rng.random() < 0.5 else DIGITS
    return tuple(rng.choices(kinds, k=size))


def corner_cases(size: int) -> list[tuple[int, ...]]:
    """Reversed, sorted and all-equal arrays, and one whose smallest value is last."""
    rising = tuple(DIGITS[i * len(DIGITS) // size] for i in range(size))
    return [rising[::-1], rising, (7,) * size, (0,) * size, (9,) * size, (9,) * (size - 1) + (0,)]


def answer(problem: Sequence[int]) -> list[int]:
    return sorted(problem)


def result(pad: SortingPad) -> list[int]:
    return pad.array.contents()


def parse(words: Sequence[str]) -> tuple[int, ...]:
    if not words:
        raise BadInput("sorting takes one or more digits, such as 9 2 5; it was given none")
    for word in words:
        if not (word.isascii() and word.isdigit()):
            raise BadInput(f"{word!r} cannot be sorted: give digits from 0 to 9, separated by spaces")
        if len(word) > 1:
            raise BadInput(f"{word} is outside 0..9, the values this pad can hold: give single digits, such as 9 2 5")
    return tuple(map(int, words))


def show(array: Sequence[int]) -> str:
    return " ".join(map(str, array))


loop = Task(
    name="sorting",
    teacher="loop",
    env=SortingPad,
    main=bubblesort,
    sample=sample,
    answer=answer,
    result=result,
    parse=parse,
    show=show,
    sizes=range(1, 21),  # the paper uses 2 to 20, but a single element has observations that longer arrays never show
    examples=64,
    corner_cases=corner_cases,
)
recursive = replace(loop, teacher="recursive", main=bubblesort_recursive)
