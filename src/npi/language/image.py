"""Pictures: what an environment shows beside its fields of small integers."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

SIDE = 128


class Picture:
    """Pixels [SIDE, SIDE, 4], RGBA in bytes. Pictures with equal pixels are equal, so they can be part of a history.

    Only the colours are seen. Alpha marks the object: training may put other surroundings behind it. The caption is
    what a teacher says of the picture, as small integers: training asks the network to say the same, and never shows
    it.
    """

    __slots__ = ("caption", "digest", "pixels")

    def __init__(self, pixels: np.ndarray, caption: tuple[int, ...] = ()):
        if pixels.dtype != "uint8" or pixels.shape != (SIDE, SIDE, 4):
            raise ValueError(f"a picture is [{SIDE}, {SIDE}, 4] in bytes, but this is {pixels.shape} of {pixels.dtype}")
        self.pixels, self.caption = pixels, caption
        self.digest = hashlib.blake2b(pixels.tobytes(), digest_size=16).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Picture) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __deepcopy__(self, memo: Any) -> Picture:
        return self  # never changed, so never copied

    def __repr__(self) -> str:
        return f"Picture({self.digest.hex()[:8]})"
