"""Cars learned from decisions alone, to any target: one task and three tasks, loops and recursion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from _cars import DECISIONS, WithoutHistory, half_to_paper_target, learn, over_seeds_and_cars, render_for, score_cars
from _tables import by, table, with_seeds

from npi import tasks as all_tasks
from npi.evaluation.experiment import Experiment, PaperClaim
from npi.evaluation.results import Run, Settings
from npi.evaluation.score import score_problems
from npi.language.memo import Memo
from npi.language.task import Task
from npi.network.neural_decider import NeuralDecider

CONFIG = replace(DECISIONS, max_batch_steps=1280)
KINDS = ("seen", "unseen", "seen, at most four steps", "unseen, at most four steps")
SIZES = {"addition": 10, "sorting": 5}  # at which the other two tasks are tested
NAMES = {"cars": "cars alone", "three": "three tasks in one network"}


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:  # rendering the training cars takes minutes
        return []
    settings = {"cars": 56, "problems": 1000, "updates": CONFIG.updates}
    kinds = [*with_seeds(5, [{"tasks": "cars", "teacher": "loop"}, {"tasks": "three", "teacher": "loop"}])]
    return [{**kind, **settings} for kind in [*kinds, *with_seeds(3, [{"tasks": "cars", "teacher": "recursive"}])]]


def prepare(missing: Sequence[Settings]) -> Iterator[tuple[int, int]]:
    yield from render_for(missing[0]["cars"])


def measure(device: str, tasks: str, teacher: str, seed: int, cars: int, problems: int, updates: int) -> dict[str, Any]:
    known = chosen(tasks, teacher)
    trainer = learn(known, replace(CONFIG, updates=updates), seed, device)
    model, scene = trainer.ema_model, known[-1]
    result: dict[str, Any] = {"accuracy": trainer.metrics().accuracy, "cars": score_cars(model, scene, cars)}
    if teacher == "loop":
        result["without history"] = score_cars(model, scene, cars, WithoutHistory(model, scene.env))
    for task in known[:-1]:
        decider = Memo(NeuralDecider(model, task.env))
        score = score_problems(task, decider, task.test_problems(SIZES[task.name], problems, 0))
        result[task.name] = [score.answers, score.traces, score.problems]
    return result


def chosen(tasks: str, teacher: str) -> list[Task]:
    """The tasks of a run, cars last."""
    others = [all_tasks.find(name, teacher) for name in SIZES] if tasks == "three" else []
    return [*others, half_to_paper_target(all_tasks.find("cars", teacher))]


def groups(made: Sequence[Run]) -> dict[str, list[Run]]:
    return by(made, lambda run: f"{NAMES[run.settings['tasks']]}, {run.settings['teacher']}")


def report(made: Sequence[Run]) -> str:
    rows = []
    for name, group in groups(made).items():
        for what, extra in (("cars", ""), ("without history", ", forgetting")):
            found = [run.result[what] for run in group if what in run.result]
            if found:
                cells = (over_seeds_and_cars([scores[kind] for scores in found]) for kind in KINDS)
                rows.append([name + extra, len(found), *cells])
    return (
        "No auxiliary labels: the network sees images and learns the teacher's decisions. Trained on trajectories to "
        "any target, half of them to the paper's where the length allows that; tested on those to the paper's "
        "target, around training cars from held-out poses and around test cars. *Forgetting*: at each step of a loop, "
        "the network sees the present image alone. Trajectories that end on the target, mean and range over the "
        f"seeds.\n\n{table(['', 'seeds', *KINDS], rows)}"
    )


def unseen(made: Sequence[Run]) -> list[str]:
    return [
        f"{name}, decisions alone, any target, unseen cars: "
        + over_seeds_and_cars([run.result["cars"]["unseen"] for run in group])
        for name, group in groups(made).items()
    ]


EXPERIMENT = Experiment(
    "Cars from decisions alone, to any target",
    [PaperClaim("C5", "Cars are learned from pixels and decisions alone, to any target.", unseen)],
    runs,
    measure,
    report,
    config={"train": asdict(CONFIG)},
    prepare=prepare,
)
