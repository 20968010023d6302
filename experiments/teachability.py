"""How many programs the shipped model learns by new memory rows alone: random ones, and exercises with a meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import mean
from typing import Any

from _learners import shipped
from _tables import by, independent, table

from npi import tasks
from npi.cars.car import Car
from npi.cars.views import render_all
from npi.evaluation.exercises import EXERCISES
from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run, Settings
from npi.evaluation.teachability import (
    PROGRAMS_AT_ONCE,
    TEACHING_STARTS,
    TEST_PROBLEMS,
    TEST_STARTS,
    Attempt,
    teach_exercises,
    teach_random_programs,
)
from npi.network.checkpoint import load_model
from npi.tasks import cars
from npi.training.row_trainer import TeachConfig

ENVIRONMENTS = ("addition", "sorting", "cars")
PROGRAMS = 100  # random programs on each environment
UPDATES = TeachConfig().updates
TARGETS = {"addition": 95, "sorting": 95, "cars": 80}  # percent of the random programs that should be learned


def runs(quick: bool) -> list[dict[str, Any]]:
    """Random programs are taught PROGRAMS_AT_ONCE at a time, exercises one at a time."""
    if quick:
        return [{"programs": "random", "task": "sorting", "first": 0, "count": 1, "updates": 5, "seed": 0}]
    parts = [
        {"programs": "random", "task": task, "first": first, "count": PROGRAMS_AT_ONCE, "updates": UPDATES, "seed": 0}
        for first in range(0, PROGRAMS, PROGRAMS_AT_ONCE)
        for task in ENVIRONMENTS
    ]
    return parts + [{"programs": "exercise", "task": task.name, "updates": UPDATES, "seed": 0} for task in EXERCISES]


def prepare(missing: Sequence[Settings]) -> Iterator[tuple[int, int]]:
    """Render the cars that programs on cars are taught and tested with."""
    on_cars = {"cars", *(task.name for task in EXERCISES if task.env is tasks.find("cars").env)}
    if any(settings["task"] in on_cars for settings in missing):
        rendered = [Car(number, training=True) for number in cars.TRAINING_CARS] + [
            Car(number) for number in cars.SELECTION_CARS
        ]
        for done in render_all(rendered):
            yield done, len(rendered)


def measure(
    device: str, programs: str, task: str, seed: int, updates: int, first: int = 0, count: int = 0
) -> dict[str, Any]:
    model, config = load_model(device=device), TeachConfig(updates=updates)
    if programs == "random":
        known = tasks.find(task, model.tasks[task])
        attempts = list(teach_random_programs(model, known, count, seed, config, first))
    else:
        attempts = list(teach_exercises(model, [one for one in EXERCISES if one.name == task], seed, config))
    return {"attempts": [described(attempt) for attempt in attempts]}


def described(attempt: Attempt) -> dict[str, Any]:
    """An attempt as JSON values."""
    return {
        "program": attempt.program,
        "environment": attempt.env,
        "frames": attempt.frames,
        "wrong_frames": attempt.wrong,
        "right_on_tests": attempt.right_on_tests,
        "test_frames": attempt.test_frames,
        "unseen_test_frames": attempt.unseen_frames,
        "seconds": round(attempt.seconds, 2),
    }


def attempts_of(made: Sequence[Run], programs: str) -> dict[str, list[dict[str, Any]]]:
    """The outcome of each attempt to teach a program, by task."""
    groups = by((run for run in made if run.settings["programs"] == programs), lambda run: run.settings["task"])
    return {task: [attempt for run in group for attempt in run.result["attempts"]] for task, group in groups.items()}


def right_on_tests(attempts: Sequence[dict[str, Any]]) -> int:
    return sum(attempt["right_on_tests"] for attempt in attempts)


def unseen_percent(attempts: Sequence[dict[str, Any]]) -> float:
    """The percentage of test frames that were not among the frames taught."""
    return 100 * sum(a["unseen_test_frames"] for a in attempts) / sum(a["test_frames"] for a in attempts)


def report(made: Sequence[Run]) -> str:
    random, exercise = attempts_of(made, "random"), attempts_of(made, "exercise")
    parts = []
    if random:
        rows = [
            [
                task,
                independent(right_on_tests(attempts), len(attempts)),
                f"{TARGETS[task]} %",
                sum(not attempt["wrong_frames"] for attempt in attempts),
                f"{unseen_percent(attempts):.1f} %",
                f"{mean(attempt['seconds'] for attempt in attempts):.1f}",
            ]
            for task, attempts in random.items()
        ]
        head = ["environment", "right on tests", "target", "right on taught frames", "unseen test frames", "seconds"]
        parts.append(
            f"Random programs, each demonstrated from {TEACHING_STARTS:,} random states and tested from "
            f"{TEST_STARTS:,} other states; {TEACHING_STARTS:,} was chosen by looking at these "
            "programs. A program is right on tests if no decision is wrong in any frame. *Unseen test frames* are "
            "those that do not occur among the frames taught. Seconds are for one program, of "
            f"{PROGRAMS_AT_ONCE} that are taught in parallel.\n\n{table(head, rows)}\n\n"
            "**These numbers overstate what the model can be taught.** The programs come from the grammar of the "
            "practice programs that the model was trained on; many are so short that they probably occurred "
            "among the millions of these. Their tests repeat frames that were taught, as the table shows. A test on "
            "programs of another origin and on unseen frames remains to be made."
        )
    if exercise:
        rows = [
            [
                attempt["program"],
                attempt["environment"],
                "right" if attempt["right_on_tests"] else "wrong",
                f"{attempt['wrong_frames']:,} of {attempt['frames']:,}",
                f"{attempt['seconds']:.1f}",
            ]
            for attempts in exercise.values()
            for attempt in attempts
        ]
        head = ["exercise", "environment", "on test problems", "taught frames that stay wrong", "seconds"]
        parts.append(
            f"Exercises: programs with a meaning, each taught alone and tested on {TEST_PROBLEMS} problems or slightly "
            f"more, where its trace must equal its teacher's.\n\n{table(head, rows)}"
        )
    return "\n\n".join(parts)


def taught(made: Sequence[Run]) -> list[str]:
    random, exercise = attempts_of(made, "random"), attempts_of(made, "exercise")
    lines = [
        f"{task}, random programs: {independent(right_on_tests(attempts), len(attempts))}; "
        f"{unseen_percent(attempts):.1f} % of their test frames were not taught"
        for task, attempts in random.items()
    ]
    of_exercises = [attempt for attempts in exercise.values() for attempt in attempts]
    failed = [attempt["program"] for attempt in of_exercises if not attempt["right_on_tests"]]
    but = f", not {', '.join(failed)}" if failed else ""
    return lines + (
        [f"exercises: {len(of_exercises) - len(failed)} of {len(of_exercises)}{but}"] if of_exercises else []
    )


EXPERIMENT = Experiment(
    "Teachability",
    [
        Claim(
            "teachability",
            "The shipped model learns random programs by new memory rows alone: "
            + ", ".join(f"{percent} % of random programs on {task}" for task, percent in TARGETS.items())
            + ".",
            taught,
            "the test overstates: the random programs come from the grammar of the practice programs, among which many "
            "of them probably occurred, and most of "
            "their test frames were also taught.",
        ),
    ],
    runs,
    measure,
    report,
    config={
        **shipped(),
        "teach": asdict(TeachConfig()),
        "states": [TEACHING_STARTS, TEST_STARTS],
        "test_problems": TEST_PROBLEMS,
    },
    page="benchmarks",
    prepare=prepare,
)
