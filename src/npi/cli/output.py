"""Runs and results as text."""

from __future__ import annotations

import json
import sys
from collections import deque
from typing import Any

from npi.language.call_tree import format_tree, open_calls
from npi.language.task import Task
from npi.language.trace import Runaway

LAST_CALLS = 12  # of a run that reached a limit, so many calls are shown
STACK_SHOWN = 8  # of a deeper stack, only the outermost and innermost calls are shown


def print_runaway(error: Runaway, task: Task[Any, Any], as_json: bool) -> None:
    """Show where a program was when it reached a limit: its last calls, and the calls still open."""
    last = list(deque(format_tree(error.trace, task.env, indent=""), maxlen=LAST_CALLS))
    stack = open_calls(error.trace, task.env)
    if as_json:
        print_json({"error": str(error), "last": last, "stack": stack[-LAST_CALLS:], "depth": len(stack)})
        return
    print(f"npi: {error}. Its last calls:", file=sys.stderr)
    for line in last:
        print(f"  {line}", file=sys.stderr)
    calls = " > ".join(stack if len(stack) <= STACK_SHOWN else [*stack[:3], "...", *stack[-3:]])
    print(f"npi: it was {len(stack):,} calls deep: {calls}", file=sys.stderr)


def percent(fraction: float, interval: tuple[float, float]) -> str:
    """A fraction with its interval, in percent."""
    return f"{100 * fraction:.1f} % ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})"


def print_json(value: Any) -> None:
    print(json.dumps(value, default=str), flush=True)
