"""The command line. Everything it does, the library does; here it is typed, printed and given an exit code.

Exit codes: 0 done; 1 the result is a failure (a wrong answer, a fault, not learnt); 2 bad input; 130 interrupted.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import tyro
from tyro.conf import Positional, arg

from npi import tasks
from npi.models import SHIPPED
from npi.program import Limits, Runaway, Trace
from npi.task import BadInput, Task, check_task

if TYPE_CHECKING:
    import torch

    from npi.interpret import Decider
    from npi.model import NPI
    from npi.train import Training

app = tyro.extras.SubcommandApp()

TaskName = Annotated[str, arg(metavar="TASK")]
ModelFolder = Annotated[Path, arg(metavar="DIR", help_behavior_hint="(default: the model that comes with npi)")]
Device = Literal["auto", "cpu", "cuda"]
Engine = Literal["memo", "neural"]
Part = Literal["startup", "rates", "training", "accuracy"]


@app.command
def demo(*, json: bool = False) -> int:
    """Add and sort with the model that comes with npi, and check the answers.

    Args:
        json: Print the results as JSON.
    """
    from npi.evaluation import evaluate
    from npi.interpret import run

    model = _load(SHIPPED, "auto")
    out: dict[str, Any] = {"runs": [], "scores": []}
    for name, words in (("addition", ["96", "125"]), ("sorting", ["9", "2", "5"])):
        task = _taught(model, name)
        problem = task.parse(words)
        env = task.env.of(problem)
        trace = run(env, task.call, _decider(model, task, "memo"))
        got, right = task.show(task.result(env)), task.result(env) == task.answer(problem)
        out["runs"].append({"task": name, "problem": words, "answer": got, "right": right})
        if not json:
            print(f"$ npi run {name} {' '.join(words)} --trace")
            print(*_lines(trace, task), sep="\n")
            print(f"{got}\n")
    for name, size in (("addition", 500), ("sorting", 25)):
        task = _taught(model, name)
        for score in evaluate(task, _decider(model, task, "memo"), [size], 10):
            out["scores"].append({"task": name, **asdict(score)})
            if not json:
                what = "digits" if name == "addition" else "elements"
                print(
                    f"{name}, {score.size} {what}: {score.answers} of {score.problems} answers right, "
                    f"{score.traces} traces the teacher's"
                )
    failed = not all(r["right"] for r in out["runs"]) or any(s["answers"] < s["problems"] for s in out["scores"])
    if json:
        _print_json(out)
    return int(failed)


@app.command
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

    _positive(max_steps=max_steps, max_depth=max_depth)
    known = tasks.find(task)
    problem = known.parse(words)
    network = _load(model, device)
    known = _taught(network, task)
    env = known.env.of(problem)
    try:
        done = interpret.run(env, known.call, _decider(network, known, engine), Limits(max_steps, max_depth))
    except Runaway as error:
        _runaway(error, known, json)
        return 1
    got = known.result(env)
    right = got == known.answer(problem)
    if json:
        result = {"task": task, "problem": problem, "answer": got, "right": right, "steps": len(done.decisions)}
        _print_json(result | ({"trace": list(_lines(done, known))} if trace else {}))
    else:
        if trace:
            print(*_lines(done, known), sep="\n")
        print(known.show(got))
        if not right:
            print(f"npi: this is wrong; the right answer is {known.show(known.answer(problem))}", file=sys.stderr)
    return 0 if right else 1


@app.command
def train(
    names: Annotated[Positional[tuple[str, ...]], arg(metavar="TASK")],
    *,
    out: Annotated[Path, arg(metavar="DIR")],
    teacher: Literal["loop", "recursive"] = "recursive",
    config: Literal["fast", "paper"] = "fast",
    seed: int = 0,
    examples: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: the task's own)")] = None,
    updates: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: the configuration's)")] = None,
    resume: bool = False,
    force: bool = False,
    tensorboard: bool = False,
    device: Device = "auto",
    threads: Annotated[int | None, arg(metavar="N", help_behavior_hint="(default: torch's choice)")] = None,
    json: bool = False,
) -> int:
    """Teach a new model one or more tasks: npi train addition sorting --out DIR.

    Args:
        names: The tasks to learn, all in one network.
        out: The folder to write the model to.
        teacher: loop demonstrates as the paper does; recursive turns each loop into a program that calls itself.
        config: fast, or the values of the paper (which take hours).
        seed: Chooses the examples, the first weights and the batches.
        examples: How many problems of each size are demonstrated.
        updates: Give up after so many updates.
        resume: Go on with the training run in DIR, with its configuration and seed.
        force: Replace the model in DIR.
        tensorboard: Write logs for TensorBoard to DIR/tensorboard.
        device: Where to train.
        threads: How many CPU threads to use.
        json: Print the progress as one JSON object per line.
    """
    from dataclasses import replace

    import torch

    from npi import checkpoint
    from npi.train import CONFIGS, begin

    if threads is not None:
        _positive(threads=threads)
        torch.set_num_threads(threads)
    if updates is not None:
        _positive(updates=updates)
    chosen = _distinct([tasks.find(name, teacher) for name in names])
    if examples is not None:
        _positive(examples=examples)
        chosen = [replace(task, examples=examples) for task in chosen]
    settings = CONFIGS[config]
    if resume:
        facts = checkpoint.training_facts(out)
        if facts["tasks"] != {task.name: task.teacher for task in chosen}:
            was = ", ".join(f"{name} ({how})" for name, how in facts["tasks"].items())
            raise BadInput(f"the training run in {out} is of {was}; resume it with these tasks and this teacher")
        settings, seed = checkpoint.saved_config(facts), facts["seed"]
    elif checkpoint.holds_model(out) and not force:
        raise BadInput(
            f"{out} already holds a model: go on with it by --resume, replace it by --force, or choose another"
        )
    if updates is not None:
        settings = replace(settings, updates=updates)
    log = _tensorboard(out) if tensorboard else None
    if not json:
        print(f"recording {', '.join(task.name for task in chosen)} ...", file=sys.stderr)
    training = begin(chosen, settings, seed, _device(device))
    if resume:
        checkpoint.restore_training(training, out)
    else:
        checkpoint.save_training(training, out)  # a folder that cannot be written to is found out now, not at the end
    if not json:
        where = f"{training.model.keys.device.type}, {torch.get_num_threads()} threads"
        print(
            f"{len(training.lessons):,} distinct frames of {len(training.frames_of) - 1} programs; {where}",
            file=sys.stderr,
        )
    command = f"npi train {shlex.join(names)} --out {shlex.quote(str(out))} --teacher {teacher} --resume"
    command += f" --examples {examples}" if examples is not None else ""
    return _train(training, out, command, log, json)


def _train(training: Training, out: Path, command: str, log: Any, as_json: bool) -> int:
    """Run a training run to its end, showing and saving it on the way."""
    from npi import checkpoint
    from npi.progress import bar_progress, interruptible, json_progress

    saved = began = time.monotonic()
    show = json_progress if as_json else bar_progress
    with interruptible() as interrupted, show(training) as progress:
        for metrics in training.run():
            progress(metrics)
            if log is not None:
                log.add_scalar("loss", metrics.loss, metrics.update)
                for name, accuracy in metrics.accuracy.items():
                    log.add_scalar(f"accuracy/{name}", accuracy, metrics.update)
            if interrupted:
                break
            if time.monotonic() - saved > 30:
                checkpoint.save_training(training, out)
                saved = time.monotonic()
    checkpoint.save_training(training, out)
    took = time.monotonic() - began
    if log is not None:
        log.close()
    if as_json:
        result = {"learnt": training.learnt, "updates": training.updates, "seconds": round(took, 1), "out": str(out)}
        _print_json(result | ({"resume": command} if interrupted else {}))
    elif training.learnt:
        print(f"learnt every frame in {training.updates:,} updates, {took:.0f} s; the model is in {out}")
    elif interrupted:
        print(f"interrupted after {training.updates:,} updates; the run is saved. Go on with:\n  {command}")
    else:
        worst = min(training.metrics().accuracy.items(), key=lambda item: item[1])
        print(
            f"not learnt after {training.updates:,} updates: {worst[0]} is right in {worst[1]:.1%} of its frames. "
            f"Go on with:\n  {command} --updates {2 * training.config.updates}"
        )
    return 130 if interrupted else int(not training.learnt)


@app.command
def evaluate(
    *,
    task: TaskName,
    sizes: Annotated[tuple[int, ...], arg(metavar="N")] = (10, 100),
    problems: int = 100,
    seed: int = 0,
    engine: Engine = "memo",
    model: ModelFolder = SHIPPED,
    device: Device = "auto",
    json: bool = False,
) -> int:
    """Measure how often a learnt program is right, by size of problem, corner cases included.

    Args:
        task: A task the model was taught.
        sizes: Sizes of problems: digits of the longer number, elements of the array.
        problems: How many problems of each size.
        seed: Chooses the problems.
        engine: memo asks the network once about each history; neural asks it at every step. The result is the same.
        model: The folder of a trained model.
        device: Where the network runs.
        json: Print the results as JSON.
    """
    from npi import evaluation

    _positive(problems=problems, **{f"sizes ({size})": size for size in sizes})
    if not sizes:
        raise BadInput("--sizes needs at least one size, such as --sizes 10 100")
    tasks.find(task)
    network = _load(model, device)
    known = _taught(network, task)
    rows, failed = [], False
    if not json:
        print(f"{known.name} ({known.teacher}), {problems} problems of each size; shares with 95 % intervals")
        print(f"{'size':>8}  {'right answers':>26}  {'right traces':>26}  {'seconds':>8}", flush=True)
    began = time.monotonic()
    for score in evaluation.evaluate(known, _decider(network, known, engine), sizes, problems, seed):
        took, began = time.monotonic() - began, time.monotonic()
        failed |= score.answers < score.problems
        answers, traces = (evaluation.interval(right, problems) for right in (score.answers, score.traces))
        rows.append(asdict(score) | {"answers_95": answers, "traces_95": traces, "seconds": round(took, 2)})
        if not json:
            shares = [_share(score.answers / problems, answers), _share(score.traces / problems, traces)]
            print(f"{score.size:>8}  {shares[0]:>26}  {shares[1]:>26}  {took:>8.1f}", flush=True)
            for problem in score.wrong:
                print(f"          wrong on {_short(problem)}")
    if json:
        _print_json({"task": known.name, "teacher": known.teacher, "engine": engine, "scores": rows})
    return int(failed)


@app.command
def check(
    task: Annotated[Positional[str], arg(metavar="TASK|FILE.py:NAME")],
    *,
    teacher: Literal["loop", "recursive"] = "recursive",
    problems: int = 100,
    seed: int = 0,
    json: bool = False,
) -> int:
    """Check that a task can be learnt: right answers, declared ranges, a total act, an honest teacher.

    Args:
        task: A built-in task, or a Task in a file of yours, such as mine.py:task.
        teacher: Which teacher of a built-in task.
        problems: How many problems to demonstrate.
        seed: Chooses the problems.
        json: Print the report as JSON.
    """
    _positive(problems=problems)
    report = check_task(_task_in_file(task) if ".py" in task else tasks.find(task, teacher), problems, seed)
    if json:
        _print_json(asdict(report))
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
            else f"{len(report.faults)} faults: this task cannot be learnt as it is"
        )
    return int(bool(report.faults))


@app.command
def bench(
    parts: Annotated[Positional[tuple[Part, ...]], arg(metavar="PART")] = (),
    *,
    seeds: int = 1,
    json: bool = False,
) -> int:
    """Measure speed, training time and accuracy against their targets, and print one table.

    Args:
        parts: rates, startup, training, accuracy; all of them if none is named.
        seeds: How many seeds to train for each task and teacher.
        json: Print the measurements as JSON.
    """
    from npi.bench import measure

    _positive(seeds=seeds)
    rows = []
    if not json:
        print(f"{'what':<62} {'measured':>22}  {'target':>14}", flush=True)
    for row in measure(parts or get_args(Part), seeds):
        rows.append(asdict(row))
        if not json:
            mark = {True: "met", False: "MISSED", None: ""}[row.met]
            print(f"{row.what:<62} {row.measured:>22}  {row.target:>14} {mark}", flush=True)
    if json:
        _print_json({"machine": _machine(), "rows": rows})
    return int(any(row["met"] is False for row in rows))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    try:
        return app.cli(
            prog="npi",
            description="Neural Programmer-Interpreters: teach procedures by demonstration, run what was learnt.",
            args=argv,
            config=(tyro.conf.FlagCreatePairsOff,),
        )
    except BadInput as error:
        print(f"npi: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("npi: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def entry() -> None:
    sys.exit(main())


def _positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise BadInput(f"--{name.replace('_', '-')} is {value}, but must be at least 1")


def _distinct(chosen: list[Task]) -> list[Task]:
    if not chosen:
        raise BadInput(f"name at least one task to train: {', '.join(tasks.names())}")
    return list({task.name: task for task in chosen}.values())


def _device(name: Device) -> torch.device:
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise BadInput("there is no CUDA device here: use --device cpu, or leave the choice to --device auto")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def _load(folder: Path, device: Device) -> NPI:
    from npi.checkpoint import load_model

    return load_model(folder, _device(device))


def _taught(model: NPI, name: str) -> Task:
    """A task under the teacher the model learnt it from."""
    if name not in model.tasks:
        raise BadInput(
            f"this model was not taught {name}, only {', '.join(model.tasks) or 'nothing'}; train one with: "
            f"npi train {name} --out DIR"
        )
    return tasks.find(name, model.tasks[name])


def _decider(model: NPI, task: Task, engine: Engine) -> Decider:
    from npi.interpret import Memo
    from npi.neural import Neural, check_fits

    check_fits(model, task)
    neural = Neural(model, task.env)
    return Memo(neural) if engine == "memo" else neural


def _lines(trace: Trace, task: Task) -> Iterator[str]:
    from npi.view import tree

    return tree(trace, task.env)


def _runaway(error: Runaway, task: Task, as_json: bool) -> None:
    """Show where a program was when it was stopped: its last calls, and the calls still open."""
    from npi.view import stack

    lines = list(_lines(Trace(error.trace.call, error.trace.decisions), task))
    open_calls = stack(error.trace, task.env)
    if as_json:
        _print_json({"error": str(error), "last": lines[-20:], "stack": open_calls[-20:], "depth": len(open_calls)})
        return
    print(f"npi: {error}. Its last calls:", file=sys.stderr)
    for line in lines[-12:]:
        print(f"  {line.strip()}", file=sys.stderr)
    depth = f"{len(open_calls):,} calls deep: "
    inner = " > ".join(open_calls if len(open_calls) <= 8 else [*open_calls[:3], "...", *open_calls[-3:]])
    print(f"npi: it was {depth}{inner}", file=sys.stderr)


def _task_in_file(where: str) -> Task:
    path, colon, name = where.rpartition(":")
    if not colon:
        raise BadInput(f"{where!r} names a file but no task in it: write {where}:NAME")
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    task = getattr(module, name, None)
    if not isinstance(task, Task):
        known = [key for key, value in vars(module).items() if isinstance(value, Task)]
        near = get_close_matches(name, known, n=1) or known
        hint = f"did you mean {near[0]!r}?" if near else "it defines none"
        raise BadInput(f"{path} has no Task named {name!r}: {hint}")
    return task


def _tensorboard(out: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise BadInput("--tensorboard needs the tensorboard package: pip install 'npi[tensorboard]'") from error
    return SummaryWriter(str(out / "tensorboard"))


def _share(share: float, bounds: tuple[float, float]) -> str:
    return f"{100 * share:.1f} % ({100 * bounds[0]:.1f} to {100 * bounds[1]:.1f})"


def _short(problem: Any) -> str:
    text = str(problem)
    return text if len(text) <= 80 else f"{text[:60]} ... {text[-12:]}"


def _machine() -> dict[str, Any]:
    import platform

    import torch

    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _print_json(value: Any) -> None:
    print(json.dumps(value, default=str), flush=True)


if __name__ == "__main__":
    entry()
