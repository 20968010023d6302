"""Experiments of the benchmarks page: what they count, and that proofs are found."""

from pathlib import Path

import pytest

from npi.evaluation.experiment import Experiment, find_experiment
from npi.evaluation.results import Run

REAL = Path(__file__).parents[2] / "experiments"


def of(name: str) -> Experiment:
    return find_experiment(REAL, name)


def evidence(experiment: Experiment, runs: list[Run]) -> list[str]:
    return [line for claim in experiment.claims for line in claim.evidence(runs)]


def test_proofs_are_counted_at_once_and_after_repair():
    """Seed 0 is proved at once, seed 1 after a round, seed 2 never; seed 3 does not learn its traces."""
    proofs = of("proofs")
    settings = {"task": "bubblesort", "sizes": [3], "examples": 3}
    outcomes = [(True, [0]), (True, [5, 0]), (False, [9, 4, 2])]
    results = [
        {
            "learned": True,
            "proved": proved,
            "repair_rounds": len(failing) - 1,
            "histories": 135,
            "failing": failing,
            "margin": 1.0,
        }
        for proved, failing in outcomes
    ]
    results.append(
        {"learned": False, "proved": False, "repair_rounds": 0, "histories": 0, "failing": [], "margin": 0.0}
    )
    runs = [Run(settings | {"seed": seed}, result, float(seed), {}) for seed, result in enumerate(results)]
    assert evidence(proofs, runs) == [
        "bubblesort: 1 of 4 proved at once, 2 in the end, after at most 1 repair round",
    ]
    row = proofs.report(runs).splitlines()[-1]
    assert row.startswith("| bubblesort | 3 of size 3 | 1 of 4 (4.6 to 69.9 %) | 2 of 4 (15.0 to 85.0 %) | 1 | ")
    assert "| 0 to 9 of 135 |" in row


@pytest.mark.slow
def test_bubble_sort_is_proved_from_three_traces():
    result = of("proofs").measure(device="cpu", task="bubblesort", sizes=[3], examples=3, seed=0)
    assert result["proved"]
    assert result["margin"] > 0


def accuracy_run(seed: int, answers: int, traces: int, learned: int | None) -> Run:
    result = {
        "frames": 100 + seed,
        "recording_seconds": 1.0,
        "seconds_to_learn": None if learned is None else learned / 10,
        "updates_to_learn": learned,
        "scores": [
            {"size": 1, "problems": 10, "answers": 10, "traces": 10},
            {"size": 3000, "problems": 10, "answers": answers, "traces": traces},
        ],
    }
    settings = {"task": "addition", "teacher": "loop", "longest": 20, "tests": [[1, 10], [3000, 10]], "seed": seed}
    return Run(settings, result, 1.0, {})


def test_a_seed_counts_only_without_an_error():
    """A wrong trace fails a seed, even if the answer is correct."""
    accuracy = of("accuracy")
    runs = [accuracy_run(0, 10, 10, 500), accuracy_run(1, 10, 9, 700), accuracy_run(2, 8, 8, None)]
    assert evidence(accuracy, runs) == [
        "addition, loop: all frames learned by 2 of 3 seeds; no error by any seed at size 1; "
        "seeds without an error: 1 at 3,000"
    ]
    rows = accuracy.report(runs).splitlines()
    assert "| addition, loop | 3,000 | 10 | 1 of 3 (6.1 to 79.2 %), not seeds 1, 2 | 28 of 30 |" in rows
    [learning] = [row for row in rows if row.startswith("| addition, loop | 100 to 102")]
    assert "2 of 3 (20.8 to 93.9 %), not seed 2 | 600 (500 to 700), 1 never | 60 (50 to 70), 1 never |" in learning


def attempt(right: bool, wrong: int, test_frames: int | None, unseen: int | None, program: str = "P") -> dict:
    return {
        "program": program,
        "environment": "SortingPad",
        "frames": 50,
        "wrong_frames": wrong,
        "right_on_tests": right,
        "test_frames": test_frames,
        "unseen_test_frames": unseen,
        "seconds": 2.0,
    }


def test_taught_programs_are_counted_beside_how_much_of_their_test_was_taught():
    teachability = of("teachability")
    random = {"programs": "random", "task": "sorting", "count": 2, "seed": 0}
    exercise = {"programs": "exercise", "seed": 0}
    runs = [
        Run(random | {"first": 0}, {"attempts": [attempt(True, 0, 30, 1), attempt(False, 0, 50, 1)]}, 1.0, {}),
        Run(random | {"first": 2}, {"attempts": [attempt(True, 0, 10, 0), attempt(False, 3, 10, 3)]}, 1.0, {}),
        Run(exercise | {"task": "MAX"}, {"attempts": [attempt(True, 0, None, None, "MAX")]}, 1.0, {}),
        Run(exercise | {"task": "TOUR"}, {"attempts": [attempt(False, 0, None, None, "TOUR")]}, 1.0, {}),
    ]
    assert evidence(teachability, runs) == [
        "sorting, random programs: 2 of 4 (15.0 to 85.0 %); 5.0 % of their test frames were not taught",
        "exercises: 1 of 2, not TOUR",
    ]
    report = teachability.report(runs)
    assert "| sorting | 2 of 4 (15.0 to 85.0 %) | 95 % | 3 | 5.0 % | 2.0 |" in report
    assert "overstate" in report


def test_random_programs_and_exercises_are_all_measured():
    settings = of("teachability").runs(False)
    random = [one for one in settings if one["programs"] == "random"]
    programs = {(one["task"], n) for one in random for n in range(one["first"], one["first"] + one["count"])}
    assert len(programs) == sum(one["count"] for one in random) == 300
    assert sum(one["programs"] == "exercise" for one in settings) == 15
