"""Speed on two cores: commands, running, training, proofs, teaching and compiled programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from _learners import shipped
from _tables import table

from npi.evaluation import speed
from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run
from npi.evaluation.speed import Measurement
from npi.training.config import FAST

THREADS = 2  # the targets are for two cores
HEADINGS = {
    "startup": "Commands, median of five",
    "rates": "Running and training",
    "learning": "Learning from scratch, seed 0",
    "proofs": "Proving the shipped model, median of three",
    "teaching": "Teaching the shipped model",
    "compiled": "Compiled programs",
}


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:
        return [{"part": "startup", "threads": THREADS}]
    parts: list[dict[str, Any]] = [
        {"part": "startup"},
        {"part": "rates"},
        *(
            {"part": "learning", "task": task, "teacher": teacher}
            for task in ("addition", "sorting")
            for teacher in ("loop", "recursive")
        ),
        {"part": "proofs"},
        {"part": "teaching"},
        {"part": "compiled"},
    ]
    return [{**part, "threads": THREADS} for part in parts]


def measure(device: str, part: str, threads: int, **settings: Any) -> dict[str, Any]:
    import torch

    torch.set_num_threads(threads)
    return {"measurements": [asdict(found) for found in speed.PARTS[part](**settings)]}


def measurements(run: Run) -> list[Measurement]:
    return [Measurement(**found) for found in run.result["measurements"]]


def report(made: Sequence[Run]) -> str:
    rows: list[list[str]] = []
    for part, heading in HEADINGS.items():
        found = [one for run in made if run.settings["part"] == part for one in measurements(run)]
        if found:
            rows.append([f"**{heading}**", "", "", ""])
        marks = {True: "met", False: "missed", None: ""}
        rows += [[one.what, one.value_text, one.target_text, marks[one.met]] for one in found]
    return (
        f"CPU only, {THREADS} threads; one run each. Rates vary with the machine and with its other load, so they "
        "are also given as ratios: to the bare core, which is the model's forward pass on random input, and to a plain "
        "implementation, which handles one frame at a time. `npi bench` measures the first parts on your machine.\n\n"
        + table(["what", "measured", "target", ""], rows)
    )


def targets(made: Sequence[Run]) -> list[str]:
    bound = [one for run in made for one in measurements(run) if one.target is not None]
    missed = [f"{one.what}: {one.value_text}, target {one.target_text}" for one in bound if not one.met]
    return [f"{len(bound) - len(missed)} of {len(bound)} targets met", *missed]


EXPERIMENT = Experiment(
    "Speed",
    [Claim("speed", "Commands, running, training, proofs and teaching keep to the targets below.", targets)],
    runs,
    measure,
    report,
    config={**shipped(), "npi": asdict(FAST)},
    page="benchmarks",
)
