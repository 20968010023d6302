"""From what is typed on the command line to tasks, models and devices."""

from __future__ import annotations

import importlib.util
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from npi import tasks
from npi.errors import BadInput
from npi.language.task import Task

if TYPE_CHECKING:
    import torch

    from npi.language.interpreter import Decider
    from npi.network.model import NPI
    from npi.proof.program_table import ProgramTable

TaskName = Annotated[str, arg(metavar="TASK|FILE.py:NAME")]
Teacher = Literal["loop", "recursive"]
ModelFolder = Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="(default: the model that comes with npi)")]
Device = Literal["auto", "cpu", "cuda"]
Engine = Literal["memo", "neural"]


def positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise BadInput(f"--{name.replace('_', '-')} is {value}, but must be at least 1")


def device_named(name: Device) -> torch.device:
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise BadInput("there is no CUDA device here: use --device cpu, or leave the choice to --device auto")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def load(folder: Path, device: Device) -> NPI:
    from npi.network.checkpoint import load_model

    return load_model(folder, device_named(device))


def find(name: str, teacher: str = "recursive") -> Task:
    """A built-in task, or one in a file: mine.py:task."""
    return task_in_file(name) if ".py" in name else tasks.find(name, teacher)


def taught(model: NPI, name: str, task: Task) -> Task:
    """A task, found by its name, under the teacher the model learned it from."""
    if task.name not in model.tasks:
        known = task.builds_on and all(program.name in model.programs for program in task.builds_on)
        how, verb = ("teach it with", "teach") if known else ("train one with", "train")
        raise BadInput(
            f"this model has not learned {task.name}, only {', '.join(model.tasks) or 'nothing'}; {how}: "
            f"npi {verb} {name} --out DIR"
        )
    return task if ".py" in name else tasks.find(name, model.tasks[name])


def load_table(path: Path, task: Task) -> ProgramTable:
    """The table of a compiled task."""
    from npi.proof.program_table import load_table

    compiled = load_table(path)
    if (compiled.task, compiled.teacher) != (task.name, task.teacher):
        raise BadInput(f"{path} is a table of {compiled.task} ({compiled.teacher}), not of {task.name}")
    return compiled


def prepared(task: Task) -> None:
    """Do what a task needs done once, such as rendering, with a bar."""
    if task.prepare is not None:
        from npi.cli.progress import counted

        counted(task.prepare(), f"preparing {task.name}")


def decider(model: NPI, task: Task, engine: Engine) -> Decider:
    from npi.language.memo import Memo
    from npi.network.model_fit import check_model_fits
    from npi.network.neural_decider import NeuralDecider

    check_model_fits(model, task)
    neural = NeuralDecider(model, task.env)
    return Memo(neural) if engine == "memo" else neural


def task_in_file(where: str) -> Task:
    path, colon, name = where.rpartition(":")
    if not colon:
        raise BadInput(f"{where!r} names a file but no task in it: write {where}:NAME")
    file = Path(path)
    if not file.is_file():
        raise BadInput(f"there is no file {path}")
    module_name = f"npi_task_{file.stem}"  # a file may have the name of a module that others import
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
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
