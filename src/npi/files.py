"""Writing files: whole or not at all."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

from npi.errors import BadInput


def check_writable(folder: Path) -> None:
    """Raise BadInput unless a folder exists, or can be created, and can be written to."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not existing.is_dir():
        raise BadInput(f"{folder} cannot be a folder: {existing} is a file; move it away, or choose another place")
    if not os.access(existing, os.W_OK):
        raise BadInput(f"nothing can be written to {folder}: {existing} is read-only; choose another place")


def write(path: Path, data: bytes) -> None:
    """Write to a temporary file, then rename it to `path`: a reader finds the old file or the new one, never a part."""
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
        kept = "; the file that was there is untouched" if path.exists() else ""
        raise BadInput(f"{path} could not be written: {error.strerror or error}{kept}") from error
