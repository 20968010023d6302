"""Rules for the code of a task: what it must not do, as far as its bytecode shows.

A proof runs each step of an environment and each frame of a teacher by itself. So their code must remember nothing
between steps, except on tapes and graphs, and must do the same on abstract tapes as on concrete ones. Python cannot
guarantee this. These rules refuse what could break it and has no other use in an environment or a teacher: assigning to
attributes or globals, names with two underscores, and built-in functions that look at or change what they should not.

Other code of a task, such as `of`, which builds a problem, may do nearly anything, but must leave nothing behind that a
step could find: hidden_state.py compares what it assigns to with what steps refer to.
"""

from __future__ import annotations

import builtins
import dis
import re
from collections.abc import Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

from npi.errors import NotProvable
from npi.proof.oracle import EXPLORATION_METHODS

REMEDY = "a proof cannot see it: keep all of the state on tapes and graphs"
# Built-in functions and types whose results depend on their arguments alone. Exceptions are allowed too.
PURE_BUILTINS = """
abs all any ascii bin bool bytes callable chr classmethod complex dict divmod enumerate filter float format frozenset
hex int isinstance issubclass iter len list map max min next oct ord pow property range reversed round set slice sorted
staticmethod str sum super tuple zip Ellipsis NotImplemented __name__ __debug__ __build_class__
""".split()  # noqa: SIM905  # as a literal, the words would be hard to read
LIMITS = (RecursionError, MemoryError)  # errors that depend on how much room a run has, and not on what it does
# By which other code reaches what no name shows.
REFUSED_AROUND_RUNS = ("setattr", "delattr", "globals", "vars", "exec")
# Modules of Python whose functions and classes keep no state of their own, and the exceptions among these.
PURE_MODULES = """
__future__ abc bisect cmath collections collections.abc dataclasses enum fractions functools itertools math numbers
operator _operator statistics string typing typing_extensions
""".split()  # noqa: SIM905
IMPURE_NAMES = "attrgetter methodcaller overload get_overloads clear_overloads singledispatch get_args fields".split()  # noqa: SIM905
# Modules that answer differently each time, or reach what a proof cannot see.
REFUSED_MODULES = """
_io _random _thread asyncio builtins contextvars ctypes datetime gc importlib inspect io multiprocessing nt os posix
random secrets select signal socket subprocess sys tempfile threading time uuid weakref numpy.random
npi.cli npi.evaluation npi.network npi.proof npi.training
""".split()  # noqa: SIM905
DUNDER = re.compile(r"__\w+__")
PLAIN_DUNDERS = ("__init__", "__name__", "__qualname__", "__doc__", "__module__", "__post_init__")
# Attributes that lead to Python's stack, or behind a lazy tape.
REFUSED_ATTRIBUTES = re.compile(
    r"(gi|cr|ag|tb)_frame|f_(back|globals|locals|builtins)|_(Lazy)?(Tape|Graph)__\w+|" + "|".join(EXPLORATION_METHODS)
)
GLOBAL_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
ATTRIBUTE_LOADS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")


def check_step_code(function: FunctionType) -> None:
    """Raise NotProvable if the code of a function that runs in a step breaks a rule."""
    where = _where(function)
    for name, what in assignments(function):
        raise NotProvable(f"{where} assigns to {what % name}, where {REMEDY}")
    for instruction in instructions(function.__code__):
        name, operation = instruction.argval, instruction.opname
        if operation in GLOBAL_LOADS and name not in function.__globals__:
            known = getattr(builtins, name, None)
            if isinstance(known, type) and issubclass(known, BaseException):
                if issubclass(known, LIMITS):
                    raise NotProvable(f"{where} handles {name}, which depends on the room that a run has")
            elif known is not None and not is_pure_builtin(known) and name not in ("__name__", "__debug__"):
                raise NotProvable(
                    f"{where} uses {name}, which can keep state, or tell a concrete tape from an abstract one: leave "
                    f"it out, or replace it by {', '.join(sorted(one for one in PURE_BUILTINS if one[0].islower()))}"
                )
        if operation in ATTRIBUTE_LOADS and (DUNDER.fullmatch(name) or REFUSED_ATTRIBUTES.fullmatch(name)):
            text = str(name)
        elif operation == "LOAD_CONST" and isinstance(name, str) and "__" in name:
            text = name
        else:
            continue
        if text not in PLAIN_DUNDERS:
            raise NotProvable(f"{where} uses {text}, by which code can keep state, where {REMEDY}")


def check_code_around_runs(function: FunctionType) -> None:
    """Raise NotProvable if the code of a function that runs in no step reaches things by names that nobody sees."""
    for instruction in instructions(function.__code__):
        name, operation = instruction.argval, instruction.opname
        if (operation in GLOBAL_LOADS and name in REFUSED_AROUND_RUNS and name not in function.__globals__) or (
            # `register` of an abstract class changes what `isinstance` says.
            operation in ATTRIBUTE_LOADS
            and (name == "register" or (DUNDER.fullmatch(name) and name not in PLAIN_DUNDERS))
        ):
            raise NotProvable(f"{_where(function)} uses {name}, by which it could leave behind what steps can find")


def assignments(function: FunctionType) -> Iterator[tuple[str, str]]:
    """The globals, outer variables and attributes that a function assigns to: each name, and what it is.

    A constructor may assign to attributes of its own object.
    """
    code = function.__code__
    own = code.co_varnames[0] if code.co_argcount and function.__name__ in ("__init__", "__post_init__") else None
    before: dis.Instruction | None = None
    for instruction in instructions(code):
        name, operation = instruction.argval, instruction.opname
        if operation in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
            operation in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars
        ):
            yield name, "%s, which outlives it"
        if operation in ("STORE_ATTR", "DELETE_ATTR") and (own is None or _local(before) != own):
            yield name, "the attribute %s, as only __init__ may, and only to those of its own object"
        before = instruction


def _local(instruction: dis.Instruction | None) -> str | None:
    """The local variable that an instruction loads last; None if it loads something else."""
    if instruction is None or "LOAD_FAST" not in instruction.opname:
        return None
    return instruction.argval[-1] if isinstance(instruction.argval, tuple) else instruction.argval


def names_used(code: CodeType) -> Iterator[str]:
    """The globals, attributes and outer variables that a function refers to, with the functions in it."""
    for instruction in instructions(code):
        if instruction.opname in (*GLOBAL_LOADS, *ATTRIBUTE_LOADS, "LOAD_DEREF", "IMPORT_FROM"):
            yield instruction.argval


def instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of a function and of the functions in it."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from instructions(constant)


def is_pure_builtin(value: Any) -> bool:
    """Whether a value is a built-in function or type whose results depend on its arguments alone."""
    if value is Ellipsis or value is NotImplemented:
        return True
    name = getattr(value, "__name__", "")
    return (
        isinstance(value, BuiltinFunctionType | type)
        and value.__module__ == "builtins"
        and name in PURE_BUILTINS
        and getattr(builtins, name, None) is value
    )


def in_modules(module: str, names: Sequence[str]) -> bool:
    """Whether a module, or a package around it, is among some names."""
    parts = module.split(".")
    return any(".".join(parts[:count]) in names for count in range(1, len(parts) + 1))


def _where(function: FunctionType) -> str:
    return f"{function.__qualname__} ({function.__code__.co_filename}:{function.__code__.co_firstlineno})"
