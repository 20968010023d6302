"""Hidden state: what the code of a task could remember beside its tapes and graphs.

A proof runs each step of an environment and each frame of a teacher by itself. So their code must remember nothing
between steps, except on tapes and graphs. Python cannot guarantee this. This module refuses what can be seen: code that
assigns to globals or to variables of an enclosing function, iterators and random numbers, and values that code refers
to and that change. What it cannot see is an assumption of the proof (`unseen`).
"""

from __future__ import annotations

import dis
import enum
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from npi.errors import NotProvable

REMEDY = "a proof cannot see it: keep all of the state on tapes and graphs"
# Modules whose functions answer differently each time.
CHANGING_MODULES = ("random", "secrets", "time", "datetime", "uuid", "os", "io", "threading")
MUTABLE = (list, dict, set, bytearray)
CONSTANT = (int, float, complex, str, bytes, bool, type(None), range, slice, enum.Enum, Path, MappingProxyType)
NO_STEP = ("of", "tapes", "describe", "fields", "argument_sizes", "label_sizes", "shows_image")  # methods of Env


class Watch:
    """What some functions refer to, and whether it has changed since.

    unseen  values whose changes would not be seen, each with its type
    """

    def __init__(self, owner: str, functions: Iterable[Callable[..., Any]] = ()):
        self.owner, self.unseen = owner, dict[str, None]()
        # Where each value is bound, and what it was. Only changes of the binding show, and changes of the content of
        # the mutable types of Python.
        self.bound: list[tuple[Mapping[str, Any] | Any, str, Any, str | None, str]] = []
        self.classes: dict[type, frozenset[str]] = {}  # with the names of their attributes
        self.seen: set[int] = set()
        for function in functions:
            self.add(function)

    def add(self, function: Callable[..., Any]) -> None:
        """Watch what a function refers to, and the functions of its project that it refers to."""
        if not isinstance(function, FunctionType) or id(function) in self.seen:
            return
        self.seen.add(id(function))
        code = function.__code__
        for instruction in _instructions(code):
            name = instruction.argval
            if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
                instruction.opname in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars
            ):
                raise NotProvable(
                    f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno}) assigns to {name}, which "
                    f"outlives it, where {REMEDY}"
                )
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and name in function.__globals__:
                self._watch(function.__globals__, name, f"{name}, which {function.__qualname__} refers to")
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if name != "__class__":
                self._watch(cell, "cell_contents", f"{name}, which {function.__qualname__} refers to")
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._watch({"default": default}, "default", f"a default of {function.__qualname__}")

    def add_class(self, cls: type, base: type = object) -> None:
        """Watch the methods and attributes of a class and of its bases below `base`."""
        for owner in cls.__mro__:
            if owner is base or not issubclass(owner, base):
                continue
            for name, value in vars(owner).items():
                plain = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
                if isinstance(plain, FunctionType):
                    if name not in NO_STEP:
                        self.add(plain)
                elif not (name.startswith("__") or name == "_abc_impl"):
                    self._watch(vars(owner), name, f"{name}, an attribute of its class")
        self.classes[cls] = frozenset(vars(cls))

    def check(self) -> None:
        """Raise NotProvable if anything has changed."""
        for cls, names in self.classes.items():
            if vars(cls).keys() != names:
                changed = min(vars(cls).keys() ^ names)
                raise NotProvable(f"{self.owner} changes {changed}, an attribute of its class, where {REMEDY}")
        for place, name, value, text, what in self.bound:
            now = place.get(name) if isinstance(place, Mapping) else getattr(place, name)
            if now is not value or (text is not None and repr(now) != text):
                raise NotProvable(f"{self.owner} changes {what}, where {REMEDY}")

    def _watch(self, place: Any, name: str, what: str) -> None:
        try:
            value = place[name] if isinstance(place, Mapping) else getattr(place, name)
        except ValueError:  # a cell that is still empty
            return
        if isinstance(value, ModuleType):
            if value.__name__.partition(".")[0] in CHANGING_MODULES:
                raise NotProvable(f"{self.owner} uses {what}: it differs from run to run, where {REMEDY}")
        elif isinstance(value, FunctionType):
            function = getattr(value, "function", value)  # of a program
            if _in_project(function):
                self.add(function)
        elif getattr(value, "__module__", None) in CHANGING_MODULES:
            raise NotProvable(f"{self.owner} uses {what}: it differs from run to run, where {REMEDY}")
        elif hasattr(value, "__next__"):
            raise NotProvable(f"{self.owner} uses {what}, an iterator that remembers its place, where {REMEDY}")
        elif not (isinstance(value, type) or callable(value) or _constant(value) or isinstance(value, MUTABLE)):
            self.unseen[f"{what} ({type(value).__name__})"] = None
        self.bound.append((place, name, value, repr(value) if isinstance(value, MUTABLE) else None, what))


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of a function and of the functions in it."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)


def _constant(value: Any) -> bool:
    """Whether a value cannot change, as far as its type tells."""
    if isinstance(value, tuple | frozenset):
        return all(map(_constant, value))
    frozen = is_dataclass(value) and type(value).__dataclass_params__.frozen  # pyright: ignore[reportAttributeAccessIssue]
    return frozen or isinstance(value, CONSTANT)


_PACKAGE = Path(__file__).resolve().parents[1]
_LIBRARIES = [Path(sysconfig.get_paths()[name]).resolve() for name in ("stdlib", "purelib", "platlib")]


def in_library(file: str | Path) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    path = Path(file).resolve()
    if path.is_relative_to(_PACKAGE):
        return False
    return "site-packages" in path.parts or any(path.is_relative_to(library) for library in _LIBRARIES)


def _in_project(function: FunctionType) -> bool:
    """Whether a function belongs to the task, and not to a library or to what every task builds on."""
    return not (function.__module__.startswith("npi.language") or in_library(function.__code__.co_filename))
