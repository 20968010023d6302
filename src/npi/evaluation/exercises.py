"""Exercises: small useful programs on the built-in environments, to measure what a trained model can be taught.

Each is a task of its own with an independent answer, so that it can be tested on problems it was not taught with. The
benchmarks list them by the names of their main programs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from npi.cars.poses import AZIMUTHS, ELEVATIONS, Pose
from npi.language.program import Program, act, program
from npi.language.task import Task
from npi.tasks import addition, cars, maximum, sorting
from npi.tasks.addition import BLANK, FIRST, MOVE, OUT, SECOND, WRITE, AdditionPad
from npi.tasks.cars import DOWN, LEFT, RIGHT, UP, CarProblem, CarScene
from npi.tasks.sorting import POINTER1, POINTER2, SWAP, SortingPad

TRAINING_EXAMPLES = 20  # problems of each size at most: enough to teach one small program, and quick to record
HIGHEST, RIGHTMOST = ELEVATIONS[-1], AZIMUTHS[-1]  # the limits of the camera

# Programs on the sorting pad


@program
def ljmp(pad: SortingPad) -> None:
    """Move the first pointer to the start of the array."""
    if not pad.observe().start1:
        act(pad, MOVE, POINTER1, LEFT)
        ljmp(pad)


@program(name="MIN")
def minimum(pad: SortingPad) -> None:
    """Sort, then move the first pointer to the least element."""
    sorting.bubblesort_recursive(pad)
    ljmp(pad)


@program
def dcompswap(pad: SortingPad) -> None:
    """COMPSWAP for descending order."""
    observation = pad.observe()
    if observation.value1 < observation.value2:
        act(pad, SWAP)


@program
def dstep(pad: SortingPad) -> None:
    """Compare and swap up to the end of the array."""
    if not pad.observe().end1:
        dcompswap(pad)
        sorting.rshift(pad)
        dstep(pad)


@program
def dbubble(pad: SortingPad) -> None:
    """One sweep of bubble sort in descending order."""
    act(pad, MOVE, POINTER2, RIGHT)
    dstep(pad)


@program
def dsort(pad: SortingPad) -> None:
    """Sort in descending order."""
    if not pad.observe().end3:
        dbubble(pad)
        sorting.reset_recursive(pad)
        dsort(pad)


@program
def carry_on(pad: SortingPad) -> None:
    """Swap the element at the first pointer rightwards up to the end."""
    if not pad.observe().end1:
        act(pad, SWAP)
        sorting.rshift(pad)
        carry_on(pad)


@program
def rotate(pad: SortingPad) -> None:
    """Move the first element to the end."""
    act(pad, MOVE, POINTER2, RIGHT)
    carry_on(pad)


# Programs on the addition pad


@program
def copy(pad: AdditionPad) -> None:
    """Copy the first number to the output."""
    digit = pad.observe().first
    if digit != BLANK:
        act(pad, WRITE, OUT, digit)
        addition.lshift(pad)
        copy(pad)


@program
def addone(pad: AdditionPad) -> None:
    """Replace the last digit of the second number by 1, then add."""
    act(pad, WRITE, SECOND, 1)
    addition.add_recursive(pad)


@program
def countdown(pad: AdditionPad) -> None:
    """Count the last digit of the first number down to 0."""
    digit = pad.observe().first
    if digit not in (0, BLANK):
        act(pad, WRITE, FIRST, digit - 1)
        countdown(pad)


@program
def nines(pad: AdditionPad) -> None:
    """Write as many nines as the second number has digits."""
    if pad.observe().second != BLANK:
        act(pad, WRITE, OUT, 9)
        addition.lshift(pad)
        nines(pad)


# Programs on the car scene


@program
def above(scene: CarScene) -> None:
    """Go up to the highest elevation."""
    if scene.pose.elevation < HIGHEST:
        act(scene, UP)
        above(scene)


@program
def ground(scene: CarScene) -> None:
    """Go down to elevation 0."""
    if scene.pose.elevation > 0:
        act(scene, DOWN)
        ground(scene)


@program
def side(scene: CarScene) -> None:
    """Go right to the greatest azimuth."""
    if scene.pose.azimuth < RIGHTMOST:
        act(scene, RIGHT)
        side(scene)


@program
def lmirror(scene: CarScene) -> None:
    """Go left to the azimuth opposite to the target's, if it is to the left."""
    if scene.pose.azimuth > -scene.target.azimuth:
        act(scene, LEFT)
        lmirror(scene)


@program
def rmirror(scene: CarScene) -> None:
    """Go right to the azimuth opposite to the target's, if it is to the right."""
    if scene.pose.azimuth < -scene.target.azimuth:
        act(scene, RIGHT)
        rmirror(scene)


@program
def mirror(scene: CarScene) -> None:
    """Go to the azimuth opposite to the target's: the same angle on the other side of the car."""
    lmirror(scene)
    rmirror(scene)


@program
def tour(scene: CarScene) -> None:
    """Go to the side of the car, then to the target."""
    side(scene)
    cars.goto_recursive(scene)


def _azimuth(degrees: int) -> Callable[[CarProblem], Pose]:
    """The answer of programs that only change the azimuth, to a fixed value."""
    return lambda problem: problem.start._replace(azimuth=degrees)


def _elevation(degrees: int) -> Callable[[CarProblem], Pose]:
    """The answer of programs that only change the elevation, to a fixed value."""
    return lambda problem: problem.start._replace(elevation=degrees)


def _exercise(
    base: Task, main: Program, answer: Callable[[Any], Any], result: Callable[[Any], Any] | None = None
) -> Task:
    """A task with the environment and problems of `base`, but another main program and answer."""
    return replace(
        base,
        name=main.name,
        main=main,
        answer=answer,
        result=result or base.result,
        extra_programs=(),
        builds_on=(),
        examples=min(base.examples, TRAINING_EXAMPLES),
    )


_sorting, _addition, _cars = sorting.recursive, addition.recursive, cars.recursive
EXERCISES: tuple[Task, ...] = (
    replace(maximum.recursive, name="MAX"),
    _exercise(_sorting, minimum, min, maximum.result),
    _exercise(_sorting, maximum.rjmp_recursive, lambda problem: True, lambda pad: pad.array.at_last(POINTER1)),
    _exercise(_sorting, ljmp, lambda problem: True, lambda pad: pad.array.at_start(POINTER1)),
    _exercise(_sorting, dsort, lambda problem: sorted(problem, reverse=True)),
    _exercise(_sorting, rotate, lambda problem: [*problem[1:], problem[0]]),
    _exercise(_addition, copy, lambda problem: problem[0].lstrip("0") or "0"),
    _exercise(_addition, addone, lambda problem: addition.answer((problem[0], problem[1][:-1] + "1"))),
    _exercise(_addition, countdown, lambda problem: "0", lambda pad: str(pad.rows[FIRST].contents()[-1])),
    _exercise(_addition, nines, lambda problem: "9" * len(problem[1])),
    _exercise(_cars, above, _elevation(HIGHEST)),
    _exercise(_cars, ground, _elevation(0)),
    _exercise(_cars, side, _azimuth(RIGHTMOST)),
    _exercise(_cars, mirror, lambda problem: problem.start._replace(azimuth=-problem.target.azimuth)),
    _exercise(_cars, tour, lambda problem: problem.target),
)
