"""Transformers: tokens one by one equal a sequence; a network on flattened traces learns to run a task."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from npi import tasks
from npi.evaluation.flat_trace import FlatTraces, FlatTransformer, fit_flat
from npi.evaluation.transformer import Block
from npi.language.record import record
from npi.language.trace import Limits, Trace

TASK = replace(tasks.find("addition", "loop"), sizes=(1,), examples=1)
PROBLEMS = [(str(first), str(second)) for first in range(5, 10) for second in range(5)]


@pytest.fixture(scope="module")
def traces():
    return FlatTraces(TASK, PROBLEMS)


def network(traces, **widths):
    torch.manual_seed(0)
    return FlatTransformer(list(TASK.env.fields().values()), traces.decisions, **widths)


@pytest.mark.parametrize("rotary", [True, False])
def test_tokens_one_by_one_are_a_sequence(rotary):
    torch.manual_seed(0)
    block, hidden, cache = Block(16, 2, rotary), torch.randn(3, 7, 16), None
    for place in range(7):
        output, cache = block.step(hidden[:, place : place + 1], cache)
        assert torch.allclose(output, block(hidden)[:, place : place + 1], atol=1e-5)
    assert torch.allclose(block(hidden)[:, :3], block(hidden[:, :3]), atol=1e-5)  # no token sees those after it
    assert not torch.allclose(block(hidden.flip(1))[:, -1], block(hidden)[:, -1], atol=1e-3)


def test_a_recording_is_the_whole_run(traces):
    frames = record(TASK.env.of(("9", "4")), TASK.main)
    run = traces.runs[PROBLEMS.index(("9", "4"))]
    assert [traces.decisions[number] for number in run.decisions] == Trace.of(frames).decisions
    assert tuple(run.observations[0]) == tuple(map(int, frames[0].steps[0].observation))
    assert traces.decisions[0] == TASK.call


def test_every_run_comes_up_equally_often(traces):
    few = FlatTraces(TASK, PROBLEMS[:5])
    counts = np.zeros(5)
    place = {id(run): index for index, run in enumerate(few.runs)}
    for _, batch in zip(range(3000), few.batches(2, 0), strict=False):
        assert 1 <= len(batch) <= 2
        counts[[place[id(run)] for run in batch]] += 1
    assert counts / counts.sum() == pytest.approx(np.full(5, 0.2), abs=0.02)


def test_what_is_run_is_what_was_trained(traces):
    """Decisions made one by one are those of the whole sequence; runs do not depend on those beside them."""
    model = network(traces, width=32, layers=2, heads=2).eval()
    problems = [("9", "5"), ("1", "2"), ("0", "0")]
    limits = Limits(steps=30)
    together = model.run_batch([TASK.env.of(problem) for problem in problems], TASK.call, limits)
    for problem, trace in zip(problems, together, strict=True):
        assert model.run_batch([TASK.env.of(problem)], TASK.call, limits) == [trace]
    env, observations = TASK.env.of(problems[0]), []
    for decision in together[0].decisions:
        observations.append(tuple(map(int, env.observe())))
        if decision is not None and decision.program == "ACT":
            env.act(*decision.args)
    made = [traces.decisions.index(decision) for decision in together[0].decisions]
    logits = model(torch.tensor([observations]), torch.tensor([[0, *made[:-1]]]))
    assert logits[0].argmax(1).tolist() == made


def test_it_learns_to_run(traces):
    model = network(traces, width=64, layers=2)
    *_, loss = fit_flat(model, traces, updates=400, batch_size=8, learning_rate=2e-3)
    assert loss < 0.05
    envs = [TASK.env.of(problem) for problem in PROBLEMS]
    runs = model.eval().run_batch(envs, TASK.call, Limits(steps=100))
    right = [TASK.result(env) == TASK.answer(problem) for env, problem in zip(envs, PROBLEMS, strict=True)]
    assert np.mean(right) > 0.9
    assert not any(run.runaway for run in runs)


def test_a_run_without_end_is_stopped(traces):
    model = network(traces, width=16, layers=1, heads=2)
    with torch.no_grad():
        model.get_parameter("out.1.weight").zero_()
        model.get_parameter("out.1.bias").copy_(-torch.arange(len(traces.decisions)))  # always call the first program
    [trace] = model.run_batch([TASK.env.of(("1", "1"))], TASK.call, Limits(steps=50))
    assert len(trace.decisions) == 50
    assert trace.runaway == "step limit of 50 reached"
