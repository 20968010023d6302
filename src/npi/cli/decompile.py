"""npi decompile"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from npi.cli.arguments import Device, ModelFolder, TaskName, refuse_existing
from npi.cli.output import print_json
from npi.errors import BadInput
from npi.files import check_writable, write


def decompile(
    task: Positional[TaskName],
    *,
    table: Annotated[Path | None, arg(metavar="FILE")] = None,
    model: ModelFolder = None,
    out: Annotated[Path | None, arg(metavar="FILE.py")] = None,
    device: Device = "auto",
    force: bool = False,
    json: bool = False,
) -> int:
    """Print a learned and proved program as Python that makes the same decisions on every input.

    Args:
        task: A task that the model learned from its recursive teacher.
        table: Take the program from a table made by npi compile, without a network and a second proof.
        model: The folder of a trained model, whose program is proved first.
        out: Write the source to a file; npi check FILE.py:task checks it.
        device: Where the network runs.
        force: Replace FILE.py.
        json: Print the result as JSON.
    """
    import npi
    from npi.cli.progress import show_progress
    from npi.proof.program_table import load_table

    if table is not None and model is not None:
        raise BadInput("--table and --model: a table needs no model; give one of them")
    if out is not None:
        if out.suffix != ".py":
            raise BadInput(f"{out} does not end in .py: npi decompile writes Python")
        refuse_existing(out, force)
        check_writable(out.parent)
    program = model if table is None else load_table(table)
    with show_progress() as progress:
        try:
            source = npi.decompile(task, program, device=device, progress=progress)
        except BadInput as error:
            raise BadInput(f"{table}: {error}" if table else str(error)) from error
    if out is not None:
        write(out, source.encode())
    lines = source.count("\n")
    if json:
        print_json({"task": task, "lines": lines, "source": source, "out": out})
    elif out is None:
        print(source, end="")
    else:
        print(f"{task}: wrote {out}, {lines} lines. Check it with: npi check {out}:task")
    return 0
