"""Training as one call: record the teachers, train, save, and prove and repair if `until_verified` asks for it.

It is in `proof/`, not in `training/`, because `until_verified` needs proofs. The training loop is npi.training.trainer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from npi import tasks as built_in
from npi.errors import BadInput
from npi.files import check_writable
from npi.language.task import Task
from npi.network.checkpoint import holds_model, resolve_device
from npi.network.model import NPI
from npi.progress import Progress, ProgressCallback, no_progress, report_counts
from npi.proof.repair import Verifier, train_until_verified
from npi.training import resume as resuming
from npi.training.config import CONFIGS, TrainConfig
from npi.training.interrupts import collect_interrupts
from npi.training.practice_program import Rollout
from npi.training.program_sampler import make_rollouts
from npi.training.trainer import Trainer, make_trainer

SAVE_EVERY = 30  # seconds between two saves of a running training


def train(
    tasks: Task[Any, Any] | str | Sequence[Task[Any, Any] | str],
    *,
    out: str | Path | None = None,
    teacher: str = "recursive",
    config: TrainConfig | str | None = None,
    seed: int | None = None,
    sizes: Sequence[int] | None = None,
    examples: int | None = None,
    updates: int | None = None,
    practice_rollouts: int | None = None,
    until_verified: bool = False,
    resume: bool = False,
    force: bool = False,
    device: str | torch.device = "auto",
    progress: ProgressCallback = no_progress,
) -> NPI:
    """Train a new model on one task or several, all in one network.

    tasks              `Task`s, names of built-in ones, or "FILE.py:NAME"
    out                the folder to save to, about every half minute and at the end; None: nothing is saved
    teacher            of built-in tasks: "loop", as in the paper, or "recursive", whose programs can be proved
    config             a `TrainConfig`, or "fast", "images", "practice" or "paper"; by default "practice" with
                       `practice_rollouts`, "images" for tasks that show images, and "fast" for others
    seed               determines the training problems, the initial weights and the batches; 0 by default
    sizes, examples    the problem sizes to train on, and how many problems of each; by default the tasks' own
    updates            stop after this many, learned or not; by default the configuration's
    practice_rollouts  also train on practice programs, from this many rollouts of each task: this makes the model
                       teachable (see `teach`)
    until_verified     try to prove what was learned, and retrain on the counterexamples until the proof succeeds, in at
                       most the configuration's `repair_rounds`
    resume             continue the run saved in `out`, with its configuration and seed, to the same bits
    force              replace the model in `out`
    device             "cpu", "cuda", or "auto"
    progress           called with a `Progress` after each update (details: `Metrics`), after each attempt at a proof
                       (details: a `Comparison` for each task), and while tasks are prepared and explored

    The model's `training_info["learned"]` says whether every frame was right in the end. An interrupt lets the running
    update finish, saves to `out`, and then raises KeyboardInterrupt.

    >>> import npi
    >>> model = npi.train("bubblesort", sizes=[2, 3], examples=20)
    >>> model.training_info["learned"]
    True
    >>> npi.run("bubblesort", ("pear", "fig", "apple"), model).answer
    ['apple', 'fig', 'pear']
    """
    chosen = _choose_tasks(tasks, teacher, sizes, examples)
    folder = None if out is None else Path(out)
    settings = _settings(config, chosen, practice_rollouts)
    if resume:
        settings, seed, repairing = _saved_settings(folder, chosen, config, seed, practice_rollouts, force)
        until_verified = until_verified or repairing
    elif folder is not None and holds_model(folder) and not force:
        raise BadInput(
            f"{folder} already holds a model: continue its training with --resume, replace it with --force, or choose "
            f"another folder"
        )
    if folder is not None:
        check_writable(folder)
    given = {"updates": updates, "practice_rollouts": practice_rollouts}
    settings = replace(settings, **{key: value for key, value in given.items() if value is not None})
    verifier = Verifier(chosen, progress) if until_verified else None
    trainer = _make_trainer(chosen, settings, seed or 0, device, progress)
    if resume and folder is not None:
        resuming.restore_training(trainer, folder)
        if verifier is not None and trainer.repair_round:
            trainer.set_repair_frames(verifier.frames(trainer.failing_histories))
        _check_updates_left(trainer, verifier, folder)
    elif folder is not None:
        resuming.save_training(trainer, folder)  # fails now, not at the end, if the folder cannot be written to
    _run(trainer, verifier, folder, progress)
    trainer.ema_model.training_info = resuming.training_info(trainer)
    return trainer.ema_model.eval()


def _run(trainer: Trainer, verifier: Verifier | None, folder: Path | None, progress: ProgressCallback) -> None:
    saved = time.monotonic()
    with collect_interrupts() as interrupts:
        for event in trainer.run() if verifier is None else train_until_verified(trainer, verifier):
            if isinstance(event, dict):
                progress(Progress("proving", trainer.repair_round, trainer.config.repair_rounds, event))
            else:
                progress(Progress("training", event.update, trainer.config.updates, event))
            if interrupts:
                break
            if folder is not None and time.monotonic() - saved > SAVE_EVERY:
                resuming.save_training(trainer, folder)
                saved = time.monotonic()
    if folder is not None:
        resuming.save_training(trainer, folder)
    if interrupts:
        raise KeyboardInterrupt


def _choose_tasks(
    tasks: Task[Any, Any] | str | Sequence[Task[Any, Any] | str],
    teacher: str,
    sizes: Sequence[int] | None,
    examples: int | None,
) -> list[Task[Any, Any]]:
    given = [tasks] if isinstance(tasks, Task | str) else list(dict.fromkeys(tasks))
    if not given:
        raise BadInput(f"name at least one task to train: {', '.join(built_in.names())}")
    chosen = [built_in.find_task(task, teacher) for task in given]
    envs: dict[str, type] = {}
    for index, task in enumerate(chosen):
        if task.name in {other.name for other in chosen[:index]}:
            raise BadInput(f"two tasks are named {task.name}: rename one of them")
        if envs.setdefault(task.env.__name__, task.env) is not task.env:
            raise BadInput(f"two environments are named {task.env.__name__}: rename one of them")
    if sizes:
        chosen = [replace(task, sizes=tuple(sizes)) for task in chosen]
    if examples is not None:
        chosen = [replace(task, examples=examples) for task in chosen]
    return chosen


def _settings(
    config: TrainConfig | str | None, chosen: Iterable[Task[Any, Any]], practice_rollouts: int | None
) -> TrainConfig:
    if isinstance(config, TrainConfig):
        return config
    if config is None:
        default = "images" if any(task.env.shows_image() for task in chosen) else "fast"
        config = default if practice_rollouts is None else "practice"
    if config not in CONFIGS:
        raise BadInput(f"there is no configuration {config!r}: choose one of {', '.join(CONFIGS)}")
    return CONFIGS[config]


def _saved_settings(
    folder: Path | None,
    chosen: Iterable[Task[Any, Any]],
    config: TrainConfig | str | None,
    seed: int | None,
    practice_rollouts: int | None,
    force: bool,
) -> tuple[TrainConfig, int, bool]:
    """The configuration and seed of the run to resume, and whether it is in a repair round."""
    if folder is None:
        raise BadInput("there is nothing to resume: give the folder of the run as `out`")
    if force:
        raise BadInput("--resume continues the run that is there and --force replaces it: give one of them")
    facts = resuming.read_facts(folder)
    if facts["tasks"] != {task.name: task.teacher for task in chosen}:
        trained = ", ".join(f"{name} ({how})" for name, how in facts["tasks"].items())
        raise BadInput(f"the training run in {folder} is of {trained}; resume it with these tasks and this teacher")
    saved = resuming.saved_config(facts)
    wanted = None
    if config is not None:
        # These two may have been given beside the configuration when the run began.
        wanted = replace(
            _settings(config, chosen, None), updates=saved.updates, practice_rollouts=saved.practice_rollouts
        )
    for option, given, stored in (
        ("--seed", seed, facts["seed"]),
        ("--config", wanted, saved),
        ("--practice", practice_rollouts, saved.practice_rollouts),
    ):
        if given is not None and given != stored:
            raise BadInput(f"the training run in {folder} began with another {option}: leave it out to resume")
    return saved, facts["seed"], bool(facts["repair_round"])


def _check_updates_left(trainer: Trainer, verifier: Verifier | None, folder: Path) -> None:
    config = trainer.config
    can_prove = verifier is not None and trainer.learned
    if trainer.updates >= config.updates and not (trainer.converged or trainer.repair_round or can_prove):
        raise BadInput(
            f"the training run in {folder} has made {trainer.updates:,} updates and was to stop at {config.updates:,}: "
            f"give more, such as --updates {2 * trainer.updates}"
        )


def _make_trainer(
    chosen: list[Task[Any, Any]],
    config: TrainConfig,
    seed: int,
    device: str | torch.device,
    progress: ProgressCallback,
) -> Trainer:
    for task in chosen:
        if task.prepare is not None:
            report_counts(task.prepare(), f"preparing {task.name}", progress)
    rollouts: list[Rollout] = []

    def collect() -> Iterator[tuple[int, int]]:
        for rollout in make_rollouts(chosen, config.practice_rollouts, seed, os.cpu_count() or 1):
            rollouts.append(rollout)
            yield len(rollouts), config.practice_rollouts * len(chosen)

    report_counts(collect(), "recording rollouts for practice", progress)
    progress(Progress(f"recording {', '.join(task.name for task in chosen)}", 0))
    trainer = make_trainer(chosen, config, seed, resolve_device(device), rollouts)
    progress(Progress("recorded", len(trainer.dataset), details=trainer))
    return trainer
