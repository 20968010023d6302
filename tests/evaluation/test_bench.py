"""That the measurements run to their end; what they measure is not judged here."""

from dataclasses import replace

from npi import tasks
from npi.evaluation import speed
from npi.network.neural_decider import NeuralDecider
from npi.training.trainer import make_trainer


def test_rates_of_training():
    task = replace(tasks.find("addition"), sizes=range(1, 4), examples=4)
    training = make_trainer([task], seed=0)
    problems = [("96", "125"), ("7", "8"), ("1", "9999")]
    recorded = {problem: task.demonstrate(problem)[0] * 20 for problem in problems}
    rows = list(speed._training_rates(training, recorded))
    assert [row.what for row in rows] == [
        "training one frame at a time (plain)",
        "training in batches, to plain",
        "frames stored once",
    ]
    assert "steps/s" in rows[0].measured
    assert rows[2].measured.endswith(" x")


def test_the_network_works_while_the_teacher_decides():
    task = tasks.find("sorting")
    problem = [3, 1, 2]
    model = make_trainer([replace(task, sizes=range(2, 4), examples=2)], seed=0).model
    led = speed._Led(NeuralDecider(model, task.env), task.demonstrate(problem)[0])
    steps, took = speed._run(task, [problem, problem], led)
    assert steps == 2 * sum(len(frame.steps) for frame in task.demonstrate(problem)[0])
    assert took > 0
