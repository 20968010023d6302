"""The files that a proof rests on, each with its hash.

These are the modules of the rooms that a proof uses, every file with code that the environment or the teacher can
reach, and the files of the same project that these import. Python and installed libraries are not among them; a
certificate records their versions.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import marshal
import os
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from numbers import Number
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType
from typing import Any

from npi.errors import BadInput
from npi.language.graph import GraphKind
from npi.language.tape import TapeKind
from npi.language.task import Task
from npi.proof.hidden_state import Watch
from npi.proof.project import PACKAGE
from npi.proof.snapshot import CONTAINERS

# Whoever proves trusts these rooms. Whoever runs a compiled program trusts the first alone.
PROOF_ROOMS = ("language", "network", "proof")
RUN_ROOMS = ("language",)


def hash_files(task: Task[Any, Any], rooms: Iterable[str] = PROOF_ROOMS) -> dict[str, str]:
    """SHA-256 of each file that a task and some rooms consist of.

    A file of npi is named by its place in the package, another by its place beside the task's own file. Code that is in
    no file, such as what a person typed, is named by its function. All constants that the code refers to have one hash,
    with the programs and the kinds of tapes: the file of the task may have read them from another.
    """
    own = _file(sys.modules.get(task.env.__module__))
    folder = own.parent if own else Path.cwd()
    files = {path for room in rooms for path in (PACKAGE / room).glob("*.py")}
    watch = Watch.of(task)
    codes: dict[Path, list[CodeType]] = {}
    typed: dict[str, str] = {}
    for code in watch.codes:
        path = Path(code.co_filename)
        if path.is_file():
            codes.setdefault(path.resolve(), []).append(code)
        else:
            typed[f"code of {code.co_name}"] = hashlib.sha256(marshal.dumps(code)).hexdigest()
    for path, loaded in codes.items():
        _check_current(path, loaded)
    modules = [task.env.__module__, *(program.function.__module__ for program in (task.main, *task.extra_programs))]
    files |= {*codes, *_with_imports(modules, watch)}
    hashes = {_name(path, folder): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}
    return hashes | typed | {"constants that the code refers to": _hash_constants(watch, task)}


def _hash_constants(watch: Watch, task: Task[Any, Any]) -> str:
    """The hash of all values that the code of a task refers to, wherever they were read or computed."""
    texts = [f"{what}: {_text(value)}" for _, _, value, what in watch.bound]
    programs = [f"program {one.name}: {_text(one.function)}" for one in (task.main, *task.extra_programs)]
    return hashlib.sha256("\n".join([repr(task.env.tapes()), *programs, *texts]).encode()).hexdigest()


def _text(value: Any) -> str:
    """A value as text that is the same in every process. Of what is not plain data, it names the type."""
    if isinstance(value, Enum | Number) or type(value) in (str, bytes, range, type(None), TapeKind, GraphKind):
        return f"{type(value).__qualname__} {value!r}"
    if isinstance(value, CONTAINERS):
        is_mapping = isinstance(value, dict | MappingProxyType)
        parts = [_text(part) for part in (value.items() if is_mapping else value)]
        return f"{type(value).__name__}({', '.join(sorted(parts) if isinstance(value, set | frozenset) else parts)})"
    return str(getattr(value, "__qualname__", None) or f"a {type(value).__qualname__}")


def task_files(hashes: dict[str, str]) -> dict[str, str]:
    """Of the hashes of a certificate, those that a compiled program still rests on."""
    others = tuple(f"npi/{room}/" for room in PROOF_ROOMS if room not in RUN_ROOMS)
    return {name: value for name, value in hashes.items() if not name.startswith(others)}


def _check_current(path: Path, loaded: Iterable[CodeType]) -> None:
    """Raise BadInput if a file no longer holds the code that was loaded from it: its hash would be of other code."""
    try:
        current = {_content(code) for code in _nested(compile(path.read_bytes(), str(path), "exec", dont_inherit=True))}
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"{path} is no Python source any more ({error}): mend it, and start again") from error
    for code in loaded:
        if _content(code) not in current:
            raise BadInput(f"{path} has changed since {code.co_name} was imported from it: start again")


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _content(code: CodeType) -> tuple[Any, ...]:
    """What a function does, without its place in a file."""
    constants = tuple(
        _content(one) if isinstance(one, CodeType) else (type(one).__name__, repr(one)) for one in code.co_consts
    )
    return code.co_name, code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars


def _with_imports(names: Iterable[str], watch: Watch) -> set[Path]:
    """The files of some modules, of the packages around them, and of all that they import from their project or npi."""
    found: set[Path] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        module, path = sys.modules.get(name), _file(sys.modules.get(name))
        if module is None or path is None or path in found or not watch.project.has_file(str(path)):
            continue
        found.add(path)
        pending.append(name.rpartition(".")[0])
        if path.suffix == ".py":
            pending += _imported(ast.parse(path.read_bytes()), module.__package__ or "")
    return found


def _imported(source: ast.AST, package: str) -> Iterator[str]:
    """The names of the modules that a source may import."""
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            relative = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(relative, package) if node.level else relative
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def _file(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


def _name(path: Path, folder: Path) -> str:
    if path.is_relative_to(PACKAGE):
        return (Path("npi") / path.relative_to(PACKAGE)).as_posix()
    return Path(os.path.relpath(path, folder)).as_posix()
