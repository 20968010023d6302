"""Sorting arrays longer than those of training: NPI and a sequence-to-sequence LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean
from typing import Any

from _figures import HOW_DRAWN, Line, Reach, draw_lines, styles_of, tested
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
from _tables import accuracies, by, by_length, over_seeds, test_counts, with_seeds

from npi.evaluation.experiment import Experiment, PaperClaim, Verdict
from npi.evaluation.results import Run
from npi.training.config import FAST

NAMES = {"loop": "NPI, loop", "recursive": "NPI, recursive", "s2s": "seq2seq LSTM"}
LONGEST_LOOP = 100  # a loop takes N^2 steps
RUN_UP_TO = 60  # longer loops are slow to run: they are tested on the frames of the teacher's run
LENGTHS = (2, 5, 10, 15, 20, 22, 25, 30, 40, 60, 100, 200)

PAPER_REACHES = (  # what the paper says in words
    Reach("NPI: sorts up to 60, then sweeps go wrong", 60),
    Reach("seq2seq LSTM: fails beyond 25", 25),
)


def runs(quick: bool) -> list[dict[str, Any]]:
    baseline = {"learner": "s2s", **settings_of("s2s-sorting")}
    if quick:
        kinds = [{"learner": "recursive"}, {**baseline, "updates": 20}]
        few = {"examples": 4, "longest": 3, "lengths": [2, 3], "problems": 4}
        return with_seeds(1, ({**kind, **few} for kind in kinds))
    rest = {"examples": 64, "longest": 20}
    loop = {"learner": "loop", "problems": 20, "digits": "any", "lengths": [n for n in LENGTHS if n <= LONGEST_LOOP]}
    lstm = {**baseline, "updates": 10_000, "problems": 200, "lengths": list(LENGTHS)}
    return [*with_seeds(10, [{**loop, **rest}]), *with_seeds(3, [{**lstm, **rest}])]


def measure(
    device: str,
    learner: str,
    seed: int,
    examples: int,
    longest: int,
    lengths: list[int],
    problems: int,
    updates: int = 0,
    digits: str = "few",
    **tuned: float,
) -> dict[str, Any]:
    sizes = range(2, longest + 1)
    task = npi_task("sorting", "recursive" if learner == "s2s" else learner, sizes, examples)
    if digits == "any":
        task = replace(task, sample=any_digits)
    if learner == "s2s":
        network, baseline, accuracy = learn_baseline("s2s-sorting", task, seed, device, updates, **tuned)
        return {
            "scores": list(score_baseline(network, baseline, task, lengths, problems)),
            "validation_accuracy": accuracy,
        }
    model, training = learn_npi(task, seed)
    run_up_to = RUN_UP_TO if learner == "loop" else None
    return {"scores": list(score_npi(model, task, lengths, problems, run_up_to)), **training}


def groups(made: Sequence[Run]) -> dict[str, list[Run]]:
    found = by(made, lambda run: run.settings["learner"])
    return {name: found[learner] for learner, name in NAMES.items() if learner in found}


def report(made: Sequence[Run]) -> str:
    settings = made[0].settings
    return (
        f"Trained on {settings['examples']} examples of each length from 2 to {settings['longest']}. NPI's arrays are "
        "uniformly random, as in the paper; half of the LSTM's have at most four distinct digits. Correct answers, "
        "mean and range over the seeds, "
        f"on random test arrays: {test_counts(made)}. Many test arrays of two or three digits are also training "
        f"examples. Past length {RUN_UP_TO}, a loop counts as correct if its trace equals the teacher's. After two "
        f"lengths without a correct answer, the LSTM was not tested further; longer arrays count as "
        f"wrong.\n\n{by_length(groups(made))}"
    )


def figure(made: Sequence[Run], path: Path) -> None:
    styles = styles_of(NAMES)
    lines = [Line(name, tested(group), styles[group[0].settings["learner"]]) for name, group in groups(made).items()]
    settings = made[0].settings
    draw_lines(
        path,
        {f"Trained on {settings['examples']} examples of each length from 2 to {settings['longest']}": lines},
        "length of the array",
        ticks=(2, 5, 10, 20, 25, 40, 60, 100, 200),
        trained=settings["longest"],
        reaches=PAPER_REACHES,
        note=HOW_DRAWN,
    )


def accuracy_at_claimed_lengths(made: Sequence[Run]) -> list[str]:
    lines = []
    for learner, wanted in (("loop", (20, 60, 100)), ("s2s", (20, 25, 30, 60))):
        found = accuracies([run for run in made if run.settings["learner"] == learner])
        if shown := {f"at {length}": found[length] for length in wanted if length in found}:
            lines.append(over_seeds(NAMES[learner], shown))
    return lines


def sorting_verdict(made: Sequence[Run]) -> Verdict | None:
    """Reproduced if loops are nearly always right up to 60; better if they are well past it."""
    found = accuracies([run for run in made if run.settings["learner"] == "loop"])
    if not found:
        return None
    if min(mean(found[length]) for length in found if length <= 60) < 0.95:
        return "not reproduced"
    return "better" if mean(found[max(found)]) >= 0.95 and max(found) > 60 else "reproduced"


EXPERIMENT = Experiment(
    "Strong and weak generalisation in sorting",
    [
        PaperClaim(
            "C3",
            "From the same 1,216 examples NPI sorts up to length 60, where sweeps start to take the wrong number of "
            "steps; the sequence-to-sequence LSTM fails beyond 25.",
            accuracy_at_claimed_lengths,
            "our NPI's sweeps take the right number of steps well past 60. We have not tested why; it trains until "
            "every frame of its traces is right, and keeps an exponential moving average of the weights. The LSTM's "
            "arrays have few distinct digits in one case of two, NPI's are uniformly random.",
            why="we train until every frame is right",
            paper="NPI to length 60; LSTM fails beyond 25",
            verdict=sorting_verdict,
        ),
    ],
    runs,
    measure,
    report,
    figure,
    config={"npi": asdict(FAST), "baselines": BASELINE_CONFIG},
)
