"""Procedural cars: random meshes, each from its number. The same number gives the same car on every machine.

A car is built from a body plan, with random details and colours, and then stretched, up to toy-like proportions.
"""

from __future__ import annotations

import numpy as np

from npi.cars.body_plans import BODY_TYPES, draw_body_plan, draw_stretch
from npi.cars.closed_car import build_closed_car
from npi.cars.mesh import Mesh
from npi.cars.paint import Paint
from npi.cars.racer import build_racer
from npi.cars.solid import Solid

SHAPE_SEED = 0xCA5  # together with a car's number, the seed of its shape and colours


def make_car(number: int) -> Mesh:
    """The normalised mesh of the car of this number."""
    rng = np.random.default_rng([SHAPE_SEED, number])
    plan = draw_body_plan(BODY_TYPES[body_type(number)], rng)
    solid = Solid()
    paint = Paint.random(rng)
    build = build_racer if plan.open_wheels else build_closed_car
    build(solid, plan, paint, rng)
    return solid.mesh().transformed(np.diag(draw_stretch(rng))).normalised()


def body_type(number: int) -> str:
    """The name of a car's body type. Consecutive numbers go through all types in turn."""
    return list(BODY_TYPES)[number % len(BODY_TYPES)]
