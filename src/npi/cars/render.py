"""Rendering: rays through Embree, shading in numpy. It needs no display and no GPU; every run gives the same image.

The camera looks at the middle of the car. At azimuth 0 it stands in front of it; positive azimuths lie to the viewer's
right. Pixels are RGBA: alpha is the share of a pixel that the car covers; the surroundings are in the colours already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from embreex.mesh_construction import TriangleMesh
from embreex.rtcore_scene import EmbreeScene

from npi.cars.mesh import Mesh
from npi.language.image import IMAGE_SIDE


@dataclass(frozen=True)
class Look:
    """Light, surroundings and camera of a rendering. Angles are in degrees, directions relative to the car."""

    sun_azimuth: float = 35.0
    sun_elevation: float = 55.0
    sun: float = 0.75
    ambient: float = 0.45
    ground: tuple[float, float, float] = (0.62, 0.62, 0.60)
    sky: tuple[float, float, float] = (0.80, 0.86, 0.93)
    view: float = 32.0  # the angle of view, in degrees
    zoom: float = 1.1
    samples: int = 2  # rays for a pixel, along each side


STUDIO = Look()


def training_look(number: int) -> Look:
    """Every third car in the studio; the others in a light, surroundings, angle of view and framing of their own.

    With a ray for each pixel: pictures are varied in training, and a second one would be blurred away.
    """
    if number % 3 == 0:
        return replace(STUDIO, samples=1)
    rng = np.random.default_rng([0x100C, number])

    def colour() -> tuple[float, float, float]:
        r, g, b = np.clip(rng.uniform(0.15, 0.95) + rng.uniform(-0.2, 0.2, 3), 0, 1)
        return float(r), float(g), float(b)

    return Look(
        sun_azimuth=rng.uniform(-180, 180),
        sun_elevation=rng.uniform(25, 80),
        sun=rng.uniform(0.3, 1.0),
        ambient=rng.uniform(0.3, 0.65),
        ground=colour(),
        sky=colour(),
        view=rng.uniform(30, 34),
        zoom=rng.uniform(1.02, 1.15),
        samples=1,
    )


def direction(azimuth: float, elevation: float) -> np.ndarray:
    """The unit vector from the car towards a camera or a sun there."""
    a, e = np.radians(azimuth), np.radians(elevation)
    return np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])


@dataclass(frozen=True)
class Camera:
    """Where the picture is taken from. `rays` and `project` are each other's inverse."""

    position: np.ndarray
    right: np.ndarray
    up: np.ndarray
    forward: np.ndarray
    tangent: float  # of half the angle of view

    @staticmethod
    def of(azimuth: float, elevation: float, middle: np.ndarray, look: Look = STUDIO) -> Camera:
        back = direction(azimuth, elevation)
        tangent = float(np.tan(np.radians(look.view / 2)))
        distance = 1.08 / np.sin(np.radians(look.view / 2)) / look.zoom
        a = np.radians(azimuth)
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        return Camera(middle + distance * back, right, np.cross(back, right), -back, tangent)

    def rays(self, size: int, samples: int) -> np.ndarray:
        """Unit directions [(size * samples)^2, 3], row by row from the top left."""
        across = (np.arange(size * samples) + 0.5) / (size * samples) * 2 - 1
        x = across[None, :, None] * self.tangent
        y = -across[:, None, None] * self.tangent
        rays = self.forward + x * self.right + y * self.up
        return (rays / np.linalg.norm(rays, axis=2, keepdims=True)).reshape(-1, 3)

    def project(self, point: np.ndarray, size: int) -> tuple[float, float]:
        """The column and row, in pixels, at which a point is seen."""
        offset = point - self.position
        depth = offset @ self.forward
        x = offset @ self.right / depth / self.tangent
        y = offset @ self.up / depth / self.tangent
        return float((x + 1) / 2 * size), float((1 - y) / 2 * size)


class Renderer:
    """A mesh made ready to be seen from anywhere."""

    def __init__(self, mesh: Mesh):
        self.mesh = mesh
        self.scene = EmbreeScene()
        TriangleMesh(self.scene, mesh.vertices.astype(np.float32), mesh.faces.astype(np.int32))
        corner_cases = mesh.vertices[mesh.faces]
        normals = np.cross(corner_cases[:, 1] - corner_cases[:, 0], corner_cases[:, 2] - corner_cases[:, 0])
        self.normals = (normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)).astype(np.float32)
        low, high = mesh.vertices.min(0), mesh.vertices.max(0)
        self.middle = (low + high) / 2

    def view(self, azimuth: float, elevation: float, look: Look = STUDIO, size: int = IMAGE_SIDE) -> np.ndarray:
        """The picture [size, size, 4], as bytes."""
        camera = Camera.of(azimuth, elevation, self.middle, look)
        rays = camera.rays(size, look.samples).astype(np.float32)
        colours, covered = self.trace(camera.position.astype(np.float32), rays, look)
        pixels = np.concatenate([np.clip(colours, 0, 1), covered[:, None]], 1)
        pixels = pixels.reshape(size, look.samples, size, look.samples, 4).mean((1, 3))
        return (pixels * 255 + 0.5).astype(np.uint8)

    def trace(self, origin: np.ndarray, rays: np.ndarray, look: Look) -> tuple[np.ndarray, np.ndarray]:
        """Colours [N, 3] seen along rays [N, 3], and whether they meet the car."""
        hits = self.scene.run(np.broadcast_to(origin, rays.shape).copy(), rays, query="INTERSECT", output=True)
        face = hits["primID"]
        car = np.nonzero(face >= 0)[0]
        colours = np.empty_like(rays)
        elsewhere = np.nonzero(face < 0)[0]
        colours[elsewhere] = self.surroundings(origin, rays[elsewhere], look)
        if len(car):
            faces, u, v = face[car], hits["u"][car], hits["v"][car]
            points = origin + rays[car] * hits["tfar"][car, None]
            normals = self.normals[faces]
            normals = np.where((normals * rays[car]).sum(1, keepdims=True) > 0, -normals, normals)
            base = self.mesh.colour_at(faces, np.stack([1 - u - v, u, v], 1))
            colours[car] = self.shade(points, normals, rays[car], base, self.mesh.gloss[faces], look)
        return colours, (face >= 0).astype(np.float32)

    def surroundings(self, origin: np.ndarray, rays: np.ndarray, look: Look) -> np.ndarray:
        """Ground with the car's shadow, fading into the sky."""
        sky = np.array(look.sky, dtype=np.float32)
        colours = np.broadcast_to(sky, rays.shape).copy()
        down = np.nonzero(rays[:, 2] < -1e-4)[0]
        if len(down):
            distance = -origin[2] / rays[down, 2]
            points = origin + rays[down] * distance[:, None]
            light = look.ambient + look.sun * np.sin(np.radians(look.sun_elevation)) * self.lit(points, look)
            ground = np.array(look.ground, dtype=np.float32) * light[:, None]
            near = np.exp(-((np.hypot(points[:, 0], points[:, 1]) / 4) ** 2))[:, None].astype(np.float32)
            colours[down] = near * ground + (1 - near) * sky
        return colours

    def lit(self, points: np.ndarray, look: Look) -> np.ndarray:
        """1 where the sun reaches a point, 0 in shadow."""
        sun = direction(look.sun_azimuth, look.sun_elevation).astype(np.float32)
        towards = np.broadcast_to(sun, points.shape).copy()
        return (self.scene.run((points + 1e-3 * sun).astype(np.float32), towards, query="OCCLUDED") < 0).astype(
            np.float32
        )

    def shade(
        self, points: np.ndarray, normals: np.ndarray, rays: np.ndarray, base: np.ndarray, gloss: np.ndarray, look: Look
    ) -> np.ndarray:
        sun = direction(look.sun_azimuth, look.sun_elevation).astype(np.float32)
        facing = np.maximum(normals @ sun, 0)
        lit = np.zeros(len(points), dtype=np.float32)
        turned = np.nonzero(facing > 0)[0]
        lit[turned] = self.lit(points[turned] + 2e-3 * normals[turned], look)
        light = look.ambient * (0.75 + 0.25 * normals[:, 2]) + look.sun * facing * lit
        mirrored = rays - 2 * (rays * normals).sum(1, keepdims=True) * normals
        highlight = np.maximum(mirrored @ sun, 0) ** 24 * lit
        sky = np.clip(mirrored[:, 2:], 0, 1) * np.array(look.sky, dtype=np.float32)
        return base * light[:, None] * (1 - 0.35 * gloss[:, None]) + gloss[:, None] * (
            0.35 * sky + 0.5 * highlight[:, None]
        )
