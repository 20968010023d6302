"""The procedural racer: a single-seater with open wheels and wings.

Positions are in metres: x from tail to nose, y from right to left, z up. Numbers written in place are proportions and
margins chosen by eye, and probabilities of a detail. A change in the order of random draws would change every car.
"""

from __future__ import annotations

import numpy as np

from npi.cars.body_plans import BodyPlan
from npi.cars.paint import RUBBER, TYRE, WHITE_LIGHT, Paint
from npi.cars.solid import Solid


def build_racer(solid: Solid, plan: BodyPlan, paint: Paint, rng: np.random.Generator) -> None:
    """Add a racer to a solid: hull, cockpit with a driver, front and rear wing, side pods, wheels."""
    nose, tail, half = plan.length / 2, -plan.length / 2, plan.width / 2  # half: of the width
    body, floor, top = half * rng.uniform(0.4, 0.6), plan.clearance, plan.belt_height

    def ring(x: float, width: float, low: float, high: float) -> list[tuple[float, float, float]]:
        left = [(x, width, low), (x, width, high * 0.7), (x, width * 0.7, high)]
        return left + [(x, -y, z) for x, y, z in reversed(left)]

    # Hull, and the engine cover behind the driver.
    tip = rng.uniform(0.15, 0.5)
    stations = [
        (tail, body * 0.6, floor, top * 0.9),
        (tail * 0.3, body * 1.25, floor, top * 1.05),
        (0.1 * nose, body, floor, top),
    ]
    stations += [(nose * 0.95, body * tip, floor * 1.3, top * rng.uniform(0.5, 0.75))]
    solid.loft([ring(*station) for station in stations], paint.body, paint.gloss)
    solid.loft(
        [ring(tail * 0.75, 0.12, top * 0.8, plan.height * 0.9), ring(-0.25, 0.2, top * 0.8, plan.height)],
        paint.second,
        paint.gloss,
    )
    solid.disc((0.0, 0.0, top + 0.08), 1, 0.16, 0.28, paint.trim)  # helmet
    solid.box((0.1, -0.16, top + 0.05), (0.17, 0.16, top + 0.12), paint.glass, 0.8)
    # Front wing, rear wing, lights, side pods.
    deep = rng.uniform(0.3, 0.5)
    solid.box((nose - deep, -half, floor), (nose, half, floor + 0.06), paint.second)
    solid.pair((nose - deep, half * 0.94, floor), (nose + 0.02, half, floor + rng.uniform(0.15, 0.3)), paint.trim)
    high = plan.height * rng.uniform(0.85, 1.15)
    solid.box((tail - 0.1, -half * 0.7, high), (tail + 0.3, half * 0.7, high + 0.06), paint.second)
    solid.pair((tail - 0.1, half * 0.66, top * 0.8), (tail + 0.3, half * 0.7, high + 0.1), paint.trim)
    if rng.random() < 0.6:
        solid.box(
            (nose * 0.9, -body * tip * 0.8, top * 0.3), (nose * 0.955, body * tip * 0.8, top * 0.5), WHITE_LIGHT, 0.5
        )
    solid.pair((tail * 0.5, body, floor), (nose * 0.15, half * 0.85, top * 0.75), paint.body, paint.gloss)
    front, rear = nose - plan.length * rng.uniform(0.16, 0.24), tail + plan.length * 0.17
    wide = rng.uniform(0.25, 0.4)  # of a wheel
    for x, radius in ((front, plan.wheel_radius * 0.92), (rear, plan.wheel_radius)):
        solid.box((x - 0.05, -half + 0.1, radius - 0.03), (x + 0.05, half - 0.1, radius + 0.03), RUBBER)
        for side in (1, -1):
            solid.disc((x, side * (half - wide / 2), radius), 1, radius, wide, TYRE)
            solid.disc((x, side * (half - wide / 2 + 0.012), radius), 1, radius * 0.55, wide, paint.rim)
