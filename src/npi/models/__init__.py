"""Where the models are that come with the package."""

from pathlib import Path

SHIPPED = Path(__file__).parent / "default"
CARS = Path(__file__).parent / "cars"


def shipped(task: str) -> Path:
    """The model that comes with the package for a task."""
    return CARS if task == "cars" else SHIPPED
