"""Environments, tasks, and the check that a task can be learnt at all.

An environment declares its ranges where it is annotated, and nowhere else:

    class Seen(NamedTuple):
        digit: Annotated[int, range(11)]

    class Pad(Env):
        def observe(self) -> Seen: ...
        def act(self, op: Annotated[int, range(2)], row: ..., value: ...) -> None: ...

A teacher is honest if each decision follows from the frame so far: the program, its arguments and what was observed in
this frame. A dishonest teacher cannot be learnt by any network; `check_task` says so before training.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from random import Random
from typing import Any, Generic, TypeVar, get_type_hints

from npi.graph import GraphKind
from npi.picture import Picture
from npi.program import ACT, ARGS, Call, Decision, Frame, Limits, Observation, Program, Runaway, record, walk
from npi.tape import TapeKind

Problem = TypeVar("Problem")
Answer = TypeVar("Answer")


class BadInput(ValueError):
    """Something a person typed or handed over cannot be used; the message says what, where, and what to do."""


class Env(ABC):
    """The world a program acts on. The class name is the identity of its encoder in a model."""

    @classmethod
    @abstractmethod
    def of(cls, problem: Any) -> Env:
        """The environment as it is before a problem is worked on."""

    @abstractmethod
    def observe(self) -> Observation:
        """All that a program may see: a named tuple of `Annotated[int, range(n)]`, and perhaps a Picture at the end."""

    @abstractmethod
    def act(self, first: int, second: int, third: int, /) -> None:
        """Do one thing. Total: what cannot be done, or means nothing, changes nothing and raises nothing."""

    @classmethod
    def tapes(cls) -> tuple[TapeKind | GraphKind, ...]:
        """The tapes and graphs it is made of, in the order in which its constructor takes them, if it keeps nothing
        elsewhere.

        Only then can its programs be proved: the same code runs on tapes that stand for every tape at once.
        """
        return ()

    @classmethod
    def describe(cls, args: tuple[int, ...]) -> str:
        """One action in a reader's words, as the paper's traces show it."""
        return " ".join([ACT, *map(str, args)])

    @classmethod
    def fields(cls) -> dict[str, int]:
        """The name and number of values of each field of the observation, but for a picture."""
        hints = cls._seen()
        return _ranges(cls, "observe", {name: hint for name, hint in hints.items() if hint is not Picture})

    @classmethod
    def shows_picture(cls) -> bool:
        """Whether the last field of the observation is a picture."""
        pictures = [index for index, hint in enumerate(cls._seen().values()) if hint is Picture]
        if pictures and pictures != [len(cls._seen()) - 1]:
            raise TypeError(f"{cls.__name__}.observe: there can be one picture, as the last field")
        return bool(pictures)

    @classmethod
    def captions(cls) -> tuple[int, ...]:
        """How many values each number of its pictures' captions has, where they have any."""
        return ()

    @classmethod
    def _seen(cls) -> dict[str, Any]:
        seen = get_type_hints(cls.observe, include_extras=True).get("return")
        return get_type_hints(seen, include_extras=True) if seen is not None else {}

    @classmethod
    def arguments(cls) -> tuple[int, ...]:
        """The number of values of each of the three arguments of `act`."""
        hints = get_type_hints(cls.act, include_extras=True)
        names = [name for name in inspect.signature(cls.act).parameters if name != "self"]
        if len(names) != ARGS:
            raise TypeError(f"{cls.__name__}.act takes {len(names)} arguments, but must take {ARGS}")
        return tuple(_ranges(cls, "act", {name: hints.get(name) for name in names}).values())


def _ranges(cls: type, method: str, hints: dict[str, Any]) -> dict[str, int]:
    sizes = {}
    for name, hint in hints.items():
        found = [m for m in getattr(hint, "__metadata__", ()) if isinstance(m, range)]
        if not found or found[0] != range(len(found[0])) or not len(found[0]):
            raise TypeError(
                f"{cls.__name__}.{method}: {name} needs a range from 0, as in Annotated[int, range(10)]; it has {hint}"
            )
        sizes[name] = len(found[0])
    if not sizes:
        raise TypeError(f"{cls.__name__}.{method} declares nothing: annotate what it returns with a NamedTuple")
    return sizes


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
    judged_on       a random problem of a given size to judge by, where it must not be one that training may show
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
    corners: Callable[[int], list[Problem]] = lambda size: []
    also: tuple[Program, ...] = ()
    judged_on: Callable[[Random, int], Problem] | None = None
    prepare: Callable[[], Iterator[tuple[int, int]]] | None = None
    builds_on: tuple[Program, ...] = ()

    @property
    def call(self) -> Call:
        """What is asked of whoever runs this task."""
        return Call(self.main.name)

    def demonstrate(self, problem: Problem, limits: Limits = Limits()) -> list[list[Frame]]:
        """The recordings of a problem: `main`'s first, then one for each program in `also`."""
        env = self.env.of(problem)
        return [record(env, program, limits=limits) for program in (self.main, *self.also)]

    def examples_of(self, seed: int) -> Iterator[Problem]:
        """The problems demonstrated in training: `examples` of each size."""
        rng = Random(f"{self.name} {seed}")
        for size in self.sizes:
            for _ in range(self.examples):
                yield self.sample(rng, size)

    def problems(self, size: int, count: int, seed: int) -> list[Problem]:
        """Problems of a size to judge by: its corners first, the rest random."""
        rng = Random(f"judge {self.name} {size} {seed}")
        corners = self.corners(size)[:count]
        return corners + [(self.judged_on or self.sample)(rng, size) for _ in range(count - len(corners))]


def distinct_frames(task: Task, problems: Iterator[Any] | Sequence[Any]) -> dict[Frame, int]:
    """Every distinct frame of a task's recordings on these problems, with how often it occurred."""
    counts: dict[Frame, int] = {}
    for problem in problems:
        for recording in task.demonstrate(problem):
            for frame in recording:
                counts[frame] = counts.get(frame, 0) + 1
    return counts


@dataclass
class Report:
    """What `check_task` saw. A task without faults can be learnt."""

    task: str
    problems: int = 0
    frames: int = 0
    distinct: int = 0
    programs: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def check_task(task: Task, problems: int = 100, seed: int = 0, limits: Limits = Limits(1_000_000, 10_000)) -> Report:
    """Run a task's teacher on many problems and report every fault found, all at once."""
    return _Check(task, limits).run(problems, seed)


class _Check:
    def __init__(self, task: Task, limits: Limits):
        self.task, self.limits = task, limits
        self.report = Report(f"{task.name} ({task.teacher})")
        self.seen_faults: set[Hashable] = set()
        self.nodes: dict[Hashable, int] = {}  # histories, as a trie: (parent, observation) -> node
        self.decided: dict[int, Decision] = {}
        self.rng = Random(0)
        self.endless = False  # a teacher that never returns does so every time: once is enough

    def fault(self, key: Hashable, text: str) -> None:
        """Keep the first fault of each kind; a hundred problems that fail alike are one fault to mend."""
        if key not in self.seen_faults:
            self.seen_faults.add(key)
            self.report.faults.append(text)

    def run(self, problems: int, seed: int) -> Report:
        task, report = self.task, self.report
        if not (isinstance(task.env, type) and issubclass(task.env, Env)):
            report.faults.append(f"env is {task.env!r}, but must be a subclass of Env")
        if not callable(getattr(task.main, "function", None)):
            report.faults.append(f"main is {task.main!r}, but must be a function with @program")
        if not len(task.sizes) or task.examples < 1:
            report.faults.append(f"nothing is taught: sizes are {task.sizes!r}, with {task.examples} examples of each")
        if report.faults:
            return report
        try:
            self.fields, self.arguments = task.env.fields(), task.env.arguments()
            self.shows_picture, self.captions = task.env.shows_picture(), task.env.captions()
        except TypeError as error:
            report.faults.append(str(error))
            return report
        distinct: set[Frame] = set()
        programs: set[str] = set()
        sizes = list(task.sizes)
        for index in range(problems):
            if self.endless:
                break
            size = sizes[index % len(sizes)]
            try:
                problem = self.problem(size, index, seed)
            except Exception as error:
                self.fault("sample", f"sample raises {_named(error)} for size {size}")
                continue
            report.problems += 1
            for recording in self.recordings(problem):
                report.frames += len(recording)
                for frame in recording:
                    programs.add(frame.call.program)
                    if frame not in distinct:
                        distinct.add(frame)
                        self.history(frame)
        report.distinct, report.programs = len(distinct), sorted(programs)
        return report

    def problem(self, size: int, index: int, seed: int) -> Any:
        """Corner cases and random problems, by turns."""
        corners = self.task.corners(size) if index % 2 else []
        return corners[index % len(corners)] if corners else self.task.sample(Random(seed + index), size)

    def recordings(self, problem: Any) -> Iterator[list[Frame]]:
        task = self.task
        try:
            env = task.env.of(problem)
            untouched = copy.deepcopy(env)
        except Exception as error:
            self.fault("of", f"{task.env.__name__}.of({_short(problem)}) raises {_named(error)}")
            return
        for program in (task.main, *task.also):
            try:
                recording = record(env, program, limits=self.limits)
            except Runaway as error:
                self.endless = True
                self.fault(("runaway", program.name), f"{error}, on the problem {_short(problem)}")
                return
            except Exception as error:
                where = f"{program.name} raises {_named(error)}, on the problem {_short(problem)}"
                self.fault(("raises", program.name, type(error)), where)
                return
            if program is task.main:
                self.judge(problem, env)
            self.replay(problem, untouched, recording, env.observe())
            yield recording

    def judge(self, problem: Any, env: Env) -> None:
        try:
            expected, got = self.task.answer(problem), self.task.result(env)
        except Exception as error:
            self.fault("answer", f"answer or result raises {_named(error)}, on the problem {_short(problem)}")
            return
        if expected != got:
            text = f"{self.task.main.name} gives {_short(got)} on {_short(problem)}; right is {_short(expected)}"
            self.fault("wrong answer", text)

    def replay(self, problem: Any, env: Env, recording: list[Frame], last: Observation) -> None:
        """Carry out the recorded actions alone, on an environment of their own: the observations must be the same."""
        if self.report.problems <= 3:
            for args in islice(product(*(range(size) for size in self.arguments)), 1000):
                self.try_act(env, args)
        for count, (frame, step) in enumerate(walk(recording)):
            if env.observe() != step.seen:
                self.around(problem, frame.call.program, env.observe(), step.seen)
                return
            if step.decision is not None and step.decision.program == ACT:
                if count % 17 == 0:
                    self.probe(env)
                env.act(*step.decision.args)
        if env.observe() != last:
            self.around(problem, recording[0].call.program, env.observe(), last)

    def around(self, problem: Any, program: str, replayed: Observation, recorded: Observation) -> None:
        self.fault(
            ("around", program),
            f"the recorded actions alone do not lead to what {program} observed ({_fields(replayed)} instead of "
            f"{_fields(recorded)}), on the problem {_short(problem)}: the environment was changed by something other "
            f"than act, or observe is not repeatable",
        )

    def probe(self, env: Env) -> None:
        """Try an action no teacher would: `act` must be total."""
        choices = ([-1, 0, 1, self.rng.randrange(size), size, 10**6] for size in self.arguments)
        self.try_act(env, tuple(map(self.rng.choice, choices)))

    def try_act(self, env: Env, args: tuple[int, ...]) -> None:
        env = copy.deepcopy(env)
        try:
            env.act(*args)
            self.ranges("after act" + str(args), env.observe())
        except Exception as error:
            self.fault("act", f"{type(env).__name__}.act{args} raises {_named(error)}; act must be total")

    def ranges(self, where: str, seen: Observation) -> None:
        numbers = seen
        if self.shows_picture:
            *numbers, picture = seen
            if not isinstance(picture, Picture):
                self.fault("picture", f"{where} observes {picture!r} where a Picture is declared")
            elif not _fits(picture.caption, self.captions):
                text = f"{where} observes a picture with the caption {picture.caption}, but {self.captions} is declared"
                self.fault("caption", text)
        for (name, size), value in zip(self.fields.items(), numbers, strict=True):
            if not (isinstance(value, int) and 0 <= value < size):
                text = f"{where} observes {name} = {value!r}, outside its declared range 0..{size - 1}"
                self.fault(("range", name), text)

    def history(self, frame: Frame) -> None:
        program = frame.call.program
        node = self.nodes.setdefault(frame.call, len(self.nodes))
        for index, (seen, decision) in enumerate(frame.steps):
            self.ranges(program, seen)
            if decision is not None:
                for slot, (value, size) in enumerate(zip(decision.args, self.arguments, strict=True)):
                    if not 0 <= value < size:
                        text = f"{program} calls {_decision(decision)}: argument {slot + 1} is outside 0..{size - 1}"
                        self.fault(("argument", program, slot), text)
            node = self.nodes.setdefault((node, seen), len(self.nodes))
            other = self.decided.setdefault(node, decision)
            if other != decision:
                past = "; ".join(_fields(step.seen) for step in frame.steps[: index + 1][-3:])
                self.fault(
                    ("dishonest", program),
                    f"{program} decides differently after the same history: once {_decision(other)}, once "
                    f"{_decision(decision)}, at step {index + 1} after observing {past}. It reads state that observe "
                    f"does not show: show it in observe, or decide without it",
                )


def _named(error: Exception) -> str:
    return f"{type(error).__name__} ({error})"


def _decision(decision: Decision) -> str:
    return "return" if decision is None else f"{decision.program}{decision.args}"


def _fields(seen: Observation) -> str:
    names = getattr(seen, "_fields", range(len(seen)))
    return ", ".join(f"{name}={value}" for name, value in zip(names, seen, strict=True))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:45] + "..." + text[-12:]


def _fits(values: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    return len(values) == len(sizes) and all(0 <= value < size for value, size in zip(values, sizes, strict=True))
