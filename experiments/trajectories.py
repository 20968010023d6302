"""Camera trajectories around cars that the network has never seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _learners import shipped

from npi import tasks
from npi.cars.car import Car
from npi.cars.figure import captioned, grid
from npi.cars.poses import PAPER_TARGET, Pose
from npi.cars.procedural import make_car
from npi.cars.render import Renderer
from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run
from npi.language.interpreter import run_program
from npi.language.memo import Memo
from npi.language.program import ACT
from npi.network.checkpoint import load_model
from npi.network.neural_decider import NeuralDecider
from npi.tasks.cars import SELECTION_CARS, CarProblem, CarScene

# (azimuth, elevation) of the first pose of each trajectory; the first is shown around the first unseen car, and so on
STARTS = ((-60, 45), (45, 0), (-30, 60), (75, 15), (30, 30), (-75, 30))


def runs(quick: bool) -> list[dict[str, Any]]:
    starts = STARTS[:1] if quick else STARTS
    return [
        {"car": SELECTION_CARS.start + index, "start": list(start), "seed": 0} for index, start in enumerate(starts)
    ]


def measure(device: str, car: int, start: list[int], seed: int) -> dict[str, Any]:
    task = tasks.find("cars")
    problem = CarProblem(Car(car), Pose(*start), PAPER_TARGET)
    scene = CarScene.of(problem)
    trace = run_program(scene, task.call, Memo(NeuralDecider(load_model(), task.env)))
    replay = CarScene.of(problem)
    path = [list(replay.pose)]
    for decision in trace.decisions:
        if decision is not None and decision.program == ACT:
            replay.act(*decision.args)
            path.append(list(replay.pose))
    return {"path": path, "arrived": task.result(scene) == PAPER_TARGET}


def report(made: Sequence[Run]) -> str:
    arrived = sum(one.result["arrived"] for one in made)
    return (
        f"The first unseen cars, each from a different pose; {arrived} of {len(made)} trajectories end at azimuth 0, "
        "elevation 15. At each step the network sees only the image and the target."
    )


def figure(made: Sequence[Run], path: Path) -> None:
    longest = max(len(one.result["path"]) for one in made)
    images = []
    for one in made:
        renderer = Renderer(make_car(one.settings["car"]))
        row = [captioned(renderer.view(*pose), f"{pose[0]}, {pose[1]}") for pose in one.result["path"]]
        blank = row[0].copy()
        blank.paste("white", (0, 0, *blank.size))
        images += row + [blank] * (longest - len(row))
    grid(images, longest).save(path)


def at_target(made: Sequence[Run]) -> list[str]:
    arrived = sum(one.result["arrived"] for one in made)
    return [f"{arrived} of the {len(made)} trajectories in the figure reach the target (more: C5)"]


EXPERIMENT = Experiment(
    "Canonicalisation of unseen cars",
    [
        Claim("C7", "The camera is moved around unseen cars, step by step, to azimuth 0 and elevation 15.", at_target),
    ],
    runs,
    measure,
    report,
    figure,
    config=shipped(),
)
