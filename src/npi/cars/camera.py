"""A pinhole camera that looks at the middle of a car."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npi.cars.render_settings import STUDIO, RenderSettings

FRAMED_RADIUS = 1.08  # at zoom 1 the image shows a sphere of this radius; a normalised car fits into radius 1


def direction(azimuth: float, elevation: float) -> np.ndarray:
    """The unit vector from the car towards a camera or sun at these angles, in degrees."""
    a, e = np.radians(azimuth), np.radians(elevation)
    return np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])


@dataclass(frozen=True)
class Camera:
    """A position and three axes. `rays` maps pixels to directions in space, `project` points in space to pixels."""

    position: np.ndarray
    right: np.ndarray
    up: np.ndarray
    forward: np.ndarray
    tangent: float  # of half the field of view

    @staticmethod
    def of(azimuth: float, elevation: float, middle: np.ndarray, settings: RenderSettings = STUDIO) -> Camera:
        """The camera at these angles, in degrees, that looks at `middle`."""
        back = direction(azimuth, elevation)
        half_view = np.radians(settings.field_of_view / 2)
        distance = FRAMED_RADIUS / np.sin(half_view) / settings.zoom
        a = np.radians(azimuth)
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        return Camera(middle + distance * back, right, np.cross(back, right), -back, float(np.tan(half_view)))

    def rays(self, size: int, samples: int) -> np.ndarray:
        """Unit directions [(size * samples)^2, 3], row by row from the top left: samples^2 for each pixel."""
        across = (np.arange(size * samples) + 0.5) / (size * samples) * 2 - 1
        x = across[None, :, None] * self.tangent
        y = -across[:, None, None] * self.tangent
        rays = self.forward + x * self.right + y * self.up
        return (rays / np.linalg.norm(rays, axis=2, keepdims=True)).reshape(-1, 3)

    def project(self, point: np.ndarray, size: int) -> tuple[float, float]:
        """The column and row, in pixels, at which a point appears."""
        offset = point - self.position
        depth = offset @ self.forward
        x = offset @ self.right / depth / self.tangent
        y = offset @ self.up / depth / self.tangent
        return float((x + 1) / 2 * size), float((1 - y) / 2 * size)
