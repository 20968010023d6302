"""npi demo"""

from __future__ import annotations

from typing import Any

from npi.cli.output import print_json

# The problems whose call trees are printed: those of the paper's figures.
PROBLEMS = {"addition": ("96", "125"), "sorting": (9, 2, 5)}
# Then, per task, the size of ten longer problems: beyond the 20 digits and 20 elements of training.
LONG = {"addition": (500, "digits"), "sorting": (25, "elements")}
LONG_PROBLEMS = 10


def demo(*, json: bool = False) -> int:
    """Add and sort with the model that comes with npi, and check the answers.

    Args:
        json: Print the results as JSON.
    """
    import npi

    model = npi.load()
    runs: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    for name, problem in PROBLEMS.items():
        done = npi.run(name, problem, model)
        shown = done.task.show(done.answer)
        runs.append({"task": name, "problem": problem, "answer": done.answer, "right": done.right, "steps": done.steps})
        if not json:
            print(f"$ npi run {name} {' '.join(map(str, problem))} --trace\n{done.tree}\n{shown}\n")
    for name, (size, unit) in LONG.items():
        (score,) = npi.evaluate(name, model, sizes=[size], problems=LONG_PROBLEMS)
        scores.append({"task": name, "size": size, "problems": score.problems, "answers": score.answers})
        if not json:
            print(
                f"{name}, {size} {unit}: {score.answers} of {score.problems} answers right, "
                f"{score.traces} traces equal to the teacher's"
            )
    if json:
        print_json({"runs": runs, "scores": scores})
    return int(not all(run["right"] for run in runs) or any(s["answers"] < s["problems"] for s in scores))
