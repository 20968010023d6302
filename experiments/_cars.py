"""Shared by the experiments on cars: networks that learn cars from decisions alone, and their scores by car."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from statistics import mean
from typing import Any

from _tables import percent

from npi.cars.car import Car
from npi.cars.poses import PAPER_TARGET, Pose
from npi.cars.views import render_all
from npi.evaluation.car_scores import all_starts, held_out_starts, within_paper_steps
from npi.evaluation.score import interval, score_problems
from npi.language.interpreter import Decider
from npi.language.task import Task
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.tasks import cars
from npi.tasks.cars import CarProblem
from npi.training.config import IMAGES, TrainConfig
from npi.training.trainer import Trainer, make_trainer

UPDATES = 12_000
# No auxiliary labels: the network learns from the teacher's decisions alone, as in the paper. The other values were
# chosen on the selection cars (docs/LOG.md).
DECISIONS = replace(
    IMAGES,
    auxiliary_labels="none",
    image_batch_size=448,
    schedule="cosine",
    updates=UPDATES,
    updates_after_learned=UPDATES,  # never stop early
    eval_every=200,
)
PAPER_STEPS = range(5)  # lengths of the paper's trajectories in its table 1


def to_paper_target(task: Task) -> Task:
    """The cars as in the paper's table 1: trajectories of at most four steps, all to the same target."""

    def sample(rng: Random, size: int) -> CarProblem:
        while True:
            number = rng.choice(cars.TRAINING_CARS)
            if pairs := pairs_to_paper_target(number, size):
                return CarProblem(Car(number, training=True), *rng.choice(pairs))

    return replace(task, sizes=PAPER_STEPS, examples=4000, sample=sample)


def half_to_paper_target(task: Task) -> Task:
    """The cars as in `npi train`, with half of the trajectories to the paper's target, where the length allows that."""

    def sample(rng: Random, size: int) -> CarProblem:
        number = rng.choice(cars.TRAINING_CARS)
        pairs = pairs_to_paper_target(number, size)
        if pairs and rng.random() < 0.5:
            return CarProblem(Car(number, training=True), *rng.choice(pairs))
        return cars.sample(rng, size)

    return replace(task, sample=sample)


def pairs_to_paper_target(number: int, steps: int) -> list[tuple[Pose, Pose]]:
    """Those of `training_pairs` that end at the paper's target."""
    return [pair for pair in cars.training_pairs(number, steps) if pair[1] == PAPER_TARGET]


def learn(chosen: Sequence[Task], config: TrainConfig, seed: int, device: str) -> Trainer:
    """Train a network on these tasks, to the end of its budget."""
    trainer = make_trainer(chosen, config, seed, device)
    for _ in trainer.run():
        pass
    return trainer


def problems_by_set(count: int) -> dict[str, list[CarProblem]]:
    """Test trajectories to the paper's target, around `count` cars of each set."""
    return {
        "seen": held_out_starts(cars.TRAINING_CARS[:count]),
        "unseen": all_starts([Car(number) for number in cars.TEST_CARS[:count]]),
    }


def render_for(count: int) -> Iterator[tuple[int, int]]:
    """Render the training cars, and the cars of `problems_by_set`; yield how many are done, and of how many."""
    training = [Car(number, training=True) for number in cars.TRAINING_CARS]
    tested = [problem.car for problems in problems_by_set(count).values() for problem in problems]
    wanted = list(dict.fromkeys([*training, *tested]))
    for done in render_all(wanted):
        yield done, len(wanted)


def score_cars(model: NPI, task: Task, count: int, decider: Decider | None = None) -> dict[str, dict[str, list[int]]]:
    """By set and kind of trajectory, the score of each car: on target, as the teacher, trajectories."""
    decider = decider or NeuralDecider(model, task.env)
    scores: dict[str, dict[str, list[int]]] = {}
    for name, problems in problems_by_set(count).items():
        for kind, chosen in ((name, problems), (f"{name}, at most four steps", within_paper_steps(problems))):
            by_car: dict[str, list[CarProblem]] = {}
            for problem in chosen:
                by_car.setdefault(str(problem.car.number), []).append(problem)
            scores[kind] = {}
            for car, own in by_car.items():
                score = score_problems(task, decider, own)
                scores[kind][car] = [score.answers, score.traces, score.problems]
    return scores


def share(by_car: Mapping[str, Sequence[int]]) -> float:
    """The fraction of trajectories that end on the target."""
    return sum(one[0] for one in by_car.values()) / sum(one[2] for one in by_car.values())


def over_seeds_and_cars(scores: Sequence[Mapping[str, Sequence[int]]]) -> str:
    """Mean and range over the seeds, and the 95 % interval over cars."""
    shares = [share(by_car) for by_car in scores]
    count = len({car for by_car in scores for car in by_car})
    low, high = interval(mean(shares) * count, count)
    return f"{percent(shares)}; over cars {100 * low:.1f} to {100 * high:.1f}"


class WithoutHistory(NeuralDecider):
    """A network whose loops forget: at each step of LGOTO, RGOTO, UGOTO and DGOTO it sees the present image alone."""

    LOOPS = ("LGOTO", "RGOTO", "UGOTO", "DGOTO")

    def decide(self, queries: list[Any]) -> list[Any]:
        return super().decide(
            [(shows, call, None if call.program in self.LOOPS else state) for shows, call, state in queries]
        )
