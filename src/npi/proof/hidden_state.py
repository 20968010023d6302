"""Hidden state: what the code of a task could remember beside its tapes and graphs.

The rules of code_rules.py hold for every function that the environment and the teacher can reach. This module finds
these functions, and watches the values that they refer to: a value that changes ends the proof. What it cannot watch is
an assumption of the proof (`unseen`).
"""

from __future__ import annotations

import builtins
import functools
import sys
import sysconfig
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple

from npi.errors import NotProvable
from npi.language.env import Env
from npi.language.graph import Graph
from npi.language.tape import Tape
from npi.language.task import Task
from npi.proof.code_rules import PURE_BUILTINS, PURE_MODULES, REFUSED_MODULES, REMEDY, check_code, instructions

MUTABLE = (list, dict, set, bytearray, deque)
MAX_WATCHED = 1000  # entries of a list, dictionary or set; a larger one takes too long to compare at every step
MAX_NESTED = 20  # lists in lists that are followed
GIVEN_BY_DECORATORS = ("__wrapped__", "name", "function")  # attributes of a function: by functools.wraps and @program
MADE_BY_PYTHON = ("_abc_", "_member_", "_value2member_", "_unhashable_values_")  # attributes of classes
# Attributes of classes that stand for fields of their instances.
DESCRIPTORS = (
    MemberDescriptorType,
    GetSetDescriptorType,
    WrapperDescriptorType,
    MethodDescriptorType,
    property,
    type(vars(NamedTuple("_", [("field", int)]))["field"]),
)
CONSTANT = (int, float, complex, str, bytes, bool, type(None), type(...), range, slice)
NO_STEP = ("of", "tapes", "describe", "fields", "argument_sizes", "label_sizes", "shows_image")  # methods of Env


class Watch:
    """What some functions refer to, and whether it has changed since.

    unseen  values whose changes would not be seen, each with its type
    codes   the code of every function that was followed
    """

    def __init__(self, owner: str, env: type[Env]):
        self.owner, self.unseen, self.codes = owner, dict[str, None](), dict[CodeType, None]()
        self.project = _project_of(env)
        # Where each value is bound, and what it was; and the content of what can be changed in place.
        self.bound: list[tuple[Mapping[str, Any] | Any, str, Any, str]] = []
        self.contents: list[tuple[Any, Any, str]] = []
        self.classes: dict[type, frozenset[str]] = {}  # with the names of their attributes
        self.seen: set[int] = set()
        self.nested = 0  # how many lists or tuples are around what is followed now

    @staticmethod
    def of(task: Task[Any, Any]) -> Watch:
        """A watch over the environment and the programs of a task."""
        watch = Watch(task.name, task.env)
        watch.add_class(task.env)
        for program in (task.main, *task.extra_programs):
            watch.add(program.function)
        return watch

    def add(self, function: Callable[..., Any], step: bool = True) -> None:
        """Check a function, watch what it refers to, and follow the functions of its project that it refers to.

        `step`: see `check_code`. What runs only to build a problem may refer to anything.
        """
        if not isinstance(function, FunctionType) or id(function) in self.seen:
            return
        self.seen.add(id(function))
        code, where = function.__code__, f"{function.__qualname__} refers to"
        self.codes[code] = None
        check_code(function, step)
        if not step:
            for name in {*code.co_names} & {*function.__globals__}:
                value = function.__globals__[name]
                if isinstance(value, FunctionType) and self._in_project(value):
                    self.add(value, step)
            return
        for instruction in instructions(code):
            name = instruction.argval
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and name in function.__globals__:
                self._watch(function.__globals__, name, f"{name}, which {where}", code)
            if instruction.opname == "IMPORT_NAME":
                self._refuse_module(name, f"{name}, which {function.__qualname__} imports")
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

    def add_class(self, cls: type) -> None:
        """Watch the methods and attributes of a class, its bases and its metaclass, if they are the project's."""
        for owner in cls.__mro__:
            if owner in Env.__mro__ or owner in self.classes or not self._in_project(owner):
                continue
            self.classes[owner] = frozenset(vars(owner))
            if self._in_project(type(owner)):
                self.add_class(type(owner))
            for name, value in vars(owner).items():
                parts = [getattr(value, part, None) for part in ("__func__", "fget", "fset", "fdel", "func")]
                functions = [one for one in (value, *parts) if isinstance(one, FunctionType)]
                generated = is_dataclass(owner) or hasattr(owner, "_fields")
                for function in functions:
                    if generated and any(one.__code__.co_filename == "<string>" for one in _unwrapped(function)):
                        continue  # made by dataclass or NamedTuple, from what the class declares
                    if issubclass(owner, Env) and name in NO_STEP:
                        self.add(function, step=False)
                    else:
                        self._follow(function, f"{name}, a method of {owner.__name__}")
                if not (functions or isinstance(value, DESCRIPTORS) or name.startswith(("__", *MADE_BY_PYTHON))):
                    self._watch(vars(owner), name, f"{name}, an attribute of its class")

    def check(self, bindings: bool = True) -> None:
        """Raise NotProvable if anything has changed. `bindings`: also check that names refer to the same values."""
        for value, content, what in self.contents:
            now = tuple(_content(value))
            if len(now) != len(content) or any(a is not b for a, b in zip(now, content, strict=True)):
                raise NotProvable(f"{self.owner} changes {what}, where {REMEDY}")
        if not bindings:  # the rules for code allow no change; other code would have to make it
            return
        for cls, names in self.classes.items():
            if vars(cls).keys() != names:
                changed = [name for name in vars(cls).keys() ^ names if not name.startswith("__")]
                if changed:
                    raise NotProvable(f"{self.owner} changes {min(changed)}, an attribute of its class, where {REMEDY}")
        for place, name, value, what in self.bound:
            if (place.get(name) if isinstance(place, Mapping) else getattr(place, name, None)) is not value:
                raise NotProvable(f"{self.owner} changes {what}, where {REMEDY}")

    def _watch(self, place: Any, name: str, what: str, user: CodeType | None = None) -> None:
        """Watch a value where it is bound. `user` is the code that refers to it."""
        try:
            value = place[name] if isinstance(place, Mapping) else getattr(place, name)
        except (ValueError, AttributeError):  # a cell or a slot that is still empty
            return
        self.bound.append((place, name, value, what))
        self._follow(value, what, user)

    def _follow(self, value: Any, what: str, user: CodeType | None = None) -> None:
        """Watch what a value consists of, refuse it, or note that its changes cannot be seen."""
        kind = type(value)
        if isinstance(value, ModuleType):
            self._follow_module(value, what, user)
        elif id(value) in self.seen or kind in CONSTANT:
            return
        elif isinstance(value, Tape | Graph):
            raise NotProvable(f"{self.owner} uses {what}, which is no tape of the environment, where {REMEDY}")
        elif isinstance(value, FunctionType):
            for function in _unwrapped(getattr(value, "function", value)):  # of a program
                if self._in_project(function):
                    self.add(function)
                else:
                    self._follow_library(function.__module__, what, "function")
        elif isinstance(value, type):
            if self._in_project(value):
                self.add_class(value)
            elif not (_pure_builtin(value) or issubclass(value, BaseException)):
                self._follow_library(value.__module__, what, "type")
        elif hasattr(kind, "__next__"):
            raise NotProvable(f"{self.owner} uses {what}, an iterator that remembers its place, where {REMEDY}")
        else:
            self.seen.add(id(value))
            self._follow_object(value, what)

    def _follow_object(self, value: Any, what: str) -> None:
        kind = type(value)
        if kind in (*MUTABLE, tuple, frozenset, OrderedDict, defaultdict, Counter):
            self._follow_content(value, what)
        elif isinstance(value, BuiltinFunctionType | MethodType):
            self._follow(getattr(value, "__func__", None), what)
            owner = value.__self__
            if isinstance(owner, ModuleType) and not _pure_builtin(value):
                self._follow_library(owner.__name__, what, "function")
            elif not isinstance(owner, ModuleType):
                self._follow(owner, what)
        elif self._in_project(kind):
            self.add_class(kind)
            for name in (*vars(value),) if hasattr(value, "__dict__") else ():
                self._watch(vars(value), name, f"{name}, an attribute of {what}")
            for slot in {slot for owner in kind.__mro__ for slot in vars(owner).get("__slots__", ())}:
                self._watch(value, slot, f"{slot}, an attribute of {what}")
            if isinstance(value, (*MUTABLE, tuple, frozenset)):
                self._follow_content(value, what)
            elif not isinstance(value, int | float | complex | str | bytes) and kind.__basicsize__ > _PLAIN_SIZE:
                self._note(what, kind.__name__)  # it can keep state in C
        elif kind.__module__.partition(".")[0] != "npi" and kind.__module__ != "typing":
            if kind.__module__ != "builtins":
                self._refuse_module(kind.__module__, what)
            for part in (getattr(value, name, None) for name in ("__wrapped__", "func")):
                if isinstance(part, FunctionType | type) or hasattr(part, "func"):
                    self._follow(part, what)
            self._note(what, kind.__name__)

    def _follow_content(self, value: Any, what: str) -> None:
        content = tuple(_content(value))
        if isinstance(value, MUTABLE):
            if len(content) > MAX_WATCHED:
                self._note(what, f"{type(value).__name__} of {len(value):,} entries")
                return
            self.contents.append((value, content, what))
        if self.nested == MAX_NESTED:
            self._note(what, f"nested in {MAX_NESTED} others")
            return
        self.nested += 1
        for part in content:
            self._follow(part, what if what.startswith("a part of") else f"a part of {what}")
        self.nested -= 1

    def _follow_module(self, module: ModuleType, what: str, user: CodeType | None) -> None:
        if self._in_project(module):
            # Of a module of the project, the names that this code uses.
            for name in vars(module).keys() & set(user.co_names if user else ()):
                self._watch(vars(module), name, f"{module.__name__}.{name}", user)
        else:
            self._follow_library(module.__name__, what, "module")

    def _follow_library(self, module: str, what: str, kind: str) -> None:
        """What belongs to a library is refused, known to be pure, or noted."""
        self._refuse_module(module, what)
        if module not in PURE_MODULES and module.partition(".")[0] != "npi":
            self._note(what, kind)

    def _refuse_module(self, module: str, what: str) -> None:
        if module.partition(".")[0] in REFUSED_MODULES or module == "numpy.random":
            raise NotProvable(
                f"{self.owner} uses {what}: {module} may answer differently from run to run, or keep state, where "
                f"{REMEDY}"
            )

    def _note(self, what: str, kind: str) -> None:
        self.unseen[f"{what} ({kind})"] = None

    def _in_project(self, thing: FunctionType | type | ModuleType) -> bool:
        """Whether something belongs to the task, and not to a library or to what every task builds on."""
        if isinstance(thing, FunctionType):
            return self.file_in_project(thing.__code__.co_filename)
        if isinstance(thing, type) and any(
            isinstance(one, FunctionType) and self._in_project(one) for one in vars(thing).values()
        ):
            return True  # whatever __module__ was set to
        module = thing if isinstance(thing, ModuleType) else sys.modules.get(thing.__module__)
        if module is None:
            return True
        if getattr(module, "__file__", None) is None:
            return module.__name__ == "__main__" or not hasattr(module, "__spec__") or module.__spec__ is None
        return self.file_in_project(str(module.__file__))

    def file_in_project(self, file: str) -> bool:
        """Whether a file belongs to the task, or to the tasks of npi."""
        if file.startswith("<frozen "):  # a module of Python itself
            return False
        path = _resolved(file)
        if path.is_relative_to(_PACKAGE):
            return path.parent == _PACKAGE / "tasks"
        return any(path.is_relative_to(place) for place in self.project) or not in_library(path)


def _content(value: Any) -> Iterable[Any]:
    """The parts of a list, a dictionary, a set or a tuple, without calling code of a derived class."""
    if isinstance(value, dict):
        return (*dict.keys(value), *dict.values(value))
    kinds: tuple[Any, ...] = (list, tuple, bytearray, set, frozenset, deque)
    return next(kind.__iter__(value) for kind in kinds if isinstance(value, kind))


def _unwrapped(function: Any) -> Iterator[FunctionType]:
    """A function, and the functions that its decorators wrap."""
    while isinstance(function, FunctionType):
        yield function
        function = getattr(function, "__wrapped__", None)


def _pure_builtin(value: Any) -> bool:
    name = getattr(value, "__name__", "")
    return (name in PURE_BUILTINS or name == "object") and getattr(builtins, name, None) is value


class _Plain:
    """An object without anything in C."""


_PLAIN_SIZE = _Plain.__basicsize__
_PACKAGE = Path(__file__).resolve().parents[1]
_LIBRARIES = [Path(sysconfig.get_paths()[name]).resolve() for name in ("stdlib", "purelib", "platlib")]


@functools.cache
def _resolved(file: str) -> Path:
    return Path(file).resolve()


def in_library(path: Path) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    if path.is_relative_to(_PACKAGE):
        return False
    return "site-packages" in path.parts or any(path.is_relative_to(library) for library in _LIBRARIES)


def _project_of(env: type[Env]) -> list[Path]:
    """The files of a task that is itself an installed package: its package, or its module."""
    module = sys.modules.get(env.__module__)
    file = getattr(module, "__file__", None)
    if file is None or not in_library(_resolved(file)):
        return []
    top = sys.modules.get(env.__module__.partition(".")[0])
    return [_resolved(place) for place in getattr(top, "__path__", [file])]
