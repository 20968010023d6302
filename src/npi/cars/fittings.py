"""What is attached to a procedural car's hull: cargo, wheels and small details.

Positions are in metres: x from tail to nose, y from right to left, z up. Numbers written in place are proportions and
margins chosen by eye, and probabilities of a detail. A change in the order of random draws would change every car.
"""

from __future__ import annotations

import numpy as np

from npi.cars.body_plans import BodyPlan
from npi.cars.paint import AMBER, BLUE_LIGHT, CHROME, RED_LIGHT, RUBBER, TYRE, Paint, grey
from npi.cars.solid import Solid


def add_cargo(
    solid: Solid,
    plan: BodyPlan,
    paint: Paint,
    rng: np.random.Generator,
    tail: float,
    rear: float,
    half: float,
    floor: float,
) -> None:
    """The box, flat or bed behind the cabin, between `tail` and `rear`. It stands on the hull, at height `floor`."""
    if plan.cargo == "box":
        height = plan.height * rng.uniform(0.95, 1.4)
        colour = paint.second if rng.random() < 0.4 else grey(rng.uniform(0.6, 0.95))
        wide = half * rng.uniform(1.0, 1.1)
        solid.box((tail, -wide, floor), (rear - rng.uniform(0.02, 0.2), wide, height), colour, 0.1)
        if rng.random() < 0.5:
            middle = floor + (height - floor) * rng.uniform(0.3, 0.7)
            solid.pair((tail + 0.2, wide, middle - 0.12), (rear - 0.3, wide + 0.012, middle + 0.12), paint.body)
    elif plan.cargo == "flat":
        solid.box((tail, -half * 1.02, floor), (rear - 0.05, half * 1.02, floor + 0.12), paint.second)
        if rng.random() < 0.5:
            solid.pair(
                (tail, half * 0.98, floor), (rear - 0.05, half * 1.02, floor + rng.uniform(0.2, 0.5)), paint.trim
            )
        for k in range(int(rng.integers(0, 4))):
            x = tail + (rear - tail) * (0.15 + 0.25 * k)
            size = rng.uniform(0.2, 0.45)
            y = rng.uniform(-0.4, 0.4)
            solid.box(
                (x, y - size, floor + 0.12), (x + size, y + size, floor + 0.12 + size), grey(rng.uniform(0.3, 0.9))
            )
    else:
        floor, top = plan.clearance + 0.2, plan.belt_height
        solid.pair((tail, half * 0.88, floor), (rear, half, top), paint.body, paint.gloss)
        solid.box((tail, -half, floor), (tail + 0.1, half, top), paint.body, paint.gloss)
        solid.box(
            (tail + 0.1, -half * 0.88, plan.tail_height * 0.985), (rear, half * 0.88, plan.tail_height * 1.003), RUBBER
        )
        if rng.random() < 0.4:
            solid.pair((rear - 0.5, half * 0.8, top), (rear - 0.42, half * 0.88, plan.height * 0.97), paint.trim)


def add_wheels(
    solid: Solid, plan: BodyPlan, paint: Paint, rng: np.random.Generator, front: float, rear: float, half: float
) -> None:
    """Wheels with rims, hubs and wheel arches; some trucks have a second rear axle."""
    wide = rng.uniform(0.18, 0.32)
    out = half + rng.uniform(0.02, 0.12)
    hub = plan.wheel_radius * rng.uniform(0.45, 0.75)
    axles = [front, rear] + (
        [rear + 2.3 * plan.wheel_radius] if plan.cargo in ("box", "flat") and rng.random() < 0.25 else []
    )
    arch = plan.wheel_radius * rng.uniform(1.1, 1.25)
    guard = paint.trim if rng.random() < 0.4 else RUBBER
    for x in axles:
        for side in (1, -1):
            solid.disc((x, side * (half - 0.1), plan.wheel_radius), 1, arch, 0.22, guard)
            solid.disc((x, side * (out - wide / 2), plan.wheel_radius), 1, plan.wheel_radius, wide, TYRE)
            solid.disc((x, side * (out - wide / 2 + 0.012), plan.wheel_radius), 1, hub, wide, paint.rim, gloss=0.4)
            solid.disc((x, side * (out - wide / 2 + 0.03), plan.wheel_radius), 1, hub * 0.3, wide, TYRE, 8)


def add_details(
    solid: Solid,
    plan: BodyPlan,
    paint: Paint,
    rng: np.random.Generator,
    nose: float,
    tail: float,
    cowl: float,
    half: float,
) -> None:
    """Mirrors, door handles, stripes, a rack, signs, a spoiler, a scoop: each on some cars only."""
    roof_front, roof_back = cowl - plan.windscreen_lean - 0.1, tail + plan.trunk_length + plan.rear_window_lean + 0.1
    roof_half = half * plan.roof_width * 0.85
    if rng.random() < 0.75:  # mirrors
        x, z, size = cowl - plan.windscreen_lean * 0.35, plan.belt_height + 0.05, rng.uniform(0.08, 0.16)
        colour = paint.body if rng.random() < 0.5 else paint.trim
        solid.pair((x - 0.08, half * 0.9, z), (x + 0.04, half + size, z + size), colour)
    if rng.random() < 0.5:  # door handles
        for x in np.linspace(cowl - 0.1, tail + plan.trunk_length + 0.2, plan.side_windows + 1)[1:]:
            solid.pair(
                (x + 0.1, half * 0.985, plan.belt_height * 0.88),
                (x + 0.3, half * 1.005, plan.belt_height * 0.88 + 0.04),
                CHROME,
            )
    if rng.random() < 0.25:  # stripe along the side
        z = plan.belt_height * rng.uniform(0.6, 0.8)
        solid.pair((tail + 0.3, half * 0.96, z), (nose - 0.3, half * 1.008, z + rng.uniform(0.04, 0.15)), paint.second)
    if rng.random() < 0.2:  # two stripes over the hood
        y = half * rng.uniform(0.1, 0.25)
        ends = [(cowl + 0.02, plan.belt_height + 0.015), (nose - 0.14, plan.nose_height * 1.02 + 0.015)]
        for side in (1, -1):
            solid.polygon(
                [(x, side * y + w, z) for w in (-0.08, 0.08) for x, z in (ends if w < 0 else ends[::-1])], paint.second
            )
    room = roof_front - roof_back
    if room > 0.6 and not plan.cargo and rng.random() < 0.22:  # rack
        solid.pair(
            (roof_back + 0.1, roof_half * 0.85, plan.height),
            (roof_front - 0.1, roof_half * 0.92, plan.height + 0.08),
            RUBBER,
        )
        for x in np.linspace(roof_back + 0.2, roof_front - 0.2, 3):
            solid.box(
                (x, -roof_half * 0.9, plan.height + 0.05), (x + 0.06, roof_half * 0.9, plan.height + 0.09), RUBBER
            )
    if room > 0.3 and rng.random() < 0.22:  # sign or light bar
        x, wide = (roof_front + roof_back) / 2 + rng.uniform(0, 0.3) * room, roof_half * rng.uniform(0.25, 0.95)
        low, high = (x - 0.12, -wide, plan.height - 0.02), (x + 0.12, wide, plan.height + rng.uniform(0.08, 0.2))
        if rng.random() < 0.5:
            solid.box(low, high, AMBER)
        else:
            solid.box(low, (high[0], 0, high[2]), RED_LIGHT)
            solid.box((low[0], 0, low[2]), high, BLUE_LIGHT)
    if not plan.cargo and rng.random() < (0.6 if plan.height < 1.3 else 0.15):  # spoiler
        z = plan.tail_height + rng.uniform(0.1, 0.3)
        solid.box((tail - 0.05, -half * 0.85, z), (tail + 0.25, half * 0.85, z + 0.05), paint.second)
        solid.pair((tail + 0.05, half * 0.6, plan.tail_height - 0.1), (tail + 0.15, half * 0.66, z), paint.trim)
    if rng.random() < 0.15:  # scoop
        x = cowl + plan.hood_length * 0.4
        solid.box((x - 0.25, -0.25, plan.nose_height * 0.9), (x + 0.2, 0.25, plan.belt_height + 0.08), paint.trim)
