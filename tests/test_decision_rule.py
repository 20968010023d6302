"""The decision rule stands in one place: everything that decides follows a change of its threshold."""

from dataclasses import replace
from math import log
from typing import Any, cast

import numpy as np
import pytest
import torch

from npi import NPI, tasks
from npi.language.interpreter import Query
from npi.language.task import distinct_frames
from npi.network import decision
from npi.network.model import MemoryRows
from npi.network.neural_decider import NeuralDecider
from npi.network.onnx import OnnxDecider
from npi.proof.compare import compare_histories
from npi.proof.histories import Histories
from npi.training.config import FAST
from npi.training.dataset import FrameDataset
from npi.training.metrics import count_wrong_decisions, wrong_steps
from npi.training.row_trainer import TaughtRows, TeachingSet, count_wrong_frames
from npi.training.trainer import make_trainer

TASK = tasks.find_task("sorting")
FRAMES = list(distinct_frames(TASK, [(3, 1, 2), (5, 5, 0, 9)]))
FRAMES_WITH_CALLS = [frame for frame in FRAMES if len(frame.steps) > 1]
CALLS = sum(len(frame.steps) - 1 for frame in FRAMES)  # every step but the last of a frame, which returns


@pytest.fixture
def always_stop(monkeypatch):
    """Lower the threshold so far that every stop logit reaches it. A decision is now always to return."""
    return lambda: monkeypatch.setattr(decision, "STOP_PROBABILITY", 1e-300)


def queries() -> list[Query]:
    return [(frame.steps[0].observation, frame.call, None) for frame in FRAMES_WITH_CALLS]


def test_the_threshold(always_stop):
    assert decision.stop_threshold() == 0
    always_stop()
    assert decision.stop_threshold() == pytest.approx(log(1e-300))


def test_margins_follow(monkeypatch):
    """With a threshold of probability 3/4, a return needs a stop logit of log 3."""
    logits = decision.Logits(torch.ones(1), torch.tensor([[9.0, 0.0]]), (torch.tensor([[9.0, 0.0]]),))
    monkeypatch.setattr(decision, "STOP_PROBABILITY", 0.75)
    assert decision.margin(logits, torch.tensor([False])).item() == pytest.approx(log(3) - 1)


def test_running_follows(shipped, always_stop):
    decider = NeuralDecider(shipped, TASK.env)
    assert all(call is not None for call, _ in decider.decide(queries()))
    always_stop()
    assert all(call is None for call, _ in decider.decide(queries()))


class ModelSession:
    """An onnxruntime session that evaluates the model itself, which saves the ten seconds of an export."""

    def __init__(self, model: NPI):
        self.model = model

    def run(self, names: None, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        observation, args, program, h, c = (
            torch.from_numpy(inputs[name]) for name in ("observation", "args", "program", "h", "c")
        )
        with torch.inference_mode():
            logits, state = self.model.step(TASK.env.__name__, observation, args, program, (h, c))
        return [tensor.numpy() for tensor in (logits.stop, logits.program, *logits.args, *state)]


def test_exports_follow(shipped, always_stop):
    decider = OnnxDecider.__new__(OnnxDecider)  # without reading a file
    decider.session = cast(Any, ModelSession(shipped))
    decider.neural = NeuralDecider(shipped, TASK.env)
    assert all(call is not None for call, _ in decider.decide(queries()))
    always_stop()
    assert all(call is None for call, _ in decider.decide(queries()))


def test_training_metrics_follow(shipped, always_stop):
    dataset = FrameDataset([(TASK.env.__name__, frame) for frame in FRAMES], shipped.programs)
    everything = np.ones(len(dataset), dtype=bool)
    assert count_wrong_decisions(shipped, dataset, everything)[1].sum() == 0
    always_stop()
    assert count_wrong_decisions(shipped, dataset, everything)[1].sum() == CALLS


def test_proofs_follow(shipped, always_stop):
    histories = Histories()
    for frame in FRAMES:
        node = -1
        for step in frame.steps:
            node = histories.add(frame.call, node, *step)
    before = compare_histories(shipped, TASK, histories)
    assert before.proved
    always_stop()
    after = compare_histories(shipped, TASK, histories)
    assert sorted(after.wrong_nodes) == [node for node, call in enumerate(histories.decision) if call is not None]
    # Every stop logit is far from the new threshold, so only programs and arguments limit the margin.
    assert after.margin >= before.margin


def test_teaching_follows(shipped, always_stop):
    """A taught copy of a program's memory row is right in every frame before the change, and in none after it."""
    program = next(frame.call.program for frame in FRAMES_WITH_CALLS if calls_only_act(frame.call.program))
    frames = [frame for frame in FRAMES_WITH_CALLS if frame.call.program == program]
    copies = [(TASK.env.__name__, frame._replace(call=frame.call._replace(program="COPY"))) for frame in frames]
    row = shipped.programs.index(program)
    memory = MemoryRows(shipped.keys[row : row + 1].detach(), shipped.embeddings[row : row + 1].detach())
    taught = TaughtRows(memory, {}, 0, len(copies), 0)
    assert count_wrong_frames(shipped, TeachingSet(("COPY",), copies), taught) == 0
    always_stop()
    assert count_wrong_frames(shipped, TeachingSet(("COPY",), copies), taught) == len(frames)


def calls_only_act(program: str) -> bool:
    decisions = [step.decision for frame in FRAMES if frame.call.program == program for step in frame.steps]
    return all(call is None or call.program == "ACT" for call in decisions)


def test_practice_follows(always_stop):
    trainer = make_trainer([replace(TASK, sizes=(2,), examples=2)], replace(FAST, practice_rollouts=20))
    assert trainer.practice is not None
    logits, batch = trainer.practice.sample(trainer.model, count=50, seed=0)
    assert not torch.equal(wrong_steps(logits, batch), ~batch.stop)
    always_stop()
    assert torch.equal(wrong_steps(logits, batch), ~batch.stop)
