"""Compiling and decompiling proved programs: `npi.compile` and `npi.decompile`.

Both prove a model first, which needs torch. A program table is decompiled without a proof and without torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from npi.errors import BadInput
from npi.language.task import Task
from npi.progress import ProgressCallback, no_progress
from npi.proof import decompile as decompiler
from npi.proof.program_table import ProgramTable, read_table

if TYPE_CHECKING:
    import torch

    from npi.network.model import NPI


def compile(
    task: Task[Any, Any] | str,
    model: NPI | str | Path | None = None,
    *,
    device: str | torch.device = "auto",
    progress: ProgressCallback = no_progress,
) -> ProgramTable:
    """Prove a learned program and turn it into a table of its decisions, which runs without a network.

    task      a `Task` whose environment declares its tapes, the name of a built-in one, or "FILE.py:NAME"
    model     an `NPI`, a folder, or None for the model that comes with npi; its teacher must be recursive
    device    where the network runs
    progress  called with a `Progress` while histories are explored

    Raises `BadInput` if the program is not proved.

    >>> import npi
    >>> model = npi.train("bubblesort", sizes=[3], examples=3)
    >>> table = npi.compile("bubblesort", model)
    >>> npi.run("bubblesort", ("pear", "fig", "apple"), table).answer
    ['apple', 'fig', 'pear']
    """
    from npi.proof.verify import Counterexamples, verify

    result = verify(task, model, device=device, progress=progress)
    if isinstance(result, Counterexamples):
        raise BadInput(
            f"{result.task.name} is not proved (of {result.comparison.histories:,} histories, the network decides "
            f"differently from the teacher after {result.wrong:,}, and by too small a margin after {result.unsure:,}), "
            f"so it can be neither compiled nor decompiled: npi verify shows where, npi train --until-verified "
            f"repairs it"
        )
    return read_table(result.table, result.certificate)


def decompile(
    task: Task[Any, Any] | str,
    model: NPI | ProgramTable | str | Path | None = None,
    *,
    device: str | torch.device = "auto",
    progress: ProgressCallback = no_progress,
) -> str:
    """Turn a learned and proved program into Python source that makes the same decisions on every input.

    task      a `Task`, the name of a built-in one, or "FILE.py:NAME"
    model     an `NPI`, a folder, None for the model that comes with npi, or a compiled program, which needs no proof
    device    where the network runs
    progress  called with a `Progress` while histories are explored

    Raises `BadInput` if the program is not proved.

    >>> import npi
    >>> model = npi.train("bubblesort", sizes=[3], examples=3)
    >>> source = npi.decompile("bubblesort", model)
    >>> print(source[source.index("def compswap") :].split("\\n\\n")[0])
    def compswap(pad: ComparisonPad) -> None:
        if pad.observe().greater:
            act(pad, SWAP)
    """
    table = model if isinstance(model, ProgramTable) else compile(task, model, device=device, progress=progress)
    return decompiler.decompile(table, table.task_to_run(task))
