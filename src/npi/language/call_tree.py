"""A run as a person reads it: the indented call tree of the paper's figures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from npi.language.env import Env
from npi.language.program import ACT, Call
from npi.language.trace import Trace


def format_tree(trace: Trace, env: type[Env], indent: str = "  ") -> Iterator[str]:
    """One line for each call, indented by depth, actions in the words of their environment."""
    yield format_call(trace.call, env)
    depth = 1
    for decision in trace.decisions:
        if decision is None:
            depth -= 1
        else:
            yield indent * depth + format_call(decision, env)
            depth += decision.program != ACT


def format_call(call: Call, env: type[Env]) -> str:
    if call.program == ACT:
        # A model of several tasks has arguments that mean nothing here; an untrained one will use them.
        meant = all(value < size for value, size in zip(call.args, _arguments(env), strict=True))
        return env.describe(call.args) if meant else Env.describe(call.args)
    return " ".join([call.program, *map(str, call.args)]) if any(call.args) else call.program


@cache
def _arguments(env: type[Env]) -> tuple[int, ...]:
    return env.argument_sizes()


def open_calls(trace: Trace, env: type[Env]) -> list[str]:
    """The calls that had not returned when a trace ended, outermost first."""
    calls = [trace.call]
    for decision in trace.decisions:
        if decision is None:
            calls.pop()
        elif decision.program != ACT:
            calls.append(decision)
    return [format_call(call, env) for call in calls]
