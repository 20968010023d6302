"""Environments, tasks, and the check that a task can be learned at all.

An environment declares its ranges where it is annotated, and nowhere else:

    class Seen(NamedTuple):
        digit: Annotated[int, range(11)]

    class Pad(Env):
        def observe(self) -> Seen: ...
        def act(self, op: Annotated[int, range(2)], row: ..., value: ...) -> None: ...

A teacher is honest if each decision follows from the frame so far: the program, its arguments and what was observed in
this frame. A dishonest teacher cannot be learned by any network; `check_task` says so before training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, TypeVar

from npi.language.env import Env
from npi.language.program import Call, Frame, Program
from npi.language.record import record
from npi.language.trace import Limits

Problem = TypeVar("Problem")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Task(Generic[Problem, Answer]):
    """Something to learn: a main program on an environment, problems for it, and an independent way to judge it.

    name, teacher   the task, and which of its teachers demonstrates it
    env, main       the environment class and the program that solves a problem on it
    sample          a random problem of a given size
    answer          the right answer to a problem, found without the programs
    result          what an environment says the answer is once `main` has returned
    parse, show     words of a command line to a problem (BadInput if they are none); an answer to words
    sizes, examples which sizes are demonstrated in training, and how many problems of each
    corners         the problems of a size that a random sample would miss
    also            programs taught although `main` does not call them; each is demonstrated after `main` returned
    sample_test       a random problem of a given size to judge by, where it must not be one that training may show
    prepare         work to be done before recording; yields how much is done, and of how much
    builds_on       programs of other tasks that it calls: whoever is to be taught it must know them
    """

    name: str
    teacher: str
    env: type[Env]
    main: Program
    sample: Callable[[Random, int], Problem]
    answer: Callable[[Problem], Answer]
    result: Callable[[Any], Answer]
    parse: Callable[[Sequence[str]], Problem]
    show: Callable[[Answer], str]
    sizes: Sequence[int]
    examples: int
    corner_cases: Callable[[int], list[Problem]] = lambda size: []
    extra_programs: tuple[Program, ...] = ()
    sample_test: Callable[[Random, int], Problem] | None = None
    prepare: Callable[[], Iterator[tuple[int, int]]] | None = None
    builds_on: tuple[Program, ...] = ()

    @property
    def call(self) -> Call:
        """What is asked of whoever runs this task."""
        return Call(self.main.name)

    def demonstrate(self, problem: Problem, limits: Limits = Limits()) -> list[list[Frame]]:
        """The recordings of a problem: `main`'s first, then one for each program in `also`."""
        env = self.env.of(problem)
        return [record(env, program, limits=limits) for program in (self.main, *self.extra_programs)]

    def training_problems(self, seed: int) -> Iterator[Problem]:
        """The problems demonstrated in training: `examples` of each size."""
        rng = Random(f"{self.name} {seed}")
        for size in self.sizes:
            for _ in range(self.examples):
                yield self.sample(rng, size)

    def test_problems(self, size: int, count: int, seed: int) -> list[Problem]:
        """Problems of a size to judge by: its corners first, the rest random."""
        rng = Random(f"judge {self.name} {size} {seed}")
        corner_cases = self.corner_cases(size)[:count]
        return corner_cases + [(self.sample_test or self.sample)(rng, size) for _ in range(count - len(corner_cases))]


def distinct_frames(task: Task, problems: Iterator[Any] | Sequence[Any]) -> dict[Frame, int]:
    """Every distinct frame of a task's recordings on these problems, with how often it occurred."""
    counts: dict[Frame, int] = {}
    for problem in problems:
        for recording in task.demonstrate(problem):
            for frame in recording:
                counts[frame] = counts.get(frame, 0) + 1
    return counts
