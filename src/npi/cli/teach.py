"""npi teach"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from npi.cli.arguments import Device, ModelFolder, TaskName, Teacher
from npi.cli.output import print_json
from npi.cli.progress import show_progress
from npi.errors import BadInput, NotLearned
from npi.progress import no_progress


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
    until_verified: bool = False,
    seed: int = 0,
    force: bool = False,
    device: Device = "auto",
    json: bool = False,
) -> int:
    """Teach a trained model new programs by new memory rows; everything else stays frozen.

    Args:
        task: What to teach, such as maximum; built in, or in a file of yours.
        out: The folder to write the model to.
        model: The folder of the model to teach.
        teacher: loop demonstrates as the paper does; recursive turns each loop into a program that calls itself.
        guard: The default. Old programs may not call new ones, so they run as before; no old examples are needed.
        rehearse: Instead of --guard: old programs may call new ones, and examples of the old tasks are trained on too.
        examples: How many problems of each size are demonstrated.
        updates: Give up after N updates of the new rows.
        until_verified: Prove what was taught, or teach again with the counterexamples until the proof succeeds.
        seed: Determines the examples and the initial rows.
        force: Replace the model in DIR.
        device: Where to teach.
        json: Print the result as JSON.
    """
    from npi.proof.teach import teach as teach_model

    if guard and rehearse:
        raise BadInput("--guard and --rehearse exclude each other: give one of them, or neither for --guard")
    began = time.monotonic()
    try:
        with show_progress() as show:
            taught = teach_model(
                task,
                model,
                out=out,
                rehearse=rehearse,
                teacher=teacher,
                examples=examples,
                updates=updates,
                until_verified=until_verified,
                seed=seed,
                force=force,
                device=device,
                progress=no_progress if json else show,
            )
    except NotLearned as error:
        if json:
            _print_result(False, error.programs, error.frames, error.wrong, error.updates, time.monotonic() - began)
        else:
            print(f"not learned: {error}")
        return 1
    took, entry = time.monotonic() - began, taught.training_info["taught"][-1]
    if json:
        _print_result(True, entry["programs"], entry["frames"], 0, entry["updates"], took, entry["proved"])
    else:
        if until_verified:
            repaired = f" after {entry['repair_rounds']} repair rounds" if entry["repair_rounds"] else ""
            print(f"proved{repaired}: {task} runs as its teacher on problems of every size")
        print(
            f"learned {', '.join(entry['programs'])} in {entry['updates']} updates, {took:.1f} s; every other row and "
            f"tensor is the same to the last byte; the model is in {out}"
        )
    return 0


def _print_result(
    learned: bool,
    programs: list[str] | tuple[str, ...],
    frames: int,
    wrong: int,
    updates: int,
    seconds: float,
    proved: bool = False,
) -> None:
    print_json(
        {
            "programs": programs,
            "learned": learned,
            "proved": proved,
            "frames": frames,
            "wrong": wrong,
            "updates": updates,
            "seconds": round(seconds, 1),
        }
    )
