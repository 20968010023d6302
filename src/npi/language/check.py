"""Checking: whether a task can be learned at all, and if not, every fault found."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from random import Random
from typing import Any, cast

from npi.language.env import Env
from npi.language.image import Image
from npi.language.program import ACT, Decision, Frame, Observation
from npi.language.record import record
from npi.language.task import Task
from npi.language.trace import Limits, Runaway, steps_in_order


@dataclass
class CheckReport:
    """What `check_task` found. A task without faults can be learned.

    problems, frames, distinct  how many problems and frames it recorded, and how many distinct frames
    programs                    the programs in these frames
    faults                      one sentence for each kind of fault
    """

    task: str
    problems: int = 0
    frames: int = 0
    distinct: int = 0
    programs: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])


def check_task(
    task: Task, problems: int = 100, seed: int = 0, limits: Limits = Limits(1_000_000, 10_000)
) -> CheckReport:
    """Run a task's teacher on many problems and report every fault found, not only the first.

    It checks that answers are right, observations and arguments within their declared ranges, `act` total, and the
    teacher honest: that each of its decisions is a function of the frame's history.

    >>> import npi
    >>> from npi import tasks
    >>> npi.check_task(tasks.find("quicksort"), problems=10).faults
    []
    """
    return _Check(task, limits).run(problems, seed)


class _Check:
    def __init__(self, task: Task, limits: Limits):
        self.task, self.limits = task, limits
        self.report = CheckReport(f"{task.name} ({task.teacher})")
        self.seen_faults: set[Hashable] = set()
        self.nodes: dict[Hashable, int] = {}  # histories, as a trie: (parent, observation) -> node
        self.decided: dict[int, Decision] = {}
        self.rng = Random(0)
        self.endless = False  # a teacher that never returns is run once only

    def fault(self, key: Hashable, text: str) -> None:
        """Keep the first fault of each kind: a hundred problems that fail for one reason are one fault."""
        if key not in self.seen_faults:
            self.seen_faults.add(key)
            self.report.faults.append(text)

    def run(self, problems: int, seed: int) -> CheckReport:
        task, report = self.task, self.report
        env = cast(object, task.env)  # the author of a task may run no type checker
        if not (isinstance(env, type) and issubclass(env, Env)):
            report.faults.append(f"env is {env!r}, but must be a subclass of Env")
        if not callable(getattr(task.main, "function", None)):
            report.faults.append(f"main is {task.main!r}, but must be a function with @program")
        if not len(task.sizes) or task.examples < 1:
            report.faults.append(f"nothing to learn: sizes are {task.sizes!r}, with {task.examples} examples of each")
        if report.faults:
            return report
        try:
            self.fields, self.arguments = task.env.fields(), task.env.argument_sizes()
            self.shows_image, self.label_sizes = task.env.shows_image(), task.env.label_sizes()
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
        """Corner cases and random problems, alternating."""
        corner_cases = self.task.corner_cases(size) if index % 2 else []
        return corner_cases[index % len(corner_cases)] if corner_cases else self.task.sample(Random(seed + index), size)

    def recordings(self, problem: Any) -> Iterator[list[Frame]]:
        task = self.task
        try:
            env = task.env.of(problem)
            untouched = copy.deepcopy(env)
        except Exception as error:
            self.fault("of", f"{task.env.__name__}.of({_short(problem)}) raises {_named(error)}")
            return
        for program in (task.main, *task.extra_programs):
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
        """Perform the recorded actions alone, on a fresh environment: it must show the same observations."""
        if self.report.problems <= 3:
            for args in islice(product(*(range(size) for size in self.arguments)), 1000):
                self.try_act(env, args)
        for count, (frame, step) in enumerate(steps_in_order(recording)):
            if env.observe() != step.observation:
                self.around(problem, frame.call.program, env.observe(), step.observation)
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
        """Try an action that no teacher performs: `act` must be total."""
        choices = ([-1, 0, 1, self.rng.randrange(size), size, 10**6] for size in self.arguments)
        self.try_act(env, tuple(map(self.rng.choice, choices)))

    def try_act(self, env: Env, args: tuple[int, ...]) -> None:
        env = copy.deepcopy(env)
        try:
            env.act(*args)
            self.ranges("after act" + str(args), env.observe())
        except Exception as error:
            self.fault("act", f"{type(env).__name__}.act{args} raises {_named(error)}; act must be total")

    def ranges(self, where: str, observation: Observation) -> None:
        numbers = observation
        if self.shows_image:
            *numbers, image = observation
            if not isinstance(image, Image):
                self.fault("image", f"{where} observes {image!r} where an Image is declared")
            elif not _fits(image.labels, self.label_sizes):
                text = f"{where} observes an image with the labels {image.labels}, but declares {self.label_sizes}"
                self.fault("labels", text)
        for (name, size), value in zip(self.fields.items(), numbers, strict=True):
            if not (isinstance(value, int) and 0 <= value < size):
                text = f"{where} observes {name} = {value!r}, outside its declared range 0..{size - 1}"
                self.fault(("range", name), text)

    def history(self, frame: Frame) -> None:
        program = frame.call.program
        node = self.nodes.setdefault(frame.call, len(self.nodes))
        for index, (observation, decision) in enumerate(frame.steps):
            self.ranges(program, observation)
            if decision is not None:
                for slot, (value, size) in enumerate(zip(decision.args, self.arguments, strict=True)):
                    if not 0 <= value < size:
                        text = f"{program} calls {_decision(decision)}: argument {slot + 1} is outside 0..{size - 1}"
                        self.fault(("argument", program, slot), text)
            node = self.nodes.setdefault((node, observation), len(self.nodes))
            other = self.decided.setdefault(node, decision)
            if other != decision:
                past = "; ".join(_fields(step.observation) for step in frame.steps[: index + 1][-3:])
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


def _fields(observation: Observation) -> str:
    names = getattr(observation, "_fields", range(len(observation)))
    return ", ".join(f"{name}={value}" for name, value in zip(names, observation, strict=True))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:45] + "..." + text[-12:]


def _fits(values: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    return len(values) == len(sizes) and all(0 <= value < size for value, size in zip(values, sizes, strict=True))
