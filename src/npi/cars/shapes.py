"""Cars made up from a number: the same number is the same car, everywhere and always.

A body is built from a plan. Its proportions are then stretched and squeezed, from realistic to toy-like; details and
colours are drawn at random.
"""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np

from npi.cars.mesh import Mesh
from npi.cars.plans import TYPES, Plan, draw_plan, draw_stretch
from npi.cars.solid import Colour, Solid

TYRE, RUBBER, CHROME = (0.06, 0.06, 0.07), (0.10, 0.10, 0.11), (0.72, 0.73, 0.75)
WHITE_LIGHT, RED_LIGHT, AMBER = (1.0, 0.98, 0.88), (0.80, 0.05, 0.05), (1.0, 0.62, 0.10)


def make_car(number: int) -> Mesh:
    """The car of this number, normalised."""
    rng = np.random.default_rng([0xCA5, number])
    plan = draw_plan(TYPES[body_type(number)], rng)
    solid = Solid()
    paint = _Paint.random(rng)
    (_racer if plan.open_wheels else _body)(solid, plan, paint, rng)
    return solid.mesh().transformed(np.diag(draw_stretch(rng))).normalised()


def body_type(number: int) -> str:
    """Each type has its turn."""
    return list(TYPES)[number % len(TYPES)]


@dataclass(frozen=True)
class _Paint:
    body: Colour
    second: Colour  # roof, stripes, cargo
    glass: Colour
    trim: Colour
    rim: Colour
    gloss: float

    @staticmethod
    def random(rng: np.random.Generator) -> _Paint:
        def colour() -> Colour:
            if rng.random() < 0.35:  # white, silver, grey, black
                return _grey(float(rng.choice([0.92, 0.75, 0.55, 0.35, 0.12])))
            return colorsys.hsv_to_rgb(rng.random(), rng.uniform(0.45, 1.0), rng.uniform(0.35, 1.0))

        body = colour()
        glass = (0.07, 0.09, 0.12)
        if rng.random() < 0.5:
            glass = colorsys.hsv_to_rgb(rng.uniform(0.5, 0.65), rng.uniform(0.0, 0.5), rng.uniform(0.2, 1.0))
        trim = RUBBER if rng.random() < 0.6 else _grey(rng.uniform(0.2, 0.8))
        return _Paint(
            body,
            colour() if rng.random() < 0.35 else body,
            glass,
            trim,
            _grey(rng.uniform(0.3, 0.95)),
            rng.uniform(0, 0.8),
        )


def _grey(value: float) -> Colour:
    return (value, value, value)


def _body(solid: Solid, plan: Plan, paint: _Paint, rng: np.random.Generator) -> None:
    nose, tail, half = plan.length / 2, -plan.length / 2, plan.width / 2
    taper_front, taper_rear = rng.uniform(0.84, 0.97), rng.uniform(0.88, 0.98)
    cowl, rear = nose - plan.hood, tail + plan.trunk
    bumper = plan.clearance + (plan.nose - plan.clearance) * rng.uniform(0.25, 0.45)

    def ring(x: float, width: float, floor: float, top: float) -> list[tuple[float, float, float]]:
        shoulder = top - 0.10 * (top - floor)
        side = [(0.90, floor), (1.0, floor + 0.3 * (top - floor)), (0.98, shoulder), (0.88, top)]
        right = [(x, -width * w, z) for w, z in side]
        return right + [(x, -y, z) for x, y, z in reversed(right)]

    # The lower body, from tail to nose.
    behind = plan.clearance + (plan.tail - plan.clearance) * (0.45 if plan.cargo in ("box", "flat") else 1.0)
    stations = [(tail, half * taper_rear, behind * 0.97), (tail + 0.12, half * (1 + taper_rear) / 2, behind)]
    if plan.cargo:
        stations += [(rear - 0.02, half, behind)]
    stations += [(max(rear, tail + 0.2), half, plan.belt), (min(cowl, nose - 0.16), half, plan.belt)]
    stations += [
        (nose - 0.14, half * (1 + taper_front) / 2, plan.nose * 1.02),
        (nose, half * taper_front, plan.nose * 0.94),
    ]
    solid.loft([ring(x, w, plan.clearance, z) for x, w, z in stations], paint.body, paint.gloss)

    _cabin(solid, plan, paint, rng, min(cowl, nose - 0.02), max(rear, tail + 0.02), half)
    _face(solid, plan, paint, rng, nose, half * taper_front, bumper)
    _rear(solid, plan, paint, rng, tail, half * taper_rear, behind)
    if plan.cargo:
        _cargo(solid, plan, paint, rng, tail, rear, half, behind)
    _wheels(solid, plan, paint, rng, nose - plan.front_axle, tail + plan.rear_axle, half)
    _details(solid, plan, paint, rng, nose, tail, cowl, half)


def _cabin(
    solid: Solid, plan: Plan, paint: _Paint, rng: np.random.Generator, cowl: float, rear: float, half: float
) -> None:
    base, top = half * 0.93, half * 0.93 * plan.tumble
    z0, z1 = plan.belt - 0.02, plan.height
    front, back = cowl - plan.screen, rear + plan.back
    if front - back < 0.25 * (cowl - rear):  # a roof that would be too short: lean less
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
    if rng.random() < 0.85:
        solid.patch(faces[2], (0.07, 0.93), (sill, 0.90), paint.glass, 0.9)
    pillar, closed = rng.uniform(0.02, 0.05), int(plan.windows > 1 and not plan.cargo and rng.random() < 0.2)
    for face, forward in ((faces[1], False), (faces[3], True)):
        for k in range(plan.windows - closed):
            u = (k + 0.0) / plan.windows + pillar, (k + 1.0) / plan.windows - pillar
            if forward:
                u = 1 - u[1], 1 - u[0]
            solid.patch(face, u, (sill + 0.03, 0.92), paint.glass, 0.9)


def _face(
    solid: Solid, plan: Plan, paint: _Paint, rng: np.random.Generator, nose: float, half: float, bumper: float
) -> None:
    """What tells the front: lights, grille, bumper, plate."""
    top = plan.nose * 0.93
    high = bumper + (top - bumper) * rng.uniform(0.35, 0.65)
    size = (top - bumper) * rng.uniform(0.35, 0.75) / 2
    low, up = max(high - size, bumper), min(high + size, top)
    wide = half * rng.uniform(0.2, 0.36)
    lamp = WHITE_LIGHT if rng.random() < 0.8 else AMBER
    if rng.random() < 0.35:
        radius = min(size, wide / 2) * 1.2
        for side in (1, -1):
            middle = (nose, side * (half * 0.9 - radius), high)
            solid.disc(middle, 0, radius * 1.15, 0.05, paint.trim)
            solid.disc(middle, 0, radius, 0.07, lamp, gloss=0.8)
    else:
        solid.pair((nose - 0.12, half * 0.9 - wide, low), (nose + 0.025, half * 0.93, up), lamp, 0.8)
    if rng.random() < 0.85:
        open_ = (half * 0.9 - wide) * rng.uniform(0.6, 0.95)
        frame = rng.random() < 0.5
        grille = RUBBER if rng.random() < 0.7 else _grey(rng.uniform(0.3, 0.8))
        solid.box((nose - 0.1, -open_, low), (nose + 0.02, open_, up), CHROME if frame else grille, 0.5)
        if frame:
            solid.box((nose - 0.1, -open_ * 0.93, low + 0.02), (nose + 0.03, open_ * 0.93, up - 0.02), grille)
        for k in range(int(rng.integers(0, 4))):
            z = low + (up - low) * (k + 1) / 4
            solid.box((nose - 0.1, -open_ * 0.93, z - 0.012), (nose + 0.04, open_ * 0.93, z + 0.012), CHROME, 0.6)
    out = rng.uniform(0.03, 0.12)
    colour = paint.trim if rng.random() < 0.6 else paint.body
    solid.box((nose - 0.2, -half * 1.02, plan.clearance), (nose + out, half * 1.02, bumper), colour)
    middle = (plan.clearance + bumper) / 2
    if rng.random() < 0.6:
        solid.box((nose, -0.24, middle - 0.05), (nose + out + 0.012, 0.24, middle + 0.05), _grey(0.9))
    if rng.random() < 0.5:
        intake = half * rng.uniform(0.3, 0.8)
        solid.box((nose, -intake, plan.clearance + 0.03), (nose + out + 0.008, intake, middle), RUBBER)
    if rng.random() < 0.4:
        solid.pair((nose, half * 0.65, middle - 0.05), (nose + out + 0.02, half * 0.85, middle + 0.05), lamp, 0.8)


def _rear(
    solid: Solid, plan: Plan, paint: _Paint, rng: np.random.Generator, tail: float, half: float, top: float
) -> None:
    low = plan.clearance + (top - plan.clearance) * rng.uniform(0.4, 0.6)
    solid.pair((tail - 0.025, half * rng.uniform(0.6, 0.8), low), (tail + 0.1, half * 0.97, top * 0.9), RED_LIGHT, 0.6)
    bumper = plan.clearance + (low - plan.clearance) * 0.7
    colour = paint.trim if rng.random() < 0.6 else paint.body
    solid.box((tail - 0.08, -half * 1.02, plan.clearance), (tail + 0.2, half * 1.02, bumper), colour)
    solid.box((tail - 0.1, -0.24, bumper - 0.1), (tail, 0.24, bumper), _grey(0.9))


def _cargo(
    solid: Solid,
    plan: Plan,
    paint: _Paint,
    rng: np.random.Generator,
    tail: float,
    rear: float,
    half: float,
    floor: float,
) -> None:
    if plan.cargo == "box":
        height = plan.height * rng.uniform(0.95, 1.4)
        colour = paint.second if rng.random() < 0.4 else _grey(rng.uniform(0.6, 0.95))
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
                (x, y - size, floor + 0.12), (x + size, y + size, floor + 0.12 + size), _grey(rng.uniform(0.3, 0.9))
            )
    else:
        floor, top = plan.clearance + 0.2, plan.belt
        solid.pair((tail, half * 0.88, floor), (rear, half, top), paint.body, paint.gloss)
        solid.box((tail, -half, floor), (tail + 0.1, half, top), paint.body, paint.gloss)
        solid.box((tail + 0.1, -half * 0.88, plan.tail * 0.985), (rear, half * 0.88, plan.tail * 1.003), RUBBER)
        if rng.random() < 0.4:
            solid.pair((rear - 0.5, half * 0.8, top), (rear - 0.42, half * 0.88, plan.height * 0.97), paint.trim)


def _wheels(
    solid: Solid, plan: Plan, paint: _Paint, rng: np.random.Generator, front: float, rear: float, half: float
) -> None:
    wide = rng.uniform(0.18, 0.32)
    out = half + rng.uniform(0.02, 0.12)
    hub = plan.wheel * rng.uniform(0.45, 0.75)
    axles = [front, rear] + ([rear + 2.3 * plan.wheel] if plan.cargo in ("box", "flat") and rng.random() < 0.25 else [])
    arch = plan.wheel * rng.uniform(1.1, 1.25)
    guard = paint.trim if rng.random() < 0.4 else RUBBER
    for x in axles:
        for side in (1, -1):
            solid.disc((x, side * (half - 0.1), plan.wheel), 1, arch, 0.22, guard)
            solid.disc((x, side * (out - wide / 2), plan.wheel), 1, plan.wheel, wide, TYRE)
            solid.disc((x, side * (out - wide / 2 + 0.012), plan.wheel), 1, hub, wide, paint.rim, gloss=0.4)
            solid.disc((x, side * (out - wide / 2 + 0.03), plan.wheel), 1, hub * 0.3, wide, TYRE, 8)


def _details(
    solid: Solid,
    plan: Plan,
    paint: _Paint,
    rng: np.random.Generator,
    nose: float,
    tail: float,
    cowl: float,
    half: float,
) -> None:
    roof_front, roof_back = cowl - plan.screen - 0.1, tail + plan.trunk + plan.back + 0.1
    roof_half = half * plan.tumble * 0.85
    if rng.random() < 0.75:  # mirrors
        x, z, size = cowl - plan.screen * 0.35, plan.belt + 0.05, rng.uniform(0.08, 0.16)
        colour = paint.body if rng.random() < 0.5 else paint.trim
        solid.pair((x - 0.08, half * 0.9, z), (x + 0.04, half + size, z + size), colour)
    if rng.random() < 0.5:  # doors
        for x in np.linspace(cowl - 0.1, tail + plan.trunk + 0.2, plan.windows + 1)[1:]:
            solid.pair(
                (x + 0.1, half * 0.985, plan.belt * 0.88), (x + 0.3, half * 1.005, plan.belt * 0.88 + 0.04), CHROME
            )
    if rng.random() < 0.25:  # stripe along the side
        z = plan.belt * rng.uniform(0.6, 0.8)
        solid.pair((tail + 0.3, half * 0.96, z), (nose - 0.3, half * 1.008, z + rng.uniform(0.04, 0.15)), paint.second)
    if rng.random() < 0.2:  # two stripes over the hood
        y = half * rng.uniform(0.1, 0.25)
        ends = [(cowl + 0.02, plan.belt + 0.015), (nose - 0.14, plan.nose * 1.02 + 0.015)]
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
            solid.box((low[0], 0, low[2]), high, (0.1, 0.2, 0.9))
    if not plan.cargo and rng.random() < (0.6 if plan.height < 1.3 else 0.15):  # spoiler
        z = plan.tail + rng.uniform(0.1, 0.3)
        solid.box((tail - 0.05, -half * 0.85, z), (tail + 0.25, half * 0.85, z + 0.05), paint.second)
        solid.pair((tail + 0.05, half * 0.6, plan.tail - 0.1), (tail + 0.15, half * 0.66, z), paint.trim)
    if rng.random() < 0.15:  # scoop
        x = cowl + plan.hood * 0.4
        solid.box((x - 0.25, -0.25, plan.nose * 0.9), (x + 0.2, 0.25, plan.belt + 0.08), paint.trim)


def _racer(solid: Solid, plan: Plan, paint: _Paint, rng: np.random.Generator) -> None:
    """A single-seater with open wheels and wings."""
    nose, tail, half = plan.length / 2, -plan.length / 2, plan.width / 2
    body, floor, top = half * rng.uniform(0.4, 0.6), plan.clearance, plan.belt

    def ring(x: float, width: float, low: float, high: float) -> list[tuple[float, float, float]]:
        left = [(x, width, low), (x, width, high * 0.7), (x, width * 0.7, high)]
        return left + [(x, -y, z) for x, y, z in reversed(left)]

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
    wide = rng.uniform(0.25, 0.4)
    for x, radius in ((front, plan.wheel * 0.92), (rear, plan.wheel)):
        solid.box((x - 0.05, -half + 0.1, radius - 0.03), (x + 0.05, half - 0.1, radius + 0.03), RUBBER)
        for side in (1, -1):
            solid.disc((x, side * (half - wide / 2), radius), 1, radius, wide, TYRE)
            solid.disc((x, side * (half - wide / 2 + 0.012), radius), 1, radius * 0.55, wide, paint.rim)
