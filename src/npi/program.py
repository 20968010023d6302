"""Programs, and the frames recorded while they run.

A program is an ordinary function of an environment. It runs as it stands; nothing here needs a network.

    @program
    def carry(pad):
        act(pad, MOVE, CARRY, LEFT)
        act(pad, WRITE, CARRY, 1)
        act(pad, MOVE, CARRY, RIGHT)

Call       a program's name and its arguments: three small integers, 0 where the author gave none
Decision   what a frame does next: a Call, or None, which means return
Step       what was observed, and what was decided
Frame      one call and its steps; the last step returns
Trace      every decision of one run, in order: calls and returns nest, so the list holds the whole tree
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, cast, overload

ARGS = 3  # the paper: "we always used a 3-tuple of integers"

Observation: TypeAlias = tuple[Any, ...]  # small integers; the last may be a Picture


class Call(NamedTuple):
    """A program and its arguments."""

    program: str
    args: tuple[int, ...] = (0,) * ARGS


Decision: TypeAlias = Call | None


class Step(NamedTuple):
    """What a frame observed, and what it then decided."""

    seen: Observation
    decision: Decision


class Frame(NamedTuple):
    """One call of a program and everything it decided itself; what its callees decided is in their own frames."""

    call: Call
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Limits:
    """How far a run may go before it is called a runaway."""

    steps: int = 10_000_000
    depth: int = 1_000_000


@dataclass
class Trace:
    """The decisions of one run of `call`. `runaway` says which limit ended it; None means that it returned."""

    call: Call
    decisions: list[Decision]
    runaway: str | None = None

    @staticmethod
    def of(frames: list[Frame]) -> Trace:
        """The trace of a recording."""
        return Trace(frames[0].call, [step.decision for _, step in walk(frames)])


def walk(frames: Iterable[Frame]) -> Iterator[tuple[Frame, Step]]:
    """Every step of a recording with its frame, in the order in which they happened."""
    frames = iter(frames)
    root = next(frames)
    stack = [(root, iter(root.steps))]
    while stack:
        frame, steps = stack[-1]
        for step in steps:
            yield frame, step
            if step.decision is not None and step.decision.program != ACT:
                called = next(frames, None)
                if called is None:  # a recording cut short by a limit
                    return
                stack.append((called, iter(called.steps)))
                break
        else:
            stack.pop()


class Runaway(Exception):
    """A run that reached a limit; `trace` holds what it did until then."""

    def __init__(self, trace: Trace):
        super().__init__(f"{trace.call.program} did not return: {trace.runaway}")
        self.trace = trace


class Program(Protocol):
    """What `@program` makes of a function: it is still called as before."""

    name: str
    function: Callable[..., None]

    def __call__(self, env: Any, *args: int) -> None: ...


# While an environment is recorded, every call of a program on it goes through its recorder.
class Watcher(Protocol):
    """Who is told of calls instead of their being made."""

    env: Any

    def call(self, program: Program, args: tuple[int, ...]) -> None: ...


_recorder: ContextVar[Watcher | None] = ContextVar("recorder", default=None)


@overload
def program(function: Callable[..., None]) -> Program: ...
@overload
def program(*, name: str) -> Callable[[Callable[..., None]], Program]: ...
def program(function: Callable[..., None] | None = None, *, name: str | None = None) -> Any:
    """Make a function `f(env, *args)` a program. Its name, in capitals, is its identity in every task and model.

    Two teachers may give the same program two bodies: `@program(name="ADD") def add_by_recursion(pad): ...`.
    """
    if function is None:
        return functools.partial(_program, name=name)
    return _program(function, name)


def _program(function: Callable[..., None], name: str | None) -> Program:
    name = name or function.__name__.upper()
    parameters = list(inspect.signature(function).parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or any(p.kind not in positional for p in parameters) or len(parameters) > 1 + ARGS:
        raise TypeError(
            f"program {name} must take an environment and at most {ARGS} integers, all by position; "
            f"its signature is {inspect.signature(function)}"
        )

    # A plain function, not an object with __call__: then Python calls it without using the C stack, and a recursive
    # teacher may go as deep as memory allows.
    @functools.wraps(function)
    def run(env: Any, *args: int) -> None:
        recorder = _recorder.get()
        if recorder is None or recorder.env is not env:
            function(env, *args)
        else:
            recorder.call(made, args)

    made = cast(Program, run)
    made.name, made.function = name, function
    return made


@program
def act(env: Any, first: int = 0, second: int = 0, third: int = 0) -> None:
    """The one primitive of every environment (ACT): its arguments say what is to be done."""
    env.act(first, second, third)


ACT = act.name


class _Recorder:
    def __init__(self, env: Any, limits: Limits):
        self.env, self.limits = env, limits
        self.seen = env.observe()  # observed anew after each act: nothing else changes the environment
        self.programs: dict[str, Program] = {}
        self.calls: dict[tuple[Program, tuple[int, ...]], Call] = {}
        self.frames: list[tuple[Call, list[Step]]] = []
        self.open: list[list[Step]] = []
        self.steps = 0

    def call(self, program: Program, args: tuple[int, ...]) -> None:
        call = self.calls.get((program, args)) or self.first_call(program, args)
        if self.open:
            self.step(call)
        if program is act:
            self.env.act(*call.args)
            self.seen = self.env.observe()
            return
        if len(self.open) >= self.limits.depth:
            raise Runaway(self.trace(f"depth limit of {self.limits.depth:,} calls reached"))
        steps: list[Step] = []
        self.frames.append((call, steps))
        self.open.append(steps)
        _invoke(program, self.env, args)
        self.step(None)
        self.open.pop()

    def first_call(self, program: Program, args: tuple[int, ...]) -> Call:
        known = self.programs.setdefault(program.name, program)
        if known is not program:
            raise ValueError(
                f"two programs named {program.name} are called in one run: {_place(known)} and {_place(program)}; "
                f"a name is an identity, so rename one of them"
            )
        call = Call(program.name, tuple(int(a) for a in args) + (0,) * (ARGS - len(args)))
        self.calls[program, args] = call
        return call

    def step(self, decision: Decision) -> None:
        self.open[-1].append(Step(self.seen, decision))
        self.steps += 1
        if self.steps > self.limits.steps:
            raise Runaway(self.trace(f"step limit of {self.limits.steps:,} reached"))

    def trace(self, runaway: str) -> Trace:
        partial = Trace.of([Frame(call, tuple(steps)) for call, steps in self.frames])
        partial.runaway = runaway
        return partial


class _Counter:
    """Counts steps and keeps none."""

    def __init__(self, env: Any, limits: Limits):
        self.env, self.limits = env, limits
        self.steps = -1  # nobody decides on the first call
        self.open: list[Program] = []

    def call(self, program: Program, args: tuple[int, ...]) -> None:
        self.steps += 1 if program is act else 2  # the call, and the return of what is called
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
    """Run a program on an environment and return its frames, in the order in which they were entered."""
    return record_programs(env, program, *args, limits=limits)[0]


def record_programs(
    env: Any, program: Program, *args: int, limits: Limits = Limits()
) -> tuple[list[Frame], dict[str, Program]]:
    """The frames of a run, as `record` gives them, and the programs that took part in it, by name."""
    recorder = _Recorder(env, limits)
    _watch(recorder, program, args)
    return [Frame(call, tuple(steps)) for call, steps in recorder.frames], recorder.programs


def count_steps(env: Any, program: Program, *args: int, limits: Limits = Limits()) -> int:
    """Run a program on an environment and return how many decisions it made, without keeping them."""
    counter = _Counter(env, limits)
    _watch(counter, program, args)
    return counter.steps


def _watch(recorder: _Recorder | _Counter, program: Program, args: tuple[int, ...]) -> None:
    python_limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(max(python_limit, 4 * recorder.limits.depth + 1000))
        with watched_by(recorder):
            program(recorder.env, *args)
    finally:
        sys.setrecursionlimit(python_limit)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """While this lasts, calls of programs on the watcher's environment are handed to the watcher."""
    token = _recorder.set(watcher)
    try:
        yield
    finally:
        _recorder.reset(token)


def _place(program: Program) -> str:
    code = program.function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"
