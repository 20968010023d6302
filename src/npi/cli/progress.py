"""Progress on stderr: a bar for each stage on a terminal, otherwise lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from npi.progress import Progress, ProgressCallback, report_counts

LINE_EVERY = 4  # without a terminal, every fourth evaluation in training is printed
WORST_PROGRAMS = 4  # how many programs that are not yet right are named
SPEED_PERIOD = 86_400  # estimate the time left from the last day, in seconds: one unit of work may take an hour


@contextmanager
def show_progress(as_json: bool = False) -> Iterator[ProgressCallback]:
    """A callback that shows progress on stderr or, `as_json`, prints each evaluation in training on stdout."""
    if as_json:
        yield _print_json
        return
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left, at most:"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=SPEED_PERIOD) as bars:
        stages: dict[str, Any] = {}

        def progress(report: Progress) -> None:
            if report.stage not in stages:
                for row in stages.values():
                    bars.remove_task(row)
                stages.clear()
                stages[report.stage] = bars.add_task(report.stage, total=None, note="")
            row = stages[report.stage]
            bars.update(row, completed=report.done, total=report.total, note=training_note(report.details))

        yield progress


def show_counts(counts: Iterable[tuple[int, int]], stage: str) -> None:
    """Run an iterator that works and yields (done, total), and show its progress."""
    with show_progress() as progress:
        report_counts(counts, stage, progress)


def training_note(details: Any) -> str:
    """Training: the loss, and the programs not yet right, worst first. Teaching: how many frames are right."""
    if hasattr(details, "wrong"):
        return f"{details.frames - details.wrong:,} of {details.frames:,} frames right"
    if not hasattr(details, "accuracy"):
        return ""
    wrong = sorted((accuracy, name) for name, accuracy in details.accuracy.items() if accuracy < 1)
    right = len(details.accuracy) - len(wrong)
    shown = [f"{name} {100 * accuracy:.1f} %" for accuracy, name in wrong[:WORST_PROGRAMS]]
    return "  ".join([f"loss {details.loss:.4f}", *shown, f"{right} of {len(details.accuracy)} programs right"])


class _Lines:
    """Prints a line at the start of each stage, and one at every fourth evaluation in training."""

    def __init__(self):
        self.stage, self.evaluations = "", 0

    def __call__(self, report: Progress) -> None:
        if report.stage != self.stage:
            self.stage = report.stage
            print(f"{report.stage} ...", file=sys.stderr, flush=True)
        if getattr(report.details, "evaluated", False):
            if self.evaluations % LINE_EVERY == 0:
                print(f"update {report.done:,}  {training_note(report.details)}", file=sys.stderr, flush=True)
            self.evaluations += 1


def _print_json(report: Progress) -> None:
    if getattr(report.details, "evaluated", False):
        print(json.dumps(asdict(report.details)), flush=True)
