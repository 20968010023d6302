"""Where the models are that come with the package."""

from pathlib import Path

SHIPPED = Path(__file__).parent / "default"
