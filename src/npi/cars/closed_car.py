"""Procedural cars with a closed body: hull, cabin, front and rear.

Positions are in metres: x from tail to nose, y from right to left, z up. Numbers written in place are proportions and
margins chosen by eye, and probabilities of a detail. A change in the order of random draws would change every car.
"""

from __future__ import annotations

import numpy as np

from npi.cars.body_plans import BodyPlan
from npi.cars.fittings import add_cargo, add_details, add_wheels
from npi.cars.paint import AMBER, CHROME, RED_LIGHT, RUBBER, WHITE_LIGHT, Paint, grey
from npi.cars.solid import Solid


def build_closed_car(solid: Solid, plan: BodyPlan, paint: Paint, rng: np.random.Generator) -> None:
    """Add a car of any type but the racer to a solid: hull, cabin, front, rear, cargo, wheels and details."""
    nose, tail, half = plan.length / 2, -plan.length / 2, plan.width / 2  # half: of the width, here and below
    taper_front, taper_rear = rng.uniform(0.84, 0.97), rng.uniform(0.88, 0.98)
    # The cabin's ends at the belt: the cowl is the windscreen's lower edge, `rear` the rear window's.
    cowl, rear = nose - plan.hood_length, tail + plan.trunk_length
    bumper = plan.clearance + (plan.nose_height - plan.clearance) * rng.uniform(0.25, 0.45)

    def ring(x: float, width: float, floor: float, top: float) -> list[tuple[float, float, float]]:
        """The hull's cross-section at x: widest a third of the way up, with rounded shoulders."""
        shoulder = top - 0.10 * (top - floor)
        side = [(0.90, floor), (1.0, floor + 0.3 * (top - floor)), (0.98, shoulder), (0.88, top)]
        right = [(x, -width * w, z) for w, z in side]
        return right + [(x, -y, z) for x, y, z in reversed(right)]

    # The hull is lofted through cross-sections (x, half width, height), from tail to nose. `behind` is the height of
    # the hull behind the cabin; under a box or a flat, it is low.
    behind = plan.clearance + (plan.tail_height - plan.clearance) * (0.45 if plan.cargo in ("box", "flat") else 1.0)
    stations = [(tail, half * taper_rear, behind * 0.97), (tail + 0.12, half * (1 + taper_rear) / 2, behind)]
    if plan.cargo:
        stations += [(rear - 0.02, half, behind)]
    stations += [(max(rear, tail + 0.2), half, plan.belt_height), (min(cowl, nose - 0.16), half, plan.belt_height)]
    stations += [
        (nose - 0.14, half * (1 + taper_front) / 2, plan.nose_height * 1.02),
        (nose, half * taper_front, plan.nose_height * 0.94),
    ]
    solid.loft([ring(x, w, plan.clearance, z) for x, w, z in stations], paint.body, paint.gloss)

    _add_cabin(solid, plan, paint, rng, min(cowl, nose - 0.02), max(rear, tail + 0.02), half)
    _add_front(solid, plan, paint, rng, nose, half * taper_front, bumper)
    _add_rear(solid, plan, paint, rng, tail, half * taper_rear, behind)
    if plan.cargo:
        add_cargo(solid, plan, paint, rng, tail, rear, half, behind)
    add_wheels(solid, plan, paint, rng, nose - plan.front_axle, tail + plan.rear_axle, half)
    add_details(solid, plan, paint, rng, nose, tail, cowl, half)


def _add_cabin(
    solid: Solid, plan: BodyPlan, paint: Paint, rng: np.random.Generator, cowl: float, rear: float, half: float
) -> None:
    """Windows, pillars and roof. `cowl` and `rear` are the ends of the cabin at the belt."""
    base, top = half * 0.93, half * 0.93 * plan.roof_width  # half the cabin's width at the belt and at the roof
    z0, z1 = plan.belt_height - 0.02, plan.height
    front, back = cowl - plan.windscreen_lean, rear + plan.rear_window_lean
    if front - back < 0.25 * (cowl - rear):  # the roof would be too short, so the windows lean less
        middle, span = (front + back) / 2, 0.25 * (cowl - rear)
        front, back = min(cowl, middle + span / 2), max(rear, middle - span / 2)
    crown = z1 - 0.05 * (z1 - z0)
    low = [(cowl, -base, z0), (cowl, base, z0), (rear, base, z0), (rear, -base, z0)]
    high = [(front, -top, crown), (front, top, crown), (back, top, crown), (back, -top, crown)]
    inner = 0.85 * top
    roof = [(front - 0.08, -inner, z1), (front - 0.08, inner, z1), (back + 0.08, inner, z1), (back + 0.08, -inner, z1)]
    for k in range(4):
        n = (k + 1) % 4
        solid.polygon([low[k], low[n], high[n], high[k]], paint.body, paint.gloss)
        solid.polygon([high[k], high[n], roof[n], roof[k]], paint.second, paint.gloss)
    solid.polygon(roof, paint.second, paint.gloss)
    faces = [[low[k], low[(k + 1) % 4], high[(k + 1) % 4], high[k]] for k in range(4)]
    sill = rng.uniform(0.04, 0.16)
    solid.patch(faces[0], (0.05, 0.95), (sill, 0.94), paint.glass, 0.9)  # windscreen
    if rng.random() < 0.85:  # rear window
        solid.patch(faces[2], (0.07, 0.93), (sill, 0.90), paint.glass, 0.9)
    # Some cars have a panel instead of the last side window, as vans do.
    pillar, panels = rng.uniform(0.02, 0.05), int(plan.side_windows > 1 and not plan.cargo and rng.random() < 0.2)
    for face, forward in ((faces[1], False), (faces[3], True)):
        for k in range(plan.side_windows - panels):
            u = k / plan.side_windows + pillar, (k + 1) / plan.side_windows - pillar
            if forward:
                u = 1 - u[1], 1 - u[0]
            solid.patch(face, u, (sill + 0.03, 0.92), paint.glass, 0.9)


def _add_front(
    solid: Solid, plan: BodyPlan, paint: Paint, rng: np.random.Generator, nose: float, half: float, bumper: float
) -> None:
    """Lights, grille, bumper and plate: what distinguishes the front from the rear."""
    top = plan.nose_height * 0.93
    # The lights: their middle is at this height; they are `size` high above and below it, and `wide` across.
    high = bumper + (top - bumper) * rng.uniform(0.35, 0.65)
    size = (top - bumper) * rng.uniform(0.35, 0.75) / 2
    low, up = max(high - size, bumper), min(high + size, top)
    wide = half * rng.uniform(0.2, 0.36)
    lamp = WHITE_LIGHT if rng.random() < 0.8 else AMBER
    if rng.random() < 0.35:  # round lights
        radius = min(size, wide / 2) * 1.2
        for side in (1, -1):
            middle = (nose, side * (half * 0.9 - radius), high)
            solid.disc(middle, 0, radius * 1.15, 0.05, paint.trim)
            solid.disc(middle, 0, radius, 0.07, lamp, gloss=0.8)
    else:
        solid.pair((nose - 0.12, half * 0.9 - wide, low), (nose + 0.025, half * 0.93, up), lamp, 0.8)
    if rng.random() < 0.85:  # grille
        open_ = (half * 0.9 - wide) * rng.uniform(0.6, 0.95)
        frame = rng.random() < 0.5
        grille = RUBBER if rng.random() < 0.7 else grey(rng.uniform(0.3, 0.8))
        solid.box((nose - 0.1, -open_, low), (nose + 0.02, open_, up), CHROME if frame else grille, 0.5)
        if frame:
            solid.box((nose - 0.1, -open_ * 0.93, low + 0.02), (nose + 0.03, open_ * 0.93, up - 0.02), grille)
        for k in range(int(rng.integers(0, 4))):
            z = low + (up - low) * (k + 1) / 4
            solid.box((nose - 0.1, -open_ * 0.93, z - 0.012), (nose + 0.04, open_ * 0.93, z + 0.012), CHROME, 0.6)
    # Bumper, with a plate, an air intake and fog lights.
    out = rng.uniform(0.03, 0.12)
    colour = paint.trim if rng.random() < 0.6 else paint.body
    solid.box((nose - 0.2, -half * 1.02, plan.clearance), (nose + out, half * 1.02, bumper), colour)
    middle = (plan.clearance + bumper) / 2
    if rng.random() < 0.6:
        solid.box((nose, -0.24, middle - 0.05), (nose + out + 0.012, 0.24, middle + 0.05), grey(0.9))
    if rng.random() < 0.5:
        intake = half * rng.uniform(0.3, 0.8)
        solid.box((nose, -intake, plan.clearance + 0.03), (nose + out + 0.008, intake, middle), RUBBER)
    if rng.random() < 0.4:
        solid.pair((nose, half * 0.65, middle - 0.05), (nose + out + 0.02, half * 0.85, middle + 0.05), lamp, 0.8)


def _add_rear(
    solid: Solid, plan: BodyPlan, paint: Paint, rng: np.random.Generator, tail: float, half: float, top: float
) -> None:
    """Tail lights, bumper and plate."""
    low = plan.clearance + (top - plan.clearance) * rng.uniform(0.4, 0.6)
    solid.pair((tail - 0.025, half * rng.uniform(0.6, 0.8), low), (tail + 0.1, half * 0.97, top * 0.9), RED_LIGHT, 0.6)
    bumper = plan.clearance + (low - plan.clearance) * 0.7
    colour = paint.trim if rng.random() < 0.6 else paint.body
    solid.box((tail - 0.08, -half * 1.02, plan.clearance), (tail + 0.2, half * 1.02, bumper), colour)
    solid.box((tail - 0.1, -0.24, bumper - 0.1), (tail, 0.24, bumper), grey(0.9))
