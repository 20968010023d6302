"""Experiments: scripts that measure what the paper claims, and what this project claims beyond it.

An experiment is a script that defines `EXPERIMENT`. Settings distinguish its runs. Each run is written to the results
file as soon as it ends, so an interrupted experiment resumes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias

from npi.errors import BadInput
from npi.evaluation.machine import describe_machine
from npi.evaluation.processes import worker_pool
from npi.evaluation.results import Results, Run, Settings

Verdict: TypeAlias = Literal["reproduced", "better", "not reproduced", "different question"]


@dataclass(frozen=True)
class Claim:
    """A claim, and what the runs of an experiment show about it.

    name        such as "C4" for a claim of the paper; a name of its own for a claim of this project
    statement   what is claimed
    evidence    what some runs show about the claim, in a few short lines; an empty list if they show nothing about it
    deviation   where our result or our setting differs from the claim, and why, as far as known
    """

    name: str
    statement: str
    evidence: Callable[[Sequence[Run]], list[str]]
    deviation: str = ""


@dataclass(frozen=True)
class PaperClaim(Claim):
    """A claim of a publication, and what an experiment shows about it.

    why      in one line, why the results agree or differ; `deviation` has the details
    paper    the published numbers
    verdict  judges the claim by runs on the publication's own terms (its data, teacher, supervision and sizes), and
             returns None if runs are missing for that. An experiment on our terms, which shows how far we get at our
             best, has no verdict
    """

    why: str = ""
    paper: str = ""
    verdict: Callable[[Sequence[Run]], Verdict | None] | None = None


@dataclass(frozen=True)
class Experiment:
    """What to measure, and how to report it.

    title       heading on the results page
    claims      the claims it tests
    runs        the settings of all runs; called with True, those of the few quick ones
    measure     makes one run, given the device and the settings
    report      the runs as Markdown
    figure      draws the runs to a PNG file; None if there is nothing to draw
    config      hyperparameters that all runs share; stored with them
    revision    raise it when the measurement changes in a way that settings and config do not show
    page        the page that reports it: results for claims of the paper, benchmarks for what this project adds
    prepare     work that the runs share, such as rendering; given the settings of the missing runs, it is done once,
                before the first of them, and yields (done, total)
    """

    title: str
    claims: Sequence[Claim]
    runs: Callable[[bool], list[Settings]]
    measure: Callable[..., dict[str, Any]]
    report: Callable[[Sequence[Run]], str]
    figure: Callable[[Sequence[Run], Path], None] | None = None
    config: Settings = field(default_factory=dict)
    revision: int = 1
    page: Literal["results", "benchmarks"] = "results"
    prepare: Callable[[Sequence[Settings]], Iterator[tuple[int, int]]] | None = None

    def results(self, path: Path, fresh: bool = False) -> Results:
        """The runs of this experiment in a file."""
        return Results(path, self.revision, self.config, fresh)


@dataclass(frozen=True)
class Failure:
    """A run that raised an error. It is not stored, so the next invocation repeats it."""

    settings: Settings
    error: str


def experiment_names(folder: Path) -> list[str]:
    """The experiments in a folder: its scripts, except those whose name starts with an underscore."""
    found = sorted(file.stem for file in folder.glob("[!_]*.py"))
    if not found:
        raise BadInput(f"there are no experiments in {folder}: run this in a clone of the repository, or give --folder")
    return found


def find_experiment(folder: Path, name: str) -> Experiment:
    """An experiment by its name."""
    known = experiment_names(folder)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
        raise BadInput(f"there is no experiment {name!r} in {folder}: {hint}")
    return _import_experiment(folder, name)


def _import_experiment(folder: Path, name: str) -> Experiment:
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.insert(0, path)  # so that scripts can import _learners and _tables
    spec = importlib.util.spec_from_file_location(f"npi_experiment_{name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        experiment = module.EXPERIMENT
    except Exception as error:
        raise BadInput(
            f"{folder / name}.py cannot be used: {type(error).__name__}: {error}; fix it, or move it out of {folder}"
        ) from error
    if not isinstance(experiment, Experiment):
        raise BadInput(
            f"EXPERIMENT in {folder / name}.py is not an npi.evaluation.experiment.Experiment: fix it, or move it out "
            f"of {folder}"
        )
    return experiment


def make_runs(
    folder: Path, name: str, results: Results, wanted: Sequence[Settings], workers: int, device: str
) -> Iterator[Run | Failure]:
    """Make the missing runs in `workers` processes; store and yield each as it ends."""
    threads = max(1, (os.cpu_count() or 1) // workers)
    with worker_pool(workers) as pool:
        submitted = {
            pool.submit(_make_run, folder, name, settings, device, threads): settings
            for settings in results.missing(wanted)
        }
        for future in as_completed(submitted):
            try:
                run = future.result()
            except Exception as error:
                yield Failure(submitted[future], f"{type(error).__name__}: {error}")
                continue
            results.add(run)
            yield run


def _make_run(folder: Path, name: str, settings: Settings, device: str, threads: int) -> Run:
    import torch

    torch.set_num_threads(threads)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    experiment = _import_experiment(folder, name)
    began = time.perf_counter()
    result = experiment.measure(device=device, **settings)
    seconds = round(time.perf_counter() - began, 2)
    # through JSON, so that a report made now equals a report made from the file
    return Run(settings, json.loads(json.dumps(result)), seconds, describe_machine(device))
