"""The files that a proof rests on, each with its hash.

These are the modules of the rooms that a proof uses, the files that define the environment and the teacher, and the
files of the same project that these import. Python and installed libraries are not among them; a certificate records
their versions.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from npi.language.task import Task
from npi.proof.hidden_state import in_library

PACKAGE = Path(__file__).resolve().parents[1]
# Whoever proves trusts these rooms. Whoever runs a compiled program trusts the first alone.
PROOF_ROOMS = ("language", "network", "proof")
RUN_ROOMS = ("language",)


def hash_files(task: Task[Any, Any], rooms: Iterable[str] = PROOF_ROOMS) -> dict[str, str]:
    """SHA-256 of each file that a task and some rooms consist of.

    A file of npi is named by its place in the package, another by its place beside the task's own file.
    """
    own = _file(sys.modules[task.env.__module__])
    folder = own.parent if own else Path.cwd()
    files = {path for room in rooms for path in (PACKAGE / room).glob("*.py")}
    modules = [task.env.__module__, *(program.function.__module__ for program in (task.main, *task.extra_programs))]
    files |= _with_imports(sys.modules[name] for name in modules if name in sys.modules)
    return {_name(path, folder): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}


def task_files(hashes: dict[str, str]) -> dict[str, str]:
    """Of the hashes of a certificate, those that a compiled program still rests on."""
    others = tuple(f"npi/{room}/" for room in PROOF_ROOMS if room not in RUN_ROOMS)
    return {name: value for name, value in hashes.items() if not name.startswith(others)}


def _with_imports(modules: Iterable[ModuleType]) -> set[Path]:
    """The files of some modules, and of all that they import from their project or from npi."""
    found: dict[Path, None] = {}
    pending = list(modules)
    while pending:
        module = pending.pop()
        path = _file(module)
        if path is None or path in found or in_library(path):
            continue
        if path.is_relative_to(PACKAGE) and path.parent != PACKAGE / "tasks":
            continue  # of npi, a task rests on the rooms that are hashed as a whole, and on other tasks
        found[path] = None
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = "." * node.level + (node.module or "")
                package = module.__package__ or ""
                base = package if base == "." else f"{package}{base}" if node.level == 1 else base
                names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
            else:
                continue
            pending += [sys.modules[name] for name in names if name in sys.modules]
    return set(found)


def _file(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


def _name(path: Path, folder: Path) -> str:
    if path.is_relative_to(PACKAGE):
        return (Path("npi") / path.relative_to(PACKAGE)).as_posix()
    return Path(os.path.relpath(path, folder)).as_posix()
