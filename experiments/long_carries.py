"""Sums with one carry through all digits: NPI, and the baselines that do best on random sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import torch
from _figures import HOW_DRAWN, Line, draw_lines, styles_of, tested
from _learners import BASELINE_CONFIG, GIVE_UP_AFTER, learn_baseline, learn_npi, npi_task, settings_of
from _tables import accuracies, by, by_length, over_seeds, with_seeds

from npi.evaluation.baselines import BASELINES, correct
from npi.evaluation.experiment import Experiment, PaperClaim, Verdict
from npi.evaluation.flat_trace import FlatTraces, FlatTransformer, fit_flat
from npi.evaluation.results import Run
from npi.evaluation.score import EXTRA_STEPS, STEP_FACTOR, score_problems
from npi.language.memo import Memo
from npi.language.record import record
from npi.language.task import Task
from npi.language.trace import Limits, Trace
from npi.network.neural_decider import NeuralDecider
from npi.training.config import FAST

Problem = tuple[str, str]
NPI = ("loop", "recursive")
NAMES = {
    "loop": "NPI, loop",
    "recursive": "NPI, recursive",
    "s2s-easy": "s2s-easy",
    "transformer": "transformer",
    "transformer-abacus": "transformer, abacus positions",
    "flat": "transformer on flat traces",
}
# Examples of each training length: those of the paper for NPI and s2s-easy, and a hundred times as many for
# transformers, which learn nothing from 640. The transformer on flat traces has NPI's supervision, so NPI's examples.
EXAMPLES = {"s2s-easy": 64, "transformer": 3200, "transformer-abacus": 3200}
LENGTHS = (5, 10, 20, 30, 50, 100, 1000, 10_000)
FLAT = {"batch_size": 16, "learning_rate": 1e-3}
LONGEST_FLAT = 100  # beyond it a flat trace has thousands of steps, all of which the transformer keeps


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:
        few = {"examples": 8, "longest": 2, "lengths": [2, 3], "problems": 4}
        return with_seeds(1, [kind(learner, few) for learner in ("recursive", "s2s-easy", "flat")])
    rest = {"longest": 20, "lengths": list(LENGTHS), "problems": 20}
    seeds = {True: 10, False: 5}
    return [
        settings
        for learner in NAMES
        for settings in with_seeds(seeds[learner in NPI], [kind(learner, {**rest, "examples": examples(learner)})])
    ]


def examples(learner: str) -> int:
    return EXAMPLES.get(learner, 32)


def kind(learner: str, rest: dict[str, Any]) -> dict[str, Any]:
    """The settings of a learner. Quick runs train for few updates."""
    updates = 20 if rest["longest"] < 20 else 10_000
    if learner in NPI:
        return {"learner": learner, **rest}
    return {"learner": learner, **rest, "updates": updates, **(settings_of(learner) if learner in BASELINES else {})}


def carries(digits: int, count: int) -> list[Problem]:
    """Sums whose carry goes from the last digit through the first: 99...9 + 1, and pairs of digits that make nine."""
    rng = Random(f"carries {digits}")
    problems = [("9" * digits, "1")]
    while len(problems) < count:
        first = [rng.randint(1, 8), *(rng.randint(0, 9) for _ in range(digits - 1))]
        second = [9 - digit for digit in first]
        first[-1], second[-1] = rng.choice([(one, other) for one in range(1, 10) for other in range(10 - one, 10)])
        problems.append(("".join(map(str, first)), "".join(map(str, second))))
    return problems


def measure(
    device: str,
    learner: str,
    seed: int,
    examples: int,
    longest: int,
    lengths: list[int],
    problems: int,
    updates: int = 0,
    **tuned: float,
) -> dict[str, Any]:
    task = npi_task("addition", learner if learner in NPI else "loop", range(1, longest + 1), examples)
    if learner in NPI:
        model, training = learn_npi(task, seed)
        decider = Memo(NeuralDecider(model, task.env))
        scores = score(lambda sums: score_problems(task, decider, sums).answers, lengths, problems)
        return {"scores": list(scores), **training}
    if learner == "flat":
        network = learn_flat(task, seed, device, updates)
        shorter = [length for length in lengths if length <= LONGEST_FLAT]
        return {"scores": list(score(lambda sums: flat_solved(network, task, sums), shorter, problems))}
    network, baseline, accuracy = learn_baseline(learner, task, seed, device, updates, **tuned)

    def solved(sums: list[Problem]) -> int:
        return sum(correct(network, [baseline.layout(one) for one in sums], at_once=50))

    return {"scores": list(score(solved, lengths, problems)), "validation_accuracy": accuracy}


def score(solved: Callable[[list[Problem]], int], lengths: Sequence[int], count: int) -> Iterator[dict[str, int]]:
    """How many carries of each length are right; after GIVE_UP_AFTER lengths without one, it stops."""
    failed = 0
    for length in lengths:
        right = solved(carries(length, count))
        yield {"length": length, "problems": count, "correct": right}
        failed = 0 if right else failed + 1
        if failed == GIVE_UP_AFTER:
            return


def learn_flat(task: Task, seed: int, device: str, updates: int) -> FlatTransformer:
    traces = FlatTraces(task, list(task.training_problems(seed)))
    torch.manual_seed(seed)
    network = FlatTransformer(list(task.env.fields().values()), traces.decisions).to(device)
    for _ in fit_flat(network, traces, updates, FLAT["batch_size"], FLAT["learning_rate"], seed):
        pass
    return network.eval()


def flat_solved(network: FlatTransformer, task: Task, sums: Sequence[Problem]) -> int:
    """How many sums the transformer on flat traces computes, within the limits that NPI has too."""
    longest = max(len(Trace.of(record(task.env.of(one), task.main)).decisions) for one in sums)
    envs = [task.env.of(one) for one in sums]
    runs = network.run_batch(envs, task.call, Limits(steps=STEP_FACTOR * longest + EXTRA_STEPS))
    return sum(
        not trace.runaway and task.result(env) == task.answer(one)
        for one, env, trace in zip(sums, envs, runs, strict=True)
    )


def groups(made: Sequence[Run]) -> dict[str, list[Run]]:
    found = by(made, lambda run: run.settings["learner"])
    return {
        f"{name}, {found[learner][0].settings['longest'] * found[learner][0].settings['examples']:,} examples": found[
            learner
        ]
        for learner, name in NAMES.items()
        if learner in found
    }


def report(made: Sequence[Run]) -> str:
    settings = made[0].settings
    return (
        f"Trained on sums of 1 to {settings['longest']} digits, as in `addition_lengths`; tested on "
        f"{settings['problems']} sums of each length with one carry from the last digit through the first: 99...9 + 1, "
        "and sums of digits that make nine but for the last. None of them is a training example. The transformer on "
        "flat traces learns from NPI's observations and decisions, as one sequence; it is tested up to "
        f"{LONGEST_FLAT} digits. Correct answers, mean and range over the seeds. After two lengths without a correct "
        f"answer, longer sums were not tried and count as wrong.\n\n{by_length(groups(made))}"
    )


def figure(made: Sequence[Run], path: Path) -> None:
    styles = styles_of(NAMES)
    lines = [Line(name, tested(group), styles[group[0].settings["learner"]]) for name, group in groups(made).items()]
    draw_lines(
        path,
        {"One carry through all digits": lines},
        "digits of the longer number",
        ticks=LENGTHS,
        trained=max(run.settings["longest"] for run in made),
        note=HOW_DRAWN,
    )


def at_lengths(made: Sequence[Run]) -> list[str]:
    lines = []
    for name, group in groups(made).items():
        found = {f"at {length:,}": shares for length, shares in accuracies(group).items() if length >= 20}
        if found:
            lines.append(over_seeds(f"one long carry: {name}", found))
    return lines


def carries_verdict(made: Sequence[Run]) -> Verdict | None:
    """Reproduced if loops carry through every length."""
    loops = [run for run in made if run.settings["learner"] == "loop"]
    if not loops:
        return None
    right = all(share == 1 for shares in accuracies(loops).values() for share in shares)
    return "reproduced" if right else "not reproduced"


EXPERIMENT = Experiment(
    "Long carries",
    [
        PaperClaim(
            "C1",
            "NPI adds with one carry through all digits; the paper does not say how long its carries are.",
            at_lengths,
            verdict=carries_verdict,
        ),
    ],
    runs,
    measure,
    report,
    figure,
    config={"npi": asdict(FAST), "baselines": BASELINE_CONFIG, "flat": FLAT},
)
