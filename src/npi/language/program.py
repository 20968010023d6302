"""Programs, and the frames recorded while they run.

A program is an ordinary function of an environment. It runs as it stands; nothing here needs a network.

    @program
    def carry(pad):
        act(pad, MOVE, CARRY, LEFT)
        act(pad, WRITE, CARRY, 1)
        act(pad, MOVE, CARRY, RIGHT)

Call       a program's name and its arguments: three small integers, 0 where the author gave none
Decision   what a frame does next: a Call, or None, which means return
Step       one step of a frame: what it observed, and what it then decided
Frame      one call and its steps; the last step returns
Trace      every decision of one run, in order: calls and returns nest, so the list holds the whole tree
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeAlias, cast, overload, runtime_checkable

ARGS = 3  # the paper: "we always used a 3-tuple of integers"

Observation: TypeAlias = tuple[Any, ...]  # small integers; the last may be an Image


class Call(NamedTuple):
    """A program and its arguments."""

    program: str
    args: tuple[int, ...] = (0,) * ARGS


Decision: TypeAlias = Call | None


class Step(NamedTuple):
    """What a frame observed, and what it then decided."""

    observation: Observation
    decision: Decision


class Frame(NamedTuple):
    """One call of a program and everything it decided itself; what its callees decided is in their own frames."""

    call: Call
    steps: tuple[Step, ...]


@runtime_checkable
class Program(Protocol):
    """A function with `@program`: it is called as before, and its calls can be recorded."""

    name: str
    function: Callable[..., None]

    def __call__(self, env: Any, *args: int) -> None: ...


class CallHandler(Protocol):
    """Receives the calls of programs on one environment, in place of the programs."""

    env: Any

    def call(self, program: Program, args: tuple[int, ...]) -> None: ...


# While a handler is set, every call of a program on its environment goes to it.
_handler: ContextVar[CallHandler | None] = ContextVar("handler", default=None)


@overload
def program(function: Callable[..., None]) -> Program: ...
@overload
def program(*, name: str) -> Callable[[Callable[..., None]], Program]: ...
def program(function: Callable[..., None] | None = None, *, name: str | None = None) -> Any:
    """Make a function `f(env, *args)` a program. Its name, in capitals, is its identity in every task and model.

    Two teachers may give the same program two bodies: `@program(name="ADD") def add_by_recursion(pad): ...`.

    >>> from npi import act, program
    >>> @program
    ... def double_step(pad):
    ...     act(pad, 1)
    ...     act(pad, 1)
    >>> double_step.name
    'DOUBLE_STEP'
    """
    if function is None:
        return functools.partial(_program, name=name)
    return _program(function, name)


def _program(function: Callable[..., None], name: str | None) -> Program:
    name = name or function.__name__.upper()
    if name == "ACT" and function.__module__ != __name__:
        raise TypeError(f"{function.__qualname__} would be named ACT, as the program that acts: give it another name")
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
        handler = _handler.get()
        if handler is None or handler.env is not env:
            function(env, *args)
        else:
            handler.call(wrapper, args)

    wrapper = cast(Program, run)
    wrapper.name, wrapper.function = name, function
    return wrapper


@program
def act(env: Any, first: int = 0, second: int = 0, third: int = 0) -> None:
    """Perform an action: the one primitive program, ACT. What its arguments mean is up to the environment.

    >>> from npi import act, tasks
    >>> from npi.tasks.addition import LEFT, MOVE, OUT
    >>> pad = tasks.find("addition").env.of(("96", "125"))
    >>> act(pad, MOVE, OUT, LEFT)
    >>> pad.describe((MOVE, OUT, LEFT))
    'PTR OUT LEFT'
    """
    env.act(first, second, third)


ACT = act.name


def is_program(value: Any) -> bool:
    """Whether a value is what `@program` made, and not a decorator around it, which calls would go to unrecorded."""
    made = getattr(value, "__code__", None) is cast(Any, act).__code__
    return made and value.__wrapped__ is value.function


@contextmanager
def handle_calls(handler: CallHandler) -> Generator[None, None, None]:
    """In this context, calls of programs on the handler's environment go to the handler."""
    token = _handler.set(handler)
    try:
        yield
    finally:
        _handler.reset(token)
