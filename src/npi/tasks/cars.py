"""Canonicalising a car: move the camera until an image shows the car from the target pose.

A program observes the image and the target pose, never the camera's own pose. The camera moves by 15 degrees and stops
at the edges of its grid (`npi.cars.poses`). The teacher reads the camera's pose. Yet its decisions must follow from
what a program observes; `check_task` checks this, since the images are part of a frame's history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

from npi.cars.car import Car
from npi.cars.poses import (
    AZIMUTHS,
    ELEVATIONS,
    PAPER_TARGET,
    POSES,
    STEP_DEGREES,
    Pose,
    camera_path,
    steps_between,
)
from npi.cars.views import images_of, render_all
from npi.errors import BadInput
from npi.language.env import Env
from npi.language.image import Image
from npi.language.program import act, program
from npi.language.task import Task

LEFT, RIGHT, UP, DOWN = MOVES = range(4)
# Numbers of procedural cars. The model never trains on the last two sets. The training configuration was chosen by its
# accuracy on the selection cars, so they are no test set; the test cars were first rendered afterwards.
TRAINING_CARS = range(720)  # why 720: docs/LOG.md, "More cars, not more updates"
SELECTION_CARS = range(1_000_000, 1_000_056)
TEST_CARS = range(2_000_000, 2_000_056)
HELD_OUT_POSES = 8  # of the 55 poses of each training car; no training trajectory touches them
ANGLES = 360 // STEP_DEGREES  # 24: the paper's K, the number of values of each angle of the target
LONGEST_PATH = len(AZIMUTHS) - 1 + len(ELEVATIONS) - 1  # 14 camera moves, from corner to corner of the grid

Angle = Annotated[int, range(ANGLES)]


class CarProblem(NamedTuple):
    """A car, where the camera starts, and where it must end."""

    car: Car
    start: Pose
    target: Pose


class Observation(NamedTuple):
    """The target pose in steps of 15 degrees, modulo a full turn, and the image from the camera's pose."""

    azimuth: Angle
    elevation: Angle
    image: Image


class CarScene(Env):
    """A camera in front of a car. `images` holds its views by azimuth, then by elevation."""

    def __init__(self, images: Sequence[Sequence[Image]], start: Pose, target: Pose):
        self.images, self.pose, self.target = images, start, target

    @classmethod
    def of(cls, problem: CarProblem) -> CarScene:
        return cls(images_of(problem.car), problem.start, problem.target)

    def observe(self) -> Observation:
        azimuth, elevation = (angle // STEP_DEGREES % ANGLES for angle in self.target)
        return Observation(azimuth, elevation, self.image())

    def image(self) -> Image:
        """The view from the camera's pose."""
        return self.images[AZIMUTHS.index(self.pose.azimuth)][ELEVATIONS.index(self.pose.elevation)]

    def act(self, move: Annotated[int, MOVES], _: Annotated[int, range(1)], __: Annotated[int, range(1)], /) -> None:
        """Move the camera by one step; at an edge of the grid it stays."""
        azimuth, elevation = self.pose
        azimuth += {LEFT: -STEP_DEGREES, RIGHT: STEP_DEGREES}.get(move, 0)
        elevation += {UP: STEP_DEGREES, DOWN: -STEP_DEGREES}.get(move, 0)
        if azimuth in AZIMUTHS and elevation in ELEVATIONS:
            self.pose = Pose(azimuth, elevation)

    @classmethod
    def label_sizes(cls) -> tuple[int, ...]:
        return len(AZIMUTHS), len(ELEVATIONS)

    @classmethod
    def describe(cls, args: tuple[int, ...]) -> str:
        return ("LEFT", "RIGHT", "UP", "DOWN")[args[0]]


@program
def lgoto(scene: CarScene) -> None:
    while scene.pose.azimuth > scene.target.azimuth:
        act(scene, LEFT)


@program
def rgoto(scene: CarScene) -> None:
    while scene.pose.azimuth < scene.target.azimuth:
        act(scene, RIGHT)


@program
def ugoto(scene: CarScene) -> None:
    while scene.pose.elevation < scene.target.elevation:
        act(scene, UP)


@program
def dgoto(scene: CarScene) -> None:
    while scene.pose.elevation > scene.target.elevation:
        act(scene, DOWN)


@program
def hgoto(scene: CarScene) -> None:
    if scene.pose.azimuth > scene.target.azimuth:
        lgoto(scene)
    elif scene.pose.azimuth < scene.target.azimuth:
        rgoto(scene)


@program
def vgoto(scene: CarScene) -> None:
    if scene.pose.elevation < scene.target.elevation:
        ugoto(scene)
    elif scene.pose.elevation > scene.target.elevation:
        dgoto(scene)


@program
def goto(scene: CarScene) -> None:
    hgoto(scene)
    vgoto(scene)


# The recursive teacher: every loop above becomes a program that calls itself.


@program(name="LGOTO")
def lgoto_recursive(scene: CarScene) -> None:
    if scene.pose.azimuth > scene.target.azimuth:
        act(scene, LEFT)
        lgoto_recursive(scene)


@program(name="RGOTO")
def rgoto_recursive(scene: CarScene) -> None:
    if scene.pose.azimuth < scene.target.azimuth:
        act(scene, RIGHT)
        rgoto_recursive(scene)


@program(name="UGOTO")
def ugoto_recursive(scene: CarScene) -> None:
    if scene.pose.elevation < scene.target.elevation:
        act(scene, UP)
        ugoto_recursive(scene)


@program(name="DGOTO")
def dgoto_recursive(scene: CarScene) -> None:
    if scene.pose.elevation > scene.target.elevation:
        act(scene, DOWN)
        dgoto_recursive(scene)


@program(name="HGOTO")
def hgoto_recursive(scene: CarScene) -> None:
    if scene.pose.azimuth > scene.target.azimuth:
        lgoto_recursive(scene)
    elif scene.pose.azimuth < scene.target.azimuth:
        rgoto_recursive(scene)


@program(name="VGOTO")
def vgoto_recursive(scene: CarScene) -> None:
    if scene.pose.elevation < scene.target.elevation:
        ugoto_recursive(scene)
    elif scene.pose.elevation > scene.target.elevation:
        dgoto_recursive(scene)


@program(name="GOTO")
def goto_recursive(scene: CarScene) -> None:
    hgoto_recursive(scene)
    vgoto_recursive(scene)


@cache
def held_out_poses(number: int) -> frozenset[Pose]:
    """The poses of a training car that training never shows: tests on training cars start there."""
    return frozenset(Random(f"held out {number}").sample(POSES, HELD_OUT_POSES))


@cache
def pose_pairs(steps: int) -> list[tuple[Pose, Pose]]:
    """Every start and target that many camera moves apart."""
    pairs = [(start, target) for start in POSES for target in POSES if steps_between(start, target) == steps]
    if not pairs:
        raise BadInput(f"no two poses of the camera are {steps} steps apart: give a size from 0 to {LONGEST_PATH}")
    return pairs


@cache
def training_pairs(number: int, steps: int) -> list[tuple[Pose, Pose]]:
    """Those of `pose_pairs` whose path touches none of a training car's held-out poses."""
    return [pair for pair in pose_pairs(steps) if held_out_poses(number).isdisjoint(camera_path(*pair))]


def sample(rng: Random, size: int) -> CarProblem:
    """A random training car, and a path of `size` camera moves that touches none of its held-out poses."""
    for number in rng.sample(TRAINING_CARS, len(TRAINING_CARS)):
        if pairs := training_pairs(number, size):
            return CarProblem(Car(number, training=True), *rng.choice(pairs))
    raise BadInput(f"no training car has a path of {size} steps that touches none of its held-out poses")


def sample_test(rng: Random, size: int) -> CarProblem:
    """A random selection car, and any path of `size` camera moves. `experiments/cars.py` measures on the test cars."""
    start, target = rng.choice(pose_pairs(size))
    return CarProblem(Car(rng.choice(SELECTION_CARS)), start, target)


def answer(problem: CarProblem) -> Pose:
    return problem.target


def result(scene: CarScene) -> Pose:
    return scene.pose


def parse(words: Sequence[str]) -> CarProblem:
    """CAR AZIMUTH ELEVATION [TARGET_AZIMUTH TARGET_ELEVATION]; CAR is a car's number or a mesh file."""
    if len(words) not in (3, 5):
        raise BadInput(
            f"cars takes a car, an azimuth and an elevation, such as --car 12 --azimuth -60 --elevation 45, and "
            f"optionally a --target; it was given {len(words)} words"
        )
    name, *angles = words
    car = Car(number=int(name)) if name.isascii() and name.isdigit() else Car(file=str(Path(name)))
    start = parse_pose(*angles[:2])
    return CarProblem(car, start, parse_pose(*angles[2:]) if angles[2:] else PAPER_TARGET)


def parse_pose(azimuth: str, elevation: str) -> Pose:
    """A pose of the grid from two words; raises BadInput for angles outside it."""
    values = []
    for name, word, allowed in (("azimuth", azimuth, AZIMUTHS), ("elevation", elevation, ELEVATIONS)):
        try:
            value = int(word)
        except ValueError:
            value = None
        if value not in allowed:
            raise BadInput(
                f"the {name} {word} is not one the camera can have: it ranges from {allowed[0]} to {allowed[-1]} in "
                f"steps of {STEP_DEGREES}"
            )
        values.append(value)
    return Pose(*values)


def show(pose: Pose) -> str:
    return f"azimuth {pose.azimuth}, elevation {pose.elevation}"


def prepare() -> Iterator[tuple[int, int]]:
    """Render all training cars that are not in the cache yet; yield how many are done, and of how many."""
    cars = [Car(number, training=True) for number in TRAINING_CARS]
    for done in render_all(cars):
        yield done, len(cars)


loop = Task(
    name="cars",
    teacher="loop",
    env=CarScene,
    main=goto,
    sample=sample,
    answer=answer,
    result=result,
    parse=parse,
    show=show,
    sizes=range(LONGEST_PATH + 1),
    examples=1000,  # of each size: with 720 cars, about 20 trajectories of each
    sample_test=sample_test,
    prepare=prepare,
)
recursive = replace(loop, teacher="recursive", main=goto_recursive)
