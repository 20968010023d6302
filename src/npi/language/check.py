"""Checking a task before training: can a network learn it, and if not, why not?"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, product
from random import Random
from typing import Any, cast

from npi.language.env import Env
from npi.language.image import Image
from npi.language.program import ACT, Decision, Frame, Observation, is_program
from npi.language.record import record
from npi.language.task import Task
from npi.language.trace import Limits, Runaway, steps_in_order

# Much less than a run may use, so that a teacher that never returns is found within seconds.
CHECK_LIMITS = Limits(steps=1_000_000, depth=10_000)
EXHAUSTIVE_PROBLEMS = 3  # on the first problems, every action is tried once before the run
MAX_ACTIONS = 1000  # or, where an environment has more actions, the first of them
TRY_EVERY = 17  # steps between actions with random arguments; a prime, so that they meet every step of a loop
LAST_OBSERVATIONS = 3  # of a history that a fault reports
MAX_CHARACTERS = 60  # of a problem or an answer in a fault; longer ones are cut


@dataclass
class CheckReport:
    """What `check_task` found. A task with faults cannot be learned as it is.

    task                        the name of the task, and its teacher
    problems, frames, distinct  how many problems and frames it recorded, and how many distinct frames
    programs                    the programs in these frames
    faults                      a description of each fault; faults of one kind are described once
    """

    task: str
    problems: int = 0
    frames: int = 0
    distinct: int = 0
    programs: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])


def check_task(task: Task, problems: int = 100, seed: int = 0, limits: Limits = CHECK_LIMITS) -> CheckReport:
    """Run a task's teacher on many problems and report every fault found, not only the first.

    It checks that:

    - answers are right,
    - observations and arguments are within their declared ranges,
    - `act` is total: no action raises an exception or leads to an undeclared observation,
    - nothing but `act` changes the environment,
    - the teacher is honest: each of its decisions is a function of the frame's history.

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
        self.nodes: dict[Hashable, int] = {}  # histories, as a trie: call -> root, (node, observation) -> next node
        self.decided: dict[int, Decision] = {}  # the first decision seen at each node; an honest teacher has no other
        self.rng = Random(0)
        self.endless = False  # whether the teacher reached a limit; it is then not run again

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
        for name, one in [("main", task.main), *(("extra_programs", extra) for extra in task.extra_programs)]:
            if not is_program(one):
                where = " above every other decorator" if hasattr(one, "function") else ""
                report.faults.append(f"{name} is {one!r}, but must be a function with @program{where}")
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
                self.fault("sample", f"sample raises {_describe_error(error)} for size {size}")
                continue
            report.problems += 1
            for recording in self.recordings(problem):
                report.frames += len(recording)
                for frame in recording:
                    programs.add(frame.call.program)
                    if frame not in distinct:
                        distinct.add(frame)
                        self.check_frame(frame)
        report.distinct, report.programs = len(distinct), sorted(programs)
        return report

    def problem(self, size: int, index: int, seed: int) -> Any:
        """Corner cases and random problems, alternating."""
        corner_cases = self.task.corner_cases(size) if index % 2 else []
        return corner_cases[index % len(corner_cases)] if corner_cases else self.task.sample(Random(seed + index), size)

    def recordings(self, problem: Any) -> Iterator[list[Frame]]:
        """Demonstrate a problem: check the answer, then replay and yield each recording."""
        task = self.task
        try:
            env = task.env.of(problem)
            untouched = copy.deepcopy(env)
        except Exception as error:
            self.fault("of", f"{task.env.__name__}.of({_short(problem)}) raises {_describe_error(error)}")
            return
        for program in (task.main, *task.extra_programs):
            try:
                recording = record(env, program, limits=self.limits)
            except Runaway as error:
                self.endless = True
                self.fault(("runaway", program.name), f"{error}, on the problem {_short(problem)}")
                return
            except Exception as error:
                text = f"{program.name} raises {_describe_error(error)}, on the problem {_short(problem)}"
                self.fault(("raises", program.name, type(error)), text)
                return
            if program is task.main:
                self.check_answer(problem, env)
            self.replay(problem, untouched, recording, env)
            yield recording

    def check_answer(self, problem: Any, env: Env) -> None:
        try:
            expected, got = self.task.answer(problem), self.task.result(env)
        except Exception as error:
            self.fault("answer", f"answer or result raises {_describe_error(error)}, on the problem {_short(problem)}")
            return
        if expected != got:
            given = f"{self.task.main.name} gives {_short(got)} on {_short(problem)}"
            self.fault("wrong answer", f"{given}; the right answer is {_short(expected)}")

    def replay(self, problem: Any, env: Env, recording: list[Frame], recorded: Env) -> None:
        """Perform the recorded actions alone, on a fresh environment: observations and result must be the same.

        `recorded` is the environment after the run. Other actions are tried on copies along the way.
        """
        if self.report.problems <= EXHAUSTIVE_PROBLEMS:
            for args in islice(product(*(range(size) for size in self.arguments)), MAX_ACTIONS):
                self.try_act(env, args)
        for count, (frame, step) in enumerate(steps_in_order(recording)):
            if env.observe() != step.observation:
                self.fault_in_replay(problem, frame.call.program, env.observe(), step.observation)
                return
            if step.decision is not None and step.decision.program == ACT:
                if count % TRY_EVERY == 0:
                    self.try_random_act(env)
                env.act(*step.decision.args)
        program = recording[0].call.program
        if env.observe() != recorded.observe():
            self.fault_in_replay(problem, program, env.observe(), recorded.observe())
            return
        with suppress(Exception):  # which `check_answer` reports
            results = self.task.result(env), self.task.result(recorded)
            if results[0] != results[1]:
                self.fault(
                    ("result", program),
                    f"the recorded actions alone lead to the result {_short(results[0])} instead of "
                    f"{_short(results[1])}, on the problem {_short(problem)}: the environment was changed by something "
                    f"other than act. Programs call act(env, ...), never env.act(...)",
                )

    def fault_in_replay(self, problem: Any, program: str, replayed: Observation, recorded: Observation) -> None:
        self.fault(
            ("replay", program),
            f"the recorded actions alone do not lead to what {program} observed ({_describe_observation(replayed)} "
            f"instead of {_describe_observation(recorded)}), on the problem {_short(problem)}: the environment was "
            f"changed by something other than act, or observe is not repeatable",
        )

    def try_random_act(self, env: Env) -> None:
        """Try an action with random arguments, some of them far out of range."""
        choices = ([-1, 0, 1, self.rng.randrange(size), size, 10**6] for size in self.arguments)
        self.try_act(env, tuple(map(self.rng.choice, choices)))

    def try_act(self, env: Env, args: tuple[int, ...]) -> None:
        """Act on a copy: no action may raise an exception, or lead to an undeclared observation."""
        env = copy.deepcopy(env)
        try:
            env.act(*args)
            self.check_ranges(f"after act{args}", env.observe())
        except Exception as error:
            self.fault("act", f"{type(env).__name__}.act{args} raises {_describe_error(error)}; act must be total")

    def check_ranges(self, where: str, observation: Observation) -> None:
        """Every field must be in its declared range. `where` opens the sentence of a fault."""
        numbers = observation
        if self.shows_image:
            *numbers, image = observation
            if not isinstance(image, Image):
                self.fault("image", f"{where}, observe returns {image!r} where it declares an Image")
            elif not _fits(image.labels, self.label_sizes):
                text = f"{where}, an image has the labels {image.labels}, outside label_sizes {self.label_sizes}"
                self.fault("labels", text)
        for (name, size), value in zip(self.fields.items(), numbers, strict=True):
            if not isinstance(value, int):
                text = f"{where}, observe returns {name} = {value!r}, a {type(value).__name__} and no int"
                self.fault(("kind", name), text)
            elif not 0 <= value < size:
                text = f"{where}, observe returns {name} = {value!r}, outside its declared range 0..{size - 1}"
                self.fault(("range", name), text)

    def check_frame(self, frame: Frame) -> None:
        """Every observation and argument must be in range, and every decision a function of the history."""
        program = frame.call.program
        node = self.nodes.setdefault(frame.call, len(self.nodes))
        for index, (observation, decision) in enumerate(frame.steps):
            self.check_ranges(f"in {program}", observation)
            if decision is not None:
                for slot, (value, size) in enumerate(zip(decision.args, self.arguments, strict=True)):
                    if not 0 <= value < size:
                        text = f"{program} calls {_describe(decision)}: argument {slot + 1} is outside 0..{size - 1}"
                        self.fault(("argument", program, slot), text)
            node = self.nodes.setdefault((node, observation), len(self.nodes))
            other = self.decided.setdefault(node, decision)
            if other != decision:
                recent = frame.steps[: index + 1][-LAST_OBSERVATIONS:]
                observed = "; ".join(_describe_observation(step.observation) for step in recent)
                self.fault(
                    ("dishonest", program),
                    f"{program} decides differently after the same history: once {_describe(other)}, once "
                    f"{_describe(decision)}, at step {index + 1} after observing {observed}. It reads state that "
                    f"observe does not show: show it in observe, or decide without it",
                )


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__} ({error})"


def _describe(decision: Decision) -> str:
    return "return" if decision is None else f"{decision.program}{decision.args}"


def _describe_observation(observation: Observation) -> str:
    names = getattr(observation, "_fields", range(len(observation)))
    return ", ".join(f"{name}={value}" for name, value in zip(names, observation, strict=True))


def _short(value: Any) -> str:
    text = repr(value)
    if len(text) <= MAX_CHARACTERS:
        return text
    dots, end = "...", text[-12:]  # the end shows the closing brackets and the last values
    return text[: MAX_CHARACTERS - len(dots + end)] + dots + end


def _fits(values: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    return len(values) == len(sizes) and all(0 <= value < size for value, size in zip(values, sizes, strict=True))
