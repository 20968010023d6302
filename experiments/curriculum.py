"""How long it takes to learn all frames, where programs are drawn by their error, and where all have equal chances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from _learners import learn_npi, npi_task
from _tables import by, seeds, table

from npi import tasks
from npi.experiment import Claim, Experiment, Run
from npi.recipes import FAST

EVERY = 25  # updates between two looks at all frames
WAYS = {
    "adaptive": {},
    "by error alone": {"review": 0.0},
    "equal chances": {"uniform": 1.0, "review": 0.0},
}


def runs(quick: bool) -> list[dict[str, Any]]:
    kinds = [(name, teacher) for name in ("addition", "sorting") for teacher in ("loop", "recursive")]
    if quick:
        return [
            {"task": "sorting", "teacher": "recursive", "way": "equal chances", "sizes": 3, "updates": 100, "seed": 0}
        ]
    return seeds(
        3,
        (
            {"task": name, "teacher": teacher, "way": way, "sizes": 20, "updates": 1500}
            for name, teacher in kinds
            for way in WAYS
        ),
    )


def measure(device: str, task: str, teacher: str, way: str, sizes: int, updates: int, seed: int) -> dict[str, Any]:
    known = npi_task(task, teacher, range(1, sizes + 1), tasks.find(task).examples)
    config = replace(FAST, settle=0, updates=updates, estimate_every=EVERY, **WAYS[way])
    return learn_npi(known, seed, config)[1]


def report(made: Sequence[Run]) -> str:
    rows = []
    for (task, teacher), group in by(made, lambda run: (run.settings["task"], run.settings["teacher"])).items():
        line = [f"{task}, {teacher}"]
        ways = by(group, lambda run: run.settings["way"])
        for way in WAYS:
            if way not in ways:
                line.append("")
                continue
            took = [run.result["updates_to_learn"] for run in ways[way]]
            learnt = sorted(updates for updates in took if updates is not None)
            spread = f"{median(learnt):,.0f} ({learnt[0]:,} to {learnt[-1]:,})" if learnt else "never"
            line.append(spread + (f"; {len(took) - len(learnt)} of {len(took)} not" if len(learnt) < len(took) else ""))
        rows.append(line)
    return (
        "Updates until every distinct frame is right, median and spread over the seeds, of "
        f"{made[0].settings['updates']:,} at most, looked at every {EVERY}. *Adaptive* is what `npi train` does: four "
        "fifths of the programs by a softmax over their error, and to each batch, a tenth more frames that were "
        "wrong at the last look; *by error alone* is without these frames; *equal chances* draws all programs "
        f"alike.\n\n{table(['', *WAYS], rows)}"
    )


def compared(made: Sequence[Run]) -> list[str]:
    """Of the runs of each way, how many learnt; and how many updates that took, all tasks together."""
    parts = []
    for way, group in by(made, lambda run: run.settings["way"]).items():
        took = [run.result["updates_to_learn"] for run in group]
        learnt = [updates for updates in took if updates is not None]
        middle = f", median {median(learnt):,.0f} updates" if learnt else ""
        parts.append(f"{way}: {len(learnt)} of {len(took)} learnt{middle}")
    return parts


EXPERIMENT = Experiment(
    "Adaptive curriculum and equal chances",
    [
        Claim(
            "curriculum",
            "Drawing programs by their current error worked much better at once than the best curriculum made by hand.",
            compared,
        ),
    ],
    runs,
    measure,
    report,
)
