"""Triangle meshes with colours: what the renderer draws, and how a mesh becomes one of ours.

A car stands on the ground plane z = 0, looks along +x, has its left at +y, is centred, and fits a sphere of radius 1.
Axes: V vertices, F faces.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

AXES = {"+X": 0, "-X": 0, "+Y": 1, "-Y": 1, "+Z": 2, "-Z": 2}


@dataclass(frozen=True)
class Mesh:
    """Triangles. A face has one colour, or a place in one of the textures for each of its corners."""

    vertices: np.ndarray  # [V, 3]
    faces: np.ndarray  # [F, 3] of vertices
    colours: np.ndarray  # [F, 3] in 0..1; a texture is multiplied by it
    gloss: np.ndarray  # [F] in 0..1: how much of a mirror
    texture: np.ndarray | None = None  # [F] of textures, -1 for none
    uv: np.ndarray | None = None  # [F, 3, 2]
    textures: tuple[np.ndarray, ...] = field(default=())  # each [H, W, 3] in 0..1

    def colour_at(self, faces: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The colours [N, 3] of points in faces [N], given by barycentric weights [N, 3]."""
        colours = self.colours[faces]
        if self.texture is None or self.uv is None:
            return colours
        which = self.texture[faces]
        for index, image in enumerate(self.textures):
            mine = np.nonzero(which == index)[0]
            if len(mine):
                u, v = np.einsum("ni,nij->jn", weights[mine], self.uv[faces[mine]])
                height, width = image.shape[:2]
                column = np.floor((u % 1) * width).astype(int) % width
                row = np.minimum(np.floor((1 - v % 1) * height).astype(int), height - 1)
                colours[mine] = colours[mine] * image[row, column]
        return colours

    def transformed(self, matrix: np.ndarray) -> Mesh:
        """The mesh under a linear map [3, 3]."""
        return replace(self, vertices=self.vertices @ matrix.T)

    def normalised(self) -> Mesh:
        """Standing on the ground in the middle, in a sphere of radius 1."""
        low, high = self.vertices.min(0), self.vertices.max(0)
        middle = (low + high) / 2
        offset = np.array([middle[0], middle[1], low[2]])
        radius = np.linalg.norm(high - low) / 2
        return replace(self, vertices=(self.vertices - offset) / radius)


def axes_matrix(forward: str, up: str) -> np.ndarray:
    """The map that turns a mesh whose front and top look along these axes ("+Z", "-X", ...) into ours."""
    front, top = _axis(forward), _axis(up)
    return np.stack([front, np.cross(top, front), top])


def _axis(name: str) -> np.ndarray:
    axis = np.zeros(3)
    axis[AXES[name]] = 1 if name[0] == "+" else -1
    return axis
