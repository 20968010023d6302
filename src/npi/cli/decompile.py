"""npi decompile"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from npi.cli.arguments import Device, ModelFolder, TaskName, find, load_table
from npi.cli.compile import proved
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
    """Print a learned and proved program as Python that decides alike, whatever the input: npi decompile addition.

    Args:
        task: A task the model was taught by its recursive teacher.
        table: Take the program from a table made by npi compile, without a network and a proof.
        model: The folder of a trained model, whose program is proved first.
        out: Write it to a file instead; npi check FILE.py:task tries it.
        device: Where the network runs.
        force: Replace FILE.py.
        json: Print the result as JSON.
    """
    from npi.proof import decompile as printing

    if table is not None and model is not None:
        raise BadInput("--table and --model: a table needs no model; give one of them")
    if out is not None:
        if out.suffix != ".py":
            raise BadInput(f"{out} does not end in .py: npi decompile writes Python")
        if out.exists() and not force:
            raise BadInput(f"{out} is there already: replace it by --force, or choose another")
        check_writable(out.parent)
    known = find(task)
    compiled = proved(task, model, device) if table is None else load_table(table, known)
    try:
        source = printing.decompile(compiled, known)
    except BadInput as error:
        raise BadInput(f"{table}: {error}" if table else str(error)) from error
    if out is not None:
        write(out, source.encode())
    if json:
        print_json({"task": known.name, "lines": source.count("\n"), "source": source, "out": out})
    elif out is None:
        print(source, end="")
    else:
        print(f"{known.name}: wrote {out}, {source.count(chr(10))} lines. Try it with: npi check {out}:task")
    return 0
