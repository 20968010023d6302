"""npi teach"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from npi import tasks
from npi.cli.arguments import Device, ModelFolder, TaskName, Teacher, positive
from npi.cli.output import print_json
from npi.errors import BadInput
from npi.files import check_writable


def teach(
    task: Positional[TaskName],
    *,
    out: Annotated[Path, arg(metavar="DIR")],
    model: ModelFolder = None,
    teacher: Teacher = "recursive",
    guard: bool = False,
    rehearse: bool = False,
    examples: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: the task's own)")] = None,
    updates: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: 600)")] = None,
    seed: int = 0,
    force: bool = False,
    device: Device = "auto",
    json: bool = False,
) -> int:
    """Teach a trained model new programs by new rows of memory; everything else stays frozen.

    Args:
        task: What to teach, such as maximum; built in, or in a file of yours.
        out: The folder to write the model to.
        model: The folder of the model to teach.
        teacher: loop demonstrates as the paper does; recursive turns each loop into a program that calls itself.
        guard: Old programs may not call new ones, so they run as before; no old examples are needed. The default.
        rehearse: Old programs may call new ones; examples of the old tasks are mixed in.
        examples: How many problems of each size are demonstrated.
        updates: Give up after so many updates of the new rows.
        seed: Chooses the examples and the first rows.
        force: Replace the model in DIR.
        device: Where to teach.
        json: Print the result as JSON.
    """
    from dataclasses import replace

    from npi.cli.progress import show_counts
    from npi.network import checkpoint
    from npi.training.teach import TeachConfig
    from npi.training.teach import teach as teach_rows

    if guard and rehearse:
        raise BadInput("--guard needs no old examples and --rehearse mixes them in: give one of them")
    chosen = tasks.find_task(task, teacher)
    if examples is not None:
        positive(examples=examples)
        chosen = replace(chosen, examples=examples)
    config = TeachConfig()
    if updates is not None:
        positive(updates=updates)
        config = replace(config, updates=updates)
    if checkpoint.holds_model(out) and not force:
        raise BadInput(f"{out} already holds a model: replace it by --force, or choose another")
    check_writable(out)
    network = checkpoint.resolve_model(model, device)
    old = [tasks.find(name, how) for name, how in network.tasks.items() if name in tasks.names()] if rehearse else []
    if rehearse and len(old) < len(network.tasks):
        raise BadInput("--rehearse needs the old tasks, and some of this model's are not built in: use --guard")
    for needed in (chosen, *old):
        if needed.prepare is not None:
            show_counts(needed.prepare(), f"preparing {needed.name}")

    def progress(made: int, wrong: int, frames: int) -> None:
        if not json:
            print(f"update {made}  {frames - wrong:,} of {frames:,} frames right", file=sys.stderr, flush=True)

    began = time.monotonic()
    taught = teach_rows(network, chosen, old, config, seed, progress)
    took = time.monotonic() - began
    names = ", ".join(taught.programs)
    if json:
        print_json(
            {
                "programs": taught.programs,
                "learned": taught.learned,
                "frames": taught.frames,
                "wrong": taught.wrong,
                "updates": taught.updates,
                "seconds": round(took, 1),
            }
        )
    if not taught.learned:
        if not json:
            print(
                f"not learned: {taught.wrong:,} of {taught.frames:,} frames are still wrong after {config.updates} "
                f"updates of the rows of {names}. With everything else frozen, rows can only ask the core for what it "
                f"can do already; this may be beyond it. Try another --seed or more --updates, or train a model with "
                f"this task or with more practice programs. Nothing was written"
            )
        return 1
    summary = {"taught": task, "teacher": teacher, "seed": seed, "rehearsed": rehearse, "updates": taught.updates}
    lessons = [*network.training_info.get("lessons", []), summary]
    checkpoint.save_model(taught.model, out, {**network.training_info, "lessons": lessons})
    if not json:
        print(
            f"learned {names} in {taught.updates} updates, {took:.1f} s; every other row and tensor is the same to the "
            f"last byte; the model is in {out}"
        )
    return 0
