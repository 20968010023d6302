"""Hidden state: what the code of a task could remember beside its tapes and graphs.

A proof runs each step of an environment and each frame of a teacher by itself. So their code must remember nothing
between steps, except on tapes and graphs. Python cannot guarantee this. This module refuses what can be seen: code that
assigns to globals or to variables of an enclosing function, iterators and random numbers, and values that code refers
to and that change. What it cannot see is an assumption of the proof (`unseen`).
"""

from __future__ import annotations

import dis
import enum
import functools
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from inspect import isdatadescriptor
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from npi.errors import NotProvable
from npi.language.graph import Graph
from npi.language.tape import Tape

REMEDY = "a proof cannot see it: keep all of the state on tapes and graphs"
# Modules whose functions answer differently each time.
CHANGING_MODULES = ("random", "secrets", "time", "datetime", "uuid", "os", "io", "threading")
QUIET_MODULES = ("math", "operator", "itertools", "functools", "collections", "enum", "typing", "bisect", "string")
MUTABLE = (list, dict, set, bytearray)
GIVEN_BY_DECORATORS = ("__wrapped__", "name", "function")  # attributes of a function: by functools.wraps and @program
GENERATED = ("_abc_impl", "_fields", "_field_defaults")  # attributes of classes that Python makes
CONSTANT = (int, float, complex, str, bytes, bool, type(None), range, slice, enum.Enum, Path)
NO_STEP = ("of", "tapes", "describe", "fields", "argument_sizes", "label_sizes", "shows_image")  # methods of Env


class Watch:
    """What some functions refer to, and whether it has changed since.

    unseen  values whose changes would not be seen, each with its type
    """

    def __init__(self, owner: str):
        self.owner, self.unseen = owner, dict[str, None]()
        # Where each value is bound, and what it was. Only changes of the binding show, and changes of the content of
        # the mutable types of Python.
        self.bound: list[tuple[Mapping[str, Any] | Any, str, Any, str | None, str]] = []
        self.classes: dict[type, frozenset[str]] = {}  # with the names of their attributes
        self.seen: set[int] = set()

    def add(self, function: Callable[..., Any]) -> None:
        """Watch what a function refers to, and the functions of its project that it refers to."""
        if not isinstance(function, FunctionType) or id(function) in self.seen:
            return
        self.seen.add(id(function))
        code, where = function.__code__, f"{function.__qualname__} refers to"
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
                self._watch(function.__globals__, name, f"{name}, which {where}", code)
            if instruction.opname == "IMPORT_NAME":
                self._refuse_changing(name, f"{name}, which {function.__qualname__} imports")
                if name in sys.modules:
                    self._watch(sys.modules, name, f"{name}, which {where}", code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if name != "__class__":
                self._watch(cell, "cell_contents", f"{name}, which {where}", code)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._watch({"default": default}, "default", f"a default of {function.__qualname__}", code)
        for name in vars(function):
            if name not in GIVEN_BY_DECORATORS:
                self._watch(vars(function), name, f"{name}, an attribute of {function.__qualname__}", code)

    def add_class(self, cls: type, base: type = object) -> None:
        """Watch the methods and attributes of a class and of its bases, without those that `base` has too."""
        for owner in cls.__mro__:
            if owner in base.__mro__ or owner in self.classes or not in_project(owner.__module__):
                continue
            self.classes[owner] = frozenset(vars(owner))
            enumeration = issubclass(owner, enum.Enum)
            for name, value in vars(owner).items():
                functions = [getattr(value, part, None) for part in ("__func__", "fget", "fset", "fdel", "func")]
                if plain := [one for one in (value, *functions) if isinstance(one, FunctionType)]:
                    for function in plain if name not in NO_STEP else ():
                        self._follow(function, f"{name}, a method of {owner.__name__}")
                elif not (name.startswith("__") or name in GENERATED or isdatadescriptor(value) or enumeration):
                    self._watch(vars(owner), name, f"{name}, an attribute of its class")

    def check(self) -> None:
        """Raise NotProvable if anything has changed."""
        for cls, names in self.classes.items():
            if changed := (vars(cls).keys() ^ names) - {"__slotnames__"}:  # which copying an object adds
                raise NotProvable(f"{self.owner} changes {min(changed)}, an attribute of its class, where {REMEDY}")
        for place, name, value, text, what in self.bound:
            now = place.get(name) if isinstance(place, Mapping) else getattr(place, name)
            if now is not value or (text is not None and repr(now) != text):
                raise NotProvable(f"{self.owner} changes {what}, where {REMEDY}")

    def _watch(self, place: Any, name: str, what: str, user: CodeType | None = None) -> None:
        """Watch a value where it is bound. `user` is the code that refers to it."""
        try:
            value = place[name] if isinstance(place, Mapping) else getattr(place, name)
        except ValueError:  # a cell that is still empty
            return
        self.bound.append((place, name, value, repr(value) if isinstance(value, MUTABLE) else None, what))
        if id(value) not in self.seen:
            self._follow(value, what, user)

    def _follow(self, value: Any, what: str, user: CodeType | None = None) -> None:
        """Watch what a value consists of, refuse it, or note that its changes cannot be seen."""
        if isinstance(value, ModuleType):
            self._refuse_changing(value.__name__, what)
            if in_project(value.__name__):
                # Of a module of the project, the names that this code uses.
                for name in vars(value).keys() & set(user.co_names if user else ()):
                    self._watch(vars(value), name, f"{value.__name__}.{name}", user)
            elif value.__name__ not in QUIET_MODULES and value.__name__ not in sys.builtin_module_names:
                self.unseen[f"{what} (module)"] = None
        elif isinstance(value, Tape | Graph):
            raise NotProvable(f"{self.owner} uses {what}, which is no tape of the environment, where {REMEDY}")
        elif isinstance(value, type):
            self._refuse_changing(value.__module__, what)
            if in_project(value.__module__):
                self.seen.add(id(value))
                self.add_class(value)
        elif isinstance(value, FunctionType):
            for function in _unwrapped(getattr(value, "function", value)):  # of a program
                self._refuse_changing(function.__module__, what)
                if in_project(function.__module__):
                    self.add(function)
        elif hasattr(value, "__next__"):
            raise NotProvable(f"{self.owner} uses {what}, an iterator that remembers its place, where {REMEDY}")
        elif isinstance(value, MUTABLE):
            self._follow_parts(value.values() if isinstance(value, dict) else value, what)
        elif not _constant(value):
            self._refuse_changing(getattr(value, "__module__", None) or "", what)
            parts = [getattr(value, name, None) for name in ("__wrapped__", "func", "__func__", "__self__")]
            for part in parts:
                if isinstance(part, FunctionType | type) or hasattr(part, "func"):
                    self._follow(part, what)
            if not (isinstance(value, BuiltinFunctionType) and isinstance(parts[-1], ModuleType)):
                self.unseen[f"{what} ({type(value).__name__})"] = None

    def _follow_parts(self, parts: Iterable[Any], what: str) -> None:
        for part in parts:
            if not _constant(part) and id(part) not in self.seen:
                self._follow(part, f"a part of {what}")

    def _refuse_changing(self, module: str, what: str) -> None:
        if module.partition(".")[0] in CHANGING_MODULES or module == "numpy.random":
            raise NotProvable(f"{self.owner} uses {what}: it differs from run to run, where {REMEDY}")


def _unwrapped(function: Any) -> Iterator[FunctionType]:
    """A function, and the functions that its decorators wrap."""
    while isinstance(function, FunctionType):
        yield function
        function = getattr(function, "__wrapped__", None)


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
    if is_dataclass(value) and not isinstance(value, type):
        frozen = type(value).__dataclass_params__.frozen  # pyright: ignore[reportAttributeAccessIssue]
        return frozen and all(_constant(getattr(value, part.name)) for part in fields(value))
    return isinstance(value, CONSTANT)


_PACKAGE = Path(__file__).resolve().parents[1]
_LIBRARIES = [Path(sysconfig.get_paths()[name]).resolve() for name in ("stdlib", "purelib", "platlib")]


def in_library(file: str | Path) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    path = Path(file).resolve()
    if path.is_relative_to(_PACKAGE):
        return False
    return "site-packages" in path.parts or any(path.is_relative_to(library) for library in _LIBRARIES)


@functools.cache
def in_project(module: str) -> bool:
    """Whether a module belongs to the task, and not to a library or to what every task builds on."""
    if module.partition(".")[0] == "npi" and not module.startswith("npi.tasks"):
        return False
    if module.startswith("namedtuple_"):  # the constructor that Python makes
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return module not in sys.builtin_module_names and (file is None or not in_library(file))
