"""npi export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from npi import tasks
from npi.cli.arguments import TaskName, find, load, positive, taught
from npi.cli.output import print_json
from npi.errors import BadInput


def export(
    model: Annotated[Positional[Path], arg(metavar="DIR")],
    *,
    out: Annotated[Path, arg(metavar="FILE.onnx")],
    task: Annotated[TaskName | None, arg(help_behavior_hint="(default: the first the model was taught)")] = None,
    problems: int = 10,
    json: bool = False,
) -> int:
    """Write one step of a model as ONNX, and check that onnxruntime decides as the model does.

    Args:
        model: The folder of a trained model.
        out: The file to write.
        task: The task whose environment the step sees.
        problems: How many problems of the task to compare on.
        json: Print the result as JSON.
    """
    from dataclasses import asdict

    from npi.network.model_fit import check_model_fits
    from npi.network.onnx import OnnxDecider, compare_export, export_step

    positive(problems=problems)
    if out.suffix.lower() != ".onnx":
        raise BadInput(f"{out} does not end in .onnx")
    network = load(model, "cpu")
    if not network.tasks:
        raise BadInput(f"the model in {model} was taught no task")
    name = task or next(iter(network.tasks))
    if not task and name not in tasks.names():
        raise BadInput(f"the model was taught {name}, which is not built in: give --task FILE.py:NAME")
    chosen = taught(network, name, find(name))
    check_model_fits(network, chosen)
    export_step(network, chosen, out)
    sizes = chosen.sizes[: max(1, len(chosen.sizes) // 2)]
    each = -(-problems // len(sizes))
    examples = [problem for size in sizes for problem in chosen.test_problems(size, each, 0)]
    agreement = compare_export(OnnxDecider(out, network, chosen), chosen, examples[:problems])
    if json:
        print_json({"out": str(out), **asdict(agreement)})
    else:
        print(
            f"wrote {out}; onnxruntime decides as the model in {agreement.steps:,} steps"
            f"{f', except for {agreement.different:,}' if agreement.different else ''} "
            f"(largest gap of LSTM states: {agreement.largest_gap:.1e})"
        )
    return int(agreement.different > 0)
