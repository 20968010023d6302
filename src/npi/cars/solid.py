"""Solids: meshes under construction, and the pieces of which a procedural car is built. Lengths are in metres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from npi.cars.mesh import Mesh

Colour = tuple[float, float, float]
MATT = 0.1  # the gloss of most pieces
DISC_SIDES = 18  # enough for a wheel to look round at 128 pixels
PATCH_LIFT = 0.012  # how far a patch is raised, so that it hides the face behind it


@dataclass
class Solid:
    """A mesh under construction. `gloss` is 0 for a matt piece and 1 for a mirror."""

    vertices: list[Sequence[float]] = field(default_factory=list)
    faces: list[tuple[int, int, int]] = field(default_factory=list)
    colours: list[Colour] = field(default_factory=list)
    glosses: list[float] = field(default_factory=list)

    def mesh(self) -> Mesh:
        return Mesh(
            np.array(self.vertices, dtype=float), np.array(self.faces), np.array(self.colours), np.array(self.glosses)
        )

    def polygon(self, points: Sequence[Sequence[float]], colour: Colour, gloss: float = MATT) -> None:
        """A convex polygon, as a fan of triangles."""
        first = len(self.vertices)
        self.vertices += points
        for k in range(1, len(points) - 1):
            self.faces.append((first, first + k, first + k + 1))
            self.colours.append(colour)
            self.glosses.append(gloss)

    def loft(self, rings: Sequence[Sequence[Sequence[float]]], colour: Colour, gloss: float = MATT) -> None:
        """A closed surface through rings of equally many points."""
        for a, b in pairwise(rings):
            for k in range(len(a)):
                n = (k + 1) % len(a)
                self.polygon([a[k], a[n], b[n], b[k]], colour, gloss)
        self.polygon(rings[0], colour, gloss)
        self.polygon(rings[-1][::-1], colour, gloss)

    def box(self, low: Sequence[float], high: Sequence[float], colour: Colour, gloss: float = MATT) -> None:
        (x0, y0, z0), (x1, y1, z1) = low, high
        rings = [[(x, y0, z0), (x, y1, z0), (x, y1, z1), (x, y0, z1)] for x in (x0, x1)]
        self.loft(rings, colour, gloss)

    def pair(self, low: Sequence[float], high: Sequence[float], colour: Colour, gloss: float = MATT) -> None:
        """A box on the left and its mirror image on the right."""
        (x0, y0, z0), (x1, y1, z1) = low, high
        self.box(low, high, colour, gloss)
        self.box((x0, -y1, z0), (x1, -y0, z1), colour, gloss)

    def disc(
        self,
        middle: Sequence[float],
        axis: int,
        radius: float,
        depth: float,
        colour: Colour,
        sides: int = DISC_SIDES,
        gloss: float = MATT,
    ) -> None:
        """A cylinder of this depth around its middle, along x (axis 0) or y (axis 1)."""
        turn = 2 * np.pi * np.arange(sides) / sides
        rings = []
        for along in (-depth / 2, depth / 2):
            ring = []
            for a in turn:
                point = [0.0, 0.0, radius * np.sin(a)]
                point[axis], point[1 - axis] = along, radius * np.cos(a)
                ring.append([m + p for m, p in zip(middle, point, strict=True)])
            rings.append(ring)
        self.loft(rings, colour, gloss)

    def patch(
        self,
        corners: Sequence[Sequence[float]],
        u: tuple[float, float],
        v: tuple[float, float],
        colour: Colour,
        gloss: float,
    ) -> None:
        """A rectangle on a four-cornered face, raised a little from it: a window, for example.

        `corners` are lower left, lower right, upper right, upper left. `u` and `v` bound the rectangle, in fractions of
        the face's width and height.
        """
        a, b, c, d = (np.array(corner, dtype=float) for corner in corners)
        normal = np.cross(b - a, d - a)
        lift = PATCH_LIFT * normal / max(float(np.linalg.norm(normal)), 1e-9)

        def at(s: float, t: float) -> list[float]:
            return list((1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * d + s * c) + lift)

        self.polygon([at(u[0], v[0]), at(u[1], v[0]), at(u[1], v[1]), at(u[0], v[1])], colour, gloss)
