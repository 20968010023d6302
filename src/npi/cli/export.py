"""npi export"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from npi.cli.arguments import TaskName, positive
from npi.cli.output import print_json


def export(
    model: Annotated[Positional[Path], arg(metavar="DIR")],
    *,
    out: Annotated[Path, arg(metavar="FILE.onnx")],
    task: Annotated[TaskName | None, arg(help_behavior_hint="(default: the first that the model learned)")] = None,
    problems: int = 10,
    json: bool = False,
) -> int:
    """Write one step of a model, from observation to decision, as ONNX; check that onnxruntime decides the same.

    Args:
        model: The folder of a trained model.
        out: The file to write.
        task: The task to export for: each environment has an encoder of its own.
        problems: How many problems of the task to compare on.
        json: Print the result as JSON.
    """
    import npi

    positive(problems=problems)
    agreement = npi.export(task, model, out, problems=problems)
    if json:
        print_json({"out": str(out), **asdict(agreement)})
    else:
        different = f", except for {agreement.different:,}" if agreement.different else ""
        print(
            f"wrote {out}; onnxruntime makes the model's decisions in {agreement.steps:,} steps{different} "
            f"(largest difference of LSTM states: {agreement.largest_gap:.1e})"
        )
    return int(agreement.different > 0)
