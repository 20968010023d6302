"""MAX taught to cores that never practised: trained on the paper's loops alone, then frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from _tables import independent, percent, table, with_seeds

from npi import tasks
from npi.evaluation.experiment import Experiment, PaperClaim
from npi.evaluation.results import Run
from npi.evaluation.score import score_problems
from npi.language.memo import Memo
from npi.language.task import Task
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.training.config import FAST
from npi.training.row_trainer import TeachConfig
from npi.training.teach import teach_task
from npi.training.trainer import make_trainer

# How MAX is taught: whether new programs get keys of their own for old ones, and whether old frames are rehearsed.
ARMS = {
    "rows alone": (False, False),
    "with extra keys": (True, False),
    "with extra keys, rehearsed": (True, True),
}
OLD = {"addition": 10, "sorting": 5}  # the sizes of the paper's table 1
NEW_SIZES = (5, 20)  # of MAX: the paper's, and longer than any array it was taught with


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:
        return [{"seed": 0, "examples": 2, "longest": 2, "problems": 10, "updates": 20}]
    return with_seeds(5, [{"examples": 64, "longest": 20, "problems": 1000, "updates": FAST.updates}])


def measure(device: str, seed: int, examples: int, longest: int, problems: int, updates: int) -> dict[str, Any]:
    old = [_task(name, examples, longest) for name in OLD]
    trainer = make_trainer(old, replace(FAST, updates=updates), seed)
    for _ in trainer.run():
        pass
    core = trainer.ema_model
    new = tasks.find("maximum", "loop")
    if longest < max(new.sizes):
        new = replace(new, sizes=range(1, longest + 1), examples=examples)
    return {
        "learned": trainer.learned,
        "updates": trainer.updates,
        "before": {name: _solved(core, name, OLD[name], problems) for name in OLD},
        "arms": {
            name: _teach(core, new, old if rehearse else (), keys, min(updates, TeachConfig.updates), seed, problems)
            for name, (keys, rehearse) in ARMS.items()
        },
    }


def _task(name: str, examples: int, longest: int) -> Task:
    """A task of the paper's loops and sizes."""
    task = tasks.find(name, "loop")
    return replace(task, sizes=[size for size in task.sizes if size <= longest], examples=examples)


def _teach(
    core: NPI, new: Task, old: Sequence[Task], extra_keys: bool, updates: int, seed: int, problems: int
) -> dict[str, Any]:
    taught = teach_task(core, new, old, TeachConfig(extra_keys=extra_keys, updates=updates), seed)
    return {
        "wrong": taught.wrong,
        "frames": taught.frames,
        "updates": taught.updates,
        "maximum": {size: _solved(taught.model, "maximum", size, problems if size == 5 else problems // 10)
                    for size in NEW_SIZES},
        "after": {name: _solved(taught.model, name, OLD[name], problems) for name in OLD},
    }  # fmt: skip


def _solved(model: NPI, name: str, size: int, count: int) -> list[int]:
    """How many problems the model solves, and how many there are."""
    task = tasks.find(name, "loop")
    score = score_problems(task, Memo(NeuralDecider(model, task.env)), task.test_problems(size, count, 0))
    return [score.answers, score.problems]


def report(made: Sequence[Run]) -> str:
    rows = []
    for arm in ARMS:
        results = [run.result["arms"][arm] for run in made]
        rows.append(
            [
                arm,
                independent(sum(not one["wrong"] for one in results), len(results)),
                *(_share(one["maximum"][str(size)] for one in results) for size in NEW_SIZES),
                *(_share(one["after"][name] for one in results) for name in OLD),
            ]
        )
    before = [_share(run.result["before"][name] for run in made) for name in OLD]
    head = ["MAX", "seeds with every frame right", *(f"MAX, length {size}" for size in NEW_SIZES), *OLD]
    settings = made[0].settings
    return (
        f"Cores trained on addition and sorting, without practice and without proofs, from the loops and "
        f"{settings['examples']} examples of each length up to {settings['longest']}; the paper's core is trained on "
        "cars too. Then MAX and RJMP are taught, and nothing else changes. *Rows alone* trains their keys and "
        "embeddings, as the paper does. *With extra keys*, each old program that they call gets a key that only they "
        "see; *rehearsed*, all programs see it, and frames of the old tasks are trained too. Correct answers, mean and "
        f"range over the seeds; addition is of {OLD['addition']} digits, sorting of length {OLD['sorting']}.\n\n"
        + table(head, [["not taught", "", *[""] * len(NEW_SIZES), *before], *rows])
    )


def _share(scores: Any) -> str:
    return percent([solved / count for solved, count in scores])


def learned(made: Sequence[Run]) -> list[str]:
    results = [run.result["arms"]["with extra keys"] for run in made]
    frames = sum(not one["wrong"] for one in results)
    solved = _share(one["maximum"]["5"] for one in results)
    return [
        f"no practice, addition and sorting, lengths to 20, extra keys: every frame learned by {frames} of "
        f"{len(made)} seeds, arrays of 5 solved {solved}"
    ]


EXPERIMENT = Experiment(
    "MAX without practice",
    [
        PaperClaim(
            "C6",
            "MAX is learned by memory rows with everything else frozen, on a core trained on the paper's tasks alone.",
            learned,
            "the core is trained on addition and sorting, not on cars. With rows alone, as in the paper, RJMP cannot "
            "call RSHIFT at its first step: no frame of training does, so no hidden state of a first step points to "
            "its key. A core whose frames are all right need not solve every problem: RJMP calls RSHIFT with both "
            "pointers on one cell, which training never shows.",
        ),
    ],
    runs,
    measure,
    report,
    config={"npi": asdict(FAST), "teaching": asdict(TeachConfig())},
)
