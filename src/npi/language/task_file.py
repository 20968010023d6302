"""Task files: a Task in a user's Python file, named as FILE.py:NAME. Loading one runs the file's code."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from npi.errors import BadInput
from npi.language.task import Task


def is_task_file(name: str) -> bool:
    """Whether a name is FILE.py:NAME, not that of a built-in task."""
    return ".py" in name


def load_task_file(name: str) -> Task[Any, Any]:
    """The task that FILE.py:NAME names."""
    path, colon, attribute = name.rpartition(":")
    if not colon:
        raise BadInput(f"{name!r} names a file but no task in it: write {name}:NAME")
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"there is no file {path}")
    # Neither replaces another module: a library of the same name, or a file of the same name in another folder.
    place = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]
    module_name = f"npi_task_{file.stem}_{place}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    folder = str(file.parent.absolute())
    if folder not in sys.path:  # a task file may import its neighbours, as a script may
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    task = getattr(module, attribute, None)
    if not isinstance(task, Task):
        known = [key for key, value in vars(module).items() if isinstance(value, Task)]
        near = get_close_matches(attribute, known, n=1) or known
        hint = f"did you mean {near[0]!r}?" if near else "it defines none"
        raise BadInput(f"{path} has no Task named {attribute!r}: {hint}")
    return task  # pyright: ignore[reportUnknownVariableType]
