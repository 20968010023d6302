"""The reachable histories V of a task, found and then checked.

Exploration finds them, or a certificate lists them. Either way the checker confirms that they are closed, and concrete
problems are run to see that every history of theirs is among them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from npi.language.task import Task
from npi.progress import Progress, ProgressCallback, no_progress, report_counts
from npi.proof.assumptions import assumptions
from npi.proof.checker import ProofTable, check_table
from npi.proof.concrete import check_concrete_runs
from npi.proof.explore import Exploration
from npi.proof.histories import Histories
from npi.proof.proof_table import proof_table


@dataclass
class Stopwatch:
    """Takes the time of the stages of a proof."""

    began: float = field(default_factory=time.monotonic)
    stages: dict[str, float] = field(default_factory=dict[str, float])

    def stop(self, stage: str) -> None:
        """End a stage: it took all the time since the last one ended."""
        self.stages[stage] = self.total() - sum(self.stages.values())

    def total(self) -> float:
        return time.monotonic() - self.began


@dataclass(frozen=True)
class Reachable:
    """The reachable histories of a task.

    document   the proof table as JSON
    table      the proof table, checked
    histories  all histories that the table has a decision for
    problems   how many concrete problems were run
    """

    task: Task[Any, Any]
    document: Mapping[str, Any]
    table: ProofTable
    histories: Histories
    problems: int

    def assumptions(self) -> list[str]:
        """What a proof from these histories assumes."""
        return assumptions({**self.table.abstract.watch.unseen, **self.table.teacher.watch.unseen})


def find_reachable(
    task: Task[Any, Any],
    document: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
    stopwatch: Stopwatch | None = None,
) -> Reachable:
    """Find the reachable histories of a task, or take those of a proof table, and check them.

    Raises `NotProvable` if a proof cannot handle the task.
    """
    stopwatch, abstract = stopwatch or Stopwatch(), None
    if document is None:
        exploration = Exploration(task)
        report_counts(exploration.run(), f"exploring {task.name}", progress)
        document, abstract = proof_table(exploration), exploration.abstract
        stopwatch.stop("exploring")
    progress(Progress(f"checking what was found of {task.name}", 0))
    table = check_table(task, document, abstract)
    histories = table.histories()
    stopwatch.stop("checking")
    progress(Progress(f"running sampled problems of {task.name}", 0))
    problems = check_concrete_runs(task, table.teacher, histories)
    stopwatch.stop("sampling")
    return Reachable(task, document, table, histories, problems)
