"""Body plans: the measures of one procedural car, drawn from the ranges of its body type.

The ranges were set by eye from pictures of real cars. They need not be exact: they make the body types distinct, and
random enough that a network cannot memorise them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BodyPlan:
    """The measures of one car, in metres; x runs from the tail at -length / 2 to the nose at +length / 2."""

    length: float
    width: float
    height: float
    clearance: float  # ground to floor
    belt_height: float  # ground to the lower edge of the windows
    hood_length: float  # nose to windscreen
    nose_height: float  # ground to the hood at the nose
    windscreen_lean: float  # how far the windscreen's top is behind its bottom
    trunk_length: float  # tail to rear window
    tail_height: float  # ground to the trunk at the tail
    rear_window_lean: float  # how far the rear window's top is in front of its bottom
    roof_width: float  # as a fraction of the cabin's width at the belt
    wheel_radius: float
    front_axle: float  # nose to front axle
    rear_axle: float  # tail to rear axle
    side_windows: int = 2  # on each side
    cargo: str = ""  # what is behind the cabin: "" (nothing), "bed", "box" or "flat"
    open_wheels: bool = False


Range = tuple[float, float]


@dataclass(frozen=True)
class BodyType:
    """The ranges from which the measures of a body plan are drawn.

    Length, width and height are in metres. The other measures are fractions: those named height, and the clearance, of
    the height, the others of the length, except where noted.
    """

    length: Range
    width: Range
    height: Range
    clearance: Range = (0.10, 0.14)
    belt_height: Range = (0.58, 0.66)
    hood_length: Range = (0.24, 0.29)
    nose_height: Range = (0.72, 0.88)  # of the belt height
    windscreen_lean: Range = (0.10, 0.15)
    trunk_length: Range = (0.15, 0.20)
    tail_height: Range = (0.90, 1.02)  # of the belt height
    rear_window_lean: Range = (0.10, 0.15)
    roof_width: Range = (0.70, 0.85)  # of the cabin's width
    wheel_radius: Range = (0.21, 0.25)  # of the height
    overhang: Range = (0.17, 0.21)  # nose or tail to the nearer axle
    side_windows: tuple[int, ...] = (2,)  # one of these
    cargo: str = ""
    open_wheels: bool = False


# A car's number chooses its body type by the position in this table: its order must not change.
BODY_TYPES = {
    "sedan": BodyType((4.4, 4.9), (1.75, 1.9), (1.4, 1.5)),
    "hatchback": BodyType(
        (3.6, 4.2),
        (1.65, 1.8),
        (1.42, 1.58),
        trunk_length=(0.02, 0.05),
        rear_window_lean=(0.07, 0.13),
        hood_length=(0.2, 0.26),
        side_windows=(1, 2),
    ),
    "wagon": BodyType(
        (4.5, 4.9),
        (1.75, 1.9),
        (1.42, 1.55),
        trunk_length=(0.01, 0.04),
        rear_window_lean=(0.04, 0.10),
        side_windows=(3,),
    ),
    "suv": BodyType(
        (4.2, 4.9),
        (1.8, 2.0),
        (1.65, 1.9),
        clearance=(0.13, 0.18),
        trunk_length=(0.01, 0.03),
        rear_window_lean=(0.03, 0.09),
        nose_height=(0.85, 0.97),
        windscreen_lean=(0.07, 0.11),
        roof_width=(0.78, 0.9),
        wheel_radius=(0.20, 0.23),
        side_windows=(2, 3),
    ),
    "coupe": BodyType(
        (4.2, 4.7),
        (1.75, 1.9),
        (1.28, 1.4),
        hood_length=(0.27, 0.33),
        trunk_length=(0.06, 0.14),
        rear_window_lean=(0.18, 0.26),
        side_windows=(1, 2),
        wheel_radius=(0.23, 0.27),
    ),
    "pickup": BodyType(
        (4.9, 5.6),
        (1.8, 2.0),
        (1.7, 1.9),
        clearance=(0.15, 0.20),
        hood_length=(0.22, 0.27),
        nose_height=(0.86, 0.97),
        trunk_length=(0.34, 0.42),
        rear_window_lean=(0.01, 0.04),
        wheel_radius=(0.20, 0.24),
        side_windows=(1, 2),
        cargo="bed",
    ),
    "van": BodyType(
        (4.4, 5.6),
        (1.85, 2.05),
        (1.85, 2.4),
        belt_height=(0.48, 0.58),
        hood_length=(0.07, 0.16),
        nose_height=(0.75, 0.95),
        windscreen_lean=(0.09, 0.16),
        trunk_length=(0.0, 0.01),
        rear_window_lean=(0.01, 0.04),
        roof_width=(0.82, 0.95),
        wheel_radius=(0.15, 0.19),
        side_windows=(1, 2, 3),
    ),
    "box truck": BodyType(
        (5.0, 7.0),
        (1.9, 2.3),
        (2.0, 2.5),
        clearance=(0.15, 0.2),
        belt_height=(0.55, 0.65),
        hood_length=(0.02, 0.16),
        nose_height=(0.82, 0.98),
        windscreen_lean=(0.02, 0.07),
        trunk_length=(0.60, 0.72),
        rear_window_lean=(0.0, 0.01),
        roof_width=(0.85, 0.96),
        wheel_radius=(0.17, 0.21),
        side_windows=(1,),
        cargo="box",
    ),
    "sports car": BodyType(
        (4.1, 4.6),
        (1.85, 2.0),
        (1.08, 1.25),
        clearance=(0.09, 0.12),
        belt_height=(0.62, 0.70),
        hood_length=(0.24, 0.36),
        nose_height=(0.55, 0.75),
        windscreen_lean=(0.14, 0.2),
        trunk_length=(0.08, 0.2),
        rear_window_lean=(0.14, 0.24),
        wheel_radius=(0.27, 0.31),
        side_windows=(1,),
    ),
    "flatbed": BodyType(
        (5.0, 6.5),
        (1.9, 2.2),
        (2.0, 2.4),
        clearance=(0.16, 0.22),
        belt_height=(0.55, 0.65),
        hood_length=(0.03, 0.18),
        nose_height=(0.82, 0.98),
        windscreen_lean=(0.02, 0.07),
        trunk_length=(0.55, 0.68),
        rear_window_lean=(0.0, 0.01),
        roof_width=(0.85, 0.96),
        wheel_radius=(0.18, 0.22),
        side_windows=(1,),
        cargo="flat",
    ),
    "off-roader": BodyType(
        (3.7, 4.5),
        (1.75, 1.95),
        (1.8, 2.0),
        clearance=(0.17, 0.23),
        nose_height=(0.9, 1.0),
        windscreen_lean=(0.02, 0.05),
        trunk_length=(0.0, 0.02),
        rear_window_lean=(0.0, 0.03),
        roof_width=(0.86, 0.96),
        wheel_radius=(0.22, 0.26),
        side_windows=(1, 2),
    ),
    "mini": BodyType(
        (2.7, 3.5),
        (1.5, 1.7),
        (1.45, 1.65),
        hood_length=(0.12, 0.22),
        trunk_length=(0.0, 0.08),
        rear_window_lean=(0.06, 0.2),
        wheel_radius=(0.19, 0.24),
        side_windows=(1, 2),
    ),
    "bus": BodyType(
        (6.0, 8.5),
        (2.1, 2.4),
        (2.5, 3.0),
        belt_height=(0.42, 0.52),
        hood_length=(0.0, 0.03),
        nose_height=(0.9, 1.0),
        windscreen_lean=(0.01, 0.05),
        trunk_length=(0.0, 0.01),
        rear_window_lean=(0.0, 0.02),
        roof_width=(0.9, 0.98),
        wheel_radius=(0.14, 0.18),
        side_windows=(4, 5, 6),
    ),
    "racer": BodyType(
        (4.2, 5.2),
        (1.75, 2.0),
        (0.95, 1.15),
        clearance=(0.08, 0.12),
        belt_height=(0.5, 0.62),
        wheel_radius=(0.30, 0.36),
        open_wheels=True,
    ),
}

TOY_WHEELS_FRACTION = 0.5  # fraction of cars with enlarged wheels, as toy cars have
TOY_WHEELS = (1.0, 1.5)  # the factor by which these are enlarged
OVERHANG_FRONT, OVERHANG_REAR = (0.8, 1.1), (0.8, 1.2)  # random factors on the overhang at each end
AXLE_MARGIN = 1.15  # an axle is at least this many wheel radii from the car's end, so that wheels do not stick out
# This fraction of cars keeps its proportions to within 5 %. The others are stretched by factors on length, width and
# height, so that most of them become shorter and taller, as toy cars are.
REALISTIC, REALISTIC_STRETCH = 0.35, (0.95, 1.05)
TOY_STRETCH = (0.55, 1.15), (0.9, 1.15), (0.85, 1.45)


def draw_body_plan(kind: BodyType, rng: np.random.Generator) -> BodyPlan:
    """Random measures. A change in the order of the draws would change every car."""
    length, width, height = (rng.uniform(*r) for r in (kind.length, kind.width, kind.height))
    belt_height = height * rng.uniform(*kind.belt_height)
    has_toy_wheels = rng.random() < TOY_WHEELS_FRACTION
    wheel_radius = height * rng.uniform(*kind.wheel_radius) * (rng.uniform(*TOY_WHEELS) if has_toy_wheels else 1.0)
    overhang = length * rng.uniform(*kind.overhang)
    return BodyPlan(
        length=length,
        width=width,
        height=height,
        clearance=height * rng.uniform(*kind.clearance),
        belt_height=belt_height,
        hood_length=length * rng.uniform(*kind.hood_length),
        nose_height=belt_height * rng.uniform(*kind.nose_height),
        windscreen_lean=length * rng.uniform(*kind.windscreen_lean),
        trunk_length=length * rng.uniform(*kind.trunk_length),
        tail_height=belt_height * rng.uniform(*kind.tail_height),
        rear_window_lean=length * rng.uniform(*kind.rear_window_lean),
        roof_width=rng.uniform(*kind.roof_width),
        wheel_radius=wheel_radius,
        front_axle=max(overhang * rng.uniform(*OVERHANG_FRONT), AXLE_MARGIN * wheel_radius),
        rear_axle=max(overhang * rng.uniform(*OVERHANG_REAR), AXLE_MARGIN * wheel_radius),
        side_windows=int(rng.choice(kind.side_windows)),
        cargo=kind.cargo,
        open_wheels=kind.open_wheels,
    )


def draw_stretch(rng: np.random.Generator) -> np.ndarray:
    """Random factors on length, width and height."""
    if rng.random() < REALISTIC:
        return rng.uniform(*REALISTIC_STRETCH, 3)
    return np.array([rng.uniform(*factors) for factors in TOY_STRETCH])
