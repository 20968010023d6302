"""Arguments that several commands share: their types, checks and parsing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from npi.errors import BadInput
from npi.language.task import Task

TaskName = Annotated[str, arg(metavar="TASK|FILE.py:NAME")]
Teacher = Literal["loop", "recursive"]
ModelFolder = Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="(default: the model that comes with npi)")]
Device = Literal["auto", "cpu", "cuda"]
Engine = Literal["memo", "neural"]


def positive(**values: int | None) -> None:
    """Raise BadInput if an option that must be at least 1 is less; None is an option that was not given."""
    for name, value in values.items():
        if value is not None and value < 1:
            raise BadInput(f"--{name.replace('_', '-')} is {value}, but must be at least 1")


def refuse_existing(path: Path, force: bool) -> None:
    """Raise BadInput if a file exists and --force was not given."""
    if path.exists() and not force:
        raise BadInput(f"{path} already exists: replace it with --force, or choose another name")


def parse_problem(task: Task[Any, Any], words: tuple[str, ...]) -> Any:
    """The problem that words of the command line describe; @FILE stands for the words in a file."""
    words = tuple(word for given in words for word in (_words_in_file(given[1:]) if given.startswith("@") else [given]))
    try:
        problem = task.parse(words)
        task.env.of(problem)
    except BadInput:
        raise
    except (ValueError, TypeError, IndexError, KeyError) as error:  # a user's task may raise any of these
        raise BadInput(f"{' '.join(words) or 'nothing'} is no problem of {task.name}: {error}") from error
    return problem


def _words_in_file(file: str) -> list[str]:
    try:
        return Path(file).read_text("utf-8").split()
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} holds something other than text") from error
