"""npi compile"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from npi.cli.arguments import Device, ModelFolder, TaskName, refuse_existing
from npi.cli.output import print_json
from npi.files import check_writable


def compile(
    task: Positional[TaskName],
    *,
    out: Annotated[Path, arg(metavar="FILE")],
    model: ModelFolder = None,
    device: Device = "auto",
    force: bool = False,
    json: bool = False,
) -> int:
    """Prove a learned program, and write it as a table that runs without a network: npi run ... --table FILE.

    Args:
        task: A task that the model learned from its recursive teacher.
        out: The file to write the table to.
        model: The folder of a trained model.
        device: Where the network runs.
        force: Replace FILE.
        json: Print the result as JSON.
    """
    import npi
    from npi.cli.progress import show_progress
    from npi.proof.program_table import save_table

    refuse_existing(out, force)
    check_writable(out.parent)
    with show_progress() as progress:
        table = npi.compile(task, model, device=device, progress=progress)
    save_table(table, out)
    assert table.certificate is not None  # a compiled program was proved
    histories = table.certificate.histories
    if json:
        print_json({"task": table.task, "histories": histories, "states": len(table.states), "out": str(out)})
    else:
        print(
            f"{table.task}: {histories:,} histories in {len(table.states):,} states; wrote {out} "
            f"({out.stat().st_size / 1000:,.0f} kB). Run it with: npi run {task} ... --table {out}"
        )
    return 0
