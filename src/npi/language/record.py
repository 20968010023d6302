"""Recording: run a program and keep the frames of every call."""

from __future__ import annotations

import sys
from typing import Any

from npi.language.program import ARGS, Call, Decision, Frame, Program, Step, act, handle_calls
from npi.language.trace import Limits, Runaway, Trace

# A call of a program takes four frames of Python: the decorator's wrapper, the handler's `call`, `_invoke` and the
# function. The rest is for the caller, and for what a function calls besides programs.
PYTHON_FRAMES_PER_CALL, OTHER_PYTHON_FRAMES = 4, 1000


class _Recorder:
    """The call handler of `record`: performs each call, and keeps its frame."""

    def __init__(self, env: Any, limits: Limits):
        self.env, self.limits = env, limits
        self.observation = env.observe()  # observed again after each act: nothing else changes the environment
        self.programs: dict[str, Program] = {}
        self.calls: dict[tuple[Program, tuple[int, ...]], Call] = {}
        self.frames: list[tuple[Call, list[Step]]] = []
        self.open: list[list[Step]] = []  # the steps of the frames that have not returned
        self.steps = 0

    def call(self, program: Program, args: tuple[int, ...]) -> None:
        call = self.calls.get((program, args)) or self.first_call(program, args)
        if self.open:
            self.step(call)
        if program is act:
            self.env.act(*call.args)
            self.observation = self.env.observe()
            return
        if len(self.open) >= self.limits.depth:
            raise self.runaway(f"depth limit of {self.limits.depth:,} calls reached")
        steps: list[Step] = []
        self.frames.append((call, steps))
        self.open.append(steps)
        _invoke(program, self.env, args)
        self.step(None)
        self.open.pop()

    def first_call(self, program: Program, args: tuple[int, ...]) -> Call:
        """Make the Call for a program and arguments not called before in this run."""
        known = self.programs.setdefault(program.name, program)
        if known is not program:
            raise ValueError(
                f"two programs named {program.name} are called in one run: {_source_line(known)} and "
                f"{_source_line(program)}; a name is an identity, so rename one of them"
            )
        call = Call(program.name, tuple(int(a) for a in args) + (0,) * (ARGS - len(args)))
        self.calls[program, args] = call
        return call

    def step(self, decision: Decision) -> None:
        self.open[-1].append(Step(self.observation, decision))
        self.steps += 1
        if self.steps > self.limits.steps:
            raise self.runaway(f"step limit of {self.limits.steps:,} reached")

    def runaway(self, limit: str) -> Runaway:
        frames = [Frame(call, tuple(steps)) for call, steps in self.frames]
        trace = Trace.of(frames)
        trace.runaway = limit
        return Runaway(trace, frames)


class _Counter:
    """The call handler of `count_steps`: performs each call, and stores no steps."""

    def __init__(self, env: Any, limits: Limits):
        self.env, self.limits = env, limits
        self.steps = -1  # no frame decided the first call
        self.open: list[Program] = []

    def call(self, program: Program, args: tuple[int, ...]) -> None:
        self.steps += 1 if program is act else 2  # the decision to call, and the decision to return from it
        if self.steps > self.limits.steps or (program is not act and len(self.open) >= self.limits.depth):
            limits = f"limit of {self.limits.steps:,} steps or {self.limits.depth:,} calls reached"
            raise Runaway(Trace(Call((*self.open, program)[0].name, (0,) * ARGS), [], limits))
        if program is act:
            program.function(self.env, *args)
            return
        self.open.append(program)
        _invoke(program, self.env, args)
        self.open.pop()


def _invoke(program: Program, env: Any, args: tuple[int, ...]) -> None:
    if args:
        program.function(env, *args)
    else:
        program.function(env)  # without the star, Python 3.11 needs no C stack for this call


def record(env: Any, program: Program, *args: int, limits: Limits = Limits()) -> list[Frame]:
    """Run a program on an environment and return its frames, in the order in which they were entered.

    >>> from npi import record, tasks
    >>> task = tasks.find("addition")
    >>> frames = record(task.env.of(("96", "125")), task.main)
    >>> [frame.call.program for frame in frames[:3]]
    ['ADD', 'ADD1', 'CARRY']
    """
    return record_programs(env, program, *args, limits=limits)[0]


def record_programs(
    env: Any, program: Program, *args: int, limits: Limits = Limits()
) -> tuple[list[Frame], dict[str, Program]]:
    """The frames of a run, as `record` gives them, and the programs that took part in it, by name."""
    recorder = _Recorder(env, limits)
    _run_with(recorder, program, args)
    return [Frame(call, tuple(steps)) for call, steps in recorder.frames], recorder.programs


def count_steps(env: Any, program: Program, *args: int, limits: Limits = Limits()) -> int:
    """Run a program on an environment and return how many decisions it made, without keeping them."""
    counter = _Counter(env, limits)
    _run_with(counter, program, args)
    return counter.steps


def _run_with(handler: _Recorder | _Counter, program: Program, args: tuple[int, ...]) -> None:
    python_limit = sys.getrecursionlimit()
    try:
        needed = PYTHON_FRAMES_PER_CALL * handler.limits.depth + OTHER_PYTHON_FRAMES
        sys.setrecursionlimit(max(python_limit, needed))
        with handle_calls(handler):
            program(handler.env, *args)
    finally:
        sys.setrecursionlimit(python_limit)


def _source_line(program: Program) -> str:
    code = program.function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"
