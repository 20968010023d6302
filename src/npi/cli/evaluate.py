"""npi evaluate"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated, Any, Literal

from tyro.conf import arg

from npi.cli.arguments import Device, Engine, ModelFolder, TaskName, positive
from npi.cli.output import percent, print_json
from npi.progress import Progress

PROBLEM_WIDTH = 80  # characters; of a longer problem, the middle is cut out


def evaluate(
    *,
    task: TaskName,
    sizes: Annotated[
        tuple[int, ...],
        arg(metavar="N", help_behavior_hint="(default: 10 100; for a task without such sizes, 1 2 4 8 16)"),
    ] = (),
    problems: int = 100,
    seed: int = 0,
    engine: Engine | Literal["frames"] = "memo",
    model: ModelFolder = None,
    device: Device = "auto",
    json: bool = False,
) -> int:
    """Measure how often a learned program is right, by size of problem, corner cases included.

    Args:
        task: A task the model has learned, built in or in a file of yours.
        sizes: Sizes of problems: digits of the longer number, elements of the array, vertices, moves of the camera.
        problems: How many problems of each size.
        seed: Chooses the problems.
        engine: memo queries the network once for each history; neural queries it at every step. The result is the same.
            frames compares all decisions of the teacher's run in one forward pass, which is quick for long loops, and
            counts an answer as correct if the trace equals the teacher's.
        model: The folder of a trained model.
        device: Where the network runs.
        json: Print the results as JSON.
    """
    from npi.evaluation.evaluate import evaluate as evaluate_sizes
    from npi.network.checkpoint import resolve_model
    from npi.network.learned_task import learned_task

    positive(problems=problems, **{f"sizes ({size})": size for size in sizes})
    network = resolve_model(model, device)
    known = learned_task(task, network)
    rows: list[dict[str, Any]] = []
    began = time.monotonic()
    if not json:
        print(f"{known.name} ({known.teacher}), {problems} problems of each size; percentages with 95 % intervals")
        print(f"{'size':>8}  {'correct answers':>26}  {'right traces':>26}  {'seconds':>8}", flush=True)

    def show(report: Progress) -> None:
        nonlocal began
        score, seconds = report.details, time.monotonic() - began
        began = time.monotonic()
        intervals = {"answers_95": score.answers_interval, "traces_95": score.traces_interval}
        rows.append(asdict(score) | intervals | {"seconds": round(seconds, 2)})
        if not json:
            answers = percent(score.answers / score.problems, score.answers_interval)
            traces = percent(score.traces / score.problems, score.traces_interval)
            print(f"{score.size:>8}  {answers:>26}  {traces:>26}  {seconds:>8.1f}", flush=True)
            for problem in score.wrong:
                print(f"          wrong on {_cut(str(problem))}")

    scores = evaluate_sizes(
        known, network, sizes=sizes or None, problems=problems, seed=seed, engine=engine, progress=show
    )
    if json:
        print_json({"task": known.name, "teacher": known.teacher, "engine": engine, "scores": rows})
    return int(any(score.answers < score.problems for score in scores))


def _cut(text: str) -> str:
    return text if len(text) <= PROBLEM_WIDTH else f"{text[: PROBLEM_WIDTH - 20]} ... {text[-12:]}"
