"""Quicksort with Lomuto's partition, in place, of any values that can be compared.

There are four pointers. LOW and HIGH bound the current span, whose last value is the pivot. NEXT scans the span. BORDER
is right of the values found to be at most the pivot. Spans still to be sorted are on a stack. A span of at most one
element has LOW on HIGH. A program observes four bits:

small  whether the value at NEXT is at most the pivot
done   whether NEXT has reached the pivot
work   whether the span has more than one element
last   whether the stack is empty
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from npi.language.env import Env
from npi.language.program import act, program
from npi.language.tape import LEFT, RIGHT, Tape, TapeKind
from npi.tasks import bubblesort

LOW, BORDER, NEXT, HIGH = POINTERS = range(4)
MOVE, SWAP, SPLIT, POP = OPS = range(4)

# Cell radius 0: programs observe only relations between the cells under heads, never whether a head is near an end.
VALUES = TapeKind(symbols=None, heads=4, far=(HIGH,), cell_radius=0)

Bit = Annotated[int, range(2)]


class Observation(NamedTuple):
    small: Bit
    done: Bit
    work: Bit
    last: Bit


class QuicksortPad(Env):
    def __init__(self, values: Tape):
        self.values = values

    @classmethod
    def of(cls, problem: Sequence[Any]) -> QuicksortPad:
        return cls(VALUES.tape(problem))

    @classmethod
    def tapes(cls) -> tuple[TapeKind, ...]:
        return (VALUES,)

    def observe(self) -> Observation:
        values = self.values
        return Observation(
            not values.greater(NEXT, HIGH), values.same(NEXT, HIGH), not values.same(LOW, HIGH), values.empty()
        )

    def act(
        self, op: Annotated[int, OPS], pointer: Annotated[int, POINTERS], other: Annotated[int, POINTERS], /
    ) -> None:
        """MOVE BORDER or NEXT to the right; SWAP the values under two pointers; SPLIT the span at BORDER: push its
        right part, continue with its left part; POP the last span pushed. The last two put BORDER and NEXT on LOW.
        """
        values = self.values
        if op == MOVE and pointer in (BORDER, NEXT):
            values.move(RIGHT, pointer)
        elif op == SWAP and pointer in POINTERS and other in POINTERS:
            values.swap(pointer, other)
        elif op == SPLIT:
            values.jump(NEXT, BORDER)
            if not values.same(NEXT, HIGH):
                values.move(RIGHT, NEXT)
            values.push(NEXT, HIGH)
            values.jump(HIGH, BORDER)
            if not values.same(HIGH, LOW):
                values.move(LEFT, HIGH)
        elif op == POP:
            values.pop(LOW, HIGH)
        if op in (SPLIT, POP):
            values.jump(BORDER, LOW)
            values.jump(NEXT, LOW)

    @classmethod
    def describe(cls, args: tuple[int, ...]) -> str:
        op, pointer, other = args
        names = ("LOW", "BORDER", "NEXT", "HIGH")
        return {
            MOVE: f"PTR {names[pointer]} RIGHT",
            SWAP: f"SWAP {names[pointer]} {names[other]}",
            SPLIT: "SPLIT",
            POP: "POP",
        }[op]


@program
def pswap(pad: QuicksortPad) -> None:
    if pad.observe().small:
        act(pad, SWAP, BORDER, NEXT)
        act(pad, MOVE, BORDER)


@program
def pstep(pad: QuicksortPad) -> None:
    pswap(pad)
    act(pad, MOVE, NEXT)


@program
def partition(pad: QuicksortPad) -> None:
    while not pad.observe().done:
        pstep(pad)
    act(pad, SWAP, BORDER, HIGH)


@program
def quicksort(pad: QuicksortPad) -> None:
    while pad.observe().work or not pad.observe().last:
        if pad.observe().work:
            partition(pad)
            act(pad, SPLIT)
        else:
            act(pad, POP)


# The recursive teacher: every loop above becomes a program that calls itself.


@program(name="PSTEP")
def pstep_recursive(pad: QuicksortPad) -> None:
    if not pad.observe().done:
        pswap(pad)
        act(pad, MOVE, NEXT)
        pstep_recursive(pad)


@program(name="PARTITION")
def partition_recursive(pad: QuicksortPad) -> None:
    pstep_recursive(pad)
    act(pad, SWAP, BORDER, HIGH)


@program(name="QUICKSORT")
def quicksort_recursive(pad: QuicksortPad) -> None:
    if pad.observe().work:
        partition_recursive(pad)
        act(pad, SPLIT)
        quicksort_recursive(pad)
        act(pad, POP)
        quicksort_recursive(pad)


loop = replace(
    bubblesort.loop,
    name="quicksort",
    env=QuicksortPad,
    main=quicksort,
    result=lambda pad: pad.values.contents(),
    sizes=range(1, 9),
)
recursive = replace(loop, teacher="recursive", main=quicksort_recursive)
