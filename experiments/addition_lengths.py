"""Adding numbers longer than those of training: NPI, sequence-to-sequence LSTMs, and a transformer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _learners import judge_baseline, judge_npi, learn_baseline, learn_npi, npi_task
from _tables import by, by_length, draw_lines, pooled, reach, seeds, shares

from npi.baselines import BASELINES
from npi.experiment import Claim, Experiment, Run

NAMES = {
    "loop": "NPI, loop",
    "recursive": "NPI, recursive",
    "s2s-easy": "s2s-easy",
    "s2s-stacked": "s2s-stacked",
    "s2s-plain": "s2s, plain",
    "transformer": "transformer",
}
LENGTHS = (1, 2, 3, 5, 10, 15, 20, 25, 30, 50, 100, 200, 500, 1000, 2000, 3000, 10_000)
MORE = 100  # times as many examples, for those that need more


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:
        few = {"longest": 2, "updates": 20, "lengths": [1, 2], "problems": 4}
        return seeds(1, ({**learner(name), "examples": 8, **few} for name in NAMES if name != "loop"))
    rest = {"longest": 20, "updates": 10_000, "lengths": list(LENGTHS), "problems": 20}
    kinds = [{**learner(name), "examples": 64 if name == "s2s-easy" else 32, **rest} for name in NAMES]
    kinds += [{**learner(name), "examples": 32 * MORE, **rest} for name in ("s2s-stacked", "s2s-plain", "transformer")]
    return seeds(3, kinds)


def learner(name: str) -> dict[str, Any]:
    return {"learner": name, "rate": BASELINES[name].rate} if name in BASELINES else {"learner": name}


def measure(
    device: str,
    learner: str,
    seed: int,
    examples: int,
    longest: int,
    updates: int,
    lengths: list[int],
    problems: int,
    rate: float = 0.0,
) -> dict[str, Any]:
    known = learner in ("loop", "recursive")
    task = npi_task("addition", learner if known else "recursive", range(1, longest + 1), examples)
    if known:
        model, how = learn_npi(task, seed)
        return {"scores": list(judge_npi(model, task, lengths, problems)), **how}
    network, baseline, share = learn_baseline(learner, task, seed, device, updates, rate)
    scores = judge_baseline(network, baseline, task, lengths, 5 * problems, at_once=50)
    return {"scores": list(scores), "held_back": share}


def groups(made: Sequence[Run]) -> dict[str, list[Run]]:
    found = by(made, lambda run: (run.settings["learner"], run.settings["examples"]))
    order = sorted(found, key=lambda kind: (list(NAMES).index(kind[0]), kind[1]))
    longest = made[0].settings["longest"]
    return {f"{NAMES[kind[0]]}, {longest * kind[1]:,} examples": found[kind] for kind in order}


def report(made: Sequence[Run]) -> str:
    longest, problems = made[0].settings["longest"], made[0].settings["problems"]
    return (
        f"Trained on as many examples as said, as many of each length from 1 to {longest}. s2s-easy and s2s-stacked "
        "read both numbers at once, reversed, as the appendix lays them out; the transformer (4 layers of 128, "
        "rotary positions) reads and writes reversed digits. Right answers, mean and spread over the seeds, on sums "
        f"drawn apart (of one or two digits, many of them are among the examples): {problems} of each length for NPI, "
        f"{5 * problems} for the others. Where there was no right answer twice running, longer sums were not tried "
        f"and count as wrong.\n\n{by_length(groups(made))}"
    )


def figure(made: Sequence[Run], path: Path) -> None:
    """Of each learner, what it made of the most examples."""
    most = {run.settings["learner"]: run.settings["examples"] for run in made}
    for run in made:
        most[run.settings["learner"]] = max(most[run.settings["learner"]], run.settings["examples"])
    best = groups([run for run in made if run.settings["examples"] == most[run.settings["learner"]]])
    lines = {name: shares(group) for name, group in best.items()}
    ticks = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 3000, 10_000)
    draw_lines(path, lines, "digits of the longer number", trained=(20, "trained up to here"), ticks=ticks)


def long_sums(made: Sequence[Run]) -> list[str]:
    of = by(made, lambda run: run.settings["learner"])
    lengths = made[0].settings["lengths"][-2:]
    return [
        f"{NAMES[name]}, {length:,} digits: {pooled(of[name], length)}"
        for name in ("loop", "recursive")
        for length in lengths
        if name in of
    ]


def reached(made: Sequence[Run]) -> list[str]:
    others = [run for run in made if run.settings["learner"] in BASELINES]
    return [
        "the most digits up to which at least half of the sums are right:",
        *(f"{name}: {reach(runs)}" for name, runs in (groups(others) if others else {}).items()),
    ]


EXPERIMENT = Experiment(
    "Generalisation in addition",
    [
        Claim("C1", "From 640 examples NPI is right at every length tried, up to 3000 digits.", long_sums),
        Claim(
            "C2",
            "The plain sequence-to-sequence LSTM manages one or two digits and does not reach 20; s2s-easy with twice "
            "the examples reaches just over 2000; s2s-stacked barely gets beyond 5, with far more data.",
            reached,
        ),
    ],
    runs,
    measure,
    report,
    figure,
)
