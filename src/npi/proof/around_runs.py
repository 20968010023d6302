"""Code that runs around problems, such as `of` and `sample`: it must leave nothing behind that a step could find.

It may do nearly anything: draw random numbers, read files, keep a cache. So what it assigns to, and what it refers to
and could change, is compared with what steps refer to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from npi.errors import NotProvable
from npi.language.task import Task
from npi.proof.hidden_state import Watch
from npi.proof.snapshot import MUTABLE, REMEDY

# Functions of a task that run before or after its problems.
AROUND_RUNS = ("sample", "sample_test", "prepare", "parse", "answer", "result", "show", "corner_cases")


def check_around_runs(task: Task[Any, Any], attributes: Iterable[str]) -> None:
    """Raise NotProvable if code that runs in no step could leave behind what the steps of a task can find.

    `attributes` are those of the environment: every problem has new ones, so nothing outlives it there.
    """
    steps, around = Watch.of(task), Watch(task.name, task.env, step=False)
    around.add_class(task.env)
    for name in AROUND_RUNS:
        around.follow(getattr(task, name), name)
    for name in sorted((around.assigned.keys() & steps.loaded).difference(attributes)):
        raise NotProvable(
            f"{around.assigned[name]} assigns to {name}, a name that a step of {task.name} refers to, where {REMEDY}"
        )
    watched = steps.shown | {id(value): what for value, _, what in steps.contents if isinstance(value, MUTABLE)}
    for value, _, what in around.contents:
        if id(value) in watched:
            raise NotProvable(
                f"a step of {task.name} and other code share what can be changed: "
                f"{' and '.join(dict.fromkeys((watched[id(value)], what)))}. "
                f"What the other code leaves there reaches the step, and {REMEDY}. If it is a constant, make it a "
                f"tuple, a frozenset or a types.MappingProxyType, and so every list, set and dictionary in it"
            )
