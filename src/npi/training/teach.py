"""Teaching: a trained model learns a task's new programs by new memory rows alone.

The core, the encoders and all old rows stay the same to the last byte. row_trainer.py trains the rows.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from npi import tasks
from npi.errors import BadInput, NotLearned
from npi.files import check_writable
from npi.language.program import Frame
from npi.language.task import Task, distinct_frames
from npi.network.checkpoint import holds_model, resolve_model, save_model
from npi.network.model import NPI
from npi.progress import Progress, ProgressCallback, no_progress, report_counts
from npi.training.dataset import FrameDataset
from npi.training.metrics import count_wrong_decisions
from npi.training.row_trainer import RowTrainer, TeachConfig, TeachingSet

REHEARSED_EXAMPLES = 4  # problems of each size of an old task: few, but with every kind of frame


@dataclass(frozen=True)
class TeachMetrics:
    """The state of teaching after an evaluation: how many frames there are, and how many are wrong."""

    frames: int
    wrong: int
    evaluated: bool = True  # as in `Metrics` of training, which also reports updates without an evaluation


@dataclass(frozen=True)
class TeachResult:
    """The outcome of teaching a task: a new model with the new rows. The task is learned if no frame is wrong."""

    model: NPI
    programs: tuple[str, ...]
    wrong: int
    frames: int
    updates: int

    @property
    def learned(self) -> bool:
        return not self.wrong


def teach(
    task: Task[Any, Any] | str,
    model: NPI | str | Path | None = None,
    *,
    out: str | Path | None = None,
    rehearse: bool = False,
    teacher: str = "recursive",
    examples: int | None = None,
    updates: int | None = None,
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
    seed      determines the examples and the initial rows
    force     replace the model in `out`
    device    where to load the model, if it is not given as an `NPI`: "cpu", "cuda" or "auto"
    progress  called with a `Progress` after each evaluation (details: `TeachMetrics`), and while tasks are prepared

    Returns a new model; the last entry of its `training_info["taught"]` tells what was taught. Raises `NotLearned`, and
    saves nothing, if some frame is still wrong in the end; and `BadInput` if the model cannot be taught the task.

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
    result = teach_task(network, chosen, old, config, seed, progress)
    if not result.learned:
        raise NotLearned(
            f"{result.wrong:,} of {result.frames:,} frames are still wrong after {config.updates:,} updates of the "
            f"rows of {', '.join(result.programs)}. With everything else frozen, rows can only combine what the core "
            f"can do already, and this may be more. Try another seed or more updates, or train a model with this task "
            f"or with more practice programs. Nothing was written",
            result.programs,
            result.frames,
            result.wrong,
            config.updates,
        )
    entry = {
        "task": chosen.name,
        "teacher": chosen.teacher,
        "programs": list(result.programs),
        "seed": seed,
        "rehearsed": rehearse,
        "frames": result.frames,
        "updates": result.updates,
    }
    taught = result.model
    taught.training_info = {**network.training_info, "taught": [*network.training_info.get("taught", []), entry]}
    if out is not None:
        save_model(taught, Path(out))
    return taught


def teach_task(
    model: NPI,
    task: Task[Any, Any],
    rehearse: Sequence[Task[Any, Any]] = (),
    config: TeachConfig = TeachConfig(),
    seed: int = 0,
    progress: ProgressCallback = no_progress,
) -> TeachResult:
    """Train rows for a task's new programs, and return them in a new model, learned or not.

    Without `rehearse`, old programs are masked from calling new ones, so they run as before whatever is taught. With
    old tasks to `rehearse`, nothing is masked; instead, the rows are also trained on those frames of these tasks that
    the model has right.
    """
    new, frames = new_programs(model, task, seed)
    old = [(known.env.__name__, frame) for known in rehearse for frame in rehearsal_frames(model, known, seed)]
    teaching_set = TeachingSet(new, [*((task.env.__name__, frame) for frame in frames), *old])
    generation = max(model.generations) + (0 if rehearse else 1)
    trainer = RowTrainer(model, [teaching_set], config, seed, generation)
    (reached,) = trainer.evaluate([0], 0)
    for evaluations, (reached,) in enumerate(trainer.run(), 1):
        updates = min(evaluations * config.eval_every, config.updates)
        metrics = TeachMetrics(reached.frames, reached.wrong)
        progress(Progress(f"teaching {', '.join(new)}", updates, config.updates, metrics))
    taught = copy.deepcopy(model)
    for name, key, embedding in zip(new, *reached.rows, strict=False):
        taught.add_program(name, key, embedding, generation)
    taught.tasks = {**model.tasks, task.name: task.teacher}
    check_frozen(model, taught)
    return TeachResult(taught.eval(), new, reached.wrong, reached.frames, reached.updates)


def new_programs(model: NPI, task: Task[Any, Any], seed: int = 0) -> tuple[tuple[str, ...], list[Frame]]:
    """The programs of a task that a model does not know, and their frames; raise BadInput if it cannot learn them."""
    env = task.env.__name__
    if env not in model.config.fields:
        raise BadInput(
            f"the model cannot be taught {task.name}: it has no encoder for {env}, only for "
            f"{', '.join(model.config.fields)}. Teaching adds programs, not encoders: train a model that has one with: "
            f"npi train {task.name} --out DIR"
        )
    if missing := [known.name for known in task.builds_on if known.name not in model.programs]:
        raise BadInput(
            f"{task.name} calls {', '.join(missing)}, which the model does not know; it knows "
            f"{', '.join(model.programs)}. Train a model that does"
        )
    recorded = distinct_frames(task, task.training_problems(seed))
    new = tuple(dict.fromkeys(f.call.program for f in recorded if f.call.program not in model.programs))
    if task.main.name not in new:
        raise BadInput(f"the model has a program {task.main.name} already: run it, or give the new one another name")
    return new, [frame for frame in recorded if frame.call.program in new]


def rehearsal_frames(model: NPI, task: Task[Any, Any], seed: int) -> list[Frame]:
    """The frames of a task that a model has right. The new rows cannot correct the others."""
    few = replace(task, examples=REHEARSED_EXAMPLES)
    frames = [
        frame for frame in distinct_frames(few, few.training_problems(seed)) if frame.call.program in model.programs
    ]
    if not frames:
        return []
    dataset = FrameDataset([(task.env.__name__, frame) for frame in frames], model.programs, model.keys.device)
    _, wrong = count_wrong_decisions(model, dataset, np.ones(len(frames), dtype=bool))
    return [frame for frame, mistakes in zip(frames, wrong, strict=True) if not mistakes]


class NotFrozen(AssertionError):
    """Teaching changed something that must stay the same."""


def check_frozen(before: NPI, after: NPI) -> None:
    """Raise NotFrozen unless every tensor, and every old memory row, is the same to the last byte."""
    old, new = before.state_dict(), after.state_dict()
    rows = len(before.programs)
    changed = [
        name
        for name, tensor in old.items()
        if not _same(tensor, new[name][:rows] if name in ("keys", "embeddings") else new[name])
    ]
    if after.programs[:rows] != before.programs or after.generations[:rows] != before.generations:
        changed.append("the order of programs")
    if changed:
        raise NotFrozen(f"teaching changed what must stay the same: {', '.join(changed)}; nothing was written")


def _same(first: Tensor, second: Tensor) -> bool:
    return first.dtype == second.dtype and first.cpu().numpy().tobytes() == second.cpu().numpy().tobytes()
