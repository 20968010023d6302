"""The equivalences that matter: what the shipped network does is what its teacher does, however it is run."""

import pytest

from npi import BadInput, Limits, record, tasks
from npi.evaluation.score import interval, score_sizes
from npi.language.interpreter import run_batch, run_program
from npi.language.memo import Memo
from npi.language.trace import Trace
from npi.network.learned_task import check_model_fits
from npi.network.neural_decider import NeuralDecider


def problems_of(task):
    return [problem for size in (1, 2, 5, 11) for problem in task.test_problems(size, 10, 4)]


@pytest.mark.parametrize("name", ["addition", "sorting"])
def test_single_batched_and_memoised_runs_are_the_teachers(shipped, name):
    task = tasks.find(name, shipped.tasks[name])
    problems = problems_of(task)
    teacher = [Trace.of(record(task.env.of(problem), task.main)) for problem in problems]
    neural = NeuralDecider(shipped, task.env)
    envs = [task.env.of(problem) for problem in problems]
    batched = run_batch(envs, task.call, neural)
    assert batched == teacher
    assert [task.result(env) for env in envs] == [task.answer(problem) for problem in problems]
    memo = Memo(neural)
    assert run_batch([task.env.of(problem) for problem in problems], task.call, memo) == batched
    for problem, trace in list(zip(problems, batched, strict=True))[::4]:
        assert run_program(task.env.of(problem), task.call, neural) == trace
        assert run_program(task.env.of(problem), task.call, memo) == trace


@pytest.mark.parametrize(("name", "size"), [("addition", 500), ("sorting", 40)])
def test_the_shipped_model_solves_large_problems(shipped, name, size):
    task = tasks.find(name, shipped.tasks[name])
    [score] = score_sizes(task, Memo(NeuralDecider(shipped, task.env)), [size], 12)
    assert (score.answers, score.traces, score.wrong) == (12, 12, ())


def test_every_array_of_two_digits_and_many_of_three(shipped):
    task = tasks.find("sorting", shipped.tasks["sorting"])
    problems = [(a, b) for a in range(10) for b in range(10)] + [
        (a, b, c) for a in range(10) for b in range(10) for c in (0, 4, 9)
    ]
    envs = [task.env.of(problem) for problem in problems]
    traces = run_batch(envs, task.call, Memo(NeuralDecider(shipped, task.env)), Limits(1000))
    assert traces == [Trace.of(record(task.env.of(problem), task.main)) for problem in problems]


def test_every_sum_of_two_digits_with_and_without_carry(shipped):
    task = tasks.find("addition", shipped.tasks["addition"])
    problems = [(str(a), str(b)) for a in range(10) for b in range(10)] + [
        (f"{a}5", f"{b}5") for a in range(1, 10) for b in range(1, 10)
    ]
    envs = [task.env.of(problem) for problem in problems]
    run_batch(envs, task.call, Memo(NeuralDecider(shipped, task.env)), Limits(1000))
    assert [task.result(env) for env in envs] == [str(int(a) + int(b)) for a, b in problems]


def test_evaluation_counts_what_is_wrong(shipped):
    """The score can fail: a network with its memory rows shuffled gets nothing right."""
    import copy

    import torch

    task = tasks.find("sorting", shipped.tasks["sorting"])
    broken = copy.deepcopy(shipped)
    with torch.no_grad():
        broken.keys.copy_(broken.keys.roll(1, 0))
    [score] = score_sizes(task, Memo(NeuralDecider(broken, task.env)), [6], 10)
    assert score.traces == 0
    assert score.answers < 10


def test_a_model_that_does_not_fit_is_refused_with_every_reason(shipped):
    import copy
    from dataclasses import replace

    other = copy.deepcopy(shipped)
    other.config = replace(other.config, argument_sizes=(1, 1, 1), fields={"Elsewhere": {"x": 2}})
    other.programs = ["ACT"]
    with pytest.raises(BadInput) as caught:
        check_model_fits(other, tasks.find("addition"))
    for reason in ("no encoder for AdditionPad", "arguments have (1, 1, 1) values", "no program ADD"):
        assert reason in str(caught.value)
    other.config = replace(other.config, fields={"AdditionPad": {"first": 3}})
    with pytest.raises(BadInput, match="but it was trained on"):
        check_model_fits(other, tasks.find("addition"))
    check_model_fits(shipped, tasks.find("addition"))


def test_intervals():
    assert interval(100, 100) == (pytest.approx(0.963, abs=1e-3), 1.0)
    assert interval(0, 100) == (0.0, pytest.approx(0.037, abs=1e-3))
    low, high = interval(50, 100)
    assert low == pytest.approx(0.404, abs=1e-3)
    assert high == pytest.approx(0.596, abs=1e-3)
