"""Light, surroundings and camera of a rendering: one fixed studio, and random settings for training cars."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

# A seed of its own, so that a training car's settings are drawn independently of its shape (see `procedural`).
SETTINGS_SEED = 0x100C


@dataclass(frozen=True)
class RenderSettings:
    """Angles are in degrees, directions relative to the car, colours and intensities in 0..1.

    sun_azimuth, sun_elevation  direction of the sun
    sun, ambient                intensity of the sun's light, and of the light from everywhere
    ground, sky                 colours of the surroundings
    field_of_view               the camera's angle of view
    zoom                        factor on the car's size; at 1 its bounding sphere fits into the image
    samples                     rays per pixel along each side: `samples` squared in all
    """

    sun_azimuth: float = 35.0
    sun_elevation: float = 55.0
    sun: float = 0.75
    ambient: float = 0.45
    ground: tuple[float, float, float] = (0.62, 0.62, 0.60)
    sky: tuple[float, float, float] = (0.80, 0.86, 0.93)
    field_of_view: float = 32.0
    zoom: float = 1.1
    samples: int = 2


STUDIO = RenderSettings()  # grey ground, pale sky, sun from the front right: chosen so that every side can be made out


def training_settings(number: int) -> RenderSettings:
    """Every third car is rendered in the studio; the others in random light, surroundings and framing.

    One ray per pixel is enough: training augments the images anyway, which would blur finer ones.
    """
    if number % 3 == 0:
        return replace(STUDIO, samples=1)
    rng = np.random.default_rng([SETTINGS_SEED, number])

    def colour() -> tuple[float, float, float]:
        r, g, b = np.clip(rng.uniform(0.15, 0.95) + rng.uniform(-0.2, 0.2, 3), 0, 1)  # a brightness, slightly tinted
        return float(r), float(g), float(b)

    # Wide ranges for light. Narrow ones for the camera, near the studio's 32 degrees and 1.1: wider ones (24 to 40
    # degrees) cost accuracy on test cars (docs/LOG.md).
    return RenderSettings(
        sun_azimuth=rng.uniform(-180, 180),
        sun_elevation=rng.uniform(25, 80),
        sun=rng.uniform(0.3, 1.0),
        ambient=rng.uniform(0.3, 0.65),
        ground=colour(),
        sky=colour(),
        field_of_view=rng.uniform(30, 34),
        zoom=rng.uniform(1.02, 1.15),
        samples=1,
    )
