"""A task that turns lights off, with places for code that a proof should refuse or allow."""

TASK = """
{prelude}
from typing import Annotated, NamedTuple
from npi import RIGHT, Env, Tape, TapeKind, Task, act, program

MOVE, OFF = OPERATIONS = range(2)
SHELF = TapeKind(symbols=2)
Bit = Annotated[int, range(2)]


class Observation(NamedTuple):
    light: Bit
    last: Bit


class Shelf({base}):
    {first}

    def __init__(self, lights: Tape):
        self.lights = lights

    @classmethod
    def of(cls, problem):
        {of}
        return cls(SHELF.tape(problem))

    @classmethod
    def tapes(cls):
        return (SHELF,)

    def observe(self) -> Observation:
        return {observe}

    def act(self, operation: Annotated[int, OPERATIONS], direction: Bit, _: Annotated[int, range(1)], /) -> None:
        {act}
        if operation == MOVE:
            self.lights.move(direction)
        elif operation == OFF:
            self.lights.write(0)


@program
def darken(shelf):
    if shelf.observe().light:
        act(shelf, OFF)


@program
def tidy(shelf):
    {enter}
    try:
        if {deep}:
            return
        darken(shelf)
        if not shelf.observe().last:
            act(shelf, MOVE, RIGHT)
            tidy(shelf)
    finally:
        {leave}


task = Task(
    name="tidy", teacher="recursive", env=Shelf, main=tidy, sample={sample},
    answer=lambda problem: None, result=lambda shelf: None, parse=lambda words: [0], show=str, sizes=range(1, 6),
    examples=20,
)
"""
HONEST = {
    "prelude": "",
    "base": "Env",
    "first": "pass",
    "of": "pass",
    "observe": "Observation(self.lights.read(), int(self.lights.at_last()))",
    "act": "pass",
    "enter": "pass",
    "deep": "False",
    "leave": "pass",
    "sample": "lambda rng, size: rng.choices((0, 1), k=size)",
}
# A second file of the same project, which the file of the task may import.
HELPER = """
OPEN = []
def step(i): OPEN.append(i) if i else OPEN.pop()
def deep(): return len(OPEN) > 20
"""
LIGHT = "Observation({}, int(self.lights.at_last()))"
