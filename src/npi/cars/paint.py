"""Colours of procedural cars. All of them were chosen by eye; colours are RGB in 0..1."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np

from npi.cars.solid import Colour

TYRE, RUBBER, CHROME = (0.06, 0.06, 0.07), (0.10, 0.10, 0.11), (0.72, 0.73, 0.75)
WHITE_LIGHT, RED_LIGHT, AMBER, BLUE_LIGHT = (1.0, 0.98, 0.88), (0.80, 0.05, 0.05), (1.0, 0.62, 0.10), (0.1, 0.2, 0.9)
DARK_GLASS = (0.07, 0.09, 0.12)
CAR_GREYS = (0.92, 0.75, 0.55, 0.35, 0.12)  # the paints without a hue, from white over silver to black


@dataclass(frozen=True)
class Paint:
    """The colours of one car."""

    body: Colour
    second: Colour  # roof, stripes, cargo
    glass: Colour
    trim: Colour
    rim: Colour
    gloss: float

    @staticmethod
    def random(rng: np.random.Generator) -> Paint:
        """Random colours. A change in the order of the draws would change every car."""
        body = _car_colour(rng)
        glass = DARK_GLASS
        if rng.random() < 0.5:  # tinted, from cyan to blue
            glass = colorsys.hsv_to_rgb(rng.uniform(0.5, 0.65), rng.uniform(0.0, 0.5), rng.uniform(0.2, 1.0))
        trim = RUBBER if rng.random() < 0.6 else grey(rng.uniform(0.2, 0.8))
        second = _car_colour(rng) if rng.random() < 0.35 else body
        return Paint(body, second, glass, trim, rim=grey(rng.uniform(0.3, 0.95)), gloss=rng.uniform(0, 0.8))


def grey(value: float) -> Colour:
    return (value, value, value)


def _car_colour(rng: np.random.Generator) -> Colour:
    """About every third colour is a grey; the others have any hue, and are neither pale nor very dark."""
    if rng.random() < 0.35:
        return grey(float(rng.choice(CAR_GREYS)))
    return colorsys.hsv_to_rgb(rng.random(), rng.uniform(0.45, 1.0), rng.uniform(0.35, 1.0))
