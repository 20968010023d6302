"""Practice programs: small random programs on the environment of a task, to be learnt beside its own.

A core that has learnt its tasks' programs alone cannot be taught new ones by rows of memory: it runs eighteen programs,
not whatever a row describes. Practice makes it an interpreter of rows. A practice program is made of what the task has
already: its programs, `act`, and the fields of its observation. It gives some orders, then perhaps chooses by what is
observed between several ways to go on; a way may end in a call of itself, which makes a loop.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from random import Random
from typing import Any

from npi.picture import Picture
from npi.program import ACT, Call, Frame, Program, Step, record_programs
from npi.task import Task
from npi.tasks import find, names

FIRST = 4  # orders before the choice, at most
MOST = 2  # orders of one way to go on, at most, and perhaps a call of itself
DEPTH = 60  # calls of itself: a program that goes deeper is no use
PROBLEMS = 64  # of which a gym makes its states
PART = 100  # programs made in one go, on states of one gym
STARTS = 12  # states from which a program is tried when it is made
ENOUGH = 0.8  # of them, how many it must come back from


@dataclass(frozen=True)
class Copy:
    """An argument that is read off the observation: a field's value, or its neighbour."""

    field: int
    shift: int

    def of(self, seen: Sequence[int], size: int) -> int:
        return (seen[self.field] + self.shift) % size


@dataclass(frozen=True)
class Order:
    """A call of a practice program; its arguments may depend on what is observed."""

    program: str
    args: tuple[int | Copy, ...]


@dataclass(frozen=True)
class Check:
    """Whether a field of the observation has one of some values or, if another field is named, is less or as much."""

    field: int
    values: frozenset[int] = frozenset()
    other: int | None = None
    equal: bool = False

    def holds(self, seen: Sequence[int]) -> bool:
        if self.other is None:
            return seen[self.field] in self.values
        return seen[self.field] == seen[self.other] if self.equal else seen[self.field] < seen[self.other]


@dataclass(frozen=True)
class Practice:
    """A practice program: the first orders, then those of the first way whose checks all hold, or else of the last."""

    name: str
    env: str
    first: tuple[Order, ...]
    checks: tuple[tuple[Check, ...], ...] = ()  # for each way but the last
    ways: tuple[tuple[Order, ...], ...] = ()

    def features(self) -> Iterator[tuple[Hashable, ...]]:
        """All that it is made of, each part with its place: other features, another program."""
        for place, orders in (("first", self.first), *enumerate(self.ways)):
            yield "orders", place, len(orders)
            for index, order in enumerate(orders):
                yield "program", place, index, "itself" if order.program == self.name else order.program
                for slot, arg in enumerate(order.args):
                    yield ("copy", self.env, place, index, slot, arg) if isinstance(arg, Copy) else (
                        "argument", place, index, slot, arg
                    )  # fmt: skip
        for place, checks in enumerate(self.checks):
            yield "checks", place, len(checks)
            for index, check in enumerate(checks):
                if check.other is None:
                    yield "field", self.env, place, index, check.field
                    yield from (("value", self.env, place, index, check.field, value) for value in check.values)
                else:
                    yield "fields", self.env, place, index, check.field, check.other, check.equal

    def calls(self) -> list[str]:
        """The other programs it calls."""
        return [order.program for orders in (self.first, *self.ways) for order in orders if order.program != self.name]

    def way(self, seen: Sequence[int]) -> tuple[Order, ...]:
        for checks, orders in zip(self.checks, self.ways, strict=False):
            if all(check.holds(seen) for check in checks):
                return orders
        return self.ways[-1] if self.ways else ()


class TooFar(Exception):
    """A practice program called itself too often."""


class Gym:
    """Where programs are practised: a task's environment in many states, and the calls that are known there."""

    def __init__(self, task: Task, seed: object = 0):
        self.task, self.rng = task, Random(f"practice {task.name} {seed}")
        self.env = task.env.__name__
        self.fields = [*task.env.fields().values(), *task.env.captions()]
        self.arguments = task.env.arguments()
        self.programs: dict[str, Program] = {}
        self.practised: dict[str, Practice] = {}
        sizes = task.sizes[: max(1, len(task.sizes) // 3)]  # small ones show all there is to see
        self.problems = [task.sample(self.rng, self.rng.choice(sizes)) for _ in range(PROBLEMS)]
        calls: dict[Call, None] = {}
        for problem in self.problems[:8]:
            env = task.env.of(problem)
            for main in (task.main, *task.also):
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

    def carry_out(self, call: Call, env: Any, depth: int = 0) -> None:
        if call.program == ACT:
            env.act(*call.args)
        elif call.program in self.practised:
            self.run(self.practised[call.program], env, [], depth + 1)
        else:
            called = self.programs[call.program]
            called(env, *call.args[: called.function.__code__.co_argcount - 1])

    def run(self, practice: Practice, env: Any, frames: list[Frame], depth: int = 0) -> None:
        """Run a practice program and keep its own frames, not those of what it calls."""
        if depth > DEPTH:
            raise TooFar
        steps: list[Step] = []
        place = len(frames)
        frames.append(Frame(Call(practice.name), ()))
        self.obey(practice, practice.first, env, steps, frames, depth)
        self.obey(practice, practice.way(fields_of(env.observe())), env, steps, frames, depth)
        steps.append(Step(env.observe(), None))
        frames[place] = Frame(Call(practice.name), tuple(steps))

    def obey(
        self,
        practice: Practice,
        orders: Sequence[Order],
        env: Any,
        steps: list[Step],
        frames: list[Frame],
        depth: int,
    ) -> None:
        for order in orders:
            seen = env.observe()
            numbers = fields_of(seen)
            args = tuple(
                arg.of(numbers, size) if isinstance(arg, Copy) else arg
                for arg, size in zip(order.args, self.arguments, strict=True)
            )
            call = Call(order.program, args)
            steps.append(Step(seen, call))
            if call.program == practice.name:
                self.run(practice, env, frames, depth + 1)
            else:
                self.carry_out(call, env, depth)

    def frames(self, practice: Practice, rng: Random, starts: int) -> list[Frame]:
        """The distinct frames of a practice program from some states; none from where it does not come back."""
        return list(dict.fromkeys(frame for _ in range(starts) for frame in self.attempt(practice, rng)))

    def attempt(self, practice: Practice, rng: Random) -> list[Frame]:
        """The frames of a practice program from one state, or none if it does not come back."""
        frames: list[Frame] = []
        try:
            self.run(practice, self.start(rng), frames)
        except TooFar:
            return []
        return frames

    def make(self, name: str) -> Practice:
        """A new practice program that comes back from nearly everywhere, and whose every way is gone sometimes."""
        while True:
            practice = self.draw(name)
            if len(set(practice.calls()) & set(self.practised)) > 1:
                continue  # one at most: its key is added to the features, which would not say which key is whose
            rng, back, gone = Random(name), 0, set()
            for _ in range(STARTS):
                frames = self.attempt(practice, rng)
                back += bool(frames)
                gone |= {tuple(step.decision for step in frame.steps) for frame in frames}
            if back >= ENOUGH * STARTS and len(gone) >= max(1, len(practice.ways)):
                self.practised[name] = practice
                return practice

    def draw(self, name: str) -> Practice:
        """A sequence, a choice or a loop."""
        rng, kind = self.rng, self.rng.randrange(3)
        if kind == 0:
            return Practice(name, self.env, self.orders(rng.randint(1, FIRST)))
        first = self.orders(1 if rng.random() < 0.15 else 0)
        again = self.orders(rng.randint(1, MOST))
        if kind == 2:
            again += (Order(name, (0,) * len(self.arguments)),)
        return Practice(name, self.env, first, (self.checks(),), (again, self.orders(rng.choice((0, 0, 1, MOST)))))

    def orders(self, count: int) -> tuple[Order, ...]:
        return tuple(self.order() for _ in range(count))

    def order(self) -> Order:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.05 and self.practised:
            return Order(rng.choice(list(self.practised)[-50:]), (0,) * len(self.arguments))
        if kind < 0.45:
            call = rng.choice(self.calls)
        elif kind < 0.85:
            call = rng.choice(self.acts)
        else:  # any action, also one that no teacher makes
            call = Call(ACT, tuple(rng.randrange(size) for size in self.arguments))
        args: list[int | Copy] = list(call.args)
        for index, size in enumerate(self.arguments):
            like = [field for field, values in enumerate(self.fields) if values == size > 2]
            if call.program == ACT and like and rng.random() < 0.1:
                args[index] = Copy(rng.choice(like), rng.choice((0, 0, 1, -1)))
        return Order(call.program, tuple(args))

    def checks(self) -> tuple[Check, ...]:
        """Most often one, sometimes two of which both must hold."""
        return tuple(self.check() for _ in range(1 if self.rng.random() < 0.9 else 2))

    def check(self) -> Check:
        rng = self.rng
        field = rng.randrange(len(self.fields))
        size = self.fields[field]
        like = [other for other, values in enumerate(self.fields) if values == size > 2 and other != field]
        if like and rng.random() < 0.25:
            return Check(field, other=rng.choice(like), equal=rng.random() < 0.25)
        kind = rng.random()
        if kind < 0.4:
            values = {rng.randrange(size)}
        elif kind < 0.7:
            values = set(range(rng.randint(1, size - 1)))
        else:
            values = set(rng.sample(range(size), rng.randint(1, size - 1)))
        return Check(field, frozenset(values if rng.random() < 0.6 or size == 2 else set(range(size)) - values))


def practise(task: Task, count: int, seed: object = 0, starts: int = 12) -> Iterator[tuple[Practice, list[Frame]]]:
    """New practice programs on a task's environment, each with frames of its own.

    Of pictures only what is to be said of them counts, so frames see one picture for all with the same caption.
    """
    gym = Gym(task, seed)
    shown: dict[tuple[int, ...], Picture] = {}
    for index in range(count):
        practice = gym.make(f"PRACTICE {gym.env} {seed} {index}")
        frames = gym.frames(practice, Random(f"frames of {practice.name}"), starts)
        yield practice, list(dict.fromkeys(_told(frame, shown) for frame in frames))


def practise_all(
    tasks: Sequence[Task], count: int, seed: int = 0, workers: int = 1
) -> Iterator[tuple[Practice, list[Frame]]]:
    """`count` practice programs for each of some tasks, made in several processes if the tasks are built in."""
    if not count:
        return
    jobs = [(task, min(PART, count - first), f"{seed}.{first}") for task in tasks for first in range(0, count, PART)]
    named = [(task.name, task.teacher, size, part) for task, size, part in jobs]
    if workers <= 1 or not all(_built_in(task) for task in tasks):
        for task, size, part in jobs:
            yield from practise(task, size, part)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for made in pool.map(_practise, named):
            yield from made


def _practise(job: tuple[str, str, int, str]) -> list[tuple[Practice, list[Frame]]]:
    name, teacher, count, seed = job
    return list(practise(find(name, teacher), count, seed))


def _built_in(task: Task) -> bool:
    return task.name in names() and find(task.name, task.teacher).main is task.main


def _told(frame: Frame, shown: dict[tuple[int, ...], Picture]) -> Frame:
    """A frame that sees one picture for all those with the same caption."""
    if not isinstance(frame.steps[0].seen[-1], Picture):
        return frame
    steps = (Step((*s.seen[:-1], shown.setdefault(s.seen[-1].caption, s.seen[-1])), s.decision) for s in frame.steps)
    return Frame(frame.call, tuple(steps))


def fields_of(seen: Sequence[Any]) -> Sequence[int]:
    """What is observed, as numbers: of a picture, its caption."""
    return (*seen[:-1], *seen[-1].caption) if isinstance(seen[-1], Picture) else seen
