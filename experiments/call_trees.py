"""The call trees in the paper's figures, produced by learned programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from _learners import learn_npi, npi_task, shipped

from npi import tasks
from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run
from npi.language.call_tree import format_tree
from npi.language.interpreter import run_program
from npi.language.memo import Memo
from npi.language.record import record
from npi.language.trace import Trace
from npi.network.checkpoint import load_model
from npi.network.neural_decider import NeuralDecider
from npi.training.config import FAST

SIZES, EXAMPLES = range(1, 6), 64  # enough to learn the problems of the figures
FIGURES = {
    "addition 9 5": "A single digit, 9 + 5 (figure 2)",
    "addition 96 125": "96 + 125 (figure 3)",
    "sorting 9 2 5": "Sorting 9 2 5 (appendix)",
}


def runs(quick: bool) -> list[dict[str, Any]]:
    learners = ("recursive",) if quick else ("loop", "recursive")
    return [{"problem": problem, "learner": learner, "seed": 0} for problem in FIGURES for learner in learners]


def measure(device: str, problem: str, learner: str, seed: int) -> dict[str, Any]:
    name, *words = problem.split()
    task = tasks.find(name, learner)
    if learner == "recursive":
        model = load_model()  # the shipped model was trained on the recursive teachers
    else:
        model, _ = learn_npi(npi_task(name, learner, SIZES, EXAMPLES), seed)
    env = task.env.of(task.parse(words))
    trace = run_program(env, task.call, Memo(NeuralDecider(model, task.env)))
    equals_teacher = trace == Trace.of(record(task.env.of(task.parse(words)), task.main))
    return {
        "lines": list(format_tree(trace, task.env)),
        "answer": task.show(task.result(env)),
        "equals_teacher": equals_teacher,
    }


def report(made: Sequence[Run]) -> str:
    parts = ["Call trees of learned programs. Each equals its teacher's call tree unless marked."]
    for one in made:
        what = f"{FIGURES[one.settings['problem']]}, {one.settings['learner']}: {one.result['answer']}"
        other = "" if one.result["equals_teacher"] else " - **differs from its teacher**"
        lines = "\n".join(one.result["lines"])
        parts.append(f"<details><summary>{what}{other}</summary>\n\n```\n{lines}\n```\n\n</details>")
    return "\n\n".join(parts)


def equal_trees(made: Sequence[Run]) -> list[str]:
    return [f"{sum(one.result['equals_teacher'] for one in made)} of {len(made)} trees equal their teachers'"]


EXPERIMENT = Experiment(
    "Call trees",
    [
        Claim("C9", "The traces of a single-digit addition, of 96 + 125, and of sorting 9 2 5.", equal_trees),
    ],
    runs,
    measure,
    report,
    config={**shipped(), "npi": asdict(FAST)},
)
