"""Runs and results as text."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

from npi.language.task import Task
from npi.language.trace import Runaway, Trace


def lines(trace: Trace, task: Task) -> Iterator[str]:
    from npi.language.call_tree import format_tree

    return format_tree(trace, task.env)


def runaway(error: Runaway, task: Task, as_json: bool) -> None:
    """Show where a program was when it was stopped: its last calls, and the calls still open."""
    from npi.language.call_tree import format_tree, open_calls

    last = list(deque(format_tree(error.trace, task.env, indent=""), maxlen=20))
    stack = open_calls(error.trace, task.env)
    if as_json:
        print_json({"error": str(error), "last": last, "stack": stack[-20:], "depth": len(stack)})
        return
    print(f"npi: {error}. Its last calls:", file=sys.stderr)
    for line in last[-12:]:
        print(f"  {line}", file=sys.stderr)
    depth = f"{len(stack):,} calls deep: "
    inner = " > ".join(stack if len(stack) <= 8 else [*stack[:3], "...", *stack[-3:]])
    print(f"npi: it was {depth}{inner}", file=sys.stderr)


def share(share: float, bounds: tuple[float, float]) -> str:
    return f"{100 * share:.1f} % ({100 * bounds[0]:.1f} to {100 * bounds[1]:.1f})"


def short(problem: Any) -> str:
    text = str(problem)
    return text if len(text) <= 80 else f"{text[:60]} ... {text[-12:]}"


def machine() -> dict[str, Any]:
    import platform

    import torch

    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def print_json(value: Any) -> None:
    print(json.dumps(value, default=str), flush=True)
