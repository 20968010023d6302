"""Tasks: what to learn, and an independent way to test it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Generic

from typing_extensions import TypeVar  # with defaults, which typing has from Python 3.13 on

from npi.language.env import Env
from npi.language.program import Call, Frame, Program
from npi.language.record import record
from npi.language.trace import Limits

# A plain `Task` means `Task[Any, Any]`.
Problem = TypeVar("Problem", default=Any)
Answer = TypeVar("Answer", default=Any)


@dataclass(frozen=True)
class Task(Generic[Problem, Answer]):
    """A main program on an environment, problems for it, and an independent test of its answers.

    name, teacher   the name of the task, and of the teacher that demonstrates it: loop or recursive
    env, main       the environment class, and the program that solves a problem on it
    sample          draws a random problem of a given size
    answer          computes the correct answer to a problem, without the programs
    result          reads the answer off an environment after `main` has returned
    parse, show     convert command-line words to a problem (raising BadInput), and an answer to text
    sizes, examples the problem sizes of the training set, and how many problems of each
    corner_cases    problems of a size that a random sample would miss
    extra_programs  programs to learn that `main` does not call; each is demonstrated after `main` has returned
    sample_test     like `sample`, for tasks whose test problems need something unseen, such as other cars; by default
                    `sample` draws them too
    prepare         does what must be done once before recording, such as rendering; yields (done, total)
    builds_on       programs of other tasks that this one calls; a model must know them to be taught this task

    >>> from npi import tasks
    >>> task = tasks.find("sorting")
    >>> task.show(task.answer(task.parse(["9", "2", "5"])))
    '2 5 9'
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
        """The call that solves a problem."""
        return Call(self.main.name)

    def demonstrate(self, problem: Problem, limits: Limits = Limits()) -> list[list[Frame]]:
        """The recordings of a problem: `main`'s first, then one for each of `extra_programs`."""
        env = self.env.of(problem)
        return [record(env, program, limits=limits) for program in (self.main, *self.extra_programs)]

    def training_problems(self, seed: int) -> Iterator[Problem]:
        """The training problems: `examples` of each size."""
        rng = Random(f"{self.name} {seed}")
        for size in self.sizes:
            for _ in range(self.examples):
                yield self.sample(rng, size)

    def test_problems(self, size: int, count: int, seed: int) -> list[Problem]:
        """Test problems of a size: corner cases first, then random ones."""
        rng = Random(f"judge {self.name} {size} {seed}")  # any other text would change the problems of kept results
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
