"""Triangle meshes with colours, and the normalised form that the renderer expects.

A normalised car stands on the ground plane z = 0, centred on the z axis. Its front points along +x and its left side
along +y. Half the diagonal of its bounding box is 1. Axes: V vertices, F faces.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

# The names of the six directions, each with the index of its coordinate.
AXES = {"+X": 0, "-X": 0, "+Y": 1, "-Y": 1, "+Z": 2, "-Z": 2}


@dataclass(frozen=True)
class Mesh:
    """Triangles. A face has one colour, and optionally texture coordinates for each of its corners."""

    vertices: np.ndarray  # [V, 3]
    faces: np.ndarray  # [F, 3] indices of vertices
    colours: np.ndarray  # [F, 3] in 0..1; a texture is multiplied by it
    gloss: np.ndarray  # [F] in 0..1: 0 is matt, 1 a mirror
    texture: np.ndarray | None = None  # [F] index into `textures`, -1 for none
    uv: np.ndarray | None = None  # [F, 3, 2] texture coordinates
    textures: tuple[np.ndarray, ...] = field(default=())  # each [H, W, 3] in 0..1

    def colour_at(self, faces: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The colours [N, 3] of points on faces [N], at barycentric weights [N, 3] of their corners."""
        colours = self.colours[faces]
        if self.texture is None or self.uv is None:
            return colours
        texture = self.texture[faces]
        for index, image in enumerate(self.textures):
            textured = np.nonzero(texture == index)[0]
            if len(textured):
                u, v = np.einsum("ni,nij->jn", weights[textured], self.uv[faces[textured]])
                height, width = image.shape[:2]
                column = np.floor((u % 1) * width).astype(int) % width
                row = np.minimum(np.floor((1 - v % 1) * height).astype(int), height - 1)
                colours[textured] = colours[textured] * image[row, column]
        return colours

    def transformed(self, matrix: np.ndarray) -> Mesh:
        """The mesh under a linear map [3, 3]."""
        return replace(self, vertices=self.vertices @ matrix.T)

    def normalised(self) -> Mesh:
        """The mesh moved and scaled to the normalised form."""
        low, high = self.vertices.min(0), self.vertices.max(0)
        middle = (low + high) / 2
        offset = np.array([middle[0], middle[1], low[2]])
        radius = np.linalg.norm(high - low) / 2
        return replace(self, vertices=(self.vertices - offset) / radius)


def axes_matrix(forward: str, up: str) -> np.ndarray:
    """The rotation [3, 3] that turns a mesh's front and top ("+Z", "-X", ...) to +x and +z."""
    front, top = _axis(forward), _axis(up)
    return np.stack([front, np.cross(top, front), top])


def _axis(name: str) -> np.ndarray:
    axis = np.zeros(3)
    axis[AXES[name]] = 1 if name[0] == "+" else -1
    return axis
