"""Practice: random small programs on the environment of a task, to be learned beside its own.

A core that has learned its tasks' programs alone cannot be taught new ones by rows of memory: it runs eighteen
programs, not whatever a row describes. Practice makes it an interpreter of rows. A practice program is made of what the
task has already: its programs, `act`, and the fields of its observation. It runs some instructions, then perhaps takes
one of two branches, by a condition on the observation; a branch may end in a call of the program itself: a loop.

A new practice program is sampled for every frame of every update (practice_batch.py), so that none can be memorised.
All that is needed of the environment are rollouts: random instructions, and the observations along the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from random import Random
from typing import Any

from npi.language.image import Image
from npi.language.program import ACT, Call, Frame, Program, Step
from npi.language.record import record_programs
from npi.language.task import Task
from npi.tasks import find, names

FIRST = 4  # orders before the choice, at most, if there is none
MOST = 2  # orders of one way to go on, at most, and perhaps a call of itself
EARLY = 0.15  # how often an order comes before a choice
OTHERWISE = (0, 0, 1, MOST)  # how many orders the other way has
BOTH = 0.1  # how often two checks must both hold
ANOTHER = "another program"  # called by a practice program: any other that was practised
OFTEN = 0.05  # how often
DEPTH = 60  # calls of itself: a program that goes deeper is no use
PROBLEMS = 64  # of which a gym makes its states
PART = 500  # walks made in one go, on states of one gym
STARTS = 12  # states from which a program is tried when it is made
ENOUGH = 0.8  # of them, how many it must come back from


@dataclass(frozen=True)
class FieldArgument:
    """An argument that is read off the observation: a field's value, or its neighbour."""

    field: int
    shift: int

    def of(self, observation: Sequence[int], size: int) -> int:
        return (observation[self.field] + self.shift) % size


@dataclass(frozen=True)
class Instruction:
    """A call of a practice program; its arguments may depend on what is observed."""

    program: str
    args: tuple[int | FieldArgument, ...]


@dataclass(frozen=True)
class Condition:
    """Whether a field of the observation has one of some values or, if another field is named, is less or as much."""

    field: int
    values: frozenset[int] = frozenset()
    other: int | None = None
    equal: bool = False

    def holds(self, observation: Sequence[int]) -> bool:
        if self.other is None:
            return observation[self.field] in self.values
        return (
            observation[self.field] == observation[self.other]
            if self.equal
            else observation[self.field] < observation[self.other]
        )


@dataclass(frozen=True)
class PracticeProgram:
    """A practice program: the first orders, then those of the first way whose checks all hold, or else of the last."""

    name: str
    env: str
    first: tuple[Instruction, ...]
    checks: tuple[tuple[Condition, ...], ...] = ()  # for each way but the last
    ways: tuple[tuple[Instruction, ...], ...] = ()

    def way(self, observation: Sequence[int]) -> tuple[Instruction, ...]:
        for checks, orders in zip(self.checks, self.ways, strict=False):
            if all(check.holds(observation) for check in checks):
                return orders
        return self.ways[-1] if self.ways else ()


@dataclass(frozen=True)
class Rollout:
    """Orders given one after the other, what was seen before each and after the last, as numbers, and a check."""

    env: str
    orders: tuple[Instruction, ...]
    observation: tuple[tuple[int, ...], ...]
    check: Condition


class TooDeep(Exception):
    """A practice program called itself too often."""


class ProgramSampler:
    """Where programs are practised: a task's environment in many states, and the calls that are known there."""

    def __init__(self, task: Task, seed: object = 0):
        self.task, self.rng = task, Random(f"practice {task.name} {seed}")
        self.env = task.env.__name__
        self.fields = [*task.env.fields().values(), *task.env.label_sizes()]
        self.arguments = task.env.argument_sizes()
        self.programs: dict[str, Program] = {}
        sizes = task.sizes[: max(1, len(task.sizes) // 3)]  # small ones show all there is to see
        self.problems = [task.sample(self.rng, self.rng.choice(sizes)) for _ in range(PROBLEMS)]
        calls: dict[Call, None] = {}
        for problem in self.problems[:8]:
            env = task.env.of(problem)
            for main in (task.main, *task.extra_programs):
                frames, programs = record_programs(env, main)
                self.programs |= programs
                calls |= {frame.call: None for frame in frames}
                calls |= {s.decision: None for frame in frames for s in frame.steps if s.decision is not None}
        self.calls = sorted((call for call in calls if call.program != ACT), key=str)
        self.acts = sorted((call for call in calls if call.program == ACT), key=str)

    def start(self, rng: Random) -> Any:
        """The environment as it may be at some time: some calls after a problem was set."""
        env = self.task.env.of(rng.choice(self.problems))
        for _ in range(rng.choice((0, 1, 2, 4, 8))):
            self.carry_out(rng.choice(self.calls if rng.random() < 0.3 else self.acts), env)
        return env

    def carry_out(self, call: Call, env: Any) -> None:
        if call.program == ACT:
            env.act(*call.args)
        elif call.program == ANOTHER:
            for _ in range(self.rng.randint(1, MOST)):
                self.carry_out(self.rng.choice(self.calls), env)
        else:
            called = self.programs[call.program]
            called(env, *call.args[: called.function.__code__.co_argcount - 1])

    def run(self, practice: PracticeProgram, env: Any, frames: list[Frame], depth: int = 0) -> None:
        """Run a practice program and keep its own frames, not those of what it calls."""
        if depth > DEPTH:
            raise TooDeep
        steps: list[Step] = []
        place = len(frames)
        frames.append(Frame(Call(practice.name), ()))
        self.obey(practice, practice.first, env, steps, frames, depth)
        self.obey(practice, practice.way(fields_of(env.observe())), env, steps, frames, depth)
        steps.append(Step(env.observe(), None))
        frames[place] = Frame(Call(practice.name), tuple(steps))

    def obey(
        self,
        practice: PracticeProgram,
        orders: Sequence[Instruction],
        env: Any,
        steps: list[Step],
        frames: list[Frame],
        depth: int,
    ) -> None:
        for order in orders:
            observation = env.observe()
            call = self.given(order, fields_of(observation))
            steps.append(Step(observation, call))
            if call.program == practice.name:
                self.run(practice, env, frames, depth + 1)
            else:
                self.carry_out(call, env)

    def given(self, order: Instruction, observation: Sequence[int]) -> Call:
        """The call that an order makes where this is seen."""
        args = (
            arg.of(observation, size) if isinstance(arg, FieldArgument) else arg
            for arg, size in zip(order.args, self.arguments, strict=True)
        )
        return Call(order.program, tuple(args))

    def walk(self) -> Rollout:
        """As many orders as a practice program may give, from somewhere."""
        another = Instruction(ANOTHER, (0,) * len(self.arguments))
        orders = tuple(another if self.rng.random() < OFTEN else self.order() for _ in range(FIRST))
        env = self.start(self.rng)
        observation = [tuple(fields_of(env.observe()))]
        for order in orders:
            self.carry_out(self.given(order, observation[-1]), env)
            observation.append(tuple(fields_of(env.observe())))
        return Rollout(self.env, orders, tuple(observation), self.check())

    def frames(self, practice: PracticeProgram, rng: Random, starts: int) -> list[Frame]:
        """The distinct frames of a practice program from some states; none from where it does not come back."""
        return list(dict.fromkeys(frame for _ in range(starts) for frame in self.attempt(practice, rng)))

    def attempt(self, practice: PracticeProgram, rng: Random) -> list[Frame]:
        """The frames of a practice program from one state, or none if it does not come back."""
        frames: list[Frame] = []
        try:
            self.run(practice, self.start(rng), frames)
        except TooDeep:
            return []
        return frames

    def make(self, name: str) -> PracticeProgram:
        """A new practice program that comes back from nearly everywhere, and whose every way is gone sometimes."""
        while True:
            practice = self.draw(name)
            rng, back, gone = Random(name), 0, set()
            for _ in range(STARTS):
                frames = self.attempt(practice, rng)
                back += bool(frames)
                gone |= {tuple(step.decision for step in frame.steps) for frame in frames}
            if back >= ENOUGH * STARTS and len(gone) >= max(1, len(practice.ways)):
                return practice

    def draw(self, name: str) -> PracticeProgram:
        """A sequence, a choice or a loop."""
        rng, kind = self.rng, self.rng.randrange(3)
        if kind == 0:
            return PracticeProgram(name, self.env, self.orders(rng.randint(1, FIRST)))
        first = self.orders(int(rng.random() < EARLY))
        again = self.orders(rng.randint(1, MOST))
        if kind == 2:
            again += (Instruction(name, (0,) * len(self.arguments)),)
        return PracticeProgram(name, self.env, first, (self.checks(),), (again, self.orders(rng.choice(OTHERWISE))))

    def orders(self, count: int) -> tuple[Instruction, ...]:
        return tuple(self.order() for _ in range(count))

    def order(self) -> Instruction:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.45:
            call = rng.choice(self.calls)
        elif kind < 0.85:
            call = rng.choice(self.acts)
        else:  # any action, also one that no teacher makes
            call = Call(ACT, tuple(rng.randrange(size) for size in self.arguments))
        args: list[int | FieldArgument] = list(call.args)
        for index, size in enumerate(self.arguments):
            like = [field for field, values in enumerate(self.fields) if values == size > 2]
            if call.program == ACT and like and rng.random() < 0.1:
                args[index] = FieldArgument(rng.choice(like), rng.choice((0, 0, 1, -1)))
        return Instruction(call.program, tuple(args))

    def checks(self) -> tuple[Condition, ...]:
        """Most often one, sometimes two of which both must hold."""
        return tuple(self.check() for _ in range(1 + (self.rng.random() < BOTH)))

    def check(self) -> Condition:
        rng = self.rng
        field = rng.randrange(len(self.fields))
        size = self.fields[field]
        like = [other for other, values in enumerate(self.fields) if values == size > 2 and other != field]
        if like and rng.random() < 0.25:
            return Condition(field, other=rng.choice(like), equal=rng.random() < 0.25)
        kind = rng.random()
        if kind < 0.4:
            values = {rng.randrange(size)}
        elif kind < 0.7:
            values = set(range(rng.randint(1, size - 1)))
        else:
            values = set(rng.sample(range(size), rng.randint(1, size - 1)))
        return Condition(field, frozenset(values if rng.random() < 0.6 or size == 2 else set(range(size)) - values))


def walks(task: Task, count: int, seed: object = 0) -> Iterator[Rollout]:
    gym = ProgramSampler(task, seed)
    for _ in range(count):
        yield gym.walk()


def make_rollouts(tasks: Sequence[Task], count: int, seed: int = 0, workers: int = 1) -> Iterator[Rollout]:
    """`count` walks for each of some tasks, made in several processes if the tasks are built in."""
    if not count:
        return
    jobs = [(task, min(PART, count - first), f"{seed}.{first}") for task in tasks for first in range(0, count, PART)]
    named = [(task.name, task.teacher, size, part) for task, size, part in jobs]
    if workers <= 1 or not all(_built_in(task) for task in tasks):
        for task, size, part in jobs:
            yield from walks(task, size, part)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for made in pool.map(_walks, named):
            yield from made


def _walks(job: tuple[str, str, int, str]) -> list[Rollout]:
    name, teacher, count, seed = job
    return list(walks(find(name, teacher), count, seed))


def _built_in(task: Task) -> bool:
    return task.name in names() and find(task.name, task.teacher).main is task.main


def fields_of(observation: Sequence[Any]) -> Sequence[int]:
    """What is observed, as numbers: of a picture, its caption."""
    return (*observation[:-1], *observation[-1].labels) if isinstance(observation[-1], Image) else observation
