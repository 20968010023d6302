"""The paper's own training: Adam 1e-4, one frame at a time, decay 0.95 every 10,000 steps, error-based curriculum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from _learners import any_digits, npi_task, score_npi
from _tables import by, over_seeds, percent, table, with_seeds

from npi.evaluation.experiment import Experiment, PaperClaim
from npi.evaluation.results import Run
from npi.language.task import Task
from npi.training.config import PAPER
from npi.training.metrics import count_wrong_decisions
from npi.training.trainer import Trainer, make_trainer

# By claim: the task, its sizes and examples of each, and the lengths that are tested, with problems of each.
CLAIMS = {
    "C1": ("addition", range(1, 21), 32, {20: 100, 100: 50}),
    "C3": ("sorting", range(2, 21), 64, {20: 50, 60: 10}),
    "C4": ("sorting", [20], 8, {20: 100}),
}
NAMES = {
    "C1": "addition, 640 examples of 1 to 20 digits",
    "C3": "sorting, 1,216 examples of length 2 to 20",
    "C4": "sorting, 8 examples of length 20",
}


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:
        return [{"claim": "C4", "updates": 20, "checkpoints": 1, "seed": 0}]
    return with_seeds(2, [{"claim": claim, "updates": 150_000, "checkpoints": 10} for claim in CLAIMS])


def measure(device: str, claim: str, updates: int, checkpoints: int, seed: int) -> dict[str, Any]:
    name, sizes, examples, tests = CLAIMS[claim]
    task = npi_task(name, "loop", sizes, examples)
    if name == "sorting":
        task = replace(task, sample=any_digits)
    trainer = make_trainer([task], replace(PAPER, updates=updates), seed)
    return {"frames": len(trainer.dataset), "curve": list(curve(trainer, task, tests, updates // checkpoints))}


def curve(trainer: Trainer, task: Task, tests: dict[int, int], every: int) -> Iterator[dict[str, Any]]:
    """At some updates, and when everything is learned: the frames that are right, and the problems that are solved."""
    for metrics in trainer.run():
        if metrics.update % every == 0 or trainer.finished:
            _, wrong = count_wrong_decisions(trainer.model, trainer.dataset, np.ones(len(trainer.dataset), dtype=bool))
            scores = [score for size, count in tests.items() for score in score_npi(trainer.model, task, [size], count)]
            yield {"updates": metrics.update, "right": int((wrong == 0).sum()), "scores": scores}


def reached(group: Sequence[Run]) -> dict[str, list[float]]:
    """By tested length, what every seed solves in the end."""
    found: dict[str, list[float]] = {}
    for run in group:
        for score in run.result["curve"][-1]["scores"]:
            found.setdefault(f"at {score['length']}", []).append(score["correct"] / score["problems"])
    return found


def groups(made: Sequence[Run]) -> dict[str, list[Run]]:
    return by(made, lambda run: run.settings["claim"])


def report(made: Sequence[Run]) -> str:
    rows = []
    for claim, group in groups(made).items():
        for run in group:
            for point in run.result["curve"]:
                right = percent([point["right"] / run.result["frames"]])
                solved = (
                    f"{percent([one['correct'] / one['problems']])} at {one['length']}" for one in point["scores"]
                )
                updates = f"{point['updates']:,}"
                rows.append([f"{claim}: {NAMES[claim]}", run.settings["seed"], updates, right, ", ".join(solved)])
    return (
        "Trained as the paper says: Adam with a learning rate of 0.0001, one frame at each update, decay by 0.95 every "
        "10,000 updates, and programs sampled by a softmax over their errors, estimated every 1,000 updates. The "
        "paper gives neither the temperature (0.1 here) nor the number of updates. A run ends when every distinct "
        "frame is right. Frames that are right, and test problems that are solved.\n\n"
        + table(["", "seed", "updates", "frames right", "problems solved"], rows)
    )


def stands(claim: str, made: Sequence[Run]) -> list[str]:
    group = groups(made).get(claim)
    if not group:
        return ["the paper's own training: not run yet"]
    updates = ", ".join(f"{run.result['curve'][-1]['updates']:,}" for run in group)
    return [over_seeds(f"the paper's own training, after {updates} updates", reached(group))]


def claim_of(name: str) -> PaperClaim:
    return PaperClaim(
        name,
        f"{NAMES[name]}, trained as the paper says.",
        lambda made: stands(name, made),
        "the paper's number of updates is not known.",
        verdict=lambda made: None,
    )


EXPERIMENT = Experiment(
    "The paper's own training configuration",
    [claim_of(name) for name in CLAIMS],
    runs,
    measure,
    report,
    config={"train": asdict(PAPER)},
)
