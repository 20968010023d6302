"""Pictures of cars put together: a contact sheet, and a trajectory as the paper's figure 6 shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from npi.cars.render import Renderer
from npi.cars.shapes import body_type, make_car

CAPTION = 18  # pixels under a picture
TEXT = 12


def captioned(pixels: np.ndarray, caption: str) -> Image.Image:
    """A picture with a line of text under it."""
    height, width = pixels.shape[:2]
    image = Image.new("RGB", (width, height + CAPTION), "white")
    image.paste(Image.fromarray(pixels[..., :3]), (0, 0))
    font = ImageFont.load_default(TEXT)
    ImageDraw.Draw(image).text((width / 2, height + CAPTION / 2), caption, fill="black", font=font, anchor="mm")
    return image


def grid(images: Sequence[Image.Image], columns: int) -> Image.Image:
    width, height = images[0].size
    rows = -(-len(images) // columns)
    sheet = Image.new("RGB", (width * min(columns, len(images)), height * rows), "white")
    for index, image in enumerate(images):
        sheet.paste(image, (width * (index % columns), height * (index // columns)))
    return sheet


def contact_sheet(numbers: Sequence[int], columns: int = 10) -> Image.Image:
    """Made-up cars, each from a pose of its own."""
    images = []
    for index, number in enumerate(numbers):
        azimuth, elevation = (-60, -30, 30, 60)[index % 4], (15, 30, 15, 0)[index // 4 % 4]
        pixels = Renderer(make_car(number)).view(azimuth, elevation)
        images.append(captioned(pixels, f"{number} {body_type(number)}"))
    return grid(images, columns)


def save_trajectory(path: Path, pictures: Sequence[np.ndarray], captions: Sequence[str]) -> None:
    """Side by side in a PNG, or one after the other in a GIF."""
    images = [captioned(pixels, caption) for pixels, caption in zip(pictures, captions, strict=True)]
    if path.suffix.lower() == ".gif":
        last = 3 * [images[-1]]  # rest at the end
        images[0].save(path, save_all=True, append_images=images[1:] + last, duration=600, loop=0)
    else:
        grid(images, len(images)).save(path)
