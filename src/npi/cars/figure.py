"""Figures of cars: a contact sheet, and a camera trajectory as in the paper's figure 6."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from npi.cars.procedural import body_type, make_car
from npi.cars.render import Renderer

CAPTION_HEIGHT = 18  # pixels below an image
FONT_SIZE = 12
FRAME_MILLISECONDS = 600  # each frame of a GIF
LAST_FRAMES = 4  # a GIF shows its last frame this many times before it starts again
# Consecutive cars on a contact sheet are seen from the next azimuth each, every four of them from the next elevation.
SHEET_AZIMUTHS = (-60, -30, 30, 60)
SHEET_ELEVATIONS = (15, 30, 15, 0)


def captioned(pixels: np.ndarray, caption: str) -> Image.Image:
    """An image with a line of text below it."""
    height, width = pixels.shape[:2]
    image = Image.new("RGB", (width, height + CAPTION_HEIGHT), "white")
    image.paste(Image.fromarray(pixels[..., :3]), (0, 0))
    middle = (width / 2, height + CAPTION_HEIGHT / 2)
    ImageDraw.Draw(image).text(middle, caption, fill="black", font=ImageFont.load_default(FONT_SIZE), anchor="mm")
    return image


def grid(images: Sequence[Image.Image], columns: int) -> Image.Image:
    """Images of one size, row by row."""
    width, height = images[0].size
    rows = -(-len(images) // columns)
    sheet = Image.new("RGB", (width * min(columns, len(images)), height * rows), "white")
    for index, image in enumerate(images):
        sheet.paste(image, (width * (index % columns), height * (index // columns)))
    return sheet


def contact_sheet(numbers: Sequence[int], columns: int = 10) -> Image.Image:
    """Procedural cars, captioned with their numbers and body types."""
    images = []
    for index, number in enumerate(numbers):
        row, column = divmod(index, len(SHEET_AZIMUTHS))
        azimuth, elevation = SHEET_AZIMUTHS[column], SHEET_ELEVATIONS[row % len(SHEET_ELEVATIONS)]
        pixels = Renderer(make_car(number)).view(azimuth, elevation)
        images.append(captioned(pixels, f"{number} {body_type(number)}"))
    return grid(images, columns)


def save_trajectory(path: Path, images: Sequence[np.ndarray], captions: Sequence[str]) -> None:
    """The images of a trajectory: a GIF if the path ends in .gif, otherwise one image with all of them side by side."""
    frames = [captioned(pixels, caption) for pixels, caption in zip(images, captions, strict=True)]
    if path.suffix.lower() == ".gif":
        rest = frames[1:] + (LAST_FRAMES - 1) * [frames[-1]]
        frames[0].save(path, save_all=True, append_images=rest, duration=FRAME_MILLISECONDS, loop=0)
    else:
        grid(frames, len(frames)).save(path)
