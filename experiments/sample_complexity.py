"""Sorting arrays of 20 digits, learned from few examples: NPI from traces, a sequence-to-sequence LSTM from answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean
from typing import Any

from _figures import Line, Reach, draw_lines, styles_of
from _learners import (
    BASELINE_CONFIG,
    any_digits,
    learn_baseline,
    learn_npi,
    npi_task,
    score_baseline,
    score_npi,
    settings_of,
)
from _tables import accuracies, by, over_seeds, percent, table, with_seeds

from npi.evaluation.experiment import Experiment, PaperClaim, Verdict
from npi.evaluation.results import Run
from npi.training.config import FAST

LENGTH = 20
# For few examples. Chosen on seeds 0 to 4, by the accuracy with eight examples.
FROM_FEW = replace(FAST, weight_decay=1e4, updates_after_learned=1000, min_lr_ratio=0.3)
FIRST_SEED = 5  # the hyperparameters were chosen on seeds 0 to 4
NAMES = {
    "defaults": "NPI, loop, as `npi train`",
    "loop": "NPI, loop, trained for few",
    "recursive": "NPI, recursive, trained for few",
    "plain": "NPI, recursive, as `npi train`",
    "s2s": "seq2seq LSTM",
}

PAPER_REACHES = (  # what the paper says in words
    Reach("NPI: starts with 2, sorts almost perfectly with 8", end=8, start=2),
    Reach("seq2seq: starts with 64, sorts well with over 250", end=250, start=64),
)


def runs(quick: bool) -> list[dict[str, Any]]:
    baseline = {"learner": "s2s", **settings_of("s2s-sorting")}
    if quick:
        kinds = [{"learner": "plain"}, {**baseline, "updates": 20}]
        return with_seeds(1, ({**kind, "examples": 2, "problems": 5} for kind in kinds))
    kinds = [{"learner": "loop"}, {"learner": "recursive"}, {**baseline, "updates": 6000}]
    points = [{**kind, "examples": 2**power} for power in range(10) for kind in kinds]
    points += [{"learner": "plain", "examples": examples} for examples in (8, 64)]
    defaults = ({"learner": "defaults", "examples": examples, "problems": 200} for examples in (2, 4, 8))
    return [
        *with_seeds(5, ({**point, "problems": 200} for point in points), FIRST_SEED),
        *with_seeds(10, defaults),
    ]


def measure(
    device: str, learner: str, examples: int, seed: int, problems: int, updates: int = 0, **tuned: float
) -> dict[str, Any]:
    teacher = "loop" if learner in ("loop", "defaults") else "recursive"
    task = npi_task("sorting", teacher, [LENGTH], examples)
    task = replace(task, sample=any_digits)
    if learner == "s2s":
        network, baseline, accuracy = learn_baseline("s2s-sorting", task, seed, device, updates, **tuned)
        return {
            "scores": list(score_baseline(network, baseline, task, [LENGTH], problems)),
            "validation_accuracy": accuracy,
        }
    model, training = learn_npi(task, seed, FAST if learner in ("plain", "defaults") else FROM_FEW)
    return {"scores": list(score_npi(model, task, [LENGTH], problems)), **training}


def lines(made: Sequence[Run]) -> dict[str, dict[int, list[float]]]:
    """By learner and number of examples, the accuracy of each seed."""
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
        f"Correct answers on {made[0].settings['problems']} random test arrays of {LENGTH} digits, mean and range over "
        f"{seeds_made} seeds, by the number of training examples of that length. NPI trains with weight decay until "
        f"every frame of its traces is right, and then for {FROM_FEW.updates_after_learned} updates; these "
        "hyperparameters were selected on other seeds with eight examples, but on the same test arrays. One row uses "
        f"the defaults of `npi train`: {FAST.updates_after_learned} further updates and no weight decay. The LSTM "
        f"trains for {updates:,} updates; its weight decay and learning rate were selected on other seeds with 256 "
        "examples, and it keeps the weights that are best on validation "
        f"arrays.\n\n{table(['examples', *map(str, counts)], rows)}"
    )


def figure(made: Sequence[Run], path: Path) -> None:
    found = lines([run for run in made if run.settings["learner"] != "plain"])
    styles = styles_of(NAMES)
    drawn = [Line(name, found[name], styles[learner]) for learner, name in NAMES.items() if name in found]
    draw_lines(
        path,
        {f"Arrays of {LENGTH} digits": drawn},
        f"training examples of length {LENGTH}",
        ticks=sorted({count for points in found.values() for count in points}),
        reaches=PAPER_REACHES,
        note="Bands run from the lowest to the highest seed.",
    )


# The learners and numbers of examples that are reported: on the paper's terms, and with our own training for few.
ON_PAPER_TERMS = (("defaults", 2), ("defaults", 4), ("defaults", 8), ("s2s", 64), ("s2s", 256))
AT_BEST = tuple((name, count) for name in ("loop", "recursive") for count in (2, 4, 8))


def few_verdict(made: Sequence[Run]) -> Verdict | None:
    """Reproduced if NPI solves something with 2 examples and 95 % with 8, and the LSTM starts with 64."""
    of = by(made, lambda run: (run.settings["learner"], run.settings["examples"]))

    def solved(*kind: Any) -> float:
        return mean(accuracies(of[kind])[LENGTH]) if kind in of else 0.0

    if ("defaults", 8) not in of:
        return None
    npi = solved("defaults", 2) > 0 and solved("defaults", 8) >= 0.95
    lstm = solved("s2s", 32) < 0.02 < solved("s2s", 64) < 0.5 < solved("s2s", 256)
    return "reproduced" if npi and lstm else "not reproduced"


def with_few(made: Sequence[Run], wanted: Sequence[tuple[str, int]]) -> list[str]:
    of = by(made, lambda run: (run.settings["learner"], run.settings["examples"]))
    found: dict[str, dict[str, list[float]]] = {}
    for name, count in wanted:
        if (name, count) in of:
            found.setdefault(NAMES[name], {})[f"from {count}"] = accuracies(of[name, count])[LENGTH]
    return [over_seeds(name, shown) for name, shown in found.items()]


EXPERIMENT = Experiment(
    "Sample complexity",
    [
        PaperClaim(
            "C4",
            "At length 20, NPI starts to sort with 2 examples and is almost perfect with 8; the sequence-to-sequence "
            "LSTM starts with 64 and sorts well with over 250.",
            lambda made: with_few(made, ON_PAPER_TERMS),
            "loops with the defaults of `npi train`, which were not chosen for few examples.",
            why="the defaults were not chosen for few examples",
            paper="NPI starts with 2, almost perfect with 8; LSTM starts with 64, sorts well with over 250",
            verdict=few_verdict,
        ),
        PaperClaim(
            "C4",
            "The same with weight decay and longer training, which were chosen on other seeds.",
            lambda made: with_few(made, AT_BEST),
            "with recursive traces, which the paper does not use, eight examples are not enough. In two other seeds "
            "that we inspected, most errors were at the end of a sweep, where the network sees the greatest digit: in "
            "most arrays a 9, so a few examples may contain no 8 and no 7 there.",
        ),
    ],
    runs,
    measure,
    report,
    figure,
    config={"npi": asdict(FROM_FEW), "plain": asdict(FAST), "baselines": BASELINE_CONFIG},
)
