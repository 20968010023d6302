"""The project of a task: which files, functions and classes belong to it, and which to Python or a library."""

from __future__ import annotations

import functools
import sys
import sysconfig
from pathlib import Path
from types import FunctionType, ModuleType

from npi.language.env import Env

PACKAGE = Path(__file__).resolve().parents[1]
LIBRARIES = [Path(sysconfig.get_paths()[name]).resolve() for name in ("stdlib", "purelib", "platlib")]

HEAP_TYPE = 1 << 9  # the flag of classes that are made while Python runs


class Project:
    """What belongs to a task: all that is neither Python's, nor an installed library's, nor npi's own.

    The tasks of npi count as a project; so does an installed package that an environment is part of.
    """

    def __init__(self, env: type[Env]):
        self.places: list[Path] = []
        module = sys.modules.get(env.__module__)
        file = getattr(module, "__file__", None)
        if file is not None and in_library(_resolved(file)):
            top = sys.modules.get(env.__module__.partition(".")[0])
            self.places = [_resolved(place) for place in getattr(top, "__path__", [file])]

    def has(self, thing: FunctionType | type | ModuleType) -> bool:
        """Whether something belongs to the task, and not to a library or to what every task builds on."""
        if isinstance(thing, FunctionType):
            return self.has_file(thing.__code__.co_filename)
        if isinstance(thing, type) and thing.__flags__ & HEAP_TYPE:
            functions = [one for one in vars(thing).values() if isinstance(one, FunctionType)]
            if not _is_named(thing) or any(self.has(one) for one in functions if not _is_text(one)):
                return True  # whatever __module__ was set to
        module = thing if isinstance(thing, ModuleType) else sys.modules.get(thing.__module__)
        if module is None:
            return True
        if getattr(module, "__file__", None) is None:
            return module.__name__ == "__main__" or not hasattr(module, "__spec__") or module.__spec__ is None
        return self.has_file(str(module.__file__))

    def has_file(self, file: str) -> bool:
        """Whether a file belongs to the task, or to the tasks of npi."""
        if file.startswith("<frozen "):  # a module of Python itself
            return False
        path = _resolved(file)
        if path.is_relative_to(PACKAGE):
            return path.parent == PACKAGE / "tasks"
        return any(path.is_relative_to(place) for place in self.places) or not in_library(path)


def _is_text(function: FunctionType) -> bool:
    """Whether a function was made from text, as Python makes methods of dataclasses."""
    return function.__code__.co_filename == "<string>"


def _is_named(kind: type) -> bool:
    """Whether a class is found in the module that it names as its own."""
    found: object = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind


def in_library(path: Path) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    if path.is_relative_to(PACKAGE):
        return False
    return "site-packages" in path.parts or any(path.is_relative_to(library) for library in LIBRARIES)


@functools.cache
def _resolved(file: str) -> Path:
    return Path(file).resolve()
