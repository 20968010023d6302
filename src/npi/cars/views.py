"""The views of a car: its images from every pose of the grid, rendered once and kept in a cache on disk.

A file of the cache holds all views of one car. Its name is a hash of the car and of the source code of npi/cars, so
after any change there, even of a comment, cars are rendered again: that costs minutes, while an outdated image could
falsify a result. Files are written whole or not at all, so parallel and interrupted runs do no harm. The cache is in
$NPI_CACHE, or else in npi under the user's cache folder.
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
from functools import lru_cache
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from npi.cars.car import Car
from npi.cars.poses import AZIMUTHS, ELEVATIONS
from npi.cars.render import Renderer
from npi.errors import BadInput
from npi.files import write
from npi.language.image import IMAGE_SIDE, Image

# Cars whose images stay in memory: the 720 training cars, and some test cars. A car takes 3.6 MB.
CARS_IN_MEMORY = 800


@lru_cache(maxsize=CARS_IN_MEMORY)
def images_of(car: Car) -> tuple[tuple[Image, ...], ...]:
    """A car's images by azimuth, then by elevation. The auxiliary labels of each are these two indices."""
    return tuple(
        tuple(Image(pixels, (azimuth, elevation)) for elevation, pixels in enumerate(row))
        for azimuth, row in enumerate(views(car))
    )


def views(car: Car) -> np.ndarray:
    """All views of a car [azimuth, elevation, side, side, 4], from the cache if it has them."""
    path = cache_file(car)
    # A missing or damaged file raises one of these; the car is then rendered again.
    with suppress(OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error), np.load(path) as file:
        return file["views"]
    renderer, settings = Renderer(car.mesh()), car.render_settings()
    rendered = np.stack([np.stack([renderer.view(a, e, settings) for e in ELEVATIONS]) for a in AZIMUTHS])
    _store(path, rendered)
    return rendered


def render_all(cars: Sequence[Car], workers: int | None = None) -> Iterator[int]:
    """Render the cars that are not in the cache, in several processes; yield how many cars are done after each."""
    missing = [car for car in cars if not cache_file(car).is_file()]
    done = len(cars) - len(missing)
    yield done
    workers = min(workers or os.cpu_count() or 1, len(missing))
    if workers <= 1:
        for car in missing:
            views(car)
            done += 1
            yield done
        return
    # The workers ignore Ctrl-C; this process handles it: it cancels the cars not begun and waits for the rest.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        for _ in pool.map(_render, missing):
            done += 1
            yield done
    finally:
        pool.shutdown(cancel_futures=True)


def _render(car: Car) -> None:
    views(car)  # the result stays in the cache: it need not travel between processes


def cache_folder() -> Path:
    chosen = os.environ.get("NPI_CACHE")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(chosen) if chosen else home / "npi") / "views"


def cache_file(car: Car) -> Path:
    """Where the cache keeps a car's views, whether or not it has them."""
    grid = f"{_source_hash()} {IMAGE_SIDE} {AZIMUTHS} {ELEVATIONS}"
    digest = hashlib.sha256(f"{grid} {car.number} {car.training} {car.forward} {car.up}".encode())
    if car.file is not None:  # a mesh file may refer to other files, so the loaded mesh is hashed
        mesh = car.mesh()
        for part in (mesh.vertices, mesh.faces, mesh.colours, mesh.texture, mesh.uv, *mesh.textures):
            digest.update(b"" if part is None else part.tobytes())
    return cache_folder() / f"{digest.hexdigest()[:32]}.npz"


def cache_size() -> tuple[int, int]:
    """The number of files in the cache, and their total size in bytes."""
    folder = cache_folder()
    sizes = [file.stat().st_size for file in folder.glob("*.npz")] if folder.is_dir() else []
    return len(sizes), sum(sizes)


def clear_cache() -> None:
    shutil.rmtree(cache_folder(), ignore_errors=True)


def _store(path: Path, rendered: np.ndarray) -> None:
    data = BytesIO()
    np.savez_compressed(data, views=rendered)
    try:
        write(path, data.getvalue())
    except BadInput as error:  # a warning is enough: the views are in memory
        print(f"npi: the views of a car could not be cached: {error}", file=sys.stderr)


@lru_cache(maxsize=1)
def _source_hash() -> str:
    """A hash of every module in npi/cars."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
