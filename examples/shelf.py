"""A task of one's own: a pointer walks along a shelf and switches every light off.

npi check examples/shelf.py:task
python examples/shelf.py
"""

from typing import Annotated, NamedTuple

from npi import RIGHT, BadInput, Env, Memo, NeuralDecider, Tape, TapeKind, Task, act, make_trainer, program, run_program

MOVE, OFF = OPS = range(2)
SHELF = TapeKind(symbols=2)  # cells hold 0 or 1; the tape ends at both sides; one head, at the left


class Observation(NamedTuple):  # all that a program may see
    light: Annotated[int, range(2)]
    last: Annotated[int, range(2)]


class Shelf(Env):
    def __init__(self, lights: Tape):
        self.lights = lights

    @classmethod
    def of(cls, problem):
        return cls(SHELF.tape(problem))

    def observe(self) -> Observation:
        return Observation(self.lights.read(), self.lights.at_last())

    def act(self, op: Annotated[int, OPS], direction: Annotated[int, range(2)], _: Annotated[int, range(1)], /) -> None:
        if op == MOVE:
            self.lights.move(direction)
        elif op == OFF:
            self.lights.write(0)


@program
def darken(shelf):  # DARKEN: one light
    if shelf.observe().light:
        act(shelf, OFF)


@program
def tidy(shelf):  # TIDY: this light, then the rest, by calling itself
    darken(shelf)
    if not shelf.observe().last:
        act(shelf, MOVE, RIGHT)
        tidy(shelf)


def parse(words):
    if not words or not set(words) <= {"0", "1"}:
        raise BadInput(f"a shelf is written as 0 and 1, such as 1 0 1; this is {' '.join(words) or 'nothing'}")
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
    training = make_trainer([task], seed=0)
    for metrics in training.run():
        if metrics.update % 50 == 0:
            print(f"update {metrics.update}, {'every frame right' if metrics.learned else 'learning'}")
    shelf = Shelf.of([1, 0, 1] * 100)
    trace = run_program(shelf, task.call, Memo(NeuralDecider(training.ema_model, Shelf)))
    print(f"{sum(task.result(shelf))} lights of 300 still on after {len(trace.decisions)} decisions")
