"""Whether a model can run a task, and under which teacher it learned it."""

from __future__ import annotations

from typing import Any

from npi import tasks
from npi.errors import BadInput
from npi.language.task import Task
from npi.network.model import NPI


def learned_task(task: Task[Any, Any] | str, model: NPI) -> Task[Any, Any]:
    """A task that a model has learned; raise BadInput if it has not.

    A built-in task given by its name comes with the teacher that the model learned it from.
    """
    found = tasks.find_task(task)
    if found.name not in model.tasks:
        known = found.builds_on and all(program.name in model.programs for program in found.builds_on)
        how, verb = ("teach it with", "teach") if known else ("train one with", "train")
        raise BadInput(
            f"this model has not learned {found.name}, only {', '.join(model.tasks) or 'nothing'}; {how}: "
            f"npi {verb} {task if isinstance(task, str) else task.name} --out DIR"
        )
    if task in tasks.names():
        found = tasks.find(found.name, model.tasks[found.name])
    check_model_fits(model, found)
    return found


def check_model_fits(model: NPI, task: Task[Any, Any]) -> None:
    """Raise BadInput unless the model knows the task's environment, as it is now, and its main program."""
    name, config = task.env.__name__, model.config
    faults = []
    if name not in config.fields:
        faults.append(f"it has no encoder for {name}, only for {', '.join(config.fields)}")
    elif config.fields[name] != task.env.fields():
        faults.append(f"{name} shows {task.env.fields()}, but it was trained on {config.fields[name]}")
    if any(has < needs for has, needs in zip(config.argument_sizes, task.env.argument_sizes(), strict=True)):
        faults.append(
            f"its arguments have {config.argument_sizes} values, but {name} needs {task.env.argument_sizes()}"
        )
    if task.main.name not in model.programs:
        faults.append(f"it has no program {task.main.name}, only {', '.join(model.programs)}")
    if faults:
        raise BadInput(
            f"the model does not fit {task.name}: {'; '.join(faults)}. Train one with: npi train {task.name}"
        )
