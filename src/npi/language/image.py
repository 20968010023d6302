"""Images: what an environment may show beside its fields of small integers."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

IMAGE_SIDE = 128  # pixels, as in the paper


class Image:
    """RGBA pixels [IMAGE_SIDE, IMAGE_SIDE, 4] in bytes. Images with equal pixels are equal: they are part of histories.

    A network sees red, green and blue only. Alpha marks the object, so that augmentation can replace the background.
    `labels` are small integers for an auxiliary loss, such as the camera's pose; they are no part of an observation.

    >>> import numpy as np
    >>> from npi import Image
    >>> Image(np.zeros((128, 128, 4), dtype=np.uint8)) == Image(np.zeros((128, 128, 4), dtype=np.uint8))
    True
    """

    __slots__ = ("digest", "labels", "pixels")

    def __init__(self, pixels: np.ndarray, labels: tuple[int, ...] = ()):
        if pixels.dtype != "uint8" or pixels.shape != (IMAGE_SIDE, IMAGE_SIDE, 4):
            raise ValueError(
                f"an image is [{IMAGE_SIDE}, {IMAGE_SIDE}, 4] in bytes, but this is {pixels.shape} of {pixels.dtype}"
            )
        self.pixels, self.labels = pixels, labels
        self.digest = hashlib.blake2b(pixels.tobytes(), digest_size=16).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Image) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __deepcopy__(self, memo: Any) -> Image:
        return self  # images never change, so they are never copied

    def __repr__(self) -> str:
        return f"Image({self.digest.hex()[:8]})"
