"""Results: the runs of an experiment, kept in one JSON file that is rewritten after each run.

A file belongs to one revision of one experiment. Reading it under another revision fails, and so does reading it where
a hyperparameter that the file and the experiment both name has another value. The version of the package does not
matter: each run stores the version and the commit it was made with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from npi.errors import BadInput
from npi.files import write

FORMAT = 2  # of the file
Settings: TypeAlias = dict[str, Any]  # what distinguishes the runs of an experiment, as JSON values


@dataclass(frozen=True)
class Run:
    """One run: its settings, its measurements, its duration, and the machine it ran on."""

    settings: Settings
    result: dict[str, Any]
    seconds: float
    machine: dict[str, Any]


class Results:
    """The runs of one experiment that are on disk.

    `config` holds the hyperparameters that all runs share. With `fresh`, the runs on disk are ignored; the file is
    replaced when the first new run is added.
    """

    def __init__(self, path: Path, revision: int, config: Settings, fresh: bool = False):
        self.path = path
        head = {"format": FORMAT, "experiment": path.stem, "revision": revision, "config": config}
        self.head = json.loads(json.dumps(head))
        self.runs: list[Run] = []
        if path.exists() and not fresh:
            self._read()

    def _read(self) -> None:
        remedy = f"restore {self.path}, or start over with --fresh"
        try:
            stored = json.loads(self.path.read_text("utf-8"))
            head = {key: stored[key] for key in self.head}
            runs = [Run(**run) for run in stored["runs"]]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(f"{self.path} is not a file of results ({error}): {remedy}") from error
        differences = list(_differences(head, self.head))
        if differences:
            raise BadInput(
                f"{self.path} was made by another revision of the experiment ({'; '.join(differences)}), and runs of "
                f"two revisions are never mixed: move it away, or start over with --fresh"
            )
        self.runs = runs

    def missing(self, wanted: Sequence[Settings]) -> list[Settings]:
        """The settings for which there is no run yet."""
        made = {_key(run.settings) for run in self.runs}
        return [settings for settings in wanted if _key(settings) not in made]

    def of(self, wanted: Sequence[Settings]) -> list[Run]:
        """The existing runs with these settings, in the order of the settings."""
        made = {_key(run.settings): run for run in self.runs}
        return [made[key] for key in map(_key, wanted) if key in made]

    def add(self, run: Run) -> None:
        """Add a run and write the file."""
        self.runs.append(run)
        lines = [json.dumps(asdict(run), sort_keys=True) for run in self.runs]
        head = json.dumps(self.head)[:-1]
        write(self.path, (head + ', "runs": [\n' + ",\n".join(lines) + "\n]}\n").encode())


def _differences(stored: Any, current: Any, where: str = "") -> Iterator[str]:
    """Every value that both sides name and that differs; a name on one side only was added or removed since."""
    if isinstance(stored, dict) and isinstance(current, dict):
        for key in current:
            if key in stored:
                yield from _differences(stored[key], current[key], f"{where} {key}".strip())
    elif stored != current:
        yield f"{where} {stored} in the file, {current} now"


def _key(settings: Settings) -> str:
    return json.dumps(settings, sort_keys=True)
