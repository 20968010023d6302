"""The ways of the camera around cars that the network has never seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _learners import shipped

from npi import tasks
from npi.cars.figure import captioned, grid
from npi.cars.render import Renderer
from npi.cars.shapes import make_car
from npi.cars.views import Car
from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run
from npi.language.interpreter import run_program
from npi.language.memo import Memo
from npi.language.program import ACT
from npi.network.checkpoint import load_model
from npi.network.neural_decider import NeuralDecider
from npi.tasks.cars import TARGET, CarProblem, CarScene, Pose

STARTS = ((-60, 45), (45, 0), (-30, 60), (75, 15), (30, 30), (-75, 30))
FIRST = 1_000_000


def runs(quick: bool) -> list[dict[str, Any]]:
    starts = STARTS[:1] if quick else STARTS
    return [{"car": FIRST + index, "start": list(start), "seed": 0} for index, start in enumerate(starts)]


def measure(device: str, car: int, start: list[int], seed: int) -> dict[str, Any]:
    task = tasks.find("cars")
    problem = CarProblem(Car(car), Pose(*start), TARGET)
    scene = CarScene.of(problem)
    trace = run_program(scene, task.call, Memo(NeuralDecider(load_model(), task.env)))
    again = CarScene.of(problem)
    way = [list(again.pose)]
    for decision in trace.decisions:
        if decision is not None and decision.program == ACT:
            again.act(*decision.args)
            way.append(list(again.pose))
    return {"way": way, "arrived": task.result(scene) == TARGET}


def report(made: Sequence[Run]) -> str:
    arrived = sum(one.result["arrived"] for one in made)
    return (
        f"The first unseen cars, each from another pose; {arrived} of {len(made)} ways end at azimuth 0, elevation "
        "15. What the network sees at each step is the picture and the target alone."
    )


def figure(made: Sequence[Run], path: Path) -> None:
    longest = max(len(one.result["way"]) for one in made)
    images = []
    for one in made:
        renderer = Renderer(make_car(one.settings["car"]))
        row = [captioned(renderer.view(*pose), f"{pose[0]}, {pose[1]}") for pose in one.result["way"]]
        blank = row[0].copy()
        blank.paste("white", (0, 0, *blank.size))
        images += row + [blank] * (longest - len(row))
    grid(images, longest).save(path)


def at_target(made: Sequence[Run]) -> list[str]:
    return [f"{sum(one.result['arrived'] for one in made)} of the {len(made)} ways of the figure arrive (more: C5)"]


EXPERIMENT = Experiment(
    "Canonicalisation of unseen cars",
    [
        Claim(
            "C7", "Around cars never seen, the camera is turned to azimuth 0 and elevation 15, step by step.", at_target
        ),
    ],
    runs,
    measure,
    report,
    figure,
    config=shipped(),
)
