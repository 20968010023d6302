"""The tasks that come with the package: one module each, with one `Task` for each teacher."""

from __future__ import annotations

import pkgutil
from difflib import get_close_matches
from importlib import import_module

from npi.errors import BadInput
from npi.language.task import Task

TEACHERS = ("loop", "recursive")


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def find(name: str, teacher: str = "recursive") -> Task:
    """A built-in task by its name and teacher."""
    for kind, word, known in (("task", name, names()), ("teacher", teacher, list(TEACHERS))):
        if word not in known:
            near = get_close_matches(word, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "the known ones are " + ", ".join(known)
            raise BadInput(f"there is no {kind} {word!r}: {hint}")
    return getattr(import_module(f"{__name__}.{name}"), teacher)
