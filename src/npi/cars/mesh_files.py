"""Meshes from files, read through trimesh. Files are untrusted: size, references and contents are checked first."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import trimesh
from trimesh.resolvers import Resolver

from npi.cars.mesh import AXES, Mesh, axes_matrix
from npi.errors import BadInput

FORMATS = (".glb", ".obj", ".ply", ".stl")
# Limits that keep a file from filling the memory; car models have a few MB and some 100,000 triangles.
MAX_BYTES = 256 * 2**20
MAX_TRIANGLES = 2_000_000
FILE_GLOSS = 0.15  # a slight shine, chosen by eye: files have no value for `Mesh.gloss`
DEFAULT_GREY = 0.7  # the colour of parts without one


def load_mesh(path: Path, forward: str = "+Z", up: str = "+Y") -> Mesh:
    """The normalised mesh in a file, with colours and textures; raises BadInput for a file that is no usable mesh."""
    if forward not in AXES or up not in AXES or AXES[forward] == AXES[up]:
        raise BadInput(f"forward {forward} and up {up} must be two different axes of {', '.join(AXES)}")
    check_file(path)
    parts = _parts(path)
    mesh = _joined(parts)
    lowest, highest = int(mesh.faces.min()), int(mesh.faces.max())
    if lowest < 0 or highest >= len(mesh.vertices):
        wrong = lowest if lowest < 0 else highest
        raise BadInput(
            f"{path} has a triangle with vertex {wrong}, but {len(mesh.vertices):,} vertices: repair the mesh"
        )
    bad = int((~np.isfinite(mesh.vertices)).any(1).sum())
    if bad:
        raise BadInput(
            f"{path} has {bad:,} of {len(mesh.vertices):,} vertices that are not finite numbers: repair the mesh"
        )
    if not np.ptp(mesh.vertices, axis=0).max() > 0:
        raise BadInput(f"all vertices of {path} lie in one point: there is nothing to render")
    return mesh.transformed(axes_matrix(forward, up)).normalised()


def check_file(path: Path) -> None:
    """Raise BadInput unless a file exists, has a known format, and is not too large."""
    if not path.is_file():
        raise BadInput(f"there is no file {path}")
    if path.suffix.lower() not in FORMATS:
        raise BadInput(f"{path} is not in a known mesh format: give one of {', '.join(FORMATS)}")
    if path.stat().st_size > MAX_BYTES:
        size = path.stat().st_size / 2**20
        raise BadInput(
            f"{path} has {size:,.0f} MiB, more than the limit of {MAX_BYTES / 2**20:,.0f}: simplify the mesh"
        )


class _Folder(Resolver):
    """Gives trimesh the files in a mesh's own folder, and no others. `faults` lists the references it refused."""

    def __init__(self, folder: Path):
        self.folder = folder.resolve()
        self.faults: list[str] = []

    def get(self, key: Any) -> bytes:
        name = key.decode() if isinstance(key, bytes) else str(key)
        path = (self.folder / unquote(name).strip().replace("\\", "/")).resolve()
        if not path.is_relative_to(self.folder):
            self.faults.append(f"it refers to {name}, outside its own folder")
        elif not path.is_file():
            self.faults.append(f"it refers to {name}, which does not exist")
        elif path.stat().st_size > MAX_BYTES:
            self.faults.append(f"it refers to {name}, which is too large")
        else:
            return path.read_bytes()
        raise ValueError(self.faults[-1])

    def __getitem__(self, key: Any) -> bytes:
        return self.get(key)

    def keys(self) -> list[str]:
        return []

    def write(self, name: str, data: Any) -> None:
        raise ValueError("this resolver is read-only")

    def namespaced(self, namespace: str) -> _Folder:
        return self


def _parts(path: Path) -> list[Any]:
    """The meshes in a file, each at its place in the scene."""
    logging.getLogger("trimesh").setLevel(logging.CRITICAL)  # its warnings are replaced by our BadInput
    resolver = _Folder(path.parent)
    try:
        with open(path, "rb") as file:
            scene = trimesh.load_scene(file, file_type=path.suffix[1:].lower(), resolver=resolver, process=False)
        placed = [scene.geometry[name] for _, name in map(scene.graph.get, scene.graph.nodes_geometry)]
        _check_triangles(path, sum(len(part.faces) for part in placed if isinstance(part, trimesh.Trimesh)))
        parts = [part for part in scene.dump() if isinstance(part, trimesh.Trimesh)]
    except BadInput:
        raise
    except Exception as error:
        if resolver.faults:
            raise BadInput(f"{path} cannot be used: {resolver.faults[0]}") from error
        raise BadInput(f"{path} is not a mesh that can be read ({type(error).__name__}: {error})") from error
    if resolver.faults:
        raise BadInput(f"{path} cannot be used: {resolver.faults[0]}")
    return parts


def _check_triangles(path: Path, triangles: int) -> None:
    """Raise BadInput for none or too many. Call it before `scene.dump`, which copies repeated parts."""
    if not triangles:
        raise BadInput(f"{path} has no triangles: there is nothing to render")
    if triangles > MAX_TRIANGLES:
        raise BadInput(f"{path} has {triangles:,} triangles, more than {MAX_TRIANGLES:,}: simplify the mesh")


def _joined(parts: list[Any]) -> Mesh:
    """One mesh of several parts, each with its own colours or texture."""
    vertices, faces, colours, texture, uv = [], [], [], [], []
    textures: dict[int, tuple[int, np.ndarray, Any]] = {}  # by identity: parts may share an image
    first = 0
    for part in parts:
        count = len(part.faces)
        vertices.append(np.asarray(part.vertices, dtype=float))
        faces.append(np.asarray(part.faces) + first)
        first += len(part.vertices)
        colour, image, part_uv = _surface(part)
        colours.append(colour)
        if image is not None and id(image) not in textures:
            pixels = np.asarray(image.convert("RGB"), dtype=np.float32) / 255
            textures[id(image)] = (len(textures), pixels, image)
        texture.append(np.full(count, textures[id(image)][0] if image is not None else -1))
        uv.append(part_uv)
    return Mesh(
        np.concatenate(vertices),
        np.concatenate(faces),
        np.concatenate(colours),
        np.full(sum(map(len, faces)), FILE_GLOSS),
        np.concatenate(texture),
        np.concatenate(uv),
        tuple(pixels for _, pixels, _ in textures.values()),
    )


def _surface(part: Any) -> tuple[np.ndarray, Any, np.ndarray]:
    """A part's face colours [F, 3], its texture image or None, and its texture coordinates [F, 3, 2]."""
    count = len(part.faces)
    no_uv = np.zeros((count, 3, 2))
    visual = part.visual
    if visual.kind == "texture":
        material = visual.material
        factor = getattr(material, "baseColorFactor", None)
        factor = np.asarray(factor if factor is not None else getattr(material, "diffuse", (255,) * 4))[:3]
        factor = factor / 255 if np.issubdtype(factor.dtype, np.integer) else factor
        image = getattr(material, "baseColorTexture", None)
        image = image if image is not None else getattr(material, "image", None)
        if image is not None and visual.uv is not None:
            # GLB multiplies the texture by this colour. In the other formats the texture replaces the colour.
            base = np.ones(3) if not hasattr(material, "baseColorFactor") else factor
            return np.tile(base, (count, 1)), image, np.asarray(visual.uv, dtype=float)[part.faces]
        return np.tile(factor, (count, 1)), None, no_uv
    if visual.kind in ("face", "vertex"):
        return np.asarray(visual.face_colors, dtype=float)[:, :3] / 255, None, no_uv
    return np.full((count, 3), DEFAULT_GREY), None, no_uv
