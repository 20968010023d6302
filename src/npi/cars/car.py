"""A car that can be rendered: a procedural one by its number, or the mesh in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npi.cars.mesh import Mesh
from npi.cars.mesh_files import load_mesh
from npi.cars.procedural import make_car
from npi.cars.render_settings import STUDIO, RenderSettings, training_settings


@dataclass(frozen=True)
class Car:
    """A procedural car, or a mesh file with the axes along which its front and top point.

    With `training`, it is rendered with the settings of the training set, otherwise in the studio.
    """

    number: int = 0
    training: bool = False
    file: str | None = None
    forward: str = "+Z"
    up: str = "+Y"

    def __str__(self) -> str:
        return self.file or f"car {self.number}"

    def mesh(self) -> Mesh:
        if self.file is None:
            return make_car(self.number)
        return load_mesh(Path(self.file), self.forward, self.up)

    def render_settings(self) -> RenderSettings:
        return training_settings(self.number) if self.training else STUDIO
