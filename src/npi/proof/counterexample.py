"""Counterexamples: problems on which a network decides differently from its teacher."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from npi.language.task import Task
from npi.proof.histories import Histories

# The search covers this many of a task's smallest sizes, and about this many problems in all. Small problems come first
# because they run fast and reach nearly every history; the bounds keep a search within seconds.
SMALLEST_SIZES = 12
MAX_PROBLEMS = 3000


@dataclass(frozen=True)
class Counterexample:
    """A problem whose run contains a history after which the network decides wrongly."""

    problem: Any
    node: int  # of that history, in Histories


def counterexample(
    task: Task, histories: Histories, wrong: Collection[int], max_problems: int = MAX_PROBLEMS
) -> Counterexample | None:
    """Search for a problem whose run contains one of the `wrong` nodes, among corner cases and random problems.

    The smallest sizes come first. None: no such problem was found, which does not mean that there is none.
    """
    wanted = set(wrong)
    sizes = sorted(task.sizes)[:SMALLEST_SIZES]
    problems_per_size = max(1, max_problems // max(1, len(sizes)))
    for problem in (p for size in sizes for p in task.test_problems(size, problems_per_size, 0)):
        for recording in task.demonstrate(problem):
            for frame in dict.fromkeys(recording):
                for node in histories.nodes_of(frame):
                    if node in wanted:
                        return Counterexample(problem, node)
    return None
