"""That the measurements run to their end; what they measure is not judged here."""

from dataclasses import replace

from npi import tasks
from npi.evaluation import bench, speed
from npi.evaluation.provability import Proof, prove
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


def test_proofs_are_counted_with_and_without_what_failed(monkeypatch):
    def prove(name, seed, device, examples):
        return Proof(
            name, seed, examples, seed == 0, seed < 2, rounds=seed, failing=seed, margin=1.0, seconds=float(seed)
        )

    monkeypatch.setattr(bench, "prove", prove)
    rows = [row for row in bench.proofs(["bubblesort"], 3, 1, "cpu", 4) if isinstance(row, speed.Row)]
    assert [row.measured.split(",")[0] for row in rows[:3]] == ["at once", "after 1 round", "not proved"]
    assert (rows[3].measured, rows[3].target, rows[3].met) == ("2, after 1 at most", "3", False)
    assert rows[4].measured == "1; 1 s"


def test_bubble_sort_is_proved_from_three_traces():
    proof = prove("bubblesort", 0, "cpu")
    assert (proof.traces, proof.proved) == (3, True)
    assert proof.margin > 0
