"""MAX taught to cores of sorting alone, which were trained with and without observation noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from _tables import by, independent, over_seeds, percent, table, with_seeds
from paper_table1 import paper_task, scores

from npi.evaluation.experiment import Experiment, PaperClaim
from npi.evaluation.results import Run
from npi.training.config import FAST
from npi.training.row_trainer import TeachConfig
from npi.training.teach import teach_task
from npi.training.trainer import make_trainer

NOISE = 0.1  # chosen with another seed and other arrays (docs/LOG.md)


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:
        return [{"noise": NOISE, "problems": 20, "updates": 20, "seed": 0}]
    return with_seeds(5, [{"noise": noise, "problems": 1000, "updates": FAST.updates} for noise in (0.0, NOISE)])


def measure(device: str, noise: float, problems: int, updates: int, seed: int) -> dict[str, Any]:
    sorting, maximum = paper_task("sorting"), paper_task("maximum")
    trainer = make_trainer([sorting], replace(FAST, updates=updates, observation_noise=noise), seed)
    for _ in trainer.run():
        pass
    config = replace(TeachConfig(), updates=min(updates, TeachConfig.updates))
    taught = teach_task(trainer.ema_model, maximum, config=config, seed=seed)
    return {
        "learned": trainer.learned,
        "updates": trainer.updates,
        "wrong": taught.wrong,
        "frames": taught.frames,
        "scores": scores(taught.model, [sorting, maximum], 0, problems),
    }


def groups(made: Sequence[Run]) -> dict[str, list[Run]]:
    found = by(made, lambda run: run.settings["noise"])
    return {f"noise {noise}" if noise else "no noise": found[noise] for noise in sorted(found)}


def right(group: Sequence[Run], task: str, traces: bool = False) -> list[float]:
    return [run.result["scores"][task][traces] / run.result["scores"][task][2] for run in group]


def report(made: Sequence[Run]) -> str:
    rows = [
        [
            name,
            independent(sum(run.result["learned"] for run in group), len(group)),
            ", ".join(f"{run.result['updates']:,}" for run in group),
            percent(right(group, "sorting")),
            independent(sum(not run.result["wrong"] for run in group), len(group)),
            percent(right(group, "maximum")),
            percent(right(group, "maximum", traces=True)),
        ]
        for name, group in groups(made).items()
    ]
    head = [
        "",
        "cores with every frame right",
        "updates",
        "sorting, length 5",
        "every frame of MAX right",
        "MAX, length 5",
        "traces of MAX",
    ]
    return (
        "Cores of sorting alone, from loops and arrays of length 5, without practice. While they train, each field of "
        "an observation is random with this probability. MAX and RJMP are then taught with extra keys, as in "
        "`paper_table1`: RJMP calls RSHIFT with both pointers on one cell, where training never shows it. Mean and "
        f"range over the seeds.\n\n{table(head, rows)}"
    )


def solved(made: Sequence[Run]) -> list[str]:
    return [
        over_seeds(f"no practice, sorting alone, extra keys, {name}", {"of arrays": right(group, "maximum")})
        for name, group in groups(made).items()
    ]


EXPERIMENT = Experiment(
    "Observation noise",
    [
        PaperClaim(
            "C6",
            "With observation noise while the core trains, MAX is learned without practice.",
            solved,
            "the cores learn sorting alone.",
        ),
    ],
    runs,
    measure,
    report,
    config={"npi": asdict(FAST), "teaching": asdict(TeachConfig())},
)
