"""Counterexamples: problems on which a network leaves its teacher."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from npi.language.task import Task
from npi.proof.histories import Histories


@dataclass(frozen=True)
class Counterexample:
    """A problem on which a run comes to a history that the network decides wrongly."""

    problem: Any
    node: int


def counterexample(
    task: Task, histories: Histories, wrong: Collection[int], tries: int = 3000
) -> Counterexample | None:
    """Look for one among corner cases and random problems, the small ones first."""
    wanted = set(wrong)
    sizes = sorted(task.sizes)[:12]
    for problem in (p for size in sizes for p in task.test_problems(size, max(1, tries // len(sizes)), 0)):
        for recording in task.demonstrate(problem):
            for frame in dict.fromkeys(recording):
                for node in histories.walk(frame):
                    if node in wanted:
                        return Counterexample(problem, node)
    return None
