"""How often a model turns a car to the target pose: training cars, unseen cars and meshes, in total and car by car."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from npi.cars.car import Car
from npi.cars.mesh_files import FORMATS
from npi.cars.poses import PAPER_TARGET, POSES, steps_between
from npi.cars.views import render_all
from npi.errors import BadInput
from npi.evaluation.score import EXAMPLES_OF_ERRORS, Score, interval, score_problems
from npi.network.learned_task import learned_task
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.progress import ProgressCallback, no_progress, report_counts
from npi.tasks import cars
from npi.tasks.cars import CarProblem

PAPER_STEPS = 4  # the paper's table 1 is measured on trajectories of up to four steps


@dataclass(frozen=True)
class CarSetScore:
    """The scores of one set of cars on one kind of trajectory."""

    cars: str  # the set, such as "unseen cars"
    trajectories: str  # a key of `TRAJECTORIES`
    by_car: dict[Car, Score]

    @property
    def total(self) -> Score:
        """All cars together."""
        scores = list(self.by_car.values())
        return Score(
            size=None,
            problems=sum(score.problems for score in scores),
            answers=sum(score.answers for score in scores),
            traces=sum(score.traces for score in scores),
            runaways=sum(score.runaways for score in scores),
            wrong=tuple(problem for score in scores for problem in score.wrong)[:EXAMPLES_OF_ERRORS],
        )

    @property
    def on_target(self) -> float:
        """The fraction of trajectories that end on the target."""
        return self.total.answers / self.total.problems

    @property
    def on_target_95(self) -> tuple[float, float]:
        """The 95 % interval of `on_target` for other cars of this kind.

        Trajectories of one car are correlated, so the sample size is the number of cars. The fraction of one car lies
        between 0 and 1, so its variance is at most that of a Bernoulli trial with the same mean: Wilson's interval for
        as many trials as there are cars is wide enough.
        """
        return interval(self.on_target * len(self.by_car), len(self.by_car))

    def summary(self) -> dict[str, Any]:
        """The scores as JSON values: of all cars together, and of each."""
        total = self.total
        return {
            "cars": self.cars,
            "trajectories": self.trajectories,
            "problems": total.problems,
            "answers": total.answers,
            "traces": total.traces,
            "runaways": total.runaways,
            "wrong": [str(problem) for problem in total.wrong],
            "on_target_95": list(self.on_target_95),
            "by_car": {
                str(car): {"problems": score.problems, "answers": score.answers, "traces": score.traces}
                for car, score in self.by_car.items()
            },
        }


def score_cars(
    model: NPI, sets: Mapping[str, Sequence[CarProblem]], *, progress: ProgressCallback = no_progress
) -> Iterator[CarSetScore]:
    """Render the cars of these sets (see `car_sets`), then score the model on each set and kind of trajectory."""
    task = learned_task("cars", model)
    used = list(dict.fromkeys(problem.car for problems in sets.values() for problem in problems))
    report_counts(((done, len(used)) for done in render_all(used)), "rendering cars", progress)
    decider = NeuralDecider(model, task.env)  # one for all sets, because it keeps the features of images it has seen
    for name, problems in sets.items():
        for trajectories, select in TRAJECTORIES.items():
            by_car: dict[Car, list[CarProblem]] = {}
            for problem in select(problems):
                by_car.setdefault(problem.car, []).append(problem)
            if by_car:
                scores = {car: score_problems(task, decider, chosen) for car, chosen in by_car.items()}
                yield CarSetScore(name, trajectories, scores)


def car_sets(
    count: int, first_unseen: int | None = None, mesh_sets: Mapping[str, Sequence[Car]] | None = None
) -> dict[str, list[CarProblem]]:
    """The trajectories to the paper's target of `count` training cars, `count` unseen cars, and cars from mesh files.

    `first_unseen` is the number of the first unseen car (default: that of `cars.SELECTION_CARS`). `mesh_sets` are named
    sets of meshes, such as those of `mesh_families`.
    """
    if count > len(cars.TRAINING_CARS):
        raise BadInput(f"{count} cars are too many: there are {len(cars.TRAINING_CARS)} training cars")
    first = cars.SELECTION_CARS.start if first_unseen is None else first_unseen
    if first <= max(cars.TRAINING_CARS):
        raise BadInput(f"car {first} is not unseen: cars up to {max(cars.TRAINING_CARS)} are training cars")
    sets = {
        "training cars, held-out poses": held_out_starts(cars.TRAINING_CARS[:count]),
        "unseen cars": all_starts([Car(number) for number in range(first, first + count)]),
    }
    if mesh_sets:
        sets |= {name: all_starts(members) for name, members in mesh_sets.items()}
        sets["all meshes"] = [problem for name in mesh_sets for problem in sets[name]]
    return sets


def mesh_families(folder: Path, forward: str = "+Z", up: str = "+Y") -> dict[str, list[Car]]:
    """The meshes in a folder by family: the part of a file's name before its first underscore.

    `forward` and `up` are the axes along which the meshes' fronts and tops point.
    """
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}")
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in FORMATS)
    if not files:
        raise BadInput(f"{folder} holds no meshes ({', '.join(FORMATS)})")
    families: dict[str, list[Car]] = {}
    for file in files:
        car = Car(file=str(file), forward=forward, up=up)
        car.mesh()  # raises BadInput for an unusable mesh before any car is rendered or scored
        families.setdefault(f"meshes: {file.stem.split('_')[0]}", []).append(car)
    return families


def all_starts(chosen: Sequence[Car]) -> list[CarProblem]:
    """Every car from every pose to the paper's target."""
    return [CarProblem(car, start, PAPER_TARGET) for car in chosen for start in POSES]


def held_out_starts(numbers: Sequence[int]) -> list[CarProblem]:
    """Training cars from the poses that training never shows, to the paper's target."""
    return [
        CarProblem(Car(number), start, PAPER_TARGET)
        for number in numbers
        for start in sorted(cars.held_out_poses(number))
    ]


def within_paper_steps(problems: Sequence[CarProblem]) -> list[CarProblem]:
    """The trajectories of at most `PAPER_STEPS` camera moves."""
    return [problem for problem in problems if steps_between(problem.start, problem.target) <= PAPER_STEPS]


def to_other_targets(problems: Sequence[CarProblem]) -> list[CarProblem]:
    """The same cars and starts, each with a random target other than the paper's."""
    rng = Random("other targets")
    others = [pose for pose in POSES if pose != PAPER_TARGET]
    return [problem._replace(target=rng.choice(others)) for problem in problems]


# Kinds of trajectory, and how to derive their problems from those to the paper's target.
TRAJECTORIES = {
    "to the paper's target": list,
    f"to the paper's target, at most {PAPER_STEPS} steps": within_paper_steps,
    "to other targets": to_other_targets,
}
