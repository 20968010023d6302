"""The options of npi run for the task cars: they describe a problem, and draw its run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from npi.errors import BadInput
from npi.language.program import ACT
from npi.language.trace import Trace


@dataclass(frozen=True)
class CarOptions:
    """For the task cars: a car, where the camera starts, and which images to write."""

    car: int | None = None
    """The number of a procedural car."""
    mesh: Annotated[Path | None, arg(metavar="FILE")] = None
    """A mesh file instead of a procedural car: GLB, OBJ, PLY or STL."""
    azimuth: int | None = None
    """The azimuth at which the camera starts: -75 to 75 in steps of 15."""
    elevation: int | None = None
    """The elevation at which the camera starts: 0 to 60 in steps of 15."""
    target: tuple[int, int] = (0, 15)
    """The azimuth and elevation that the camera is to reach."""
    forward: str = "+Z"
    """The axis that the front of the mesh points along: +X, -X, +Y, -Y, +Z or -Z."""
    up: str = "+Y"
    """The axis that the top of the mesh points along."""
    gif: Annotated[Path | None, arg(metavar="FILE.gif")] = None
    """Write the images of the run as an animation."""
    png: Annotated[Path | None, arg(metavar="FILE.png")] = None
    """Write the images of the run side by side."""

    def problem(self, words: tuple[str, ...]) -> Any:
        """The problem that the options describe, or, if there are any, the words."""
        from npi.cars.car import Car
        from npi.tasks import cars

        for path, ending in ((self.gif, ".gif"), (self.png, ".png")):
            if path is not None and path.suffix.lower() != ending:
                raise BadInput(f"{path} does not end in {ending}")
        if words:
            if replace(self, gif=None, png=None) != CarOptions():
                raise BadInput(f"give the problem as words ({' '.join(words)}) or by options such as --car, not both")
            return cars.parse(words)
        if (self.car is None) == (self.mesh is None) or self.azimuth is None or self.elevation is None:
            raise BadInput(
                "name a car and the start of the camera: npi run cars --car 12 --azimuth -60 --elevation 45, "
                "or --mesh FILE.glb instead of --car"
            )
        if self.car is not None and self.car < 0:
            raise BadInput(f"there is no car {self.car}: cars are numbered from 0")
        file = None if self.mesh is None else str(self.mesh)
        return cars.CarProblem(
            Car(self.car or 0, file=file, forward=self.forward, up=self.up),
            cars.parse_pose(str(self.azimuth), str(self.elevation)),
            cars.parse_pose(*map(str, self.target)),
        )

    def draw(self, problem: Any, trace: Trace) -> None:
        """Write one image for each action, captioned with the action."""
        if self.gif is None and self.png is None:
            return
        from npi.cars.figure import save_trajectory
        from npi.tasks.cars import CarScene

        scene = CarScene.of(problem)
        images, captions = [scene.image().pixels], ["start"]
        for decision in trace.decisions:
            if decision is not None and decision.program == ACT:
                scene.act(*decision.args)
                images.append(scene.image().pixels)
                captions.append(scene.describe(decision.args))
        for path in (self.gif, self.png):
            if path is not None:
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    save_trajectory(path, images, captions)
                except OSError as error:
                    raise BadInput(f"{path} could not be written: {error.strerror or error}") from error
