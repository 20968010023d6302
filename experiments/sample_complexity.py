"""Sorting arrays of 20 digits, learned from few examples: NPI from traces, a sequence-to-sequence LSTM from answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from _learners import (
    BASELINE_CONFIG,
    any_digits,
    judge_baseline,
    judge_npi,
    learn_baseline,
    learn_npi,
    npi_task,
    settings_of,
)
from _tables import by, draw_lines, over_seeds, percent, seeds, accuracies, table

from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run
from npi.training.config import FAST

LENGTH = 20
# better than FAST for loops, and for both teachers where there are four examples
FROM_FEW = replace(FAST, weight_decay=1e4, updates_after_learned=1000, min_lr_ratio=0.3)
FIRST = 5  # seed: the recipe was chosen on those before
NAMES = {
    "loop": "NPI, loop",
    "recursive": "NPI, recursive",
    "plain": "NPI, recursive, as `npi train`",
    "s2s": "seq2seq LSTM",
}


def runs(quick: bool) -> list[dict[str, Any]]:
    baseline = {"learner": "s2s", **settings_of("s2s-sorting")}
    if quick:
        kinds = [{"learner": "plain"}, {**baseline, "updates": 20}]
        return seeds(1, ({**kind, "examples": 2, "problems": 5} for kind in kinds))
    kinds = [{"learner": "loop"}, {"learner": "recursive"}, {**baseline, "updates": 6000}]
    points = [{**kind, "examples": 2**power} for power in range(10) for kind in kinds]
    points += [{"learner": "plain", "examples": examples} for examples in (8, 64)]
    return seeds(5, ({**point, "problems": 200} for point in points), FIRST)


def measure(
    device: str, learner: str, examples: int, seed: int, problems: int, updates: int = 0, **tuned: float
) -> dict[str, Any]:
    task = npi_task("sorting", "loop" if learner == "loop" else "recursive", [LENGTH], examples)
    task = replace(task, sample=any_digits)
    if learner == "s2s":
        network, baseline, accuracy = learn_baseline("s2s-sorting", task, seed, device, updates, **tuned)
        return {
            "scores": list(judge_baseline(network, baseline, task, [LENGTH], problems)),
            "validation_accuracy": accuracy,
        }
    model, how = learn_npi(task, seed, FAST if learner == "plain" else FROM_FEW)
    return {"scores": list(judge_npi(model, task, [LENGTH], problems)), **how}


def lines(made: Sequence[Run]) -> dict[str, dict[int, list[float]]]:
    groups = by(made, lambda run: (run.settings["learner"], run.settings["examples"]))
    found: dict[str, dict[int, list[float]]] = {}
    for (learner, examples), group in sorted(groups.items()):
        found.setdefault(NAMES[learner], {})[examples] = accuracies(group)[LENGTH]
    return found


def report(made: Sequence[Run]) -> str:
    found = lines(made)
    counts = sorted({count for points in found.values() for count in points})
    rows = [
        [name, *(percent(points[count]) if count in points else "" for count in counts)]
        for name, points in found.items()
    ]
    updates = max(run.settings.get("updates", 0) for run in made)
    seeds_made = len({run.settings["seed"] for run in made})
    return (
        f"Right answers on {made[0].settings['problems']} arrays of {LENGTH} random digits drawn apart, mean and "
        f"spread over {seeds_made} seeds, by the number of examples of that length. NPI trains until every frame of "
        f"its traces is right and for {FROM_FEW.updates_after_learned} updates more, with weight decay; this was "
        "chosen on other seeds by what it gave on eight examples, but on the same arrays. One row is trained as by "
        "`npi train`, for "
        f"{FAST.updates_after_learned} updates more and without. The LSTM trains for {updates:,} updates, also with "
        "weight decay, which was chosen like its rate at 256 examples, on other seeds; the weights are kept that do "
        "best on other "
        f"arrays.\n\n{table(['examples', *map(str, counts)], rows)}"
    )


def figure(made: Sequence[Run], path: Path) -> None:
    shown = [run for run in made if run.settings["learner"] != "plain"]
    draw_lines(path, lines(shown), f"examples of length {LENGTH}")


def with_few(made: Sequence[Run]) -> list[str]:
    of = by(made, lambda run: (run.settings["learner"], run.settings["examples"]))
    wanted = [(name, count) for name in ("loop", "recursive") for count in (2, 4, 8)] + [("s2s", 64), ("s2s", 256)]
    return [
        f"{NAMES[name]}, {count} examples: {over_seeds(of[name, count], LENGTH)}"
        for name, count in wanted
        if (name, count) in of
    ]


EXPERIMENT = Experiment(
    "Sample complexity",
    [
        Claim(
            "C4",
            "At length 20, NPI starts to sort with 2 examples and is almost perfect with 8; the sequence-to-sequence "
            "LSTM starts with 64 and sorts well with over 250.",
            with_few,
            "from recursive traces, which the paper does not have, eight examples are not enough. What failed, where "
            "it was looked at (two other seeds), was mostly the end of a sweep, a step by itself there, where the "
            "greatest digit is seen: in most arrays a 9, so that few examples may show no 8 and no 7.",
        ),
    ],
    runs,
    measure,
    report,
    figure,
    config={"npi": asdict(FROM_FEW), "plain": asdict(FAST), "baselines": BASELINE_CONFIG},
)
