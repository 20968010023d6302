"""Experiments: runs that are made once, kept in a file, and reported from that file alone.

An experiment is a script that defines `EXPERIMENT`. Its runs are told apart by their settings; each is written to
the results as soon as it is made, so that an interrupted experiment goes on where it was.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

from npi import __version__
from npi.errors import BadInput
from npi.evaluation.processes import processes
from npi.files import write

FORMAT = 1
Settings: TypeAlias = dict[str, Any]  # what tells the runs of an experiment apart, as JSON has it


@dataclass(frozen=True)
class Run:
    """One run: its settings, what was measured, how long it took, and where."""

    settings: Settings
    result: dict[str, Any]
    seconds: float
    where: dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """A run that ended in an error; it is made again next time."""

    settings: Settings
    error: str


@dataclass(frozen=True)
class Claim:
    """What somebody says, and what some runs say to it.

    name        as "C4" for those of the paper
    says        what is claimed
    found       what was found, in a few short lines, given any of the runs; none if they say nothing to it
    otherwise   where it is otherwise here, and why, as far as that is known
    """

    name: str
    says: str
    found: Callable[[Sequence[Run]], list[str]]
    otherwise: str = ""


@dataclass(frozen=True)
class Experiment:
    """What to measure, and how to show it.

    title       of its part of the page of results
    claims      what others say of it
    runs        the settings of all runs, or of the few quick ones
    measure     makes one run, given the device and the settings
    report      what was found, as Markdown
    figure      draws it to a PNG file, if there is something to draw
    config      what is common to all runs, to be kept with them: runs of different ones are never mixed
    revision    to be raised when what is measured changes and neither settings nor config say so; likewise
    """

    title: str
    claims: Sequence[Claim]
    runs: Callable[[bool], list[Settings]]
    measure: Callable[..., dict[str, Any]]
    report: Callable[[Sequence[Run]], str]
    figure: Callable[[Sequence[Run], Path], None] | None = None
    config: Settings = field(default_factory=dict)
    revision: int = 1


def names(folder: Path) -> list[str]:
    """The experiments in a folder: its scripts, but for those that only others use."""
    found = sorted(file.stem for file in folder.glob("[!_]*.py"))
    if not found:
        raise BadInput(f"there are no experiments in {folder}: run this in a copy of the repository, or say --folder")
    return found


def find(folder: Path, name: str) -> Experiment:
    """An experiment by its name."""
    known = names(folder)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
        raise BadInput(f"there is no experiment {name!r} in {folder}: {hint}")
    return _load(folder, name)


def _load(folder: Path, name: str) -> Experiment:
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.insert(0, path)  # scripts share what is in files with an underscore
    spec = importlib.util.spec_from_file_location(f"npi_experiment_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        experiment = module.EXPERIMENT
    except Exception as error:
        raise BadInput(
            f"{folder / name}.py cannot be used: {type(error).__name__}: {error}; mend it, or move it out of {folder}"
        ) from error
    if not isinstance(experiment, Experiment):
        raise BadInput(
            f"{folder / name}.py has an EXPERIMENT that is not an npi.experiment.Experiment: mend it, or move "
            f"it out of {folder}"
        )
    return experiment


class Results:
    """The runs of an experiment that were made, in a file that is written whole after each."""

    def __init__(self, path: Path, experiment: Experiment, fresh: bool = False):
        self.path = path
        head = {"format": FORMAT, "experiment": path.stem, "npi": __version__, "revision": experiment.revision}
        self.head = json.loads(json.dumps({**head, "config": experiment.config}))
        self.runs: list[Run] = []
        if path.exists() and not fresh:  # what is forgotten stays on disk until the first new run is kept
            self.read()

    def read(self) -> None:
        remedy = f"put {self.path} back as it was, or begin anew with --fresh"
        try:
            kept = json.loads(self.path.read_text())
            head = {key: kept.get(key) for key in self.head}
            runs = [Run(**run) for run in kept["runs"]]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(f"{self.path} is not a file of results ({error}): {remedy}") from error
        differences = list(_differences(head, self.head))
        if differences:
            raise BadInput(
                f"{self.path} is of another version ({'; '.join(differences)}), and runs of two versions are never "
                f"mixed: move it away, or begin anew with --fresh"
            )
        self.runs = runs

    def missing(self, wanted: Sequence[Settings]) -> list[Settings]:
        made = {_key(run.settings) for run in self.runs}
        return [settings for settings in wanted if _key(settings) not in made]

    def of(self, wanted: Sequence[Settings]) -> list[Run]:
        """Those of some runs that were made, in their order."""
        made = {_key(run.settings): run for run in self.runs}
        return [made[key] for key in map(_key, wanted) if key in made]

    def add(self, run: Run) -> None:
        self.runs.append(run)
        lines = [json.dumps(asdict(run), sort_keys=True) for run in self.runs]
        head = json.dumps(self.head)[:-1]
        write(self.path, (head + ', "runs": [\n' + ",\n".join(lines) + "\n]}\n").encode())


def _differences(there: Any, here: Any, what: str = "") -> Iterator[str]:
    """What differs between two heads, part by part."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in {**here, **there}:
            yield from _differences(there.get(key), here.get(key), f"{what} {key}".strip())
    elif there != here:
        yield f"{what} {there} there, {here} here"


def _key(settings: Settings) -> str:
    return json.dumps(settings, sort_keys=True)


def perform(
    folder: Path, name: str, results: Results, wanted: Sequence[Settings], workers: int, device: str
) -> Iterator[Run | Failure]:
    """Make the runs that are missing, several side by side, and keep each; yields each when it is made."""
    threads = max(1, (os.cpu_count() or 1) // workers)
    with processes(workers) as pool:
        begun = {
            pool.submit(_make, folder, name, settings, device, threads): settings
            for settings in results.missing(wanted)
        }
        for future in as_completed(begun):
            try:
                run = future.result()
            except Exception as error:
                yield Failure(begun[future], f"{type(error).__name__}: {error}")
                continue
            results.add(run)
            yield run


def _make(folder: Path, name: str, settings: Settings, device: str, threads: int) -> Run:
    import numpy
    import torch

    torch.set_num_threads(threads)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    experiment = _load(folder, name)
    began = time.perf_counter()
    result = experiment.measure(device=device, **settings)
    took = time.perf_counter() - began
    where = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "gpu": torch.cuda.get_device_name() if device == "cuda" and torch.cuda.max_memory_allocated() else None,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "torch": torch.__version__,
    }
    # as it is read back, so that what is reported now is what will be reported from the file
    return Run(settings, json.loads(json.dumps(result)), round(took, 2), where)


def processor() -> str:
    """The name of the processor, where Linux says it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
