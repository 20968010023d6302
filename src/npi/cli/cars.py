"""npi cars: render cars, measure how often a model turns them to the target, and manage the cache of images"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import OmitSubcommandPrefixes, arg, subcommand

from npi.cli.arguments import Device, ModelFolder, positive
from npi.cli.output import percent, print_json
from npi.errors import BadInput

Axis = Annotated[str, arg(metavar="AXIS")]
PngFile = Annotated[Path, arg(metavar="FILE.png")]

MAX_SIZE = 1024  # pixels along a side: rendering time grows with the square
MAX_AZIMUTH, MAX_ELEVATION = 360, 90  # degrees
TABLE = "{:<30} {:<38} {:>7}  {:>26}  {:>14}"  # a line that `npi cars evaluate` prints


@dataclass(frozen=True)
class Sheet:
    """Render procedural cars side by side on one contact sheet."""

    out: PngFile
    """The image to write."""
    count: int = 100
    """How many cars."""
    first: int = 0
    """The number of the first car."""

    def __call__(self) -> int:
        from npi.cars.figure import contact_sheet

        _check_png(self.out)
        positive(count=self.count)
        _check_car_number(self.first)
        _save(contact_sheet(range(self.first, self.first + self.count)).save, self.out)
        return 0


@dataclass(frozen=True)
class Render:
    """Render one car from one pose, which need not be on the grid of the task."""

    out: PngFile
    """The image to write."""
    car: int = 0
    """The number of a procedural car."""
    mesh: Annotated[Path | None, arg(metavar="FILE")] = None
    """A mesh file instead of a procedural car: GLB, OBJ, PLY or STL."""
    azimuth: float = 30
    """The camera's azimuth in degrees."""
    elevation: float = 15
    """The camera's elevation in degrees."""
    size: int = 128
    """Pixels along a side."""
    forward: Axis = "+Z"
    """The axis that the front of the mesh points along: +X, -X, +Y, -Y, +Z or -Z."""
    up: Axis = "+Y"
    """The axis that the top of the mesh points along."""

    def __call__(self) -> int:
        from PIL import Image

        from npi.cars.car import Car
        from npi.cars.render import Renderer

        _check_png(self.out)
        _check_car_number(self.car)
        if not 1 <= self.size <= MAX_SIZE:
            raise BadInput(f"--size is {self.size}, but must be from 1 to {MAX_SIZE}")
        for name, angle, most in (("azimuth", self.azimuth, MAX_AZIMUTH), ("elevation", self.elevation, MAX_ELEVATION)):
            if not -most <= angle <= most:
                raise BadInput(f"--{name} is {angle}, but must be from {-most} to {most}")
        file = None if self.mesh is None else str(self.mesh)
        mesh = Car(self.car, file=file, forward=self.forward, up=self.up).mesh()
        pixels = Renderer(mesh).view(self.azimuth, self.elevation, size=self.size)
        _save(Image.fromarray(pixels[..., :3]).save, self.out)
        return 0


@dataclass(frozen=True)
class Cache:
    """Show where the cache of rendered images is and how large, or delete it."""

    clear: bool = False
    """Delete it."""
    json: bool = False
    """Print the result as JSON."""

    def __call__(self) -> int:
        from npi.cars.views import cache_folder, cache_size, clear_cache

        cars, size = cache_size()
        if self.clear:
            clear_cache()
        if self.json:
            print_json({"folder": str(cache_folder()), "cars": cars, "bytes": size, "cleared": self.clear})
        else:
            print(f"{cars} cars, {size / 2**20:.1f} MiB in {cache_folder()}{': deleted' if self.clear else ''}")
        return 0


@dataclass(frozen=True)
class Evaluate:
    """Measure how many camera trajectories end on the target, on training cars, unseen cars and meshes."""

    model: ModelFolder = None
    """The folder of a trained model."""
    meshes: Annotated[Path | None, arg(metavar="DIR")] = None
    """A folder of meshes (GLB, OBJ, PLY, STL). Those with the same name up to the first _ are a family."""
    cars: int = 56
    """How many training cars, and how many unseen cars."""
    first_unseen: int | None = None
    """The number of the first unseen car (default: 1,000,000; these cars were used for model selection)."""
    forward: Axis = "+Z"
    """The axis that the fronts of the meshes point along."""
    up: Axis = "+Y"
    """The axis that their tops point along."""
    device: Device = "auto"
    """Where the network runs."""
    json: bool = False
    """Print the results as JSON, with those of each car."""

    def __call__(self) -> int:
        from npi.cli.progress import show_progress
        from npi.evaluation.car_scores import car_sets, mesh_families, score_cars
        from npi.network.checkpoint import resolve_model

        positive(cars=self.cars)
        meshes = None if self.meshes is None else mesh_families(self.meshes, self.forward, self.up)
        sets = car_sets(self.cars, self.first_unseen, meshes)
        model = resolve_model(self.model, self.device)
        if not self.json:
            print(TABLE.format("cars", "trajectories", "number", "on target", "as the teacher"), flush=True)
        rows = []
        with show_progress() as progress:
            for score in score_cars(model, sets, progress=progress):
                rows.append(score.summary())
                if not self.json:
                    total, on_target = score.total, percent(score.on_target, score.on_target_95)
                    cells = (f"{total.problems:,}", on_target, f"{total.traces:,}")
                    print(TABLE.format(score.cars, score.trajectories, *cells), flush=True)
        if self.json:
            print_json({"teacher": model.tasks["cars"], "rows": rows})
        return 0


Command = (
    Annotated[Sheet, subcommand("sheet")]
    | Annotated[Render, subcommand("render")]
    | Annotated[Cache, subcommand("cache")]
    | Annotated[Evaluate, subcommand("evaluate")]
)


def cars(command: OmitSubcommandPrefixes[Command]) -> int:
    """Render cars, measure how often a model turns them to the target, and manage the cache of images."""
    return command()


def _check_car_number(number: int) -> None:
    if number < 0:
        raise BadInput(f"there is no car {number}: cars are numbered from 0")


def _check_png(path: Path) -> None:
    if path.suffix.lower() != ".png":
        raise BadInput(f"{path} does not end in .png")


def _save(save: Callable[[Path], None], path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save(path)
    except OSError as error:
        raise BadInput(f"{path} could not be written: {error.strerror or error}") from error
    print(f"wrote {path}")
