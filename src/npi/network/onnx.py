"""Export to ONNX: one step of the network on one environment, to be run where there is no torch.

Inputs are those of one step: `observation` (the fields), `args` and `program` (of the running frame), `h` and `c` (its
LSTM state, zero at first) and, where the environment shows images, `rgb`. Outputs are `stop_logit`,
`program_logits` (one per memory row), the argument logits `arg0` to `arg2`, and the next state `h_next` and `c_next`.
The first axis is the batch; in `h` and `c` it is the second, after the layers.
"""

from __future__ import annotations

import logging
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from npi import tasks
from npi.errors import BadInput
from npi.files import check_writable
from npi.language.image import Image
from npi.language.interpreter import FrameState, Query, Reply
from npi.language.program import Call, Observation
from npi.language.record import record
from npi.language.task import Task
from npi.network.checkpoint import resolve_model
from npi.network.decision import Logits, decide
from npi.network.encoders import to_rgb
from npi.network.learned_task import learned_task
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider


class _Step(nn.Module):
    """One step of a model, with tensors in and tensors out."""

    def __init__(self, model: NPI, env: str):
        super().__init__()
        self.model, self.env = model, env

    def forward(
        self, observation: Tensor, args: Tensor, program: Tensor, h: Tensor, c: Tensor, rgb: Tensor | None = None
    ):
        image_features = None if rgb is None else self.model.encode_images(self.env, rgb)
        logits, (h, c) = self.model.step(self.env, observation, args, program, (h, c), image_features)
        return logits.stop, logits.program, *logits.args, h, c


def export_step(model: NPI, task: Task, path: Path) -> None:
    """Write one step of a model on a task's environment."""
    if find_spec("onnxscript") is None:  # torch's exporter needs it
        raise BadInput("export needs onnx and onnxscript: pip install 'npi[onnx]'")
    check_writable(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    env, config = task.env.__name__, model.config
    steps = torch.export.Dim("steps")
    # Two steps in the example input, since the exporter takes an axis of length 1 for a constant.
    state = torch.zeros(config.lstm_layers, 2, config.lstm_width)
    inputs: dict[str, Tensor] = {
        "observation": torch.zeros(2, len(config.fields[env]), dtype=torch.long),
        "args": torch.zeros(2, len(config.argument_sizes), dtype=torch.long),
        "program": torch.zeros(2, dtype=torch.long),
        "h": state,
        "c": state.clone(),
    }
    axes: dict[str, Any] = {name: {1 if name in ("h", "c") else 0: steps} for name in inputs}
    if env in config.image_sides:
        side = config.image_sides[env]
        inputs["rgb"], axes["rgb"] = torch.rand(2, 3, side, side), {0: steps}
    args = [f"arg{slot}" for slot in range(len(config.argument_sizes))]
    for logger in ("torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Step(model.cpu().eval(), env),
            tuple(inputs.values()),
            str(path),
            input_names=list(inputs),
            output_names=["stop_logit", "program_logits", *args, "h_next", "c_next"],
            dynamic_shapes=tuple(axes.values()),
            dynamo=True,
            external_data=False,
            verbose=False,
        )


class OnnxDecider:
    """An exported step as a decider, run by onnxruntime."""

    def __init__(self, path: Path, model: NPI, task: Task):
        try:
            import onnxruntime
        except ImportError as error:
            raise BadInput("checking an export needs onnxruntime: pip install 'npi[onnx]'") from error
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors only
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.neural = NeuralDecider(model, task.env)

    def cached(self, observation: Observation, call: Call, state: FrameState) -> Reply | None:
        """Nothing: this decider stores no answers."""
        return None

    def decide(self, queries: list[Query]) -> list[Reply]:
        observations, calls, states = zip(*queries, strict=True)
        state = np.stack([self.neural.zero_state if state is None else state for state in states], axis=2)
        inputs = {
            "args": np.array([call.args for call in calls]),
            "program": np.array([self.neural.row[call.program] for call in calls]),
            "h": state[0],
            "c": state[1],
        }
        if isinstance(observations[0][-1], Image):
            pixels = torch.from_numpy(np.stack([fields[-1].pixels for fields in observations])).permute(0, 3, 1, 2)
            inputs["rgb"] = to_rgb(pixels).numpy()
            observations = [fields[:-1] for fields in observations]
        inputs["observation"] = np.array(observations, dtype=np.int64)
        outputs: Any = self.session.run(None, inputs)
        stop, program, *args, h, c = map(torch.from_numpy, outputs)
        decisions = self.neural.as_calls(decide(Logits(stop, program, tuple(args))))
        after = torch.stack([h, c]).permute(2, 0, 1, 3).numpy()
        return [(decision, after[index]) for index, decision in enumerate(decisions)]


@dataclass(frozen=True)
class Agreement:
    """How well an exported step and its model agree on the teacher's frames."""

    steps: int
    different: int  # steps at which they decide differently
    largest_gap: float  # largest absolute difference between their LSTM states


def compare_export(exported: OnnxDecider, task: Task, problems: list[Any]) -> Agreement:
    """Query an exported step and its model at every step of the teacher's distinct frames on some problems."""
    steps = different = 0
    gap = 0.0
    for problem in problems:
        for frame in dict.fromkeys(record(task.env.of(problem), task.main)):
            if frame.call.program not in exported.neural.row:
                continue
            state = exported_state = None
            for step in frame.steps:
                ((decision, state),) = exported.neural.decide([(step.observation, frame.call, state)])
                ((exported_decision, exported_state),) = exported.decide(
                    [(step.observation, frame.call, exported_state)]
                )
                steps += 1
                different += decision != exported_decision
                gap = max(gap, float(np.abs(state - exported_state).max()))
    return Agreement(steps, different, gap)


def export(
    task: Task[Any, Any] | str | None,
    model: NPI | str | Path | None = None,
    out: str | Path = "step.onnx",
    *,
    problems: int = 10,
) -> Agreement:
    """Write one step of a model as ONNX, run it with onnxruntime, and compare its decisions with the model's.

    task      the task whose environment the step observes; None: the first that the model learned
    model     an `NPI`, a folder, or None for the model that comes with npi
    out       the file to write
    problems  how many problems of the task to compare on

    >>> import npi, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     npi.export("addition", npi.load(), f"{folder}/step.onnx", problems=1).different
    0
    """
    path = Path(out)
    if path.suffix.lower() != ".onnx":
        raise BadInput(f"{path} does not end in .onnx")
    network = resolve_model(model, "cpu")
    if task is None:
        task = next(iter(network.tasks), None)
        if task is None:
            raise BadInput("the model has not learned any task: there is nothing to export")
        if task not in tasks.names():
            raise BadInput(f"the model has learned {task}, which is not built in: give the task as FILE.py:NAME")
    found = learned_task(task, network)
    export_step(network, found, path)
    sizes = found.sizes[: max(1, len(found.sizes) // 2)]  # the smaller half: long runs only repeat the same frames
    each = -(-problems // len(sizes))  # rounded up
    compared = [problem for size in sizes for problem in found.test_problems(size, each, 0)]
    return compare_export(OnnxDecider(path, network, found), found, compared[:problems])
