"""The machine and the versions that a measurement was made with."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from npi import __version__

COMMIT_VARIABLE = "NPI_COMMIT"  # an environment variable: names the commit of sources outside a repository


def describe_machine(device: str = "cpu") -> dict[str, Any]:
    """Processor, cores, GPU, versions and git commit, to be stored beside every measurement."""
    import numpy
    import torch

    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if device == "cuda" and torch.cuda.max_memory_allocated() else None,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "torch": torch.__version__,
        "npi": __version__,
        "commit": commit(),
    }


def processor() -> str:
    """The name of the processor, where Linux gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def commit() -> str | None:
    """The git commit of this source tree, with "+" if files were changed since.

    Outside a repository, such as in a copy of the sources: the value of NPI_COMMIT, or None if it is not set.
    """
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"],
            cwd=here,
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get(COMMIT_VARIABLE)
    return found.stdout.strip()
