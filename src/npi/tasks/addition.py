"""Addition of two numbers on a scratch pad, digit by digit, as in the paper's first experiment.

The pad has four rows: two numbers, carries, result. Each row has a pointer, which starts on the rightmost column. A
row is blank to the left of its digits, without end. A program observes the symbol under each pointer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import MAX_EMAX, Context, Decimal
from random import Random
from typing import Annotated, NamedTuple

from npi.errors import BadInput
from npi.language.env import Env
from npi.language.program import act, program
from npi.language.tape import LEFT, RIGHT, Tape, TapeKind
from npi.language.task import Task

BLANK = 10
SYMBOLS = range(11)  # ten digits and the blank
FIRST, SECOND, CARRY, OUT = ROWS = range(4)
MOVE, WRITE = OPS = range(2)

ROW = TapeKind(symbols=len(SYMBOLS), home="right", beyond=BLANK)
EMPTY = replace(ROW, given=False)
CARRIES = replace(EMPTY, symbol_radius=1)  # a proof must remember the carry that is written to the left of the pointer

# Numbers of so many digits or more are drawn digit by digit, because Python by default refuses to print integers of
# more than 4,300 digits. Another limit would change the random problems of kept results.
LONG = 1000

Symbol = Annotated[int, SYMBOLS]


class Observation(NamedTuple):
    first: Symbol
    second: Symbol
    carry: Symbol
    out: Symbol


class AdditionPad(Env):
    def __init__(self, first: Tape, second: Tape, carry: Tape, out: Tape):
        self.rows = (first, second, carry, out)

    @classmethod
    def of(cls, problem: tuple[str, str]) -> AdditionPad:
        first, second = (ROW.tape(map(int, digits)) for digits in problem)
        return cls(first, second, CARRIES.tape([]), EMPTY.tape([]))

    @classmethod
    def tapes(cls) -> tuple[TapeKind, ...]:
        return ROW, ROW, CARRIES, EMPTY

    def observe(self) -> Observation:
        first, second, carry, out = self.rows
        return Observation(first.read(), second.read(), carry.read(), out.read())

    def act(self, op: Annotated[int, OPS], row: Annotated[int, ROWS], value: Symbol, /) -> None:
        """MOVE the pointer of a row to the LEFT or RIGHT, or WRITE a symbol under it."""
        if 0 <= row < len(self.rows):
            if op == MOVE:
                self.rows[row].move(value)
            elif op == WRITE:
                self.rows[row].write(value)

    @classmethod
    def describe(cls, args: tuple[int, ...]) -> str:
        op, row, value = args
        name = ("INP1", "INP2", "CARRY", "OUT")[row]
        if op == MOVE:
            return f"PTR {name} {('LEFT', 'RIGHT')[value]}" if value in (LEFT, RIGHT) else f"PTR {name} -"
        return f"WRITE {name} {'BLANK' if value == BLANK else value}"


@program
def carry(pad: AdditionPad) -> None:
    act(pad, MOVE, CARRY, LEFT)
    act(pad, WRITE, CARRY, 1)
    act(pad, MOVE, CARRY, RIGHT)


@program
def add1(pad: AdditionPad) -> None:
    observation = pad.observe()
    total = sum(symbol for symbol in (observation.first, observation.second, observation.carry) if symbol != BLANK)
    act(pad, WRITE, OUT, total % 10)
    if total > 9:
        carry(pad)


@program
def lshift(pad: AdditionPad) -> None:
    for row in ROWS:
        act(pad, MOVE, row, LEFT)


@program
def rshift(pad: AdditionPad) -> None:
    for row in ROWS:
        act(pad, MOVE, row, RIGHT)


def unfinished(pad: AdditionPad) -> bool:
    """Whether a digit or a carry is left to add."""
    observation = pad.observe()
    return not observation.first == observation.second == observation.carry == BLANK


@program
def add(pad: AdditionPad) -> None:
    while unfinished(pad):
        add1(pad)
        lshift(pad)


@program(name="ADD")
def add_recursive(pad: AdditionPad) -> None:
    if unfinished(pad):
        add1(pad)
        lshift(pad)
        add_recursive(pad)


def sample(rng: Random, size: int) -> tuple[str, str]:
    """Two numbers, the longer of `size` digits. In at least half of the problems, the other is as long."""
    other = size if rng.random() < 0.5 else rng.randint(1, size)
    problem = [_number(rng, size), _number(rng, other)]
    rng.shuffle(problem)
    return problem[0], problem[1]


def _number(rng: Random, digits: int) -> str:
    lowest = 10 ** (digits - 1) if digits > 1 else 0
    return str(rng.randrange(lowest, 10**digits)) if digits < LONG else _long_number(rng, digits)


def _long_number(rng: Random, digits: int) -> str:
    return rng.choice("123456789") + "".join(rng.choices("0123456789", k=digits - 1))


def corner_cases(size: int) -> list[tuple[str, str]]:
    """Carries through all digits, numbers of different lengths, and zeros."""
    nines = "9" * size
    return [(nines, "1"), ("1", nines), (nines, nines), ("0", nines), ("9" * min(size, 7), nines), ("0", "0")]


def answer(problem: tuple[str, str]) -> str:
    digits = max(map(len, problem)) + 1
    total = Context(prec=digits, Emax=MAX_EMAX).add(Decimal(problem[0]), Decimal(problem[1]))
    return f"{total:f}"


def result(pad: AdditionPad) -> str:
    """The digits of the output row, without leading zeros; a blank between digits, which is an error, becomes '?'."""
    row = "".join("?" if symbol == BLANK else str(symbol) for symbol in pad.rows[OUT].contents())
    digits = row.lstrip("?")
    return digits.lstrip("0") or digits[-1:]


def parse(words: Sequence[str]) -> tuple[str, str]:
    if len(words) != 2:
        raise BadInput(f"addition takes two numbers, such as 96 125; it was given {len(words)}")
    for word in words:
        if not (word.isascii() and word.isdigit()):
            raise BadInput(
                f"{word!r} is not a number that can be added: write it with the digits 0 to 9 alone, "
                f"without sign, point or spaces"
            )
    return words[0], words[1]


loop = Task(
    name="addition",
    teacher="loop",
    env=AdditionPad,
    main=add,
    sample=sample,
    answer=answer,
    result=result,
    parse=parse,
    show=str,
    sizes=range(1, 21),
    examples=32,
    corner_cases=corner_cases,
    extra_programs=(rshift,),
)
recursive = replace(loop, teacher="recursive", main=add_recursive)
