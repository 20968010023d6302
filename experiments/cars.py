"""The shipped model on cars: training cars from held-out poses, unseen procedural cars, and meshes that others made.

Meshes are not part of the repository: set NPI_MESHES to a folder of GLB, OBJ, PLY or STL files, with the front along +Z
and the top along +Y.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from _figures import WIDTH, plot_points, pyplot, save, write_note
from _learners import shipped
from _tables import table

from npi.cars.car import Car
from npi.cars.views import render_all
from npi.errors import BadInput
from npi.evaluation.car_scores import all_starts, held_out_starts, mesh_families, score_cars
from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run, Settings
from npi.evaluation.score import interval
from npi.network.checkpoint import load_model
from npi.tasks.cars import SELECTION_CARS, TEST_CARS, TRAINING_CARS, CarProblem

MESHES = "NPI_MESHES"  # the environment variable with the folder of meshes
CARS = 56  # of each set of procedural cars
SETS = {
    "held-out poses": "training cars, held-out poses",
    "selection": "unseen cars used for model selection",
    "test": "unseen cars, first rendered after model selection",
    "meshes": "meshes",
}
# The targets, as percentages of trajectories that end on the target pose.
TARGETS = {"held-out poses": 99.5, "selection": 99, "test": 99, "meshes": 90}

# The paper's accuracies on its own cars, on trajectories of up to four steps: the single-task and the multi-task NPI.
PAPER = {"held-out poses": (89.5, 91.4), "test": (88.7, 89.9)}
PAPER_KIND = "to the paper's target, at most 4 steps"
PAPER_MARKS = {"*": "single task", "X": "multi-task"}
KIND_MARKS = "os^"


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:
        return [{"set": "test", "cars": 1, "seed": 0}]
    procedural = [{"set": name, "cars": CARS, "seed": 0} for name in SETS if name != "meshes"]
    return [*procedural, {"set": "meshes", "seed": 0}]


def problems_of(settings: Settings) -> dict[str, list[CarProblem]]:
    """The trajectories to the paper's target; of meshes, by family."""
    name, count = settings["set"], settings.get("cars", 0)
    if name == "held-out poses":
        return {name: held_out_starts(TRAINING_CARS[:count])}
    if name == "meshes":
        folder = os.environ.get(MESHES)
        if folder is None:
            raise BadInput(f"the meshes are not part of the repository: set {MESHES} to a folder of meshes")
        return {family: all_starts(cars) for family, cars in mesh_families(Path(folder)).items()}
    numbers = {"selection": SELECTION_CARS, "test": TEST_CARS}[name][:count]
    return {name: all_starts([Car(number) for number in numbers])}


def prepare(missing: Sequence[Settings]) -> Iterator[tuple[int, int]]:
    """Render the cars; meshes only if there is a folder of meshes."""
    available = [settings for settings in missing if settings["set"] != "meshes" or MESHES in os.environ]
    problems = [problem for settings in available for found in problems_of(settings).values() for problem in found]
    cars = list(dict.fromkeys(problem.car for problem in problems))
    for done in render_all(cars):
        yield done, len(cars)


def measure(device: str, seed: int, **settings: Any) -> dict[str, Any]:
    scores = score_cars(load_model(device=device), problems_of(settings))
    return {
        "scores": [
            {
                "cars": score.cars.removeprefix("meshes: "),
                "trajectories": score.trajectories,
                "by_car": {
                    name_of(car): {"problems": one.problems, "on_target": one.answers, "as_teacher": one.traces}
                    for car, one in score.by_car.items()
                },
            }
            for score in scores
        ],
        "files": {
            name_of(problem.car): hashlib.sha256(Path(problem.car.file).read_bytes()).hexdigest()
            for problems in problems_of(settings).values()
            for problem in problems
            if problem.car.file is not None
        },
    }


def name_of(car: Car) -> str:
    return str(car.number) if car.file is None else Path(car.file).stem


def rows_of(run: Run) -> Iterator[tuple[str, str, dict[str, dict[str, int]]]]:
    """For each set and kind of trajectory of a run: their names, and the scores by car. All meshes are a set too."""
    name, scores = SETS[run.settings["set"]], run.result["scores"]
    families = list(dict.fromkeys(score["cars"] for score in scores))
    for score in scores:
        yield f"{name}, {score['cars']}" if len(families) > 1 else name, score["trajectories"], score["by_car"]
    if len(families) > 1:
        for kind in dict.fromkeys(score["trajectories"] for score in scores):
            of_kind = [score["by_car"] for score in scores if score["trajectories"] == kind]
            yield f"{name}, all", kind, {car: one for by_car in of_kind for car, one in by_car.items()}


def percent(by_car: Mapping[str, Mapping[str, int]]) -> str:
    """The percentage of trajectories that end on the target, with a 95 % interval over cars."""
    fraction = total(by_car, "on_target") / total(by_car, "problems")
    low, high = interval(fraction * len(by_car), len(by_car))
    return f"{100 * fraction:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def total(by_car: Mapping[str, Mapping[str, int]], count: str) -> int:
    """A count, such as `on_target`, over all cars."""
    return sum(one[count] for one in by_car.values())


def report(made: Sequence[Run]) -> str:
    rows = [
        [
            name,
            trajectories,
            len(by_car),
            f"{total(by_car, 'problems'):,}",
            percent(by_car),
            f"{sum(one['on_target'] == one['problems'] for one in by_car.values())} of {len(by_car)}",
            f"{total(by_car, 'as_teacher'):,}",
        ]
        for run in made
        for name, trajectories, by_car in rows_of(run)
    ]
    head = [
        "set",
        "kind of trajectory",
        "cars",
        "trajectories",
        "end on the target",
        "cars without an error",
        "as the teacher",
    ]
    parts = [
        "The shipped model turns the camera from every start pose. Brackets are 95 % intervals over cars: the "
        "trajectories around one car are correlated. *As the teacher* counts trajectories with the teacher's call "
        "tree.\n\n" + table(head, rows)
    ]
    meshes = [run for run in made if run.settings["set"] == "meshes"]
    return "\n\n".join(parts + [by_mesh(run) for run in meshes])


def by_mesh(run: Run) -> str:
    """A row for each mesh, a column for each kind of trajectory."""
    kinds = list(dict.fromkeys(score["trajectories"] for score in run.result["scores"]))
    cells = {
        (car, score["trajectories"]): f"{one['on_target']} of {one['problems']}"
        for score in run.result["scores"]
        for car, one in score["by_car"].items()
    }
    rows = [[f"`{car}`", *(cells.get((car, kind), "") for kind in kinds)] for car in run.result["files"]]
    return (
        "Trajectories that end on the target, mesh by mesh. The meshes are CC0: Kenney's *Car Kit* 3.1 (kenney) and "
        "*Starter Kit Racing* (kenneyracing), and Kay Lousberg's *City Builder Bits* 1.0 (kaykit). They are not part "
        f"of the repository; with {MESHES} set to their folder, the command measures them again, and the results file "
        "names each by its SHA-256. They were also used for model selection.\n\n"
        f"{table(['mesh', *kinds], rows)}"
    )


def figure(made: Sequence[Run], path: Path) -> None:
    """A row for each set and kind of trajectory: all cars together with the interval, and every car as a dot."""
    from matplotlib.lines import Line2D

    rows = [(run.settings["set"], *row) for run in made for row in rows_of(run)]
    kinds = list(dict.fromkeys(kind for _, _, kind, _ in rows))
    names = list(dict.fromkeys(name for _, name, _, _ in rows))
    height = 0.24 * len(rows) + 1.6
    figure, axes = pyplot().subplots(figsize=(WIDTH, height), layout="constrained")
    places: dict[str, list[float]] = {}
    lowest = 100.0
    published: list[tuple[float, float]] = []
    for which, name, kind, by_car in rows:
        row = names.index(name) * (len(kinds) + 0.8) + kinds.index(kind)
        places.setdefault(fill(name, 24), []).append(row)
        fraction = total(by_car, "on_target") / total(by_car, "problems")
        low, high = interval(fraction * len(by_car), len(by_car))
        each = [100 * one["on_target"] / one["problems"] for one in by_car.values()]
        axes.plot(each, [row] * len(each), "|", color="#e6550d", markersize=7, markeredgewidth=1.4)
        axes.plot([100 * low, 100 * high], [row, row], color="#08306b", linewidth=1.2)
        marker = KIND_MARKS[kinds.index(kind) % len(KIND_MARKS)]
        axes.plot(100 * fraction, row, marker, color="#08306b", markerfacecolor="white", markersize=6)
        lowest = min(lowest, 100 * low, *each)
        if kind == PAPER_KIND:
            published += [(value, row) for value in PAPER.get(which, ())]
    handles = [
        Line2D([], [], color="#08306b", marker=marker, markerfacecolor="white", markersize=6, label=kind)
        for marker, kind in zip(KIND_MARKS, kinds, strict=False)
    ]
    handles.append(Line2D([], [], color="#e6550d", marker="|", linestyle="none", label="one car (most are at 100)"))
    for index, (marker, network) in enumerate(PAPER_MARKS.items()):
        label = f"paper, on its own cars: {network}"
        handles += plot_points(axes, published[index :: len(PAPER_MARKS)], label, marker, 11 - 3 * index)
    axes.set_yticks([sum(rows) / len(rows) for rows in places.values()], places)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xlim(5 * (lowest // 5), 101)
    axes.set_xlabel("trajectories that end on the target, %")
    figure.legend(handles=handles, loc="outside upper left", ncols=2)
    write_note(figure, "Lines: 95 % intervals over cars. The runs keep scores by kind of trajectory, not by distance.")
    save(figure, path)


def on_target(made: Sequence[Run]) -> list[str]:
    lines = []
    for run in made:
        sets: dict[str, dict[str, str]] = {}
        for name, trajectories, by_car in rows_of(run):
            sets.setdefault(name, {})[trajectories] = percent(by_car)
        name, cells = list(sets.items())[-1]  # of meshes, all together
        lines.append(f"{name}: " + "; ".join(f"{cell} {kind}" for kind, cell in cells.items()))
    return lines


EXPERIMENT = Experiment(
    "Cars",
    [
        Claim(
            "cars",
            "The shipped model turns the camera to the target around cars it has never seen: target "
            + ", ".join(f"{goal} % ({SETS[name]})" for name, goal in TARGETS.items())
            + ".",
            on_target,
            "the unseen cars from number 1,000,000 on and the meshes were used for model selection; those from "
            "2,000,000 on were not.",
        ),
    ],
    runs,
    measure,
    report,
    figure,
    config=shipped(),
    page="benchmarks",
    prepare=prepare,
)
