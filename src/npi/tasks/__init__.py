"""The built-in tasks: one module each, with one `Task` for each teacher."""

from __future__ import annotations

import pkgutil
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from npi.errors import BadInput
from npi.language.task import Task
from npi.language.task_file import is_task_file, load_task_file

TEACHERS = ("loop", "recursive")


def names() -> list[str]:
    """The names of the built-in tasks."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def find(name: str, teacher: str = "recursive") -> Task[Any, Any]:
    """A built-in task by its name and teacher."""
    for kind, word, known in (("task", name, names()), ("teacher", teacher, list(TEACHERS))):
        if word not in known:
            near = get_close_matches(word, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "the known ones are " + ", ".join(known)
            raise BadInput(f"there is no {kind} {word!r}: {hint}")
    return getattr(import_module(f"{__name__}.{name}"), teacher)


def find_task(task: Task[Any, Any] | str, teacher: str = "recursive") -> Task[Any, Any]:
    """A task, given as itself, by the name of a built-in one, or as FILE.py:NAME; `teacher` is for built-in ones."""
    if isinstance(task, Task):
        return task
    return load_task_file(task) if is_task_file(task) else find(task, teacher)
