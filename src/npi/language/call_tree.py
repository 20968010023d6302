"""Call trees: a run as indented text, as in the paper's figures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from npi.language.env import Env
from npi.language.program import ACT, Call
from npi.language.trace import Trace


def format_tree(trace: Trace, env: type[Env], indent: str = "  ") -> Iterator[str]:
    """One line for each call, indented by depth. Actions appear as `Env.describe` writes them."""
    yield format_call(trace.call, env)
    depth = 1
    for decision in trace.decisions:
        if decision is None:
            depth -= 1
        else:
            yield indent * depth + format_call(decision, env)
            depth += decision.program != ACT


def format_call(call: Call, env: type[Env]) -> str:
    """One call on one line: the action, or the program's name and, unless all are 0, its arguments."""
    if call.program == ACT:
        # A model of several tasks can output arguments that only another task's environment has, and a badly trained
        # one does. `env.describe` need not handle them.
        declared = all(value < size for value, size in zip(call.args, _argument_sizes(env), strict=True))
        return env.describe(call.args) if declared else Env.describe(call.args)
    return " ".join([call.program, *map(str, call.args)]) if any(call.args) else call.program


@cache
def _argument_sizes(env: type[Env]) -> tuple[int, ...]:
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
