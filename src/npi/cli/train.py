"""npi train"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from npi import tasks
from npi.cli.arguments import Device, TaskName, Teacher, device_named, find, positive, prepared
from npi.cli.output import print_json
from npi.errors import BadInput
from npi.files import check_writable
from npi.language.task import Task

if TYPE_CHECKING:
    from npi.proof.compare import Comparison
    from npi.proof.repair import Prover
    from npi.training.trainer import Trainer


def train(
    names: Positional[tuple[TaskName, ...]],
    *,
    out: Annotated[Path, arg(metavar="DIR")],
    teacher: Teacher = "recursive",
    config: Annotated[
        Literal["fast", "images", "practice", "paper"] | None,
        arg(help_behavior_hint="(default: fast, or images for cars, or practice if there is any)"),
    ] = None,
    seed: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: 0)")] = None,
    examples: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: the task's own)")] = None,
    sizes: Annotated[tuple[int, ...], arg(metavar="N", help_behavior_hint="(default: the task's own)")] = (),
    updates: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: the configuration's)")] = None,
    practice: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: none)")] = None,
    until_verified: bool = False,
    resume: bool = False,
    force: bool = False,
    tensorboard: bool = False,
    device: Device = "auto",
    threads: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: torch's choice)")] = None,
    json: bool = False,
) -> int:
    """Teach a new model one or more tasks: npi train addition sorting --out DIR.

    Args:
        names: The tasks to learn, all in one network; built in, or in files of yours such as mine.py:task.
        out: The folder to write the model to.
        teacher: loop demonstrates as the paper does; recursive turns each loop into a program that calls itself.
        config: How to train; paper has the values of the paper, and takes hours.
        seed: Chooses the examples, the first weights and the batches.
        examples: How many problems of each size are demonstrated.
        sizes: Problems of which sizes are demonstrated: digits of the longer number, elements of the array.
        updates: Give up after so many updates.
        practice: Practise random programs too, on so many walks through each environment; then new ones can be taught.
        until_verified: Try to prove what was learned; learn what a proof finds wrong too, until it finds nothing.
        resume: Go on with the training run in DIR, with its configuration and seed.
        force: Replace the model in DIR.
        tensorboard: Write logs for TensorBoard to DIR/tensorboard.
        device: Where to train.
        threads: How many CPU threads to use.
        json: Print the progress as one JSON object per line.
    """
    from dataclasses import replace

    import torch

    from npi.cli.progress import counted
    from npi.network import checkpoint
    from npi.proof.repair import Prover
    from npi.training import resume as resume_file
    from npi.training.config import CONFIGS
    from npi.training.trainer import make_trainer

    if threads is not None:
        positive(threads=threads)
        torch.set_num_threads(threads)
    if updates is not None:
        positive(updates=updates)
    if practice is not None:
        positive(practice=practice)
    chosen = [find(name, teacher) for name in dict.fromkeys(names)]
    _check_names(chosen)
    if examples is not None:
        positive(examples=examples)
        chosen = [replace(task, examples=examples) for task in chosen]
    if sizes:
        positive(**{f"sizes ({size})": size for size in sizes})
        chosen = [replace(task, sizes=sizes) for task in chosen]
    default = "images" if any(task.env.shows_image() for task in chosen) else "fast"
    settings = CONFIGS[config or ("practice" if practice is not None else default)]
    if resume:
        facts = resume_file.read_facts(out)
        if facts["tasks"] != {task.name: task.teacher for task in chosen}:
            was = ", ".join(f"{name} ({how})" for name, how in facts["tasks"].items())
            raise BadInput(f"the training run in {out} is of {was}; resume it with these tasks and this teacher")
        saved = resume_file.saved_config(facts)
        for option, given, was in (
            ("--seed", seed, facts["seed"]),
            (
                "--config",
                config and replace(CONFIGS[config], updates=saved.updates, practice_rollouts=saved.practice_rollouts),
                saved,
            ),
            ("--practice", practice, saved.practice_rollouts),
        ):
            if given is not None and given != was:
                raise BadInput(f"the training run in {out} began with another {option}: leave it out to go on with it")
        if force:
            raise BadInput("--resume goes on with what is there and --force replaces it: give one of them")
        settings, seed = saved, facts["seed"]
        until_verified = until_verified or bool(facts["repair_round"])  # such a run goes on as it was
    elif checkpoint.holds_model(out) and not force:
        raise BadInput(
            f"{out} already holds a model: go on with it by --resume, replace it by --force, or choose another"
        )
    check_writable(out)
    if updates is not None:
        settings = replace(settings, updates=updates)
    if practice is not None:
        settings = replace(settings, practice_rollouts=practice)
    prover = Prover(chosen) if until_verified else None
    if prover is not None:
        counted(prover.explore(), "exploring what is to be proved")
    log = _tensorboard(out) if tensorboard else None
    for task in chosen:
        prepared(task)
    if not json:
        print(f"recording {', '.join(task.name for task in chosen)} ...", file=sys.stderr)
    made = _walked(chosen, settings.practice_rollouts, seed or 0)
    training = make_trainer(chosen, settings, seed or 0, device_named(device), made)
    if resume:
        resume_file.restore_training(training, out)
        if prover is not None and training.repair_round:
            training.set_repair_frames(prover.frames(training.failing_histories))
        if (
            training.updates >= settings.updates
            and not training.converged
            and not training.repair_round
            and not (prover and training.learned)
        ):
            raise BadInput(
                f"the training run in {out} has made {training.updates:,} updates and was to stop at "
                f"{settings.updates:,}: give more, such as --updates {2 * training.updates}"
            )
    else:
        resume_file.save_training(training, out)  # a folder that cannot be written to is found out now, not at the end
    if not json:
        where = f"{training.model.keys.device.type}, {torch.get_num_threads()} threads"
        print(
            f"{len(training.dataset):,} distinct frames of {len(training.metrics().accuracy)} programs; {where}",
            file=sys.stderr,
        )
    command = f"npi train {shlex.join(names)} --out {shlex.quote(str(out))} --teacher {teacher} --resume"
    command += " --until-verified" if until_verified else ""
    command += f" --examples {examples}" if examples is not None else ""
    command += f" --sizes {' '.join(map(str, sizes))}" if sizes else ""
    began = time.monotonic()
    interrupted, found = _train(training, prover, out, log, json)
    if log is not None:
        log.close()
    return _end(training, out, command, interrupted, found, time.monotonic() - began, json)


def _say_found(found: dict[str, Comparison], training: Trainer, as_json: bool) -> None:
    for name, comparison in found.items():
        if as_json:
            failing = len(comparison.wrong) + len(comparison.unsure)
            print_json({"proof": name, "round": training.repair_round, "failing": failing, "margin": comparison.margin})
        elif comparison.proved:
            print(
                f"{name} is proved: {comparison.histories:,} histories, every choice leads by {comparison.margin:.2f}"
            )
        else:
            print(
                f"{name} is not proved: {len(comparison.wrong):,} of {comparison.histories:,} histories are decided "
                f"otherwise than by the teacher, {len(comparison.unsure):,} by too little"
            )


def _train(
    training: Trainer, prover: Prover | None, out: Path, log: Any, as_json: bool
) -> tuple[bool, dict[str, Comparison]]:
    """Run a training run to its end, showing and saving it: whether it was interrupted, and the last proof."""
    from npi.cli.progress import bar_progress, interruptible, json_progress
    from npi.proof.repair import train_until_proved
    from npi.training import resume as resume_file

    saved = time.monotonic()
    found: dict[str, Comparison] = {}
    show = json_progress if as_json else bar_progress
    with interruptible() as interrupted, show(training) as progress:
        for event in training.run() if prover is None else train_until_proved(training, prover):
            if isinstance(event, dict):
                found = event
                _say_found(found, training, as_json)
                continue
            progress(event)
            if log is not None:
                log.add_scalar("loss", event.loss, event.update)
                for name, accuracy in event.accuracy.items():
                    log.add_scalar(f"accuracy/{name}", accuracy, event.update)
            if interrupted:
                break
            if time.monotonic() - saved > 30:
                resume_file.save_training(training, out)
                saved = time.monotonic()
    resume_file.save_training(training, out)
    return bool(interrupted), found


def _end(
    training: Trainer,
    out: Path,
    command: str,
    interrupted: bool,
    found: dict[str, Comparison],
    took: float,
    as_json: bool,
) -> int:
    """Say what came of a training run; the exit code."""
    unproved = [name for name, comparison in found.items() if not comparison.proved]
    if as_json:
        result: dict[str, Any] = {
            "learned": training.learned,
            "updates": training.updates,
            "seconds": round(took, 1),
            "out": str(out),
        }
        result |= {"proved": [name for name in found if name not in unproved]} if found else {}
        print_json(result | ({"resume": command} if interrupted else {}))
    elif interrupted:
        print(f"interrupted after {training.updates:,} updates; the run is saved. Go on with:\n  {command}")
    elif training.learned:
        what = "every frame"
        if training.dataset.images:
            what = (
                f"at least {training.config.image_accuracy_goal:.0%} of a sample of each program's frames with images"
            )
            what += " and every other frame" if len(training.dataset.envs) > 1 else ""
        print(f"learned {what} in {training.updates:,} updates, {took:.0f} s; the model is in {out}")
        if unproved:
            print(f"{', '.join(unproved)} not proved after {training.repair_round} rounds. Go on with:\n  {command}")
    else:
        worst = min(training.metrics().accuracy.items(), key=lambda item: item[1])
        print(
            f"not learned after {training.updates:,} updates: {worst[0]} is right in {worst[1]:.1%} of its frames. "
            f"Go on with:\n  {command} --updates {2 * training.config.updates}"
        )
    return 130 if interrupted else int(not training.learned or bool(unproved))


def _walked(chosen: list[Task], count: int, seed: int) -> list[Any]:
    """Walks for practice, made with a bar."""
    from npi.cli.progress import counted
    from npi.training.practice import make_rollouts

    made: list[Any] = []

    def making() -> Iterator[tuple[int, int]]:
        for walk in make_rollouts(chosen, count, seed, os.cpu_count() or 1):
            made.append(walk)
            yield len(made), count * len(chosen)

    if count:
        counted(making(), "walking through environments for practice")
    return made


def _check_names(chosen: list[Task]) -> None:
    """A name is an identity: tasks from files may clash with each other and with those built in."""
    if not chosen:
        raise BadInput(f"name at least one task to train: {', '.join(tasks.names())}")
    envs: dict[str, type] = {}
    for index, task in enumerate(chosen):
        if task.name in {other.name for other in chosen[:index]}:
            raise BadInput(f"two tasks are named {task.name}: rename one of them")
        if envs.setdefault(task.env.__name__, task.env) is not task.env:
            raise BadInput(f"two environments are named {task.env.__name__}: rename one of them")


def _tensorboard(out: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise BadInput("--tensorboard needs the tensorboard package: pip install 'npi[tensorboard]'") from error
    return SummaryWriter(str(out / "tensorboard"))
