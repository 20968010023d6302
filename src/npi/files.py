"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

from npi.errors import BadInput


def check_place(folder: Path) -> None:
    """Whether a folder is there, or can be made, and files written to it."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise BadInput(f"{folder} cannot be a folder: {there} is a file; move it away, or choose another place")
    if not os.access(there, os.W_OK):
        raise BadInput(f"nothing can be written to {folder}: {there} is read-only; choose another place")


def write(path: Path, data: bytes) -> None:
    """Put data in a file: beside its place first, then moved into it, so that others see the old or the new, whole."""
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink()
        if not isinstance(error, OSError):  # an interrupt
            raise
        kept = "; what was there before is untouched" if path.exists() else ""
        raise BadInput(f"{path} could not be written: {error.strerror or error}{kept}") from error
