"""Cars learned from decisions alone: no auxiliary labels of the pose, one task and three tasks, loops and recursion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from _cars import (
    DECISIONS,
    WithoutHistory,
    learn,
    over_seeds_and_cars,
    render_for,
    score_cars,
    three_tasks,
)
from _tables import by, table, with_seeds

from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run, Settings
from npi.evaluation.score import score_problems
from npi.language.memo import Memo
from npi.network.neural_decider import NeuralDecider

KINDS = ("seen", "unseen", "seen, at most four steps", "unseen, at most four steps")
PROBLEMS = {"addition": 10, "sorting": 5}  # sizes at which the other two tasks are tested


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:
        return []
    settings = {"cars": 56, "problems": 1000, "updates": DECISIONS.updates}
    loops = with_seeds(5, [{"tasks": "cars", "teacher": "loop"}, {"tasks": "three", "teacher": "loop"}])
    return [{**kind, **settings} for kind in loops + with_seeds(3, [{"tasks": "cars", "teacher": "recursive"}])]


def prepare(missing: Sequence[Settings]) -> Iterator[tuple[int, int]]:
    yield from render_for(max((settings["cars"] for settings in missing), default=0))


def measure(device: str, tasks: str, teacher: str, seed: int, cars: int, problems: int, updates: int) -> dict[str, Any]:
    chosen = [task for task in three_tasks(teacher) if tasks == "three" or task.name == "cars"]
    trainer = learn(chosen, replace(DECISIONS, updates=updates), seed, device)
    model, known = trainer.ema_model, {task.name: task for task in chosen}
    result: dict[str, Any] = {"accuracy": trainer.metrics().accuracy, "cars": score_cars(model, known["cars"], cars)}
    if teacher == "loop":
        forgetful = WithoutHistory(model, known["cars"].env)
        result["without history"] = score_cars(model, known["cars"], cars, forgetful)
    for name, size in PROBLEMS.items():
        if task := known.get(name):
            score = score_problems(task, Memo(NeuralDecider(model, task.env)), task.test_problems(size, problems, 0))
            result[name] = [score.answers, score.traces, score.problems]
    return result


def groups(made: Sequence[Run]) -> dict[str, list[Run]]:
    return by(made, lambda run: f"{run.settings['tasks']}, {run.settings['teacher']}")


def report(made: Sequence[Run]) -> str:
    names = {"cars": "cars alone", "three": "three tasks in one network"}
    rows = []
    for group in groups(made).values():
        settings = group[0].settings
        name = f"{names[settings['tasks']]}, {settings['teacher']}"
        rows.append(
            [name, len(group), *(over_seeds_and_cars([run.result["cars"][kind] for run in group]) for kind in KINDS)]
        )
        forgetful = [run.result["without history"] for run in group if "without history" in run.result]
        if forgetful:
            rows.append(
                [
                    f"{name}, forgetting",
                    len(group),
                    *(over_seeds_and_cars([one[kind] for one in forgetful]) for kind in KINDS),
                ]
            )
    return table(["", "seeds", *KINDS], rows)


EXPERIMENT = Experiment(
    "Cars from decisions alone",
    [Claim("C5", "Cars are learned from pixels and decisions alone.", lambda made: [])],
    runs,
    measure,
    report,
    config={"train": asdict(DECISIONS)},
    prepare=prepare,
)
