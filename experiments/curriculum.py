"""Updates until all frames are learned: programs sampled by their error rate, and uniformly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from statistics import median
from typing import Any

from _learners import learn_npi, npi_task
from _tables import by, table, with_seeds

from npi import tasks
from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run
from npi.training.config import FAST

EVAL_EVERY = 25  # updates between two evaluations of all frames
# The samplers compared, and what each changes in the FAST configuration.
SAMPLING = {
    "adaptive": {},
    "error only": {"replay_fraction": 0.0},
    "replay only": {"curriculum_uniform": 1.0},
    "uniform": {"curriculum_uniform": 1.0, "replay_fraction": 0.0},
}


def runs(quick: bool) -> list[dict[str, Any]]:
    kinds = [(name, teacher) for name in ("addition", "sorting") for teacher in ("loop", "recursive")]
    if quick:
        return [
            {"task": "sorting", "teacher": "recursive", "sampling": "uniform", "sizes": 3, "updates": 100, "seed": 0}
        ]
    return with_seeds(
        3,
        (
            {"task": name, "teacher": teacher, "sampling": sampling, "sizes": 20, "updates": 1500}
            for name, teacher in kinds
            for sampling in SAMPLING
        ),
    )


def measure(device: str, task: str, teacher: str, sampling: str, sizes: int, updates: int, seed: int) -> dict[str, Any]:
    known = npi_task(task, teacher, range(1, sizes + 1), tasks.find(task).examples)
    config = replace(FAST, updates_after_learned=0, updates=updates, eval_every=EVAL_EVERY, **SAMPLING[sampling])
    return learn_npi(known, seed, config)[1]


def kinds_of(made: Sequence[Run]) -> dict[tuple[str, str], list[Run]]:
    return by(made, lambda run: (run.settings["task"], run.settings["teacher"]))


def by_sampling(made: Sequence[Run]) -> dict[str, list[Run]]:
    found = by(made, lambda run: run.settings["sampling"])
    return {name: found[name] for name in SAMPLING if name in found}


def updates_of(made: Sequence[Run]) -> str:
    """Median and range of the updates until all frames were right; never counts as more than the limit."""
    took = sorted(run.result["updates_to_learn"] or math.inf for run in made)
    never = f"over {made[0].settings['updates']:,}"
    middle, least, most = (f"{some:,.0f}" if some < math.inf else never for some in (median(took), took[0], took[-1]))
    return middle if least == most else f"{middle} ({least} to {most})"


def report(made: Sequence[Run]) -> str:
    rows = []
    for kind, group in kinds_of(made).items():
        found = by_sampling(group)
        rows.append([", ".join(kind), *(updates_of(found[name]) if name in found else "" for name in SAMPLING)])
    return (
        "Updates until every distinct frame is right, median and range over the seeds, evaluated every "
        f"{EVAL_EVERY} updates, at most {made[0].settings['updates']:,}. *Adaptive* is what `npi train` does: it "
        "samples four fifths of the programs by a softmax over their error rates, and adds to each batch a tenth of "
        "frames that were wrong at the last evaluation (replay). *Error only* leaves out the replay; *replay only* "
        "samples programs uniformly; *uniform* does both. A hand-made curriculum was not tried.\n\n"
        f"{table(['', *SAMPLING], rows)}"
    )


def compared(made: Sequence[Run]) -> list[str]:
    return [
        f"{', '.join(kind)}: " + ", ".join(f"{name} {updates_of(runs)}" for name, runs in by_sampling(group).items())
        for kind, group in kinds_of(made).items()
    ]


EXPERIMENT = Experiment(
    "Adaptive curriculum and uniform sampling",
    [
        Claim(
            "curriculum",
            "Sampling programs by their current error immediately worked much better than the best hand-made "
            "curriculum.",
            compared,
            "error only, which is closest to the paper, beats uniform sampling for loops in addition and recursion in "
            "sorting, and loses for loops in sorting. Replay gains more, but loops in addition need both. All four "
            "share the learning rate schedule and the temperature, which were chosen for the adaptive curriculum.",
        ),
    ],
    runs,
    measure,
    report,
    config={"npi": asdict(FAST)},
)
