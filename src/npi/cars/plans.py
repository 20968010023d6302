"""Plans of cars: the lengths of a body, drawn at random for each type of car."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Plan:
    """The lengths of one body, in metres; x runs from the tail at -length / 2 to the nose at +length / 2."""

    length: float
    width: float
    height: float
    clearance: float  # ground to floor
    belt: float  # ground to the lower edge of the windows
    hood: float  # nose to windscreen
    nose: float  # height of the hood at the nose
    screen: float  # how far the windscreen leans back
    trunk: float  # tail to rear window
    tail: float  # height of the trunk at the tail
    back: float  # how far the rear window leans forward
    tumble: float  # width of the roof, as a share of the width
    wheel: float  # radius
    front_axle: float  # nose to front axle
    rear_axle: float  # tail to rear axle
    windows: int = 2  # on each side
    cargo: str = ""  # what is behind the cabin: "", "bed", "box" or "flat"
    open_wheels: bool = False


Range = tuple[float, float]


@dataclass(frozen=True)
class Type:
    """A kind of car: the ranges of its plan. Heights are shares of the height, lengths shares of the length."""

    length: Range
    width: Range
    height: Range
    clearance: Range = (0.10, 0.14)
    belt: Range = (0.58, 0.66)
    hood: Range = (0.24, 0.29)
    nose: Range = (0.72, 0.88)  # of the belt
    screen: Range = (0.10, 0.15)
    trunk: Range = (0.15, 0.20)
    tail: Range = (0.90, 1.02)  # of the belt
    back: Range = (0.10, 0.15)
    tumble: Range = (0.70, 0.85)
    wheel: Range = (0.21, 0.25)
    overhang: Range = (0.17, 0.21)
    windows: tuple[int, ...] = (2,)
    cargo: str = ""
    open_wheels: bool = False


TYPES = {
    "sedan": Type((4.4, 4.9), (1.75, 1.9), (1.4, 1.5)),
    "hatchback": Type(
        (3.6, 4.2), (1.65, 1.8), (1.42, 1.58), trunk=(0.02, 0.05), back=(0.07, 0.13), hood=(0.2, 0.26), windows=(1, 2)
    ),
    "wagon": Type((4.5, 4.9), (1.75, 1.9), (1.42, 1.55), trunk=(0.01, 0.04), back=(0.04, 0.10), windows=(3,)),
    "suv": Type(
        (4.2, 4.9),
        (1.8, 2.0),
        (1.65, 1.9),
        clearance=(0.13, 0.18),
        trunk=(0.01, 0.03),
        back=(0.03, 0.09),
        nose=(0.85, 0.97),
        screen=(0.07, 0.11),
        tumble=(0.78, 0.9),
        wheel=(0.20, 0.23),
        windows=(2, 3),
    ),
    "coupe": Type(
        (4.2, 4.7),
        (1.75, 1.9),
        (1.28, 1.4),
        hood=(0.27, 0.33),
        trunk=(0.06, 0.14),
        back=(0.18, 0.26),
        windows=(1, 2),
        wheel=(0.23, 0.27),
    ),
    "pickup": Type(
        (4.9, 5.6),
        (1.8, 2.0),
        (1.7, 1.9),
        clearance=(0.15, 0.20),
        hood=(0.22, 0.27),
        nose=(0.86, 0.97),
        trunk=(0.34, 0.42),
        back=(0.01, 0.04),
        wheel=(0.20, 0.24),
        windows=(1, 2),
        cargo="bed",
    ),
    "van": Type(
        (4.4, 5.6),
        (1.85, 2.05),
        (1.85, 2.4),
        belt=(0.48, 0.58),
        hood=(0.07, 0.16),
        nose=(0.75, 0.95),
        screen=(0.09, 0.16),
        trunk=(0.0, 0.01),
        back=(0.01, 0.04),
        tumble=(0.82, 0.95),
        wheel=(0.15, 0.19),
        windows=(1, 2, 3),
    ),
    "box truck": Type(
        (5.0, 7.0),
        (1.9, 2.3),
        (2.0, 2.5),
        clearance=(0.15, 0.2),
        belt=(0.55, 0.65),
        hood=(0.02, 0.16),
        nose=(0.82, 0.98),
        screen=(0.02, 0.07),
        trunk=(0.60, 0.72),
        back=(0.0, 0.01),
        tumble=(0.85, 0.96),
        wheel=(0.17, 0.21),
        windows=(1,),
        cargo="box",
    ),
    "sports car": Type(
        (4.1, 4.6),
        (1.85, 2.0),
        (1.08, 1.25),
        clearance=(0.09, 0.12),
        belt=(0.62, 0.70),
        hood=(0.24, 0.36),
        nose=(0.55, 0.75),
        screen=(0.14, 0.2),
        trunk=(0.08, 0.2),
        back=(0.14, 0.24),
        wheel=(0.27, 0.31),
        windows=(1,),
    ),
    "flatbed": Type(
        (5.0, 6.5),
        (1.9, 2.2),
        (2.0, 2.4),
        clearance=(0.16, 0.22),
        belt=(0.55, 0.65),
        hood=(0.03, 0.18),
        nose=(0.82, 0.98),
        screen=(0.02, 0.07),
        trunk=(0.55, 0.68),
        back=(0.0, 0.01),
        tumble=(0.85, 0.96),
        wheel=(0.18, 0.22),
        windows=(1,),
        cargo="flat",
    ),
    "off-roader": Type(
        (3.7, 4.5),
        (1.75, 1.95),
        (1.8, 2.0),
        clearance=(0.17, 0.23),
        nose=(0.9, 1.0),
        screen=(0.02, 0.05),
        trunk=(0.0, 0.02),
        back=(0.0, 0.03),
        tumble=(0.86, 0.96),
        wheel=(0.22, 0.26),
        windows=(1, 2),
    ),
    "mini": Type(
        (2.7, 3.5),
        (1.5, 1.7),
        (1.45, 1.65),
        hood=(0.12, 0.22),
        trunk=(0.0, 0.08),
        back=(0.06, 0.2),
        wheel=(0.19, 0.24),
        windows=(1, 2),
    ),
    "bus": Type(
        (6.0, 8.5),
        (2.1, 2.4),
        (2.5, 3.0),
        belt=(0.42, 0.52),
        hood=(0.0, 0.03),
        nose=(0.9, 1.0),
        screen=(0.01, 0.05),
        trunk=(0.0, 0.01),
        back=(0.0, 0.02),
        tumble=(0.9, 0.98),
        wheel=(0.14, 0.18),
        windows=(4, 5, 6),
    ),
    "racer": Type(
        (4.2, 5.2),
        (1.75, 2.0),
        (0.95, 1.15),
        clearance=(0.08, 0.12),
        belt=(0.5, 0.62),
        wheel=(0.30, 0.36),
        open_wheels=True,
    ),
}


def draw_plan(kind: Type, rng: np.random.Generator) -> Plan:
    length, width, height = (rng.uniform(*r) for r in (kind.length, kind.width, kind.height))
    belt = height * rng.uniform(*kind.belt)
    toy = rng.random() < 0.5
    wheel = height * rng.uniform(*kind.wheel) * (rng.uniform(1.0, 1.5) if toy else 1.0)
    overhang = length * rng.uniform(*kind.overhang)
    return Plan(
        length=length,
        width=width,
        height=height,
        clearance=height * rng.uniform(*kind.clearance),
        belt=belt,
        hood=length * rng.uniform(*kind.hood),
        nose=belt * rng.uniform(*kind.nose),
        screen=length * rng.uniform(*kind.screen),
        trunk=length * rng.uniform(*kind.trunk),
        tail=belt * rng.uniform(*kind.tail),
        back=length * rng.uniform(*kind.back),
        tumble=rng.uniform(*kind.tumble),
        wheel=wheel,
        front_axle=max(overhang * rng.uniform(0.8, 1.1), 1.15 * wheel),
        rear_axle=max(overhang * rng.uniform(0.8, 1.2), 1.15 * wheel),
        windows=int(rng.choice(kind.windows)),
        cargo=kind.cargo,
        open_wheels=kind.open_wheels,
    )


def draw_stretch(rng: np.random.Generator) -> np.ndarray:
    """Of length, width and height: a third realistic, the others up to toy-like."""
    if rng.random() < 0.35:
        return rng.uniform(0.95, 1.05, 3)
    return np.array([rng.uniform(0.55, 1.15), rng.uniform(0.9, 1.15), rng.uniform(0.85, 1.45)])
