"""Measurements of speed run to their end and keep their targets apart; the speeds themselves are not tested."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from npi import tasks
from npi.evaluation import speed
from npi.evaluation.speed import Measurement
from npi.network.neural_decider import NeuralDecider
from npi.training.trainer import make_trainer


def test_rates_of_training(monkeypatch):
    monkeypatch.setattr(speed, "PLAIN_FRAMES", 20)  # enough to run the loops; the rates need more
    monkeypatch.setattr(speed, "BATCHED_UPDATES", 3)
    task = replace(tasks.find("addition"), sizes=range(1, 4), examples=4)
    trainer = make_trainer([task], seed=0)
    problems = [("96", "125"), ("7", "8"), ("1", "9999")]
    frames = [frame for problem in problems for frame in task.demonstrate(problem)[0] * 20]
    found = list(speed.training_rates(trainer, frames))
    assert [(one.what, one.unit) for one in found] == [
        ("training, one frame at a time (plain)", "steps/s"),
        ("training in batches", "steps/s"),
        ("- to one frame at a time", "x"),
        ("recorded frames to distinct frames, stored once", "x"),
    ]
    assert found[2].value == pytest.approx(found[1].value / found[0].value)
    assert found[3].value == len(frames) / len(set(frames)) >= 20


def test_a_teacher_forced_run_computes_every_step_of_the_network(monkeypatch):
    task = tasks.find("sorting")
    problem = [3, 1, 2]
    model = make_trainer([replace(task, sizes=range(2, 4), examples=2)], seed=0).model
    frames = task.demonstrate(problem)[0]
    neural = NeuralDecider(model, task.env)
    batch_sizes, decide = [], neural.decide

    def counting(queries):
        batch_sizes.append(len(queries))
        return decide(queries)

    monkeypatch.setattr(neural, "decide", counting)
    assert speed.running_rate(task, [problem, problem], speed.TeacherForced(neural, frames)) > 0
    assert sum(batch_sizes) == 2 * sum(len(frame.steps) for frame in frames)


@pytest.mark.parametrize(
    ("value", "target", "at_least", "met"),
    [
        (1.0, None, False, None),
        (1.0, 2, False, True),
        (2.0, 2, False, False),
        (2.0, 2, True, True),
        (1, 2, True, False),
    ],
)
def test_a_target_is_an_upper_or_a_lower_bound(value, target, at_least, met):
    assert Measurement("", value, "s", target, at_least).met is met


def test_numbers_have_as_many_decimals_as_they_deserve():
    assert Measurement("", 0.123, "s", 0.5).value_text == "0.12 s"
    assert Measurement("", 12.34, "x", 10, at_least=True).target_text == "at least 10.0 x"
    assert Measurement("", 505_931.4, "steps/s").value_text == "505,931 steps/s"


def test_the_speed_of_a_wrong_program_is_not_reported():
    wrong = SimpleNamespace(name="addition", result=lambda env: "222", answer=lambda problem: "221")
    with pytest.raises(speed.WrongAnswer, match="addition"):
        speed.check_answer(wrong, None, None)  # pyright: ignore[reportArgumentType]


def test_bench_prints_a_table_and_fails_on_a_missed_target(npi, monkeypatch):
    missed = [Measurement("neural running", 0.4, "x", 0.5, at_least=True), Measurement("bare core", 35_920, "steps/s")]
    monkeypatch.setattr(speed, "PARTS", {"startup": lambda: missed[1:], "rates": lambda: missed})
    code, out, _ = npi("bench", "startup")
    assert code == 0
    assert "35,920 steps/s" in out
    code, out, _ = npi("bench")
    assert code == 1
    assert "0.40 x" in out
    assert "MISSED" in out
