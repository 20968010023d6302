"""Hidden state: what the code of a task could remember beside its tapes and graphs.

The rules of code_rules.py hold for every function that the environment and the teacher can reach in a step. This module
finds these functions, and watches the values that they refer to: a value that changes ends the proof. It knows numbers,
texts, containers, plain functions, classes and objects, and a few modules of Python. Anything else that a step refers
to is an assumption of the proof, by name (`unseen`).

Code that runs in no step, such as `of`, may do more. What it leaves behind is compared with what steps refer to.
"""

from __future__ import annotations

import gc
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import EnumType
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Generic, Protocol

from npi.errors import BadInput, NotProvable
from npi.language.env import Env
from npi.language.graph import Graph, GraphKind
from npi.language.program import Program, act, is_program
from npi.language.tape import Tape, TapeKind
from npi.language.task import Task
from npi.proof.code_rules import (
    CONSTRUCTORS,
    DUNDER,
    assignments,
    check_code_around_runs,
    check_step_code,
    in_modules,
    instructions,
    is_pure_builtin,
    names_used,
    refuse_around_runs,
    unwrapped,
)
from npi.proof.project import Project
from npi.proof.python_names import (
    DESCRIPTORS,
    GENERATED,
    GIVEN_TO_CLASSES,
    IMPURE_NAMES,
    METHODS,
    PLAIN,
    PLAIN_SIZE,
    PURE_MODULES,
    REFUSED_MODULES,
)
from npi.proof.snapshot import CONTAINERS, MUTABLE, REMEDY, Snapshot, content_of

PLAIN_CONTAINERS = (deque, OrderedDict, defaultdict, Counter)  # of Python, which keep nothing beside their content
MAX_WATCHED = 1000  # entries of a list, dictionary or set; a larger one takes too long to compare at every step
MAX_DEPTH = 100  # values in values that are followed
MAX_TEXT = 80  # characters by which a value is called
GIVEN_TO_PROGRAMS = ("__wrapped__", "name", "function")  # attributes of what @program makes
KINDS = (TapeKind, GraphKind)  # objects of npi that a step may refer to
NPI_TYPES = (Env, Tape, Graph, *KINDS, BadInput)
NO_STEP = ("of", "tapes", "describe", "fields", "argument_sizes", "label_sizes", "shows_image")  # methods of Env
ENUM_TABLE = re.compile(r"_[a-z]\w*_")  # an attribute in which an enumeration keeps its members


class Watch(Snapshot):
    """What some functions refer to, and whether it has changed since.

    step      whether the functions run in steps; otherwise they run in none, as `of` and `sample`, and nothing that
              they refer to is refused
    unseen    values whose changes would not be seen, each with its type
    codes     the code of every function that was followed
    loaded    the names that these functions refer to
    assigned  the globals and attributes that they assign to, each with the function
    """

    def __init__(self, owner: str, env: type[Env], step: bool = True):
        super().__init__(owner)
        self.env, self.step, self.project = env, step, Project(env)
        self.unseen, self.codes = dict[str, None](), dict[CodeType, None]()
        self.loaded: set[str] = set()
        self.assigned: dict[str, str] = {}
        # Modules and classes of libraries, whose names code may refer to: with the names that were followed.
        self.namespaces: dict[int, tuple[ModuleType | type, set[str]]] = {}
        self.shown: dict[int, str] = {}  # dictionaries behind a MappingProxyType, which others may change
        self.constructors: set[int] = set()
        self.seen: set[int] = set()
        self.depth = 0  # how many values lead to what is followed now

    @staticmethod
    def of(task: Task[Any, Any]) -> Watch:
        """A watch over the environment and the programs of a task."""
        watch = Watch(task.name, task.env)
        watch.add_class(task.env)
        for program in (task.main, *task.extra_programs):
            watch.add_program(program)
        return watch

    def add_program(self, program: Program) -> None:
        """Watch a program: its function, and the attributes of what @program made of it."""
        self.follow(program, program.name)

    def add(self, function: FunctionType, constructor: bool = False, generated: bool = False) -> None:
        """Check a function, watch what it refers to, and follow the functions of its project that it refers to.

        `constructor` and `generated` as in `check_step_code`.
        """
        if id(function) in self.seen:
            if self.step and id(function) in self.constructors and not constructor:
                check_step_code(function)  # it may be called on an object that is not new
            return
        self.seen.add(id(function))
        if constructor:
            self.constructors.add(id(function))
        code, where = function.__code__, f"{function.__qualname__} refers to"
        if not generated:
            self.codes[code] = None
        if self.step:
            check_step_code(function, constructor, generated)
        else:
            if not generated:
                check_code_around_runs(function)
            for name, _ in assignments(function, constructor):
                self.assigned.setdefault(name, f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})")
        names = {*names_used(code)}
        for instruction in instructions(code):
            name = instruction.argval
            if instruction.opname == "IMPORT_NAME" and name in sys.modules:
                self._watch(sys.modules, name, f"{name}, which {where}")
            elif name in names and name in function.__globals__ and "ATTR" not in instruction.opname:
                self._watch(function.__globals__, name, f"{name}, which {where}")
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._watch(cell, "cell_contents", f"{name}, which {where}")
        for number, default in enumerate(
            (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()), 1
        ):
            self._watch({"default": default}, "default", f"default {number} of {function.__qualname__}")
        self._watch_attributes(function, ("__wrapped__",))
        self._add_names(names - self.loaded)

    def _watch_attributes(self, function: FunctionType, given: tuple[str, ...]) -> None:
        for name in (*vars(function),):
            if name not in given:
                self._watch(vars(function), name, f"{name}, an attribute of {function.__qualname__}")

    def _add_names(self, names: set[str]) -> None:
        """Follow what these names, which code refers to, stand for in modules and among the methods of Env."""
        self.loaded |= names
        for space, known in [*self.namespaces.values()]:
            self._follow_names(space, known)
        if self.step and "register" in self.loaded and self.loaded & {"isinstance", "issubclass"}:
            raise NotProvable(f"{self.owner} uses register and isinstance: what is registered is state, and {REMEDY}")
        for owner in [*self.classes]:
            if any(name in names and self._left_out(owner, name, loaded=False) for name in vars(owner)):
                self._add_attributes(owner)

    def add_class(self, cls: type) -> None:
        """Watch the methods and attributes of a class, its bases and its metaclass, if they are the project's."""
        for owner in cls.__mro__:
            if owner in self.classes:
                continue
            if owner in (*Env.__mro__, Generic, Protocol):
                self._add_namespace(owner)
            elif self.project.has(owner):
                self.classes[owner] = frozenset(vars(owner))
                if self.project.has(type(owner)):
                    self.add_class(type(owner))
                self._add_attributes(owner)
            elif not is_pure_builtin(owner):
                self._follow_library(owner, f"{owner.__name__}, a base of {cls.__name__}", "type")

    def _add_attributes(self, owner: type) -> None:
        has_generated = is_dataclass(owner) or hasattr(owner, "_fields")
        for name, value in (*vars(owner).items(),):
            if self._left_out(owner, name, loaded=name in self.loaded):
                continue
            what, short = f"{owner.__name__}.{name}", name.strip("_")
            function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            if isinstance(function, FunctionType):
                functions = [one for one in unwrapped(function) if self.project.has(one)]
                is_text = any(one.__code__.co_filename == "<string>" for one in functions)
                generated = has_generated and short in GENERATED and is_text
                if functions and self.step and name in ("__new__", "__exit__") and not generated:
                    raise NotProvable(f"{self.owner} uses {what}, by which code can keep state, where {REMEDY}")
                for one in functions:
                    self.add(one, constructor=name in CONSTRUCTORS, generated=generated)
                if not functions:
                    self.follow(function, what)
            elif isinstance(value, property):
                for part in (value.fget, value.fset, value.fdel):
                    self.follow(part, what)
            elif not (
                isinstance(function, DESCRIPTORS)
                or name == "_abc_impl"
                or (DUNDER.fullmatch(name) and short in GIVEN_TO_CLASSES)
            ):
                self._watch(vars(owner), name, what)
                self.follow(function, what)  # what a staticmethod or classmethod holds

    def _left_out(self, owner: type, name: str, loaded: bool) -> bool:
        """Whether an attribute of a class is followed only once code refers to its name."""
        if issubclass(owner, Env):  # `of` and its like belong to no step, all others to steps
            return not loaded and (name in NO_STEP) is self.step
        is_data = not isinstance(vars(owner)[name], FunctionType | classmethod | staticmethod)
        made = (isinstance(owner, EnumType) and ENUM_TABLE.fullmatch(name)) or (
            hasattr(owner, "_fields") and name == "_field_defaults"
        )
        return not loaded and is_data and bool(made)

    def _watch(self, place: Any, name: str, what: str) -> None:
        """Watch a value where it is bound."""
        try:
            value = place[name] if isinstance(place, Mapping) else getattr(place, name)
        except (ValueError, AttributeError):  # a cell or a slot that is still empty
            return
        self.bound.append((place, name, value, what))
        self.follow(value, what)

    def follow(self, value: Any, what: str) -> None:
        """Watch what a value consists of, refuse it, or note that its changes cannot be seen."""
        kind = type(value)
        if id(value) in self.seen or kind in PLAIN:
            return
        if self.depth > MAX_DEPTH:
            self._note(f"{what[:MAX_TEXT]}...", f"nested in {MAX_DEPTH} others")
            return
        self.depth += 1
        self._follow(value, kind, what)
        self.depth -= 1

    def _follow(self, value: Any, kind: type, what: str) -> None:
        if isinstance(value, ModuleType):
            self._follow_module(value, what)
        elif isinstance(value, Tape | Graph) and self.step:
            raise NotProvable(f"{self.owner} uses {what}, which is no tape of the environment, where {REMEDY}")
        elif isinstance(value, FunctionType) and is_program(value):
            self._follow_program(value, what)
        elif isinstance(value, FunctionType):
            if not self.step:
                refuse_around_runs(value, what)
            for function in unwrapped(value):
                if self.project.has(function):
                    self.add(function)
                elif id(function) not in self.seen:
                    self.seen.add(id(function))
                    self._follow_library(function, what, "function")
                    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                        self._watch(cell, "cell_contents", f"{name}, which {function.__qualname__} refers to")
        elif isinstance(value, type):
            if value in NPI_TYPES:
                self._add_namespace(value)
            elif self.project.has(value):
                self.add_class(value)
            elif not (value is object or is_pure_builtin(value)):
                self._follow_library(value, what, "type")
        elif hasattr(kind, "__next__") and self.step:
            raise NotProvable(f"{self.owner} uses {what}, an iterator that remembers its place, where {REMEDY}")
        else:
            self.seen.add(id(value))
            self._follow_object(value, what)

    def _follow_program(self, program: Any, what: str) -> None:
        """A program must be what @program made of a plain function, and still be that."""
        self.seen.add(id(program))
        made = dict(zip(program.__code__.co_freevars, program.__closure__ or (), strict=True))
        self._watch_attributes(program, GIVEN_TO_PROGRAMS)
        if not isinstance(program.function, FunctionType) or made["function"].cell_contents is not program.function:
            raise NotProvable(
                f"{what} is a program made of a {type(program.function).__name__}, or was changed afterwards: make it "
                f"of a plain function, since a method or an object can keep state that a proof cannot see"
            )
        self.bound.append((vars(program), "function", program.function, f"the function of {what}"))
        if program is not act:
            self.follow(program.function, what)

    def _follow_object(self, value: Any, what: str) -> None:
        kind = type(value)
        if isinstance(value, CONTAINERS):
            self._follow_content(value, what)
        if not self.step:
            refuse_around_runs(value, what)
        if isinstance(value, BuiltinFunctionType | MethodType):
            self.follow(getattr(value, "__func__", None), what)
            owner = value.__self__
            if isinstance(owner, ModuleType) and not is_pure_builtin(value):
                self._follow_library(value, what, "function")
            elif not isinstance(owner, ModuleType):
                self.follow(owner, what)
        elif isinstance(value, slice):
            self._follow_content((value.start, value.stop, value.step), what)
        elif kind not in KINDS and self.project.has(kind):
            self.add_class(kind)
            for name in (*vars(value),) if hasattr(value, "__dict__") else ():
                self._watch(vars(value), name, f"{name}, an attribute of {what}")
            for owner in kind.__mro__:
                for slot, member in (*vars(owner).items(),) if self.project.has(owner) else ():
                    if isinstance(member, MemberDescriptorType):
                        self._watch(value, slot, f"{slot}, an attribute of {what}")
            has_more = kind.__basicsize__ > PLAIN_SIZE  # it can keep state in C
            if has_more and not isinstance(value, (*CONTAINERS, int, float, complex, str, bytes)):
                self._note(what, kind.__name__)
        elif kind in KINDS or kind in PLAIN_CONTAINERS or kind in CONTAINERS:
            if isinstance(value, defaultdict):
                self.follow(value.default_factory, f"what makes the entries of {what}")
        elif not is_pure_builtin(value):
            self._refuse_module(kind.__module__, what)
            for name in ("__wrapped__", "func", "args", "keywords"):  # of a cache, or of functools.partial
                if isinstance(
                    part := getattr(value, name, None), FunctionType | BuiltinFunctionType | type | tuple | dict
                ):
                    self.follow(part, what)
            self._note(what, kind.__name__)

    def _follow_content(self, value: Any, what: str) -> None:
        if isinstance(value, MappingProxyType):
            self.shown |= {id(shown): what for shown in gc.get_referents(value)}
        content = tuple(content_of(value))
        if isinstance(value, (*MUTABLE, MappingProxyType)):
            if len(content) > MAX_WATCHED and self.step:
                self._note(what, f"{type(value).__name__} of {len(value):,} entries")
                return
            self.contents.append((value, content, what))
        for number, part in enumerate(content):
            self.follow(part, f"part {number} of {what}")

    def _follow_module(self, module: ModuleType, what: str) -> None:
        if id(module) in self.namespaces:
            return
        if not self.project.has(module):
            self._follow_library(module, what, "module")
        elif self.step and (type(module) is not ModuleType or "__getattr__" in vars(module)):
            raise NotProvable(f"{self.owner} uses {what}, a module that computes what it holds, where {REMEDY}")
        self._add_namespace(module)

    def _add_namespace(self, space: ModuleType | type) -> None:
        """Follow what code refers to by the names of a module, or of a library's class."""
        if id(space) not in self.namespaces:
            self.namespaces[id(space)] = (space, set[str]())
            self._follow_names(*self.namespaces[id(space)])

    def _follow_names(self, space: ModuleType | type, known: set[str]) -> None:
        """Follow the names of a module or class that code refers to: all if it is the project's, else its data."""
        own = isinstance(space, ModuleType) and self.project.has(space)
        for name in sorted((vars(space).keys() & self.loaded) - known):
            known.add(name)
            value, what = vars(space)[name], f"{space.__name__}.{name}"
            if own:
                self._watch(vars(space), name, what)
            elif isinstance(value, ModuleType):
                self.follow(value, what)
            elif isinstance(space, ModuleType):
                self._refuse_impure(space.__name__, name, what)
                if not self.step:
                    refuse_around_runs(value, what)
            if not (own or callable(value) or isinstance(value, (*DESCRIPTORS, *METHODS))):
                self._watch(vars(space), name, what)

    def _follow_library(self, value: Any, what: str, kind: str) -> None:
        """What belongs to a library is refused, known to be pure, or noted."""
        is_module = isinstance(value, ModuleType)
        module = value.__name__ if is_module else value.__module__ or "builtins"
        name = "" if is_module else value.__name__
        self._refuse_module(module, what)
        self._refuse_impure(module, name, what)
        if isinstance(value, type):
            self._add_namespace(value)
        if isinstance(value, type) and issubclass(value, BaseException) and module == "builtins":
            return
        found = sys.modules.get(module)
        genuine = is_module or getattr(found, name, None) is value
        if isinstance(value, FunctionType):
            genuine = value.__code__.co_filename == getattr(found, "__file__", None)
        if not (genuine and (module in PURE_MODULES or module == "npi")):
            self._note(what, kind)

    def _refuse_impure(self, module: str, name: str, what: str) -> None:
        if self.step and module in PURE_MODULES and name in IMPURE_NAMES:
            raise NotProvable(f"{self.owner} uses {what}: {name} can keep state, or reach it, where {REMEDY}")

    def _refuse_module(self, module: str, what: str) -> None:
        if self.step and in_modules(module, REFUSED_MODULES):
            raise NotProvable(
                f"{self.owner} uses {what}: {module} may answer differently from run to run, or keep state, where "
                f"{REMEDY}"
            )

    def _note(self, what: str, kind: str) -> None:
        self.unseen[f"{what} ({kind})"] = None
