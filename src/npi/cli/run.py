"""npi run"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import OmitArgPrefixes, Positional, arg

from npi import tasks
from npi.cli.arguments import Device, Engine, ModelFolder, TaskName, parse_problem, positive
from npi.cli.car_options import CarOptions
from npi.cli.output import print_json, print_runaway
from npi.errors import BadInput
from npi.language.trace import Limits, Runaway

DEFAULT_STEPS = "(default: twice the teacher's steps, and 1,000 more)"


def run(
    task: Positional[TaskName],
    words: Annotated[Positional[tuple[str, ...]], arg(metavar="PROBLEM")] = (),
    *,
    trace: bool = False,
    engine: Engine | Literal["compiled"] | None = None,
    table: Annotated[Path | None, arg(metavar="FILE")] = None,
    max_steps: Annotated[int | None, arg(metavar="N", help_behavior_hint=DEFAULT_STEPS)] = None,
    max_depth: Annotated[int | None, arg(metavar="N", help_behavior_hint=f"(default: {Limits().depth:,})")] = None,
    model: ModelFolder = None,
    device: Device = "auto",
    json: bool = False,
    cars: OmitArgPrefixes[CarOptions] = CarOptions(),
) -> int:
    """Solve one problem with a learned program: npi run addition 96 125, npi run sorting 9 2 5.

    Args:
        task: A task that the model has learned, built in or in a file of yours.
        words: The problem, as the task writes it; @FILE stands for the words in a file.
        trace: Print the call tree, as in the paper's figures.
        engine: memo (the default) queries the network once for each history; neural queries it at every step; compiled
            looks every decision up in a table made by npi compile, without a network. The decisions are the same.
        table: The table of a compiled program, made by npi compile.
        max_steps: Stop after N decisions.
        max_depth: Stop when N calls are open.
        model: The folder of a trained model.
        device: Where the network runs.
        json: Print the result as JSON.
        cars: For the task cars: npi run cars --car 12 --azimuth -60 --elevation 45.
    """
    import npi

    positive(max_steps=max_steps, max_depth=max_depth)
    if engine is None:
        engine = "memo" if table is None else "compiled"
    if engine == "compiled" and table is None:
        raise BadInput("--engine compiled needs --table FILE: make the table with npi compile")
    if engine != "compiled" and table is not None:
        raise BadInput(f"--table runs without a network, so it excludes --engine {engine}: give one of them")
    found = tasks.find_task(task)
    if task != "cars" and cars != CarOptions():
        raise BadInput(f"--car, --mesh, --azimuth and the like are for the task cars, not for {task}")
    problem = cars.problem(words) if task == "cars" else parse_problem(found, words)
    limits = None
    if max_steps or max_depth:
        from npi.network.run import default_limits

        limits = Limits(max_steps or default_limits(found, problem).steps, max_depth or Limits().depth)
    decider: Any = model
    if table is not None:
        from npi.proof.program_table import load_table

        decider = load_table(table)
    try:
        done = npi.run(
            task,
            problem,
            decider,
            engine="neural" if engine == "neural" else "memo",
            limits=limits,
            keep_trace=trace or table is None,
            device=device,
        )
    except Runaway as error:
        print_runaway(error, found, json)
        return 1
    if done.trace is not None:
        cars.draw(problem, done.trace)
    if json:
        result = {"task": done.task.name, "problem": problem, "answer": done.answer, "right": done.right}
        print_json(result | {"steps": done.steps} | ({"trace": done.tree.splitlines()} if trace else {}))
        return int(not done.right)
    if trace:
        print(done.tree)
    print(done.task.show(done.answer))
    if not done.right:
        print(f"npi: this is wrong; the right answer is {done.task.show(done.task.answer(problem))}", file=sys.stderr)
    return int(not done.right)
