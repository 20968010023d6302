"""Exercises: each can be taught, and is judged by an answer found without it."""

from dataclasses import replace

import pytest

from npi import check_task
from npi.evaluation.exercises import EXERCISES
from npi.evaluation.teachability import exercises, random_programs
from npi.tasks import find
from npi.training.teach import TeachConfig, new_programs


@pytest.mark.parametrize("task", EXERCISES, ids=lambda task: task.name)
def test_an_exercise_has_no_fault(task):
    assert check_task(task, problems=60).faults == []


@pytest.mark.parametrize("task", [t for t in EXERCISES if t.env.__name__ != "CarScene"], ids=lambda task: task.name)
def test_an_exercise_is_new_to_the_model_that_ships(shipped, task):
    new, frames = new_programs(shipped, replace(task, sizes=range(1, 5), examples=3))
    assert task.main.name in new
    assert frames


def test_attempts_are_counted(shipped):
    """Taught for one update nothing is learned, and nothing is claimed."""
    short = TeachConfig(restarts=1, updates=1, estimate_every=1)
    tried = list(random_programs(shipped, find("sorting"), 3, config=short))
    tried += list(exercises(shipped, [replace(EXERCISES[2], sizes=range(1, 4), examples=2)], config=short))
    assert [attempt.env for attempt in tried] == ["SortingPad"] * 4
    assert all(attempt.frames >= attempt.wrong > 0 and not attempt.held for attempt in tried)
