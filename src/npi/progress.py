"""Progress of functions that take long: they report to one callback."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Progress:
    """One report of a function that takes long.

    stage    the work in progress, such as "exploring addition"
    done     how much of it is done
    total    how much there is, as far as known; None: unknown
    details  more about this stage: in training the `Metrics`, after an attempt at a proof its outcome

    >>> import npi
    >>> def show(report):
    ...     print(f"{report.stage}: {report.done:,} of {report.total:,}")
    >>> show(npi.Progress("exploring addition", 65_000, 130_399))  # as `npi.verify(..., progress=show)` calls it
    exploring addition: 65,000 of 130,399
    """

    stage: str
    done: int
    total: int | None = None
    details: Any = None


ProgressCallback: TypeAlias = Callable[[Progress], None]


def no_progress(report: Progress) -> None:
    """The callback that ignores every report."""


def report_counts(counts: Iterable[tuple[int, int]], stage: str, progress: ProgressCallback = no_progress) -> None:
    """Run an iterator that works and yields (done, total); report each pair as progress of `stage`."""
    for done, total in counts:
        progress(Progress(stage, done, total))
