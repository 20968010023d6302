"""Progress: what long work reports while it goes on, through one callback."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Progress:
    """One report.

    stage    what is being done, such as "exploring addition"
    done     how much of it is done
    total    of how much, as far as known; None: unknown
    details  what else there is to say: in training, the metrics; after an attempt at a proof, its outcome
    """

    stage: str
    done: int
    total: int | None = None
    details: Any = None


ProgressCallback: TypeAlias = Callable[[Progress], None]


def no_progress(report: Progress) -> None:
    """The callback that ignores every report."""


def report_counts(counts: Iterable[tuple[int, int]], stage: str, progress: ProgressCallback = no_progress) -> None:
    """Do some work that yields how much of it is done, and of how much; report each."""
    for done, total in counts:
        progress(Progress(stage, done, total))
