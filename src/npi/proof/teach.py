"""Teaching as one call: teach a model new programs, and prove and repair them if `until_verified` asks for it.

It is in `proof/`, not in `training/`, because `until_verified` needs proofs. npi.training.teach trains the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from npi import tasks
from npi.errors import BadInput, NotLearned
from npi.files import check_writable
from npi.language.program import Frame
from npi.language.task import Task
from npi.network.checkpoint import holds_model, resolve_model, save_model
from npi.network.model import NPI
from npi.progress import Progress, ProgressCallback, no_progress, report_counts
from npi.proof.repair import Verifier
from npi.training.row_trainer import TeachConfig
from npi.training.teach import TeachResult, teach_task

REPAIR_ROUNDS = 10


def teach(
    task: Task[Any, Any] | str,
    model: NPI | str | Path | None = None,
    *,
    out: str | Path | None = None,
    rehearse: bool = False,
    teacher: str = "recursive",
    examples: int | None = None,
    updates: int | None = None,
    until_verified: bool = False,
    seed: int = 0,
    force: bool = False,
    device: str | torch.device = "auto",
    progress: ProgressCallback = no_progress,
) -> NPI:
    """Add a task's new programs to a trained model by memory rows; everything else stays the same to the last byte.

    task      a `Task`, the name of a built-in one, or "FILE.py:NAME"
    model     an `NPI`, a folder, or None for the model that comes with npi; it is not changed
    out       the folder to save the taught model to; None: it is not saved
    rehearse  by default, old programs cannot call new ones, so they run exactly as before. With `rehearse` they can,
              and the new rows are also trained on frames of the model's old tasks, to leave these as they are
    teacher   of built-in tasks: "loop", as in the paper, or "recursive"
    examples  how many problems of each size are demonstrated; by default the task's own number
    updates   give up after so many; 600 by default
    until_verified  prove what was taught, and teach again with the counterexamples until the proof succeeds, in at
              most REPAIR_ROUNDS rounds
    seed      determines the examples and the initial rows
    force     replace the model in `out`
    device    where to load the model, if it is not given as an `NPI`: "cpu", "cuda" or "auto"
    progress  called with a `Progress` after each evaluation (details: `TeachMetrics`), after each attempt at a proof
              (details: a `Comparison` for the task), and while tasks are prepared and explored

    Returns a new model; the last entry of its `training_info["taught"]` tells what was taught. Raises `NotLearned`, and
    saves nothing, if some frame is still wrong in the end, or if the proof fails in the end; and `BadInput` if the
    model cannot be taught the task.

    >>> import npi
    >>> model = npi.teach("maximum", examples=2, updates=100)
    >>> model.training_info["taught"][-1]["programs"]
    ['MAX', 'RJMP']
    >>> npi.run("maximum", [9, 2, 5], model).answer
    9
    """
    chosen = tasks.find_task(task, teacher)
    for name, number in (("examples", examples), ("updates", updates)):
        if number is not None and number < 1:
            raise BadInput(f"{name} is {number}, but must be at least 1")
    chosen = chosen if examples is None else replace(chosen, examples=examples)
    config = TeachConfig() if updates is None else replace(TeachConfig(), updates=updates)
    if out is not None:
        if holds_model(Path(out)) and not force:
            raise BadInput(f"{out} already holds a model: replace it with --force, or choose another folder")
        check_writable(Path(out))
    network = resolve_model(model, device)
    old = (
        [tasks.find(name, taught_by) for name, taught_by in network.tasks.items() if name in tasks.names()]
        if rehearse
        else []
    )
    if rehearse and len(old) < len(network.tasks):
        raise BadInput("rehearsing needs the old tasks, and some of this model's are not built in: teach without it")
    for needed in (chosen, *old):
        if needed.prepare is not None:
            report_counts(needed.prepare(), f"preparing {needed.name}", progress)
    verifier = Verifier([chosen], progress) if until_verified else None
    result, rounds = _teach_and_repair(network, chosen, old, config, seed, progress, verifier)
    entry = {
        "task": chosen.name,
        "teacher": chosen.teacher,
        "programs": list(result.programs),
        "seed": seed,
        "rehearsed": rehearse,
        "frames": result.frames,
        "updates": result.updates,
        "proved": until_verified,
        "repair_rounds": rounds,
    }
    taught = result.model
    taught.training_info = {**network.training_info, "taught": [*network.training_info.get("taught", []), entry]}
    if out is not None:
        save_model(taught, Path(out))
    return taught


def _teach_and_repair(
    model: NPI,
    task: Task[Any, Any],
    rehearse: Sequence[Task[Any, Any]],
    config: TeachConfig,
    seed: int,
    progress: ProgressCallback,
    verifier: Verifier | None,
) -> tuple[TeachResult, int]:
    """Teach a task, with a verifier until it is proved. Returns what was taught, and how many repair rounds it took."""
    counterexamples: dict[Frame, None] = {}
    repair_round = 0
    while True:
        result = teach_task(model, task, rehearse, config, seed, progress, list(counterexamples))
        if not result.learned:
            raise _not_learned(
                result,
                f"{result.wrong:,} of {result.frames:,} frames are still wrong after {config.updates:,} updates of the "
                f"rows of {', '.join(result.programs)}. With everything else frozen, rows can only combine what the "
                f"core can do already, and this may be more. Try another seed or more updates, or train a model with "
                f"this task or with more practice programs",
            )
        if verifier is None:
            return result, 0
        comparison = verifier.compare(result.model)[task.name]
        progress(Progress("proving", repair_round, REPAIR_ROUNDS, {task.name: comparison}))
        if comparison.proved:
            return result, repair_round
        nodes = [*comparison.wrong_nodes, *comparison.unsure_nodes]
        failing = [frame for _, frame in verifier.frames({task.name: nodes})]
        if old := sorted({frame.call.program for frame in failing} - {*result.programs}):
            raise _not_learned(
                result,
                f"the proof fails in {', '.join(old)}: {task.name} calls what the model knew before in states that it "
                f"was not trained in. Teaching changes no old program: train a model with this task",
            )
        if repair_round == REPAIR_ROUNDS:
            raise _not_learned(
                result,
                f"every frame was learned, but after {REPAIR_ROUNDS} repair rounds the proof still fails after "
                f"{len(failing):,} of {comparison.histories:,} histories. Try another seed or more examples",
            )
        counterexamples |= dict.fromkeys(failing)
        repair_round += 1


def _not_learned(result: TeachResult, why: str) -> NotLearned:
    message = f"{why}. Nothing was written"
    return NotLearned(message, result.programs, result.frames, result.wrong, result.updates)
