"""Memory for the backward pass: training on frames, and on a whole run as one flat sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from _figures import WIDTH, Line, legend_below, plot_lines, pyplot, save, set_length_axis
from _tables import by, table

from npi import tasks
from npi.evaluation.experiment import Experiment, PaperClaim, Verdict
from npi.evaluation.results import Run
from npi.language.program import Call, Frame
from npi.language.record import record
from npi.network.model import NPI, ModelConfig
from npi.training.dataset import FrameDataset, program_names
from npi.training.loss import decision_loss
from npi.training.metrics import batch_logits

NAMES = {
    "flat": "the run as one sequence",
    "loop": "longest frame, loop",
    "recursive": "longest frame, recursive",
}

PAPER_GROWTH = {NAMES["flat"]: 2, NAMES["loop"]: 1}  # the paper's powers of N, for the loops that it uses
GUIDE = {"color": "black", "linestyle": (0, (1, 2)), "linewidth": 1.3}


def runs(quick: bool) -> list[dict[str, Any]]:
    lengths = (3, 6) if quick else (5, 10, 20, 40, 80)
    return [{"what": what, "length": length, "seed": 0} for length in lengths for what in NAMES]


def measure(device: str, what: str, length: int, seed: int) -> dict[str, Any]:
    task = tasks.find("sorting", "loop" if what == "flat" else what)
    frames = record(task.env.of(task.sample(Random(seed), length)), task.main)
    programs = program_names((task.env.__name__, frame) for frame in frames)
    if what == "flat":
        frames = [Frame(Call(task.main.name), tuple(step for frame in frames for step in frame.steps))]
    longest = max(frames, key=lambda frame: len(frame.steps))
    torch.manual_seed(seed)
    model = NPI(ModelConfig.of([task.env]), programs)
    dataset = FrameDataset([(task.env.__name__, longest)], programs)
    return {"steps": len(longest.steps), "bytes": saved_bytes(model, dataset)}


def saved_bytes(model: NPI, dataset: FrameDataset) -> int:
    """The bytes that autograd saves for the backward pass, without the weights."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    saved: dict[int, int] = {}

    def save(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    def no_images(env: str, which: torch.Tensor) -> torch.Tensor:
        raise AssertionError(f"{env} has no images")

    batch = dataset.batch(np.arange(len(dataset)))
    with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
        loss = decision_loss(batch_logits(model, dataset, batch, no_images), batch).mean()
    loss.backward()
    return sum(saved.values())


def exponent(made: Sequence[Run]) -> float | None:
    """How the bytes grow with the length N between the two greatest lengths, as a power of N."""
    if len(made) < 2:
        return None
    small, large = sorted(made, key=lambda run: run.settings["length"])[-2:]
    ratio = large.settings["length"] / small.settings["length"]
    return math.log(large.result["bytes"] / small.result["bytes"]) / math.log(ratio)


def growth(made: Sequence[Run]) -> str:
    power = exponent(made)
    return "" if power is None else f"N^{power:.1f}"


def report(made: Sequence[Run]) -> str:
    groups = by(made, lambda run: run.settings["what"])
    lengths = sorted({run.settings["length"] for run in made})
    rows = []
    for what, name in NAMES.items():
        cells = {run.settings["length"]: run.result for run in groups.get(what, [])}
        line = [
            f"{cells[n]['steps']:,} steps, {cells[n]['bytes'] / 2**20:,.1f} MiB" if n in cells else "" for n in lengths
        ]
        rows.append([name, *line, growth(groups.get(what, []))])
    return (
        "Bubble sort of N digits: the steps of the longest training sequence, and the bytes that autograd saves for "
        "its backward pass through the paper's core (2 x 256). The last column is the growth between the two greatest "
        f"N.\n\n{table(['N', *map(str, lengths), 'growth'], rows)}"
    )


def figure(made: Sequence[Run], path: Path) -> None:
    from matplotlib.lines import Line2D

    groups = by(made, lambda run: run.settings["what"])
    lines = [
        Line(NAMES[what], {run.settings["length"]: [run.result["bytes"] / 2**20] for run in groups[what]}, style)
        for style, what in enumerate(NAMES)
        if what in groups
    ]
    figure, axes = pyplot().subplots(figsize=(WIDTH, 4), layout="constrained")
    handles = plot_lines(axes, lines, scale=1)
    # The paper's growth, from the first measured point of the line that it is about.
    for line in lines:
        power = PAPER_GROWTH.get(line.name)
        if power is not None:
            first, last = min(line.points), max(line.points)
            start = line.points[first][0]
            axes.plot([first, last], [start, start * (last / first) ** power], **GUIDE, zorder=5)
    handles.append(Line2D([], [], **GUIDE, label="paper: grows with N squared (flat), with N (frames)"))
    axes.set_yscale("log")
    set_length_axis(axes, sorted({run.settings["length"] for run in made}), base=2)
    axes.set_xlabel("length N of the array")
    axes.set_ylabel("MiB saved for the backward pass")
    legend_below(axes, handles)
    save(figure, path)


def growth_by_kind(made: Sequence[Run]) -> list[str]:
    groups = by(made, lambda run: run.settings["what"])
    return [f"{NAMES[what]}: {growth(group) or 'one length'}" for what, group in groups.items()]


def growth_verdict(made: Sequence[Run]) -> Verdict:
    """Reproduced if the run as one sequence grows with N squared, and the longest frame of a loop with N."""
    groups = by(made, lambda run: run.settings["what"])
    powers = [exponent(groups.get(what, [])) for what in ("flat", "loop")]
    close = [power is not None and abs(power - claimed) < 0.2 for power, claimed in zip(powers, (2, 1), strict=True)]
    return "reproduced" if all(close) else "not reproduced"


EXPERIMENT = Experiment(
    "Memory of training on frames",
    [
        PaperClaim(
            "C10",
            "Training on the frames of subprograms needs memory that grows with N for bubble sort; training on a flat "
            "trace needs memory that grows with N squared.",
            growth_by_kind,
            "the bytes that autograd saves for the backward pass through the paper's core, 2 x 256.",
            why="measured in bytes that autograd saves",
            paper="O(N) by subprograms, O(N^2) by a flat trace",
            verdict=growth_verdict,
        ),
    ],
    runs,
    measure,
    report,
    figure,
)
