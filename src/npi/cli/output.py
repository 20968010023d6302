"""Printing: runs that reached a limit, percentages, JSON."""

from __future__ import annotations

import json
import sys
from collections import deque
from typing import Any

from npi.language.call_tree import format_tree, open_calls
from npi.language.task import Task
from npi.language.trace import Runaway

# Of a run that reached a limit: how many of its last calls are shown, how many open calls at most, and, if there are
# more of them, how many of the outermost and of the innermost.
LAST_CALLS, MAX_OPEN_CALLS, STACK_ENDS = 12, 8, 3


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
    calls = " > ".join(stack if len(stack) <= MAX_OPEN_CALLS else [*stack[:STACK_ENDS], "...", *stack[-STACK_ENDS:]])
    print(f"npi: it was {len(stack):,} calls deep: {calls}", file=sys.stderr)


def percent(fraction: float, interval: tuple[float, float]) -> str:
    """A fraction with its interval, in percent."""
    return f"{100 * fraction:.1f} % ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})"


def print_json(value: Any) -> None:
    print(json.dumps(value, default=str), flush=True)
