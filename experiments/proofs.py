"""Ten seeds of five tasks, trained on the published number of traces: which are proved, at once or after repair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from _learners import PUBLISHED_TRACES, learn_until_proved, npi_task
from _tables import by, independent, table, with_seeds

from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run
from npi.training.config import FAST


def runs(quick: bool) -> list[dict[str, Any]]:
    kinds = [
        {"task": task, "sizes": list(sizes), "examples": examples}
        for task, (sizes, examples) in PUBLISHED_TRACES.items()
    ]
    return with_seeds(1, [kind for kind in kinds if kind["task"] == "bubblesort"]) if quick else with_seeds(10, kinds)


def measure(device: str, task: str, sizes: list[int], examples: int, seed: int) -> dict[str, Any]:
    _, attempts = learn_until_proved(npi_task(task, "recursive", sizes, examples), seed)
    return {
        "learned": bool(attempts),
        "proved": bool(attempts) and attempts[-1].proved,
        "repair_rounds": max(0, len(attempts) - 1),
        "histories": attempts[0].histories if attempts else 0,
        "failing": [len(attempt.wrong_nodes) + len(attempt.unsure_nodes) for attempt in attempts],  # by attempt
        "margin": attempts[-1].margin if attempts else 0.0,
    }


def by_task(made: Sequence[Run]) -> dict[str, list[Run]]:
    return by(made, lambda run: run.settings["task"])


def at_once(group: Sequence[Run]) -> int:
    return sum(run.result["proved"] and not run.result["repair_rounds"] for run in group)


def proved(group: Sequence[Run]) -> int:
    return sum(run.result["proved"] for run in group)


def rounds(group: Sequence[Run]) -> int:
    """The most repair rounds of a run that was proved."""
    return max((run.result["repair_rounds"] for run in group if run.result["proved"]), default=0)


def report(made: Sequence[Run]) -> str:
    rows = []
    for task, group in by_task(made).items():
        settings = group[0].settings
        first = sorted(run.result["failing"][0] for run in group if run.result["failing"])
        histories = max(run.result["histories"] for run in group)
        rows.append(
            [
                task,
                f"{len(settings['sizes']) * settings['examples']} of size {', '.join(map(str, settings['sizes']))}",
                independent(at_once(group), len(group)),
                independent(proved(group), len(group)),
                rounds(group),
                f"{first[0]:,} to {first[-1]:,} of {histories:,}" if first else "no traces learned",
                f"{min(run.result['margin'] for run in group):.2f}",
                f"{median(run.seconds for run in group):,.0f}",
            ]
        )
    head = [
        "",
        "traces",
        "proved at once",
        "proved after repair",
        "repair rounds, at most",
        "failing histories at first",
        "smallest margin",
        "seconds, median",
    ]
    return (
        "Each seed draws its own traces, as many as were published for a proof of the same program (Cai et al. 2017 "
        "and others), and trains on them. A proof then compares the network with its teacher after every reachable "
        "history. *At once* counts the first proof. *After repair* counts seeds proved in the end, by "
        "`npi train --until-verified`: it trains on the counterexamples of a failed proof and tries again. Half of the "
        "arrays that *sorting* draws have few distinct digits, as in `npi train`. Seconds include exploring, training, "
        f"and all proofs.\n\n{table(head, rows)}"
    )


def all_proved(made: Sequence[Run]) -> list[str]:
    lines = []
    for task, group in by_task(made).items():
        most = rounds(group)
        after = f", after at most {most} repair round{'s' * (most > 1)}" if most else ""
        lines.append(f"{task}: {at_once(group)} of {len(group)} proved at once, {proved(group)} in the end{after}")
    return lines


EXPERIMENT = Experiment(
    "Proofs over seeds",
    [
        Claim(
            "proofs",
            "From the published number of traces, training with repair ends with a proof for inputs of every size, "
            "for any seed.",
            all_proved,
        ),
    ],
    runs,
    measure,
    report,
    config={"npi": asdict(FAST)},
    page="benchmarks",
)
