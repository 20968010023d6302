"""npi train"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from npi.cli.arguments import Device, TaskName, Teacher, positive
from npi.cli.output import print_json
from npi.progress import Progress

if TYPE_CHECKING:
    from npi.network.model import NPI


def train(
    names: Positional[tuple[TaskName, ...]],
    *,
    out: Annotated[Path, arg(metavar="DIR")],
    teacher: Teacher = "recursive",
    config: Annotated[
        Literal["fast", "images", "practice", "paper"] | None,
        arg(help_behavior_hint="(default: fast; images for cars; practice with --practice)"),
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
    """Train a new model on one task or several: npi train addition sorting --out DIR.

    Args:
        names: The tasks to learn, all in one network; built in, or in files of yours such as mine.py:task.
        out: The folder to write the model to.
        teacher: loop demonstrates as the paper does; recursive turns each loop into a program that calls itself.
        config: How to train; paper has the values of the paper, and takes hours.
        seed: Determines the training problems, the initial weights and the batches.
        examples: How many problems of each size are demonstrated.
        sizes: The problem sizes that are demonstrated: digits of the longer number, elements of the array, ...
        updates: Stop after N updates, learned or not.
        practice: Also train on practice programs (random programs) from N rollouts in each environment, so that the
            model can be taught new programs later.
        until_verified: Prove what was learned, or retrain on the counterexamples until the proof succeeds.
        resume: Continue the training run in DIR, with its configuration and seed.
        force: Replace the model in DIR.
        tensorboard: Write logs for TensorBoard to DIR/tensorboard.
        device: Where to train.
        threads: How many CPU threads to use.
        json: Print the progress as one JSON object per line.
    """
    import torch

    import npi
    from npi.cli.progress import show_progress
    from npi.training.tensorboard import TensorBoardLog

    positive(threads=threads, updates=updates, practice=practice, examples=examples)
    positive(**{f"sizes ({size})": size for size in sizes})
    if threads is not None:
        torch.set_num_threads(threads)
    log = TensorBoardLog(out / "tensorboard") if tensorboard else None
    command = _resume_command(names, out, teacher, examples, sizes, until_verified)
    began = time.monotonic()
    with show_progress(json) as show:
        watch = _Watch([show, *([log] if log else [])], json)
        try:
            model = npi.train(
                names,
                out=out,
                teacher=teacher,
                config=config,
                seed=seed,
                sizes=sizes or None,
                examples=examples,
                updates=updates,
                practice_rollouts=practice,
                until_verified=until_verified,
                resume=resume,
                force=force,
                device=device,
                progress=watch,
            )
        except KeyboardInterrupt:
            if watch.metrics is None:  # nothing was trained yet, so there is nothing to resume
                raise
            model = None
        finally:
            if log is not None:
                log.close()
    return _print_end(model, watch, out, command, time.monotonic() - began, json)


class _Watch:
    """A progress callback: calls other callbacks, keeps the last metrics and proofs, and prints each proof attempt."""

    def __init__(self, callbacks: list[Callable[[Progress], None]], as_json: bool):
        self.callbacks, self.as_json = callbacks, as_json
        self.metrics: Any = None
        self.proofs: dict[str, Any] = {}
        self.repair_round = 0

    def __call__(self, report: Progress) -> None:
        for callback in self.callbacks:
            callback(report)
        if report.stage == "training":
            self.metrics = report.details
        elif report.stage == "proving":
            self.proofs, self.repair_round = report.details, report.done
            for name, comparison in self.proofs.items():
                self.print_proof(name, comparison)
        elif report.stage == "recorded" and not self.as_json:
            trainer, threads = report.details, _threads()
            programs = len(trainer.metrics().accuracy)
            where = f"{trainer.model.keys.device.type}, {threads} threads"
            print(f"{report.done:,} distinct frames of {programs} programs; {where}", file=sys.stderr)

    def print_proof(self, name: str, comparison: Any) -> None:
        failing = len(comparison.wrong_nodes) + len(comparison.unsure_nodes)
        if self.as_json:
            print_json({"proof": name, "round": self.repair_round, "failing": failing, "margin": comparison.margin})
        elif comparison.proved:
            print(f"{name} is proved: {comparison.histories:,} histories, smallest margin {comparison.margin:.2f}")
        else:
            print(
                f"{name} is not proved: the network decides differently from the teacher after "
                f"{len(comparison.wrong_nodes):,} of {comparison.histories:,} histories, and by too small a margin "
                f"after {len(comparison.unsure_nodes):,}"
            )


def _threads() -> int:
    import torch

    return torch.get_num_threads()


def _resume_command(
    names: tuple[str, ...],
    out: Path,
    teacher: str,
    examples: int | None,
    sizes: tuple[int, ...],
    until_verified: bool,
) -> str:
    command = f"npi train {shlex.join(names)} --out {shlex.quote(str(out))} --teacher {teacher} --resume"
    command += " --until-verified" if until_verified else ""
    command += f" --examples {examples}" if examples is not None else ""
    return command + (f" --sizes {' '.join(map(str, sizes))}" if sizes else "")


def _print_end(model: NPI | None, watch: _Watch, out: Path, command: str, seconds: float, as_json: bool) -> int:
    """Print how a training run ended, and return the exit code. `model` is None if the run was interrupted."""
    unproved = [name for name, comparison in watch.proofs.items() if not comparison.proved]
    metrics = watch.metrics
    learned = metrics.learned if model is None else model.training_info["learned"]
    updates = metrics.update if model is None else model.training_info["updates"]
    if as_json:
        result: dict[str, Any] = {
            "learned": learned,
            "updates": updates,
            "seconds": round(seconds, 1),
            "out": str(out),
        }
        result |= {"proved": [name for name in watch.proofs if name not in unproved]} if watch.proofs else {}
        print_json(result | ({"resume": command} if model is None else {}))
    elif model is None:
        print(f"interrupted after {updates:,} updates; the run is saved. Resume it with:\n  {command}")
    elif learned:
        print(f"learned {_goal(model)} in {updates:,} updates, {seconds:.0f} s; the model is in {out}")
        if unproved:
            print(f"{', '.join(unproved)} not proved after {watch.repair_round} rounds. Resume with:\n  {command}")
    else:
        name, accuracy = min(metrics.accuracy.items(), key=lambda item: item[1])
        more = 2 * model.training_info["config"]["updates"]
        print(
            f"not learned after {updates:,} updates: {accuracy:.1%} of the frames of {name} are right. "
            f"Resume with:\n  {command} --updates {more}"
        )
    return 130 if model is None else int(not learned or bool(unproved))


def _goal(model: NPI) -> str:
    """What counts as learned: every frame right or, of the frames with images, a fraction of a sample."""
    config = model.config
    if not config.image_sides:
        return "every frame"
    goal = model.training_info["config"]["image_accuracy_goal"]
    others = " and every other frame" if len(config.fields) > len(config.image_sides) else ""
    return f"at least {goal:.0%} of a sample of each program's frames with images{others}"
