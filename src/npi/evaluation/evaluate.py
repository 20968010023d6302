"""How often a learned program is right, by size of problem: the function behind `npi.evaluate` and `npi evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal

import torch

from npi.errors import BadInput
from npi.evaluation.score import Score, score_frames, score_sizes
from npi.language.memo import Memo
from npi.language.task import Task
from npi.network.checkpoint import resolve_model
from npi.network.learned_task import learned_task
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.progress import Progress, ProgressCallback, no_progress
from npi.training.metrics import matches_teacher

DEFAULT_SIZES = (10, 100)
SMALL_SIZES = (1, 2, 4, 8, 16)  # for tasks without problems of the default sizes, such as cars


def evaluate(
    task: Task[Any, Any] | str,
    model: NPI | str | Path | None = None,
    *,
    sizes: Sequence[int] | None = None,
    problems: int = 100,
    seed: int = 0,
    engine: Literal["memo", "neural", "frames"] = "memo",
    device: str | torch.device = "auto",
    progress: ProgressCallback = no_progress,
) -> list[Score]:
    """Measure how often a learned program is right, by size of problem, corner cases included.

    task      a `Task`, the name of a built-in one, or "FILE.py:NAME"
    model     an NPI, the folder of a trained model, or None for the model that comes with npi
    sizes     sizes of problems; by default 10 and 100 or, for tasks without problems of these sizes, those of 1, 2, 4,
              8 and 16 that are training sizes of the task
    problems  how many problems of each size
    seed      chooses the problems
    engine    "neural" queries the network at every step; "memo" only once for each distinct history (a call and the
              observations of its frame so far), with the same result.
              "frames" compares all decisions of the teacher's run in one forward pass, which is quick for long loops,
              and counts an answer as correct if the trace equals the teacher's
    device    where to load the model, if it is not given as an `NPI`: "cpu", "cuda" or "auto"
    progress  called after each size, with its Score as details

    Returns one Score for each size: correct answers, traces equal to the teacher's, and their 95 % intervals.

    >>> import npi
    >>> [score] = npi.evaluate("addition", sizes=[10], problems=20)
    >>> score.answers, score.problems
    (20, 20)
    """
    for name, value in {"problems": problems, **{f"sizes ({size})": size for size in sizes or ()}}.items():
        if value < 1:
            raise BadInput(f"{name} is {value}, but must be at least 1")
    network = resolve_model(model, device)
    known = learned_task(task, network)
    sizes = default_sizes(known) if sizes is None else sizes
    if engine == "frames":
        scores = score_frames(known, lambda problem: matches_teacher(network, known, problem), sizes, problems, seed)
    else:
        neural = NeuralDecider(network, known.env)
        scores = score_sizes(known, Memo(neural) if engine == "memo" else neural, sizes, problems, seed)
    measured: list[Score] = []
    for score in scores:
        measured.append(score)
        progress(Progress(f"evaluating {known.name}", len(measured), len(sizes), score))
    return measured


def default_sizes(task: Task[Any, Any]) -> tuple[int, ...]:
    """The sizes that `evaluate` measures by default."""
    try:
        for size in DEFAULT_SIZES:
            (task.sample_test or task.sample)(Random(0), size)
    except BadInput:  # there are no problems of this size
        return tuple(size for size in SMALL_SIZES if size in task.sizes)
    return DEFAULT_SIZES
