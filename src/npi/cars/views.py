"""The pictures of a car from every pose of the grid, rendered once and kept on disk.

A file in the cache holds all views of one car. Its name depends on the car, the look and the code that drew it, so
nothing stale is ever read; it is written beside its place and moved into it, so runs side by side and runs that were
interrupted do no harm. The cache is in $NPI_CACHE, or else in npi under the user's cache folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from npi.cars.mesh import Mesh
from npi.cars.mesh_files import load_mesh
from npi.cars.render import STUDIO, Look, Renderer, training_look
from npi.cars.shapes import make_car
from npi.errors import BadInput
from npi.files import write
from npi.language.image import IMAGE_SIDE, Image

AZIMUTHS = range(-75, 76, 15)
ELEVATIONS = range(0, 61, 15)


@dataclass(frozen=True)
class Car:
    """A made-up car by its number, or the mesh in a file. `training`: as training shows it."""

    number: int = 0
    training: bool = False
    file: str | None = None
    forward: str = "+Z"  # of the mesh in the file
    up: str = "+Y"

    def __str__(self) -> str:
        return self.file or f"car {self.number}"

    def mesh(self) -> Mesh:
        if self.file is None:
            return make_car(self.number)
        return load_mesh(Path(self.file), self.forward, self.up)

    def look(self) -> Look:
        return training_look(self.number) if self.training else STUDIO

    def pictures(self) -> tuple[tuple[Image, ...], ...]:
        """By azimuth, then by elevation."""
        return _pictures(self)

    def key(self) -> str:
        """The name of its file in the cache."""
        how = f"{_code()} {IMAGE_SIDE} {AZIMUTHS} {ELEVATIONS}"
        facts = hashlib.sha256(f"{how} {self.number} {self.training} {self.forward} {self.up}".encode())
        if self.file is not None:  # a mesh may draw on other files: what counts is what comes of them
            mesh = self.mesh()
            for part in (mesh.vertices, mesh.faces, mesh.colours, mesh.texture, mesh.uv, *mesh.textures):
                facts.update(b"" if part is None else part.tobytes())
        return facts.hexdigest()[:32]


@lru_cache(maxsize=800)
def _pictures(car: Car) -> tuple[tuple[Image, ...], ...]:
    """Each with the numbers of its azimuth and elevation on the grid for a caption."""
    return tuple(
        tuple(Image(pixels, (azimuth, elevation)) for elevation, pixels in enumerate(row))
        for azimuth, row in enumerate(views(car))
    )


def views(car: Car) -> np.ndarray:
    """All views of a car [azimuth, elevation, side, side, 4], from the cache if it has them."""
    path = cache_folder() / f"{car.key()}.npz"
    # Not there, or damaged: then it is rendered anew.
    with suppress(OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error), np.load(path) as file:
        return file["views"]
    renderer, look = Renderer(car.mesh()), car.look()
    rendered = np.stack([np.stack([renderer.view(a, e, look) for e in ELEVATIONS]) for a in AZIMUTHS])
    _keep(path, rendered)
    return rendered


def render_all(cars: Sequence[Car], workers: int | None = None) -> Iterator[int]:
    """Render the cars that are not in the cache, in several processes; yield how many are done after each."""
    missing = [car for car in cars if not (cache_folder() / f"{car.key()}.npz").is_file()]
    done = len(cars) - len(missing)
    yield done
    workers = min(workers or os.cpu_count() or 1, len(missing))
    if workers <= 1:
        for car in missing:
            views(car)
            done += 1
            yield done
        return
    # An interrupt is the business of this process alone: it drops what has not begun, and waits for the rest.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        for _ in pool.map(_render, missing):
            done += 1
            yield done
    finally:
        pool.shutdown(cancel_futures=True)


def _render(car: Car) -> None:
    views(car)


def cache_folder() -> Path:
    chosen = os.environ.get("NPI_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(chosen) if chosen else home / "npi") / "views"


def cache_size() -> tuple[int, int]:
    """How many files the cache has, and how many bytes."""
    folder = cache_folder()
    sizes = [file.stat().st_size for file in folder.glob("*.npz")] if folder.is_dir() else []
    return len(sizes), sum(sizes)


def clear_cache() -> None:
    shutil.rmtree(cache_folder(), ignore_errors=True)


def _keep(path: Path, rendered: np.ndarray) -> None:
    data = BytesIO()
    np.savez_compressed(data, views=rendered)
    try:
        write(path, data.getvalue())
    except BadInput as error:  # the views are at hand all the same
        print(f"npi: the views of a car could not be kept: {error}", file=sys.stderr)


@lru_cache(maxsize=1)
def _code() -> str:
    """The source of what draws cars. Any change of it makes the cache start anew."""
    sources = [
        Path(__file__).with_name(f"{name}.py") for name in ("mesh_files", "mesh", "plans", "render", "shapes", "solid")
    ]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
