"""Teaching: a trained model learns a task's new programs by new memory rows alone.

The core, the encoders and all old rows stay the same to the last byte. row_trainer.py trains the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from npi.errors import BadInput
from npi.language.program import Frame
from npi.language.task import Task, distinct_frames
from npi.network.model import NPI
from npi.progress import Progress, ProgressCallback, no_progress
from npi.training.dataset import FrameDataset
from npi.training.metrics import count_wrong_decisions
from npi.training.row_trainer import RowTrainer, TeachConfig, TeachingSet, add_rows

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


def teach_task(
    model: NPI,
    task: Task[Any, Any],
    rehearse: Sequence[Task[Any, Any]] = (),
    config: TeachConfig = TeachConfig(),
    seed: int = 0,
    progress: ProgressCallback = no_progress,
    counterexamples: Sequence[Frame] = (),
) -> TeachResult:
    """Train rows for a task's new programs, and return them in a new model, learned or not.

    A core that was trained without practice gets extra keys for the old programs that the new ones call. Without
    `rehearse`, old programs are masked from calling new ones, so they run as before whatever is taught. With old tasks
    to `rehearse`, nothing is masked; instead, the rows are also trained on those frames of these tasks that the model
    has right. `counterexamples` are more frames of the new programs, on which a proof failed.
    """
    new, frames = new_programs(model, task, seed)
    frames = list(dict.fromkeys([*frames, *counterexamples]))
    old = [(known.env.__name__, frame) for known in rehearse for frame in rehearsal_frames(model, known, seed)]
    teaching_set = TeachingSet(new, [*((task.env.__name__, frame) for frame in frames), *old])
    generation = max(model.generations) + (0 if rehearse else 1)
    trainer = RowTrainer(model, [teaching_set], config, seed, generation)
    (reached,) = trainer.evaluate([0], 0)
    for evaluations, (reached,) in enumerate(trainer.run(), 1):
        updates = min(evaluations * config.eval_every, config.updates)
        metrics = TeachMetrics(reached.frames, reached.wrong)
        progress(Progress(f"teaching {', '.join(new)}", updates, config.updates, metrics))
    taught = add_rows(model, new, reached, generation)
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
    rows, extra = len(before.programs), len(before.extra_keys)
    first_extra = len(after.programs)
    kept = {
        "embeddings": [*range(rows)],
        "keys": [*range(rows), *range(first_extra, first_extra + extra)],
    }
    changed = [
        name for name, tensor in old.items() if not _same(tensor, new[name][kept[name]] if name in kept else new[name])
    ]
    if (
        after.programs[:rows] != before.programs
        or after.generations[:rows] != before.generations
        or (after.extra_keys[:extra] != before.extra_keys)
    ):
        changed.append("the order of programs")
    if changed:
        raise NotFrozen(f"teaching changed what must stay the same: {', '.join(changed)}; nothing was written")


def _same(first: Tensor, second: Tensor) -> bool:
    return first.dtype == second.dtype and first.cpu().numpy().tobytes() == second.cpu().numpy().tobytes()
