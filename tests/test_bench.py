"""That the measurements run to their end; what they measure is not judged here."""

from dataclasses import replace

from npi import bench, tasks
from npi.train import begin


def test_rates_of_training():
    task = replace(tasks.find("addition"), sizes=range(1, 4), examples=4)
    training = begin([task], seed=0)
    problems = [("96", "125"), ("7", "8"), ("1", "9999")]
    recorded = {problem: task.demonstrate(problem)[0] * 20 for problem in problems}
    rows = list(bench._training_rates(training, recorded))
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
    model = begin([replace(task, sizes=range(2, 4), examples=2)], seed=0).model
    led = bench._Led(bench.Neural(model, task.env), task.demonstrate(problem)[0])
    steps, took = bench._run(task, [problem, problem], led)
    assert steps == 2 * sum(len(frame.steps) for frame in task.demonstrate(problem)[0])
    assert took > 0
