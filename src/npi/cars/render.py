"""Rendering: rays through Embree, shading in numpy. It needs no display and no GPU, and every run gives the same image.

Pixels are RGBA: alpha is the fraction of a pixel that the car covers; the colours include the surroundings.
Axes: N rays.
"""

from __future__ import annotations

import numpy as np
from embreex.mesh_construction import TriangleMesh
from embreex.rtcore_scene import EmbreeScene

from npi.cars.camera import Camera, direction
from npi.cars.mesh import Mesh
from npi.cars.render_settings import STUDIO, RenderSettings
from npi.language.image import IMAGE_SIDE

HORIZON = -1e-4  # rays with a higher z than this miss the ground: they would meet it too far away to compute
HAZE_DISTANCE = 4  # at this distance, in radii of the car, the ground is 1/e ground and the rest sky
# Shadow rays start this far from the surface, or rounding would let a surface shadow itself.
SHADOW_OFFSET = 1e-3  # along the sun's direction
NORMAL_OFFSET = 2e-3  # along the surface normal, on the car only
# The shading model, Blinn-Phong in spirit. The constants were chosen by eye.
SKYLIGHT = 0.25  # fraction of the ambient light that comes from above only
SHININESS = 24  # exponent of the sun's highlight
HIGHLIGHT = 0.5  # intensity of the sun's highlight on a perfectly glossy face
REFLECTION = 0.35  # of a glossy face's light, the fraction that is the reflected sky instead of the face's colour


class Renderer:
    """A mesh, ready to be rendered from any pose."""

    def __init__(self, mesh: Mesh):
        self.mesh = mesh
        self.scene = EmbreeScene()
        TriangleMesh(self.scene, mesh.vertices.astype(np.float32), mesh.faces.astype(np.int32))
        corners = mesh.vertices[mesh.faces]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        self.normals = (normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)).astype(np.float32)
        low, high = mesh.vertices.min(0), mesh.vertices.max(0)
        self.middle = (low + high) / 2

    def view(
        self, azimuth: float, elevation: float, settings: RenderSettings = STUDIO, size: int = IMAGE_SIDE
    ) -> np.ndarray:
        """The image [size, size, 4] from a camera at these angles, in bytes."""
        camera = Camera.of(azimuth, elevation, self.middle, settings)
        rays = camera.rays(size, settings.samples).astype(np.float32)
        colours, covered = self.trace(camera.position.astype(np.float32), rays, settings)
        pixels = np.concatenate([np.clip(colours, 0, 1), covered[:, None]], 1)
        pixels = pixels.reshape(size, settings.samples, size, settings.samples, 4).mean((1, 3))
        return (pixels * 255 + 0.5).astype(np.uint8)

    def trace(self, origin: np.ndarray, rays: np.ndarray, settings: RenderSettings) -> tuple[np.ndarray, np.ndarray]:
        """The colour [N, 3] that each ray [N, 3] meets, and whether it meets the car."""
        hits = self.scene.run(np.broadcast_to(origin, rays.shape).copy(), rays, query="INTERSECT", output=True)
        face = hits["primID"]  # -1 where a ray meets nothing
        car = np.nonzero(face >= 0)[0]
        colours = np.empty_like(rays)
        elsewhere = np.nonzero(face < 0)[0]
        colours[elsewhere] = self.surroundings(origin, rays[elsewhere], settings)
        if len(car):
            faces, u, v = face[car], hits["u"][car], hits["v"][car]
            points = origin + rays[car] * hits["tfar"][car, None]
            normals = self.normals[faces]
            normals = np.where((normals * rays[car]).sum(1, keepdims=True) > 0, -normals, normals)
            base = self.mesh.colour_at(faces, np.stack([1 - u - v, u, v], 1))
            colours[car] = self.shade(points, normals, rays[car], base, self.mesh.gloss[faces], settings)
        return colours, (face >= 0).astype(np.float32)

    def surroundings(self, origin: np.ndarray, rays: np.ndarray, settings: RenderSettings) -> np.ndarray:
        """The colours of the ground with the car's shadow, fading into the sky."""
        sky = np.array(settings.sky, dtype=np.float32)
        colours = np.broadcast_to(sky, rays.shape).copy()
        down = np.nonzero(rays[:, 2] < HORIZON)[0]
        if len(down):
            distance = -origin[2] / rays[down, 2]
            points = origin + rays[down] * distance[:, None]
            sunlight = settings.sun * np.sin(np.radians(settings.sun_elevation))
            light = settings.ambient + sunlight * self.in_sun(points, settings)
            ground = np.array(settings.ground, dtype=np.float32) * light[:, None]
            from_middle = np.hypot(points[:, 0], points[:, 1])
            near = np.exp(-((from_middle / HAZE_DISTANCE) ** 2))[:, None].astype(np.float32)
            colours[down] = near * ground + (1 - near) * sky
        return colours

    def in_sun(self, points: np.ndarray, settings: RenderSettings) -> np.ndarray:
        """1 where the sun reaches a point, 0 in shadow."""
        sun = direction(settings.sun_azimuth, settings.sun_elevation).astype(np.float32)
        towards = np.broadcast_to(sun, points.shape).copy()
        blocker = self.scene.run((points + SHADOW_OFFSET * sun).astype(np.float32), towards, query="OCCLUDED")
        return (blocker < 0).astype(np.float32)

    def shade(
        self,
        points: np.ndarray,
        normals: np.ndarray,
        rays: np.ndarray,
        base: np.ndarray,
        gloss: np.ndarray,
        settings: RenderSettings,
    ) -> np.ndarray:
        """The colours of points on the car, from their own colours `base`, light, and reflections."""
        sun = direction(settings.sun_azimuth, settings.sun_elevation).astype(np.float32)
        facing = np.maximum(normals @ sun, 0)
        lit = np.zeros(len(points), dtype=np.float32)
        turned = np.nonzero(facing > 0)[0]
        lit[turned] = self.in_sun(points[turned] + NORMAL_OFFSET * normals[turned], settings)
        ambient = settings.ambient * ((1 - SKYLIGHT) + SKYLIGHT * normals[:, 2])
        light = ambient + settings.sun * facing * lit
        mirrored = rays - 2 * (rays * normals).sum(1, keepdims=True) * normals
        highlight = np.maximum(mirrored @ sun, 0) ** SHININESS * lit
        sky = np.clip(mirrored[:, 2:], 0, 1) * np.array(settings.sky, dtype=np.float32)
        diffuse = base * light[:, None] * (1 - REFLECTION * gloss[:, None])
        return diffuse + gloss[:, None] * (REFLECTION * sky + HIGHLIGHT * highlight[:, None])
