"""npi cars: look at cars, judge how well they are canonicalised, and care for the pictures kept on disk"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import OmitSubcommandPrefixes, arg, subcommand

from npi.cli.arguments import Device, ModelFolder, positive
from npi.cli.output import percent, print_json
from npi.errors import BadInput

Axis = Annotated[str, arg(metavar="AXIS")]
PngFile = Annotated[Path, arg(metavar="FILE.png")]


@dataclass(frozen=True)
class Sheet:
    """Draw made-up cars on one sheet."""

    out: PngFile
    count: int = 100
    """How many cars."""
    first: int = 0
    """The number of the first."""

    def __call__(self) -> int:
        from npi.cars.figure import contact_sheet

        _png(self.out)
        positive(count=self.count)
        _car_number(self.first)
        _save(contact_sheet(range(self.first, self.first + self.count)).save, self.out)
        return 0


@dataclass(frozen=True)
class Render:
    """Draw one car from one pose. Any angle will do here."""

    out: PngFile
    car: int = 0
    """The number of a made-up car."""
    mesh: Annotated[Path | None, arg(metavar="FILE")] = None
    """A mesh instead: GLB, OBJ, PLY or STL."""
    azimuth: float = 30
    elevation: float = 15
    size: int = 128
    """Pixels along a side."""
    forward: Axis = "+Z"
    """Where the front of the mesh looks: +X, -X, +Y, -Y, +Z or -Z."""
    up: Axis = "+Y"
    """Where its top looks."""

    def __call__(self) -> int:
        from PIL import Image

        from npi.cars.render import Renderer
        from npi.cars.views import Car

        _png(self.out)
        _car_number(self.car)
        if not 1 <= self.size <= 1024:
            raise BadInput(f"--size is {self.size}, but must be from 1 to 1024")
        for name, angle, most in (("azimuth", self.azimuth, 360), ("elevation", self.elevation, 90)):
            if not -most <= angle <= most:
                raise BadInput(f"--{name} is {angle}, but must be from {-most} to {most}")
        file = None if self.mesh is None else str(self.mesh)
        mesh = Car(self.car, file=file, forward=self.forward, up=self.up).mesh()
        pixels = Renderer(mesh).view(self.azimuth, self.elevation, size=self.size)
        _save(Image.fromarray(pixels[..., :3]).save, self.out)
        return 0


@dataclass(frozen=True)
class Cache:
    """Say how large the cache of pictures is, and where."""

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
    """Measure how many trajectories end on the target: on seen cars, unseen ones and meshes, from every start pose."""

    model: ModelFolder = None
    """The folder of a trained model."""
    meshes: Annotated[Path | None, arg(metavar="DIR")] = None
    """A folder of meshes (GLB, OBJ, PLY, STL) to measure too, by family: what stands before the first _ of a name."""
    cars: int = 56
    """How many unseen cars, by their numbers from the first, and how many seen ones."""
    unseen_from: int | None = None
    """The number of the first unseen car, if others than the usual ones are to be looked at."""
    forward: Axis = "+Z"
    """Where the front of the meshes looks."""
    up: Axis = "+Y"
    """Where their top looks."""
    device: Device = "auto"
    """Where the network runs."""
    json: bool = False
    """Print the results as JSON."""

    def __call__(self) -> int:
        from npi.cars.views import render_all
        from npi.cli.progress import show_counts
        from npi.evaluation.score import interval, score_problems
        from npi.network.checkpoint import resolve_model
        from npi.network.model_fit import learned_task
        from npi.network.neural_decider import NeuralDecider

        positive(cars=self.cars)
        network = resolve_model(self.model, self.device)
        task = learned_task("cars", network)
        rows = []
        if not self.json:
            print(f"{'cars':<34} {'trajectories':>12}  {'end on the target':>26}  {'as the teacher':>16}", flush=True)
        sets = list(self.problems())
        cars = list(dict.fromkeys(problem.car for _, problems in sets for problem in problems))
        show_counts(((done, len(cars)) for done in render_all(cars)), "rendering cars")
        network_decides = NeuralDecider(network, task.env)  # one for all: it remembers the pictures it has looked at
        for what, problems in sets:
            score = score_problems(task, network_decides, problems)
            bounds = interval(score.answers, score.problems)
            rows.append({"what": what, **asdict(score), "wrong": [str(p) for p in score.wrong], "answers_95": bounds})
            if not self.json:
                ends = percent(score.answers / score.problems, bounds)
                print(f"{what:<34} {score.problems:>12,}  {ends:>26}  {score.traces:>16,}", flush=True)
        if self.json:
            print_json({"teacher": task.teacher, "rows": rows})
        return 0

    def problems(self) -> Iterator[tuple[str, list[Any]]]:
        from npi.cars.mesh_files import FORMATS
        from npi.cars.views import Car
        from npi.tasks import cars

        if self.cars > len(cars.SEEN):
            raise BadInput(f"--cars is {self.cars}, but there are {len(cars.SEEN)} seen ones")
        first = cars.UNSEEN.start if self.unseen_from is None else self.unseen_from
        if first <= max(cars.SEEN):
            raise BadInput(f"--unseen-from is {first}, but cars up to {max(cars.SEEN)} are those of training")
        sets = {
            "seen cars, poses held out": cars.held_out_starts(cars.SEEN[: self.cars]),
            "unseen cars": cars.all_starts([Car(number) for number in range(first, first + self.cars)]),
        }
        if self.meshes is not None:
            if not self.meshes.is_dir():
                raise BadInput(f"there is no folder {self.meshes}")
            files = sorted(file for file in self.meshes.iterdir() if file.suffix.lower() in FORMATS)
            if not files:
                raise BadInput(f"{self.meshes} holds no meshes ({', '.join(FORMATS)})")
            families: dict[str, list[Car]] = {}
            for file in files:
                car = Car(file=str(file), forward=self.forward, up=self.up)
                car.key()  # a mesh that cannot be read is found out now, not at the end
                families.setdefault(f"meshes: {file.stem.split('_')[0]}", []).append(car)
            sets |= {family: cars.all_starts(members) for family, members in families.items()}
            sets["meshes, all"] = [problem for family in families for problem in sets[family]]
        for what, problems in sets.items():
            yield what, problems
            yield "  of at most four steps", [p for p in problems if cars.steps_between(p.start, p.target) <= 4]
            yield "  to other targets", cars.to_other_targets(problems)


Command = (
    Annotated[Sheet, subcommand("sheet")]
    | Annotated[Render, subcommand("render")]
    | Annotated[Cache, subcommand("cache")]
    | Annotated[Evaluate, subcommand("evaluate")]
)


def cars(command: OmitSubcommandPrefixes[Command]) -> int:
    """Look at cars, measure how well they are canonicalised, and care for the pictures kept on disk."""
    return command()


def _car_number(number: int) -> None:
    if number < 0:
        raise BadInput(f"there is no car {number}: cars are numbered from 0")


def _png(path: Path) -> None:
    if path.suffix.lower() != ".png":
        raise BadInput(f"{path} does not end in .png")


def _save(save: Callable[[Path], None], path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save(path)
    except OSError as error:
        raise BadInput(f"{path} could not be written: {error.strerror or error}") from error
    print(f"wrote {path}")
