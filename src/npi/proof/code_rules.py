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
import functools
import re
from collections.abc import Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

from npi.errors import NotProvable
from npi.proof.oracle import EXPLORATION_METHODS
from npi.proof.python_names import PURE_BUILTINS, REFUSED_AROUND_RUNS
from npi.proof.snapshot import REMEDY

DUNDER = re.compile(r"__\w+__")
CONSTRUCTORS = ("__init__", "__post_init__")
PLAIN_DUNDERS = (*CONSTRUCTORS, "__name__", "__qualname__", "__doc__", "__module__")  # in code that runs in no step
# Attributes that lead to Python's stack, or behind a lazy tape.
REFUSED_ATTRIBUTES = re.compile(
    r"(gi|cr|ag|tb)_frame|f_(back|globals|locals|builtins)|_(Lazy)?(Tape|Graph)__\w+|" + "|".join(EXPLORATION_METHODS)
)
MAIN = ("__main__",)  # a text that names no attribute
FORMATS = ("format", "format_map")  # methods that read attributes which a text names
HANDLERS = ("CHECK_EXC_MATCH", "CHECK_EG_MATCH", "WITH_EXCEPT_START", "BEFORE_WITH")
GLOBAL_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
ATTRIBUTE_LOADS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")
ATTRIBUTE_STORES = ("STORE_ATTR", "DELETE_ATTR")


SETTERS = (functools.update_wrapper, functools.wraps)  # and other functions that assign to attributes


def check_step_code(function: FunctionType, constructor: bool = False, generated: bool = False) -> None:
    """Raise NotProvable if the code of a function that runs in a step breaks a rule.

    A `constructor` is found in a class as `__init__`, or the like. What Python `generated` for a class need only leave
    alone what is not its own.
    """
    where = _where(function)
    for name, what in assignments(function, constructor):
        raise NotProvable(f"{where} assigns to {what % name}, where {REMEDY}")
    if generated:
        return
    before: Sequence[dis.Instruction] = ()
    for instruction in instructions(function.__code__):
        name, operation = instruction.argval, instruction.opname
        if operation == "IMPORT_NAME":
            raise NotProvable(f"{where} imports {name}: import at the top of the file, where the proof sees what it is")
        if operation in HANDLERS or (operation == "POP_EXCEPT" and before and before[-1].opname != "COPY"):
            raise NotProvable(
                f"{where} handles errors, or uses `with`: an error may tell a concrete tape from an abstract one, and "
                f"depend on the room that a run has. Test for what would raise it"
            )
        if operation == "IS_OP" and not _is_constant(before):
            raise NotProvable(
                f"{where} asks whether two objects are the same, which may differ from run to run: compare them with "
                f"==, or write the constant, such as None, after `is`"
            )
        if operation in GLOBAL_LOADS and name not in function.__globals__:
            known = getattr(builtins, name, None)
            is_error = isinstance(known, type) and issubclass(known, BaseException)
            if not (known is None or is_error or is_pure_builtin(known) or name in ("__name__", "__debug__")):
                raise NotProvable(
                    f"{where} uses {name}, which can keep state, or tell a concrete tape from an abstract one: leave "
                    f"it out, or replace it by {', '.join(sorted(one for one in PURE_BUILTINS if one[0].islower()))}"
                )
        for text in _texts(instruction):
            if not (constructor and text in CONSTRUCTORS):
                raise NotProvable(f"{where} uses {text}, by which code can keep state, where {REMEDY}")
        before = (*before[-1:], instruction)


def _texts(instruction: dis.Instruction) -> Iterator[str]:
    """The refused names of attributes in an instruction: one that it loads, or texts that could name some."""
    name, operation = instruction.argval, instruction.opname
    if operation in ATTRIBUTE_LOADS and (
        DUNDER.fullmatch(name) or REFUSED_ATTRIBUTES.fullmatch(name) or name in FORMATS
    ):
        yield name
    elif operation == "LOAD_CONST":
        # A tuple of texts may be the names of attributes in `case Point(x=0)`.
        yield from (text for text in _constant_texts(name) if "__" in text or REFUSED_ATTRIBUTES.fullmatch(text))


def _constant_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple | frozenset):
        for part in value:
            yield from _constant_texts(part)


def _is_constant(before: Sequence[dis.Instruction]) -> bool:
    """Whether the last instruction loads None, a truth value, a global, or an attribute of one, such as Op.MOVE."""
    *_, first, last = (None, None, *before)
    if last is None:
        return False
    if last.opname == "LOAD_CONST":
        return last.argval is None or last.argval is Ellipsis or isinstance(last.argval, bool)
    return last.opname in GLOBAL_LOADS or (
        last.opname == "LOAD_ATTR" and first is not None and first.opname in GLOBAL_LOADS
    )


def check_code_around_runs(function: FunctionType) -> None:
    """Raise NotProvable if the code of a function that runs in no step reaches things by names that nobody sees."""
    for instruction in instructions(function.__code__):
        name, operation = instruction.argval, instruction.opname
        names: Sequence[str] = ()
        if operation in GLOBAL_LOADS and name in REFUSED_AROUND_RUNS and name not in function.__globals__:
            names = (name,)
        elif operation in (*ATTRIBUTE_LOADS, *ATTRIBUTE_STORES):
            # `register` of an abstract class changes what `isinstance` says.
            refused = (
                name in ("register", *REFUSED_AROUND_RUNS)
                or REFUSED_ATTRIBUTES.fullmatch(name)
                or DUNDER.fullmatch(name)
            )
            plain = name in PLAIN_DUNDERS and (name not in CONSTRUCTORS or function.__name__ in CONSTRUCTORS)
            names = (name,) if refused and not plain else ()
        elif operation == "LOAD_CONST":
            names = [text for text in _constant_texts(name) if DUNDER.fullmatch(text) and text not in MAIN]
        for text in names:
            raise NotProvable(f"{_where(function)} uses {text}, by which it could leave behind what steps can find")


def refuse_around_runs(value: Any, what: str) -> None:
    """Raise NotProvable if a value to which code around runs refers is a built-in function that it must not use."""
    if any(value is refused for refused in (*(getattr(builtins, name) for name in REFUSED_AROUND_RUNS), *SETTERS)):
        raise NotProvable(f"{what} is {value.__name__}, by which code could leave behind what steps can find")


def assignments(function: FunctionType, constructor: bool = False) -> Iterator[tuple[str, str]]:
    """The globals, outer variables and attributes that a function assigns to: each name, and what it is.

    A constructor may assign to attributes of its own object, which is new.
    """
    code = function.__code__
    own = code.co_varnames[0] if constructor and code.co_argcount else None
    own_code = [*dis.get_instructions(code)]
    before: dis.Instruction | None = None
    for number, instruction in enumerate(instructions(code)):
        name, operation = instruction.argval, instruction.opname
        if operation in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
            operation in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars
        ):
            yield name, "%s, which outlives it"
        in_constructor = own is not None and number < len(own_code)
        if in_constructor and operation.startswith("STORE_FAST") and own in _names(name):
            yield name, "%s, which is its object"
        if operation in ATTRIBUTE_STORES and not (in_constructor and _local(before) == own):
            yield name, "the attribute %s, as only __init__ may, and only to those of its own object"
        before = instruction


def _names(name: Any) -> Sequence[str]:
    return name if isinstance(name, tuple) else (name,)


def _local(instruction: dis.Instruction | None) -> str | None:
    """The local variable that an instruction loads last; None if it loads something else."""
    if instruction is None or "LOAD_FAST" not in instruction.opname:
        return None
    return _names(instruction.argval)[-1]


def names_used(code: CodeType) -> Iterator[str]:
    """The globals, attributes and outer variables that a function refers to, with the functions in it.

    Attributes may also be named in `case Point(x=0)`, as constants.
    """
    for instruction in instructions(code):
        if instruction.opname in (*GLOBAL_LOADS, *ATTRIBUTE_LOADS, "LOAD_DEREF", "IMPORT_FROM"):
            yield instruction.argval
        elif instruction.opname == "LOAD_CONST" and isinstance(instruction.argval, tuple):
            yield from (text for text in _constant_texts(instruction.argval) if text.isidentifier())


def instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of a function and of the functions in it."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from instructions(constant)


def unwrapped(function: Any) -> Iterator[FunctionType]:
    """A function, and the functions that its decorators wrap."""
    seen: set[int] = set()
    while isinstance(function, FunctionType) and id(function) not in seen:
        seen.add(id(function))
        yield function
        function = getattr(function, "__wrapped__", None)


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
