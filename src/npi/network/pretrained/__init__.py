"""The models that ship with the package."""

from pathlib import Path

DEFAULT_MODEL = Path(__file__).parent / "default"
