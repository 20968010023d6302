"""Camera poses: the grid of azimuths and elevations from which a car is seen, and the paths between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

# The paper's grid (its figure 6): azimuths from -75 to 75 degrees, elevations from 0 to 60, in steps of 15.
STEP_DEGREES = 15
AZIMUTHS = range(-75, 76, STEP_DEGREES)
ELEVATIONS = range(0, 61, STEP_DEGREES)


class Pose(NamedTuple):
    """A camera position in degrees. Azimuth 0 is in front of the car; positive azimuths are to the viewer's right."""

    azimuth: int
    elevation: int


POSES = [Pose(azimuth, elevation) for azimuth in AZIMUTHS for elevation in ELEVATIONS]
PAPER_TARGET = Pose(0, 15)  # the paper's canonical pose


def steps_between(start: Pose, target: Pose) -> int:
    """The number of camera moves from one pose to another."""
    return (abs(start.azimuth - target.azimuth) + abs(start.elevation - target.elevation)) // STEP_DEGREES


def camera_path(start: Pose, target: Pose) -> Iterator[Pose]:
    """The poses from start to target, both included: first along the azimuth, then along the elevation."""
    azimuth, elevation = start
    yield start
    while azimuth != target.azimuth:
        azimuth += STEP_DEGREES if azimuth < target.azimuth else -STEP_DEGREES
        yield Pose(azimuth, elevation)
    while elevation != target.elevation:
        elevation += STEP_DEGREES if elevation < target.elevation else -STEP_DEGREES
        yield Pose(azimuth, elevation)
