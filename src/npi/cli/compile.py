"""npi compile"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from npi.cli.arguments import Device, ModelFolder, TaskName, find, load, taught
from npi.cli.output import print_json
from npi.errors import BadInput
from npi.files import check_writable
from npi.network.pretrained import DEFAULT_MODEL

if TYPE_CHECKING:
    from npi.proof.program_table import ProgramTable


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
        task: A task the model was taught by its recursive teacher.
        out: The file to write the table to.
        model: The folder of a trained model.
        device: Where the network runs.
        force: Replace FILE.
        json: Print the result as JSON.
    """
    from npi.proof.program_table import save_table

    if out.exists() and not force:
        raise BadInput(f"{out} is there already: replace it by --force, or choose another")
    check_writable(out.parent)
    made = proved(task, model, device)
    save_table(made, out)
    histories = made.facts["histories"]
    if json:
        print_json({"task": made.task, "histories": histories, "states": len(made.states), "out": str(out)})
    else:
        print(
            f"{made.task}: {histories:,} histories in {len(made.states):,} states; wrote {out} "
            f"({out.stat().st_size / 1000:,.0f} kB). Run it with: npi run {task} ... --table {out}"
        )
    return 0


def proved(task: str, model: Path | None, device: Device) -> ProgramTable:
    """The table of a learned program, once it is proved."""
    from npi.cli.progress import counted
    from npi.proof.certificate import certify
    from npi.proof.program_table import compile_histories
    from npi.proof.repair import Prover

    network = load(model or DEFAULT_MODEL, device)
    known = taught(network, task, find(task))
    prover = Prover([known])
    counted(prover.explore(), f"exploring {known.name}")
    exploration = prover.explorations[known.name]
    found = prover.compare(network)[known.name]
    if not found.proved:
        raise BadInput(
            f"{known.name} is not proved ({len(found.wrong):,} of {found.histories:,} histories are decided otherwise "
            f"than by the teacher), so it can be neither compiled nor decompiled: npi verify says where, "
            f"npi train --until-verified mends"
        )
    return compile_histories(known, exploration.histories, asdict(certify(network, known, exploration, found)))
