"""npi demo, npi run"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Any

from tyro.conf import Positional, arg

from npi import tasks
from npi.cli.named import Device, Engine, ModelFolder, TaskName, decider, load, positive, taught
from npi.cli.output import lines, print_json, runaway
from npi.models import SHIPPED
from npi.program import Limits, Runaway


def demo(*, json: bool = False) -> int:
    """Add and sort with the model that comes with npi, and check the answers.

    Args:
        json: Print the results as JSON.
    """
    from npi.evaluation import evaluate
    from npi.interpret import run

    model = load(SHIPPED, "auto")
    out: dict[str, Any] = {"runs": [], "scores": []}
    for name, words in (("addition", ["96", "125"]), ("sorting", ["9", "2", "5"])):
        task = taught(model, name)
        problem = task.parse(words)
        env = task.env.of(problem)
        trace = run(env, task.call, decider(model, task, "memo"))
        got, right = task.show(task.result(env)), task.result(env) == task.answer(problem)
        out["runs"].append({"task": name, "problem": words, "answer": got, "right": right})
        if not json:
            print(f"$ npi run {name} {' '.join(words)} --trace")
            print(*lines(trace, task), sep="\n")
            print(f"{got}\n")
    for name, size in (("addition", 500), ("sorting", 25)):
        task = taught(model, name)
        for score in evaluate(task, decider(model, task, "memo"), [size], 10):
            out["scores"].append({"task": name, **asdict(score)})
            if not json:
                what = "digits" if name == "addition" else "elements"
                print(
                    f"{name}, {score.size} {what}: {score.answers} of {score.problems} answers right, "
                    f"{score.traces} traces the teacher's"
                )
    failed = not all(r["right"] for r in out["runs"]) or any(s["answers"] < s["problems"] for s in out["scores"])
    if json:
        print_json(out)
    return int(failed)


def run(
    task: Positional[TaskName],
    words: Annotated[Positional[tuple[str, ...]], arg(metavar="PROBLEM")] = (),
    *,
    trace: bool = False,
    engine: Engine = "memo",
    max_steps: int = Limits().steps,
    max_depth: int = Limits().depth,
    model: ModelFolder = SHIPPED,
    device: Device = "auto",
    json: bool = False,
) -> int:
    """Solve one problem with a learnt program: npi run addition 96 125, npi run sorting 9 2 5.

    Args:
        task: What to do; a task the model was taught.
        words: The problem, as the task writes it.
        trace: Print the call tree, as in the paper's figures.
        engine: memo asks the network once about each history; neural asks it at every step. The result is the same.
        max_steps: Stop after so many decisions.
        max_depth: Stop at so many calls inside each other.
        model: The folder of a trained model.
        device: Where the network runs.
        json: Print the result as JSON.
    """
    from npi import interpret

    positive(max_steps=max_steps, max_depth=max_depth)
    known = tasks.find(task)
    problem = known.parse(words)
    network = load(model, device)
    known = taught(network, task)
    env = known.env.of(problem)
    try:
        done = interpret.run(env, known.call, decider(network, known, engine), Limits(max_steps, max_depth))
    except Runaway as error:
        runaway(error, known, json)
        return 1
    got = known.result(env)
    right = got == known.answer(problem)
    if json:
        result = {"task": task, "problem": problem, "answer": got, "right": right, "steps": len(done.decisions)}
        print_json(result | ({"trace": list(lines(done, known))} if trace else {}))
    else:
        if trace:
            print(*lines(done, known), sep="\n")
        print(known.show(got))
        if not right:
            print(f"npi: this is wrong; the right answer is {known.show(known.answer(problem))}", file=sys.stderr)
    return 0 if right else 1
