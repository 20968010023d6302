"""Exercises: each is a sound task, and new to the shipped model."""

from dataclasses import replace

import pytest

from npi import check_task
from npi.evaluation import teachability
from npi.evaluation.exercises import EXERCISES
from npi.evaluation.teachability import teach_exercises, teach_random_programs
from npi.tasks import find
from npi.training.row_trainer import TeachConfig
from npi.training.teach import new_programs


@pytest.mark.parametrize("task", EXERCISES, ids=lambda task: task.name)
def test_an_exercise_has_no_faults(task):
    assert check_task(task, problems=60).faults == []


@pytest.mark.parametrize("task", [t for t in EXERCISES if t.env.__name__ != "CarScene"], ids=lambda task: task.name)
def test_an_exercise_is_new_to_the_shipped_model(shipped, task):
    new, frames = new_programs(shipped, replace(task, sizes=range(1, 5), examples=3))
    assert task.main.name in new
    assert frames


def test_nothing_counts_as_right_after_one_update(shipped, monkeypatch):
    monkeypatch.setattr(teachability, "TEACHING_STARTS", 100)  # more demonstrations would change nothing here
    short = TeachConfig(restarts=1, updates=1, eval_every=1)
    attempts = list(teach_random_programs(shipped, find("sorting"), 3, config=short))
    attempts += list(teach_exercises(shipped, [replace(EXERCISES[2], sizes=range(1, 4), examples=2)], config=short))
    assert [attempt.env for attempt in attempts] == ["SortingPad"] * 4
    assert all(attempt.frames >= attempt.wrong > 0 and not attempt.right_on_tests for attempt in attempts)
