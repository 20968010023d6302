"""Rules for the code of a task: what it must not do, as far as its bytecode shows.

A proof runs each step of an environment and each frame of a teacher by itself. So their code must remember nothing
between steps, except on tapes and graphs, and must do the same on abstract tapes as on concrete ones. Python cannot
guarantee this. These rules refuse what could break it and has no other use in an environment or a teacher: assigning to
attributes or globals, names with two underscores, and built-in functions that look at or change what they should not.
"""

from __future__ import annotations

import builtins
import dis
import re
from collections.abc import Iterator
from types import CodeType, FunctionType

from npi.errors import NotProvable

REMEDY = "a proof cannot see it: keep all of the state on tapes and graphs"
# Built-in functions and types whose results depend on their arguments alone. Exceptions are allowed too.
PURE_BUILTINS = """
abs all any ascii bin bool bytes callable chr classmethod complex dict divmod enumerate filter float format frozenset
getattr hasattr hex int isinstance issubclass iter len list map max min next oct ord pow property range reversed round
set slice sorted staticmethod str sum super tuple zip Ellipsis NotImplemented __name__ __debug__ __build_class__
""".split()  # noqa: SIM905  # as a literal, the words would be hard to read
# Modules of Python whose functions and classes keep no state of their own.
PURE_MODULES = """
__future__ abc bisect cmath collections collections.abc dataclasses enum fractions functools itertools math numbers
operator _operator statistics string typing typing_extensions
""".split()  # noqa: SIM905
# Modules that answer differently each time, or reach what a proof cannot see.
REFUSED_MODULES = """
_io _random _thread asyncio builtins contextvars ctypes datetime gc importlib inspect io multiprocessing nt os posix
random secrets select signal socket subprocess sys tempfile threading time uuid weakref
""".split()  # noqa: SIM905
DUNDER = re.compile(r"__\w+__")
PLAIN_DUNDERS = ("__init__", "__name__", "__qualname__", "__doc__", "__module__", "__post_init__")


def check_code(function: FunctionType, step: bool) -> None:
    """Raise NotProvable if the code of a function breaks a rule.

    `step`: it runs in a step of an environment or a teacher, and not only to build a problem, such as `of`.
    """
    code = function.__code__
    where = f"{function.__qualname__} ({code.co_filename}:{code.co_firstlineno})"
    first = code.co_varnames[0] if code.co_argcount else None
    builds = function.__name__ in ("__init__", "__post_init__")
    before: dis.Instruction | None = None
    for instruction in instructions(code):
        name, operation = instruction.argval, instruction.opname
        if operation in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
            operation in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars
        ):
            raise NotProvable(f"{where} assigns to {name}, which outlives it, where {REMEDY}")
        if operation in ("STORE_ATTR", "DELETE_ATTR"):
            target = _local(before)
            # A constructor may build its own object, and `of` what it returns.
            if not (builds if target is not None and target == first else target is not None and not step):
                raise NotProvable(f"{where} assigns to the attribute {name}, where {REMEDY}")
        elif step:
            _check_step(function, where, instruction)
        before = instruction


def _local(instruction: dis.Instruction | None) -> str | None:
    """The local variable that an instruction loads last; None if it loads something else."""
    if instruction is None or "LOAD_FAST" not in instruction.opname:
        return None
    return instruction.argval[-1] if isinstance(instruction.argval, tuple) else instruction.argval


def _check_step(function: FunctionType, where: str, instruction: dis.Instruction) -> None:
    name, operation = instruction.argval, instruction.opname
    if operation in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS") and name not in function.__globals__:
        known = getattr(builtins, name, None)
        error = isinstance(known, type) and issubclass(known, BaseException)
        if known is not None and not error and name not in PURE_BUILTINS:
            raise NotProvable(
                f"{where} uses {name}, which can keep state, or tell a concrete tape from an abstract one: a proof "
                f"allows {', '.join(sorted(one for one in PURE_BUILTINS if one[0].islower()))}"
            )
    if operation in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR") and DUNDER.fullmatch(str(name)):
        text = str(name)
    elif operation == "LOAD_CONST" and isinstance(name, str) and DUNDER.fullmatch(name):
        text = name
    else:
        return
    if text not in PLAIN_DUNDERS:
        raise NotProvable(f"{where} uses {text}, by which code can keep state, where {REMEDY}")


def instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of a function and of the functions in it."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from instructions(constant)
