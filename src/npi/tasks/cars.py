"""Canonicalising a car: move the camera until the car is seen from a wanted pose, given nothing but what it looks like.

A program sees the picture and, on a read-only pad, the target; never the pose. The camera moves by 15 degrees and stops
at the edges of its range. The teacher knows where the camera is; that its decisions follow from the picture is what
`check_task` checks, by treating the picture as part of the history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

from npi.cars.views import AZIMUTHS, ELEVATIONS, Car, render_all
from npi.errors import BadInput
from npi.language.env import Env
from npi.language.image import Image
from npi.language.program import act, program
from npi.language.task import Task

STEP = 15
LEFT, RIGHT, UP, DOWN = MOVES = range(4)
SEEN = range(720)  # the cars of training
UNSEEN = range(1_000_000, 1_000_056)  # of those that only tests look at, the usual ones
HELD_OUT = 8  # poses of each car of training that no trajectory of training touches

Angle = Annotated[int, range(360 // STEP)]


class Pose(NamedTuple):
    """A place of the camera, in degrees."""

    azimuth: int
    elevation: int


TARGET = Pose(0, 15)  # the paper's


class CarProblem(NamedTuple):
    car: Car
    start: Pose
    target: Pose


class Observation(NamedTuple):
    azimuth: Angle  # of the target
    elevation: Angle
    picture: Image


class CarScene(Env):
    def __init__(self, pictures: Sequence[Sequence[Image]], start: Pose, target: Pose):
        self.pictures, self.pose, self.target = pictures, start, target

    @classmethod
    def of(cls, problem: CarProblem) -> CarScene:
        return cls(problem.car.pictures(), problem.start, problem.target)

    def observe(self) -> Observation:
        azimuth, elevation = (angle // STEP % (360 // STEP) for angle in self.target)
        return Observation(azimuth, elevation, self.picture())

    def picture(self) -> Image:
        return self.pictures[AZIMUTHS.index(self.pose.azimuth)][ELEVATIONS.index(self.pose.elevation)]

    def act(self, move: Annotated[int, MOVES], _: Annotated[int, range(1)], __: Annotated[int, range(1)], /) -> None:
        """Move the camera by one step; at an edge it stays."""
        azimuth, elevation = self.pose
        azimuth += {LEFT: -STEP, RIGHT: STEP}.get(move, 0)
        elevation += {UP: STEP, DOWN: -STEP}.get(move, 0)
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


POSES = [Pose(azimuth, elevation) for azimuth in AZIMUTHS for elevation in ELEVATIONS]


def steps_between(start: Pose, target: Pose) -> int:
    return (abs(start.azimuth - target.azimuth) + abs(start.elevation - target.elevation)) // STEP


def trajectory(start: Pose, target: Pose) -> Iterator[Pose]:
    """The poses on the way: first to the side, then up or down."""
    azimuth, elevation = start
    yield start
    while azimuth != target.azimuth:
        azimuth += STEP if azimuth < target.azimuth else -STEP
        yield Pose(azimuth, elevation)
    while elevation != target.elevation:
        elevation += STEP if elevation < target.elevation else -STEP
        yield Pose(azimuth, elevation)


@cache
def held_out(number: int) -> frozenset[Pose]:
    """The poses of a car of training that training never shows: a test on seen cars starts there."""
    return frozenset(Random(f"held out {number}").sample(POSES, HELD_OUT))


@cache
def _pairs(size: int) -> list[tuple[Pose, Pose]]:
    pairs = [(start, target) for start in POSES for target in POSES if steps_between(start, target) == size]
    if not pairs:
        raise BadInput(f"no two poses of the camera are {size} steps apart: give a size from 0 to 14")
    return pairs


@cache
def _open_pairs(number: int, size: int) -> list[tuple[Pose, Pose]]:
    """The ways of so many steps that touch none of a car's poses held out."""
    return [way for way in _pairs(size) if held_out(number).isdisjoint(trajectory(*way))]


def sample(rng: Random, size: int) -> CarProblem:
    """A car of training, and a way of so many steps that touches none of its poses held out."""
    for number in rng.sample(SEEN, len(SEEN)):
        if ways := _open_pairs(number, size):
            return CarProblem(Car(number, training=True), *rng.choice(ways))
    raise BadInput(f"no car of training has a way of {size} steps that touches none of its poses held out")


def sample_unseen(rng: Random, size: int) -> CarProblem:
    start, target = rng.choice(_pairs(size))
    return CarProblem(Car(rng.choice(UNSEEN)), start, target)


def all_starts(cars: Sequence[Car]) -> list[CarProblem]:
    """Every car from every pose to the paper's target."""
    return [CarProblem(car, start, TARGET) for car in cars for start in POSES]


def held_out_starts(numbers: Sequence[int]) -> list[CarProblem]:
    """Cars of training from the poses that training never showed, to the paper's target."""
    return [CarProblem(Car(number), start, TARGET) for number in numbers for start in sorted(held_out(number))]


def to_other_targets(problems: Sequence[CarProblem]) -> list[CarProblem]:
    """The same cars and starts, each to a target at random that is not the paper's."""
    rng = Random("other targets")
    others = [pose for pose in POSES if pose != TARGET]
    return [problem._replace(target=rng.choice(others)) for problem in problems]


def answer(problem: CarProblem) -> Pose:
    return problem.target


def result(scene: CarScene) -> Pose:
    return scene.pose


def parse(words: Sequence[str]) -> CarProblem:
    """CAR AZIMUTH ELEVATION [TARGET_AZIMUTH TARGET_ELEVATION]; CAR is a number or the file of a mesh."""
    if len(words) not in (3, 5):
        raise BadInput(
            f"cars takes a car, an azimuth and an elevation, such as --car 12 --azimuth -60 --elevation 45, and "
            f"perhaps a --target; it was given {len(words)} words"
        )
    name, *angles = words
    car = Car(number=int(name)) if name.isascii() and name.isdigit() else Car(file=str(Path(name)))
    start = pose(*angles[:2])
    return CarProblem(car, start, pose(*angles[2:]) if angles[2:] else TARGET)


def pose(azimuth: str, elevation: str) -> Pose:
    """Two typed angles, checked."""
    values = []
    for name, word, allowed in (("azimuth", azimuth, AZIMUTHS), ("elevation", elevation, ELEVATIONS)):
        try:
            value = int(word)
        except ValueError:
            value = None
        if value not in allowed:
            raise BadInput(
                f"the {name} {word} is not one the camera can have: it goes from {allowed[0]} to {allowed[-1]} in "
                f"steps of {STEP}"
            )
        values.append(value)
    return Pose(*values)


def show(pose: Pose) -> str:
    return f"azimuth {pose.azimuth}, elevation {pose.elevation}"


def prepare() -> Iterator[tuple[int, int]]:
    """Render all cars of training that are not rendered yet."""
    cars = [Car(number, training=True) for number in SEEN]
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
    sizes=range(len(AZIMUTHS) + len(ELEVATIONS) - 1),
    examples=1000,
    sample_test=sample_unseen,
    prepare=prepare,
)
recursive = replace(loop, teacher="recursive", main=goto_recursive)
