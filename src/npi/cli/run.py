"""npi demo, npi run"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import OmitArgPrefixes, Positional, arg

from npi import tasks
from npi.cli.arguments import Device, Engine, ModelFolder, TaskName, decider, find, load, load_table, positive, taught
from npi.cli.output import lines, print_json, runaway
from npi.errors import BadInput
from npi.language.env import Env
from npi.language.program import ACT
from npi.language.record import count_steps
from npi.language.task import Task
from npi.language.trace import Limits, Runaway, Trace
from npi.network.pretrained import DEFAULT_MODEL


def demo(*, json: bool = False) -> int:
    """Add and sort with the model that comes with npi, and check the answers.

    Args:
        json: Print the results as JSON.
    """
    from npi.evaluation.score import score_sizes
    from npi.language.interpreter import run_program

    model = load(DEFAULT_MODEL, "auto")
    out: dict[str, Any] = {"runs": [], "scores": []}
    for name, words in (("addition", ["96", "125"]), ("sorting", ["9", "2", "5"])):
        task = taught(model, name, tasks.find(name))
        problem = task.parse(words)
        env = task.env.of(problem)
        trace = run_program(env, task.call, decider(model, task, "memo"))
        got, right = task.show(task.result(env)), task.result(env) == task.answer(problem)
        out["runs"].append(_result(name, problem, task.result(env), right, len(trace.decisions)))
        if not json:
            print(f"$ npi run {name} {' '.join(words)} --trace")
            print(*lines(trace, task), sep="\n")
            print(f"{got}\n")
    for name, size in (("addition", 500), ("sorting", 25)):
        task = taught(model, name, tasks.find(name))
        for score in score_sizes(task, decider(model, task, "memo"), [size], 10):
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


@dataclass(frozen=True)
class CarOptions:
    """For the task cars: a car, where the camera begins, and what to draw."""

    car: int | None = None
    """The number of a made-up car."""
    mesh: Annotated[Path | None, arg(metavar="FILE")] = None
    """A mesh instead: GLB, OBJ, PLY or STL."""
    azimuth: int | None = None
    """Where the camera begins: -75 to 75 in steps of 15."""
    elevation: int | None = None
    """Where the camera begins: 0 to 60 in steps of 15."""
    target: tuple[int, int] = (0, 15)
    """The azimuth and elevation to go to."""
    forward: str = "+Z"
    """Where the front of the mesh looks: +X, -X, +Y, -Y, +Z or -Z."""
    up: str = "+Y"
    """Where its top looks."""
    gif: Annotated[Path | None, arg(metavar="FILE.gif")] = None
    """Write what was seen on the way, one picture after the other."""
    png: Annotated[Path | None, arg(metavar="FILE.png")] = None
    """Write what was seen on the way, side by side."""

    def problem(self, words: tuple[str, ...]) -> Any:
        from npi.cars.views import Car
        from npi.tasks import cars

        for path, ending in ((self.gif, ".gif"), (self.png, ".png")):
            if path is not None and path.suffix.lower() != ending:
                raise BadInput(f"{path} does not end in {ending}")
        if words:
            if replace(self, gif=None, png=None) != CarOptions():
                raise BadInput(f"give the problem as words ({' '.join(words)}) or by options such as --car, not both")
            return cars.parse(words)
        if (self.car is None) == (self.mesh is None) or self.azimuth is None or self.elevation is None:
            raise BadInput(
                "say which car and from where: npi run cars --car 12 --azimuth -60 --elevation 45, or --mesh FILE.glb "
                "instead of --car"
            )
        if self.car is not None and self.car < 0:
            raise BadInput(f"there is no car {self.car}: cars are numbered from 0")
        file = None if self.mesh is None else str(self.mesh)
        return cars.CarProblem(
            Car(self.car or 0, file=file, forward=self.forward, up=self.up),
            cars.pose(str(self.azimuth), str(self.elevation)),
            cars.pose(*map(str, self.target)),
        )

    def draw(self, problem: Any, trace: Trace) -> None:
        """One picture for each action, the action named under it."""
        if self.gif is None and self.png is None:
            return
        from npi.cars.figure import save_trajectory
        from npi.tasks.cars import CarScene

        scene = CarScene.of(problem)
        pictures, captions = [scene.picture().pixels], ["start"]
        for decision in trace.decisions:
            if decision is not None and decision.program == ACT:
                scene.act(*decision.args)
                pictures.append(scene.picture().pixels)
                captions.append(scene.describe(decision.args))
        for path in (self.gif, self.png):
            if path is not None:
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    save_trajectory(path, pictures, captions)
                except OSError as error:
                    raise BadInput(f"{path} could not be written: {error.strerror or error}") from error


TWICE = "(default: twice what the teacher needs, and 1,000 more)"


def run(
    task: Positional[TaskName],
    words: Annotated[Positional[tuple[str, ...]], arg(metavar="PROBLEM")] = (),
    *,
    trace: bool = False,
    engine: Engine | Literal["compiled"] | None = None,
    table: Annotated[Path | None, arg(metavar="FILE")] = None,
    max_steps: Annotated[int | None, arg(metavar="N", help_behavior_hint=TWICE)] = None,
    max_depth: Annotated[int | None, arg(metavar="N", help_behavior_hint=f"(default: {Limits().depth:,})")] = None,
    model: ModelFolder = None,
    device: Device = "auto",
    json: bool = False,
    scene: OmitArgPrefixes[CarOptions] = CarOptions(),
) -> int:
    """Solve one problem with a learned program: npi run addition 96 125, npi run sorting 9 2 5.

    Args:
        task: What to do; a task the model was taught, built in or in a file of yours.
        words: The problem, as the task writes it; @FILE stands for the words in a file.
        trace: Print the call tree, as in the paper's figures.
        engine: memo (the usual) asks the network once about each history; neural asks it at every step; compiled looks
            everything up in a table made by npi compile, without a network. The result is the same.
        table: The table of a compiled program.
        max_steps: Stop after so many decisions.
        max_depth: Stop at so many calls inside each other.
        model: The folder of a trained model.
        device: Where the network runs.
        json: Print the result as JSON.
        scene: For the task cars: npi run cars --car 12 --azimuth -60 --elevation 45.
    """
    from npi.language import interpreter

    limits = {"max_steps": max_steps, "max_depth": max_depth}
    positive(**{name: limit for name, limit in limits.items() if limit is not None})
    if engine is None:
        engine = "memo" if table is None else "compiled"
    if (engine == "compiled") != (table is not None):
        raise BadInput("--engine compiled and --table FILE go together: make the table with npi compile")
    known = find(task)
    problem = scene.problem(words) if task == "cars" else _parse(known, words)
    if task != "cars" and scene != CarOptions():
        raise BadInput(f"--car, --mesh, --azimuth and the like are for the task cars, not for {task}")
    env = known.env.of(problem)
    try:
        if table is not None:
            done = _run_table(table, known, env, trace or max_steps or max_depth, limits)
        else:
            network = load(model or DEFAULT_MODEL, device)
            known = taught(network, task, known)
            most = Limits(max_steps or _twice(known, problem), max_depth or Limits().depth)
            decides = decider(network, known, "neural" if engine == "neural" else "memo")
            done = interpreter.run_program(env, known.call, decides, most)
    except Runaway as error:
        runaway(error, known, json)
        return 1
    got = known.result(env)
    right = got == known.answer(problem)
    traced = list(lines(done, known)) if isinstance(done, Trace) and trace else []
    if isinstance(done, Trace):
        scene.draw(problem, done)
    if json:
        result = _result(known.name, problem, got, right, len(done.decisions) if isinstance(done, Trace) else done)
        print_json(result | ({"trace": traced} if trace else {}))
    else:
        for line in traced:
            print(line)
        print(known.show(got))
        if not right:
            print(f"npi: this is wrong; the right answer is {known.show(known.answer(problem))}", file=sys.stderr)
    return 0 if right else 1


def _run_table(table: Path, task: Task, env: Env, watched: object, limits: Mapping[str, int | None]) -> Trace | int:
    """Run a compiled program; as fast as may be, with no trace but the number of steps, if it is not watched."""
    from npi.language import interpreter

    compiled = load_table(table, task)
    # What was proved ends when the teacher does: no limit is needed.
    most = Limits(limits["max_steps"] or sys.maxsize, limits["max_depth"] or sys.maxsize)
    try:
        return interpreter.run_program(env, task.call, compiled, most) if watched else compiled.run(env, task.call)
    except KeyError as error:
        raise BadInput(
            f"{table} does not say what to do after {error}: it or {task.name} was changed; make it with npi compile"
        ) from error


def _parse(task: Task, words: tuple[str, ...]) -> Any:
    words = tuple(word for given in words for word in (_words_in(given[1:]) if given.startswith("@") else [given]))
    try:
        problem = task.parse(words)
        task.env.of(problem)
    except BadInput:
        raise
    except (ValueError, TypeError, IndexError, KeyError) as error:  # the task of a user may be less careful than ours
        raise BadInput(f"{' '.join(words) or 'nothing'} is no problem of {task.name}: {error}") from error
    return problem


def _words_in(file: str) -> list[str]:
    """The words of a file, for a problem that is too long to be typed."""
    try:
        return Path(file).read_text().split()
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} holds something other than text") from error


def _twice(task: Task, problem: Any) -> int:
    """As many steps as a run may take if nothing is said: whoever needs twice the teacher's has lost its way."""
    try:
        return 2 * count_steps(task.env.of(problem), task.main, limits=Limits(steps=100_000_000)) + 1000
    except Runaway as error:
        raise BadInput(f"the teacher itself goes too far here ({error}): give --max-steps") from error


def _result(task: str, problem: Any, answer: Any, right: bool, steps: int) -> dict[str, Any]:
    return {"task": task, "problem": problem, "answer": answer, "right": right, "steps": steps}
