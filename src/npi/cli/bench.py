"""npi evaluate, npi check, npi bench"""

from __future__ import annotations

import time
from dataclasses import asdict
from itertools import chain
from typing import Annotated, Literal, get_args

from tyro.conf import Positional, arg

from npi import tasks
from npi.cli.arguments import (
    Device,
    Engine,
    ModelFolder,
    TaskName,
    Teacher,
    decider,
    device_named,
    find,
    load,
    positive,
    taught,
)
from npi.cli.output import machine, print_json, share, short
from npi.errors import BadInput
from npi.language.check import check_task
from npi.network.pretrained import DEFAULT_MODEL

Part = Literal["startup", "rates", "training", "accuracy", "teachability", "proofs", "compiled"]


def evaluate(
    *,
    task: TaskName,
    sizes: Annotated[tuple[int, ...], arg(metavar="N", help_behavior_hint="(default: 10 100; for cars 1 2 4 8)")] = (),
    problems: int = 100,
    seed: int = 0,
    engine: Engine | Literal["frames"] = "memo",
    model: ModelFolder = None,
    device: Device = "auto",
    json: bool = False,
) -> int:
    """Measure how often a learned program is right, by size of problem, corner cases included.

    Args:
        task: A task the model was taught, built in or in a file of yours.
        sizes: Sizes of problems: digits of the longer number, elements of the array, steps of the camera.
        problems: How many problems of each size.
        seed: Chooses the problems.
        engine: memo asks the network once about each history; neural asks it at every step. The result is the same.
            frames asks about all frames of the teacher's run at once, which is quick for long loops, and counts an
            answer as right if the trace is.
        model: The folder of a trained model.
        device: Where the network runs.
        json: Print the results as JSON.
    """
    from npi.evaluation import score as evaluation

    positive(problems=problems, **{f"sizes ({size})": size for size in sizes})
    known = find(task)
    sizes = sizes or ((1, 2, 4, 8) if task == "cars" else (10, 100))
    network = load(model or DEFAULT_MODEL, device)
    known = taught(network, task, known)
    rows, failed = [], False
    if not json:
        print(f"{known.name} ({known.teacher}), {problems} problems of each size; shares with 95 % intervals")
        print(f"{'size':>8}  {'right answers':>26}  {'right traces':>26}  {'seconds':>8}", flush=True)
    began = time.monotonic()
    if engine == "frames":
        from npi.network.model_fit import check_model_fits
        from npi.training.metrics import matches_teacher

        check_model_fits(network, known)
        scores = evaluation.score_frames(
            known, lambda problem: matches_teacher(network, known, problem), sizes, problems, seed
        )
    else:
        scores = evaluation.score_sizes(known, decider(network, known, engine), sizes, problems, seed)
    for score in scores:
        took, began = time.monotonic() - began, time.monotonic()
        failed |= score.answers < score.problems
        answers, traces = (evaluation.interval(right, problems) for right in (score.answers, score.traces))
        rows.append(asdict(score) | {"answers_95": answers, "traces_95": traces, "seconds": round(took, 2)})
        if not json:
            shares = [share(score.answers / problems, answers), share(score.traces / problems, traces)]
            print(f"{score.size:>8}  {shares[0]:>26}  {shares[1]:>26}  {took:>8.1f}", flush=True)
            for problem in score.wrong:
                print(f"          wrong on {short(problem)}")
    if json:
        print_json({"task": known.name, "teacher": known.teacher, "engine": engine, "scores": rows})
    return int(failed)


def check(
    task: Positional[TaskName],
    *,
    teacher: Teacher = "recursive",
    problems: int = 100,
    seed: int = 0,
    json: bool = False,
) -> int:
    """Check that a task can be learned: right answers, declared ranges, a total act, an honest teacher.

    Args:
        task: A built-in task, or a Task in a file of yours, such as mine.py:task.
        teacher: Which teacher of a built-in task.
        problems: How many problems to demonstrate.
        seed: Chooses the problems.
        json: Print the report as JSON.
    """
    positive(problems=problems)
    report = check_task(find(task, teacher), problems, seed)
    if json:
        print_json(asdict(report))
    else:
        for fault in report.faults:
            print(f"fault: {fault}")
        print(
            f"{report.task}: {report.problems} problems, {report.frames:,} frames, {report.distinct:,} distinct, "
            f"programs {', '.join(report.programs) or 'none'}"
        )
        print(
            "no fault found"
            if not report.faults
            else f"{len(report.faults)} fault{'s' * (len(report.faults) > 1)}: this task cannot be learned as it is"
        )
    return int(bool(report.faults))


def bench(
    parts: Annotated[Positional[tuple[Part, ...]], arg(metavar="PART")] = (),
    *,
    names: Annotated[
        tuple[Literal["addition", "sorting", "bubblesort", "quicksort", "toposort"], ...], arg(name="tasks")
    ] = ("addition", "sorting"),
    teachers: tuple[Teacher, ...] = tasks.TEACHERS,
    seeds: int = 1,
    workers: int = 1,
    device: Device = "cpu",
    model: ModelFolder = None,
    programs: int = 100,
    examples: Annotated[int | None, arg(help_behavior_hint="(default: the published number)")] = None,
    json: bool = False,
) -> int:
    """Measure speed, training time, accuracy and teachability against their targets, and print one table.

    Args:
        parts: rates, startup, training, accuracy, teachability, proofs, compiled; the first four if none is named.
        names: Which tasks to train; bubblesort, quicksort and toposort for proofs alone.
        teachers: By which of their teachers.
        seeds: How many seeds to train for each task and teacher.
        workers: How many training runs go on side by side, each in a process with its share of the cores.
        device: Where to train, teach and judge.
        model: For teachability, the folder of the model to teach.
        programs: For teachability, how many random programs are taught on each environment.
        examples: For proofs, how many traces of each size to learn from.
        json: Print the measurements as JSON, every training run and every program taught included.
    """
    from npi.evaluation.bench import SIZES, measure, proofs, teachability
    from npi.evaluation.speed import Row, compiled

    positive(seeds=seeds, workers=workers, programs=programs, examples=1 if examples is None else examples)
    rows, trials = [], []
    if not json:
        print(f"{'what':<62} {'measured':>22}  {'target':>14}", flush=True)
    usual = [part for part in get_args(Part) if part not in ("teachability", "proofs", "compiled")]
    unknown = {name for name in names if not any(name == known for known, _ in SIZES)}
    if unknown and {"training", "accuracy"} & {*(parts or usual)}:
        raise BadInput(f"there are no targets for training {', '.join(sorted(unknown))}: measure proofs of it")
    measured = measure(parts or usual, names, teachers, seeds, workers, device_named(device).type)
    if "teachability" in parts:
        measured = chain(measured, teachability(load(model or DEFAULT_MODEL, device), programs, 0))
    if "compiled" in parts:
        measured = chain(measured, compiled())
    if "proofs" in parts:
        measured = chain(measured, proofs(names, seeds, workers, device_named(device).type, examples))
    for row in measured:
        if not isinstance(row, Row):
            trials.append(asdict(row))
            continue
        rows.append(asdict(row))
        if not json:
            mark = {True: "met", False: "MISSED", None: ""}[row.met]
            print(f"{row.what:<62} {row.measured:>22}  {row.target:>14} {mark}", flush=True)
    if json:
        print_json({"machine": machine(), "rows": rows, "trials": trials})
    return int(any(row["met"] is False for row in rows))
