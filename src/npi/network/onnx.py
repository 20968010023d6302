"""Export to ONNX: one step of the network on one environment, to be run where there is no torch.

Inputs are what the interpreter asks with: `seen` (the fields of the observation), `args` and `program` (of the frame
that runs), `h` and `c` (its state, zero at first) and, where there are pictures, `colours`. Outputs are `stop`, `found`
(one number for each row of memory), `arg0` to `arg2`, and the next `h` and `c`. The first axis counts questions; that
of `h` and `c` counts layers.
"""

from __future__ import annotations

import logging
import warnings
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from npi.errors import BadInput
from npi.files import check_place
from npi.language.image import Picture
from npi.language.interpreter import Answer, Question, State
from npi.language.program import Call, Observation
from npi.language.record import record
from npi.language.task import Task
from npi.network.encoders import colours
from npi.network.model import NPI
from npi.network.neural_decider import Neural


class Step(nn.Module):
    """One step in operations that ONNX has."""

    def __init__(self, model: NPI, env: str):
        super().__init__()
        self.model, self.env = model, env

    def forward(self, seen: Tensor, args: Tensor, program: Tensor, h: Tensor, c: Tensor, picture: Tensor | None = None):
        model = self.model
        glimpse = None if picture is None else model.look(self.env, picture)
        fused = model.fuse(model.encode(self.env, seen, args, glimpse), model.embeddings[program])
        hidden, cells = [], []
        for layer, (w_in, w_on, b_in, b_on) in enumerate(model.lstm.all_weights):
            gates = fused @ w_in.T + b_in + h[layer] @ w_on.T + b_on
            enter, keep, new, leave = gates.chunk(4, dim=1)
            cell = keep.sigmoid() * c[layer] + enter.sigmoid() * new.tanh()
            fused = leave.sigmoid() * cell.tanh()
            hidden.append(fused)
            cells.append(cell)
        said = model.heads(fused, program)
        return said.stop, said.program, *said.args, torch.stack(hidden), torch.stack(cells)


def export(model: NPI, task: Task, path: Path) -> None:
    """Write one step of a model on a task's environment."""
    if find_spec("onnxscript") is None:  # torch's exporter stands on it
        raise BadInput("export needs onnx and onnxscript: pip install 'npi[onnx]'")
    check_place(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    env, config = task.env.__name__, model.config
    count = torch.export.Dim("questions")
    # Two questions: an axis of one would be taken for a constant.
    state = torch.zeros(config.layers, 2, config.hidden)
    inputs: dict[str, Tensor] = {
        "seen": torch.zeros(2, len(config.encoders[env]), dtype=torch.long),
        "args": torch.zeros(2, len(config.arguments), dtype=torch.long),
        "program": torch.zeros(2, dtype=torch.long),
        "h": state,
        "c": state.clone(),
    }
    axes: dict[str, Any] = {name: {1 if name in ("h", "c") else 0: count} for name in inputs}
    names = list(inputs)
    if env in config.pictures:
        side = config.pictures[env]
        inputs["picture"], axes["picture"] = torch.rand(2, 3, side, side), {0: count}
        names.append("colours")
    args = [f"arg{slot}" for slot in range(len(config.arguments))]
    for talker in ("torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(talker).setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Step(model.cpu().eval(), env),
            tuple(inputs.values()),
            str(path),
            input_names=names,
            output_names=["stop", "found", *args, "h_next", "c_next"],
            dynamic_shapes=tuple(axes.values()),
            dynamo=True,
            external_data=False,
            verbose=False,
        )


class Exported:
    """An exported step as the one who decides, run by onnxruntime."""

    def __init__(self, path: Path, model: NPI, task: Task):
        try:
            import onnxruntime
        except ImportError as error:
            raise BadInput("checking an export needs onnxruntime: pip install 'npi[onnx]'") from error
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.neural = Neural(model, task.env)

    def recall(self, seen: Observation, call: Call, state: State) -> Answer | None:
        return None

    def decide(self, questions: list[Question]) -> list[Answer]:
        seen, calls, states = zip(*questions, strict=True)
        state = np.stack([self.neural.zero if state is None else state for state in states], axis=2)
        inputs = {
            "args": np.array([call.args for call in calls]),
            "program": np.array([self.neural.row[call.program] for call in calls]),
            "h": state[0],
            "c": state[1],
        }
        if isinstance(seen[0][-1], Picture):
            pixels = torch.from_numpy(np.stack([fields[-1].pixels for fields in seen])).permute(0, 3, 1, 2)
            inputs["colours"] = colours(pixels).numpy()
            seen = [fields[:-1] for fields in seen]
        inputs["seen"] = np.array(seen, dtype=np.int64)
        outputs: Any = self.session.run(None, inputs)
        stop, found, *args, h, c = outputs
        choices = np.stack([found.argmax(1), *(logits.argmax(1) for logits in args)], 1).tolist()
        after = np.stack([h, c]).transpose(2, 0, 1, 3)
        return [
            (None if says >= 0 else self.neural.call(choice), after[index])
            for index, (says, choice) in enumerate(zip(stop, choices, strict=True))
        ]


def compare(exported: Exported, task: Task, problems: list[Any]) -> tuple[int, int, float]:
    """Ask the exported step and the model the same, along the teacher's frames.

    Returns how many questions were asked, on how many they decided differently, and the largest difference of a state.
    """
    asked = different = 0
    apart = 0.0
    for problem in problems:
        for frame in dict.fromkeys(record(task.env.of(problem), task.main)):
            if frame.call.program not in exported.neural.row:
                continue
            mine = its = None
            for step in frame.steps:
                ((decided, mine),) = exported.neural.decide([(step.seen, frame.call, mine)])
                ((exported_decided, its),) = exported.decide([(step.seen, frame.call, its)])
                asked += 1
                different += decided != exported_decided
                apart = max(apart, float(np.abs(mine - its).max()))
    return asked, different, apart
