"""A task of your own: switch off every light on a shelf.

npi check examples/shelf.py:task                                      can it be learned from what a program observes?
npi train examples/shelf.py:task --until-verified --out shelf         train it, and prove it for shelves of every length
npi run examples/shelf.py:task 1 0 1 --model shelf --trace            run it, and print the call tree

Or all of it from Python: python examples/shelf.py
"""

from typing import Annotated, NamedTuple

import npi
from npi import RIGHT, Env, Tape, TapeKind, Task, act, program

MOVE, OFF = OPERATIONS = range(2)
SHELF = TapeKind(symbols=2)  # each cell is 0 or 1, a light that is off or on; its one head starts on the leftmost cell
Bit = Annotated[int, range(2)]


class Observation(NamedTuple):
    """All that a program can observe."""

    light: Bit  # under the head
    last: Bit  # whether the head is on the last cell


class Shelf(Env):
    def __init__(self, lights: Tape):
        self.lights = lights

    @classmethod
    def of(cls, problem):
        return cls(SHELF.tape(problem))

    @classmethod
    def tapes(cls):
        return (SHELF,)  # this makes the task provable: a proof runs the same code on abstract tapes

    def observe(self) -> Observation:
        return Observation(self.lights.read(), self.lights.at_last())

    def act(self, operation: Annotated[int, OPERATIONS], direction: Bit, _: Annotated[int, range(1)], /) -> None:
        if operation == MOVE:
            self.lights.move(direction)
        elif operation == OFF:
            self.lights.write(0)

    @classmethod
    def describe(cls, args):  # optional: how an action is written in a call tree
        operation, direction, _ = args
        return f"MOVE {'RIGHT' if direction == RIGHT else 'LEFT'}" if operation == MOVE else "OFF"


@program
def darken(shelf):
    """DARKEN: switch off the light under the head."""
    if shelf.observe().light:
        act(shelf, OFF)


@program
def tidy(shelf):
    """TIDY: this light, then those to its right."""
    darken(shelf)
    if not shelf.observe().last:
        act(shelf, MOVE, RIGHT)
        tidy(shelf)


def parse(words):
    if not words or not set(words) <= {"0", "1"}:
        raise npi.BadInput(f"a shelf is written as 0 and 1, such as 1 0 1; this is {' '.join(words) or 'nothing'}")
    return [int(word) for word in words]


task = Task(
    name="tidy",
    teacher="recursive",
    env=Shelf,
    main=tidy,
    sample=lambda rng, size: [rng.randrange(2) for _ in range(size)],
    answer=lambda problem: [0] * len(problem),
    result=lambda shelf: shelf.lights.contents(),
    parse=parse,
    show=str,
    sizes=range(1, 6),
    examples=20,
)

if __name__ == "__main__":
    model = npi.train(task, until_verified=True)
    print(npi.verify(task, model))
    print(npi.run(task, [1, 0, 1], model).tree)
    print(npi.decompile(task, model))
