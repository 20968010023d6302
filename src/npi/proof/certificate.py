"""Certificates: what was proved of which weights, by which teacher, so that it can be checked again.

A certificate is JSON. It names the weights, the sources of the task and of the proof, and what was explored, each by a
hash; a change of any of them is found when the proof is repeated.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch

from npi import __version__
from npi.errors import BadInput
from npi.files import write
from npi.language.task import Task
from npi.network.model import NPI
from npi.proof.compare import MARGIN, Comparison
from npi.proof.explore import Exploration
from npi.proof.histories import Histories

FORMAT = 1
# The rooms that the proof rests on: every module in them is part of the certificate.
PROOF = ("language", "network", "proof")


@dataclass(frozen=True)
class Certificate:
    """That a model runs a task as its teacher does, on problems of every size."""

    format: int
    task: str
    teacher: str
    weights: str  # sha256 of every tensor, with the programs' names and generations
    source: str  # of the files that hold the environment and the teacher
    proof: str  # of the files that the proof rests on
    histories: int
    calls: int  # pairs of a call and a state in which it is entered
    explored: str  # of all histories, and the decision after each
    margin: float  # the smallest lead of a choice over the next, in logits
    margin_needed: float
    npi: str
    torch: str
    python: str

    def differences(self, other: Certificate) -> list[str]:
        """What this one says that another does not; versions and the last digits of the margin may differ."""
        told = {
            "weights": "the weights are other ones",
            "source": "the task's source has changed",
            "proof": "the code of the proof has changed",
            "explored": "what is explored has changed",
        }
        found = []
        for name in ("format", "task", "teacher", *told, "histories", "calls", "margin_needed"):
            mine, its = getattr(self, name), getattr(other, name)
            if mine != its:
                found.append(told.get(name) or f"{name} is {its}, not {mine}")
        if abs(self.margin - other.margin) > MARGIN:
            found.append(f"the margin is {other.margin:.4f}, not {self.margin:.4f}")
        return found


def certify(model: NPI, task: Task, exploration: Exploration, comparison: Comparison) -> Certificate:
    if not comparison.proved:
        raise ValueError("there is nothing to certify: the proof failed")
    sources = {inspect.getfile(thing) for thing in (task.env, *(p.function for p in exploration.programs()))}
    return Certificate(
        FORMAT,
        task.name,
        task.teacher,
        _weights(model),
        _files(Path(source) for source in sources),
        _files(path for room in PROOF for path in (Path(__file__).parents[1] / room).glob("*.py")),
        comparison.histories,
        len(exploration.summaries),
        _explored(exploration.histories),
        comparison.margin,
        MARGIN,
        __version__,
        torch.__version__,
        ".".join(map(str, sys.version_info[:3])),
    )


def save_certificate(certificate: Certificate, path: Path) -> None:
    write(path, (json.dumps(asdict(certificate), indent=2) + "\n").encode())


def load_certificate(path: Path) -> Certificate:
    if not path.is_file():
        raise BadInput(f"there is no certificate {path}")
    try:
        read: Any = json.loads(path.read_text())
    except (ValueError, OSError) as error:
        raise BadInput(f"{path} is no certificate, or only a part of one ({error}): make it anew") from error
    wanted = {f.name: {"int": int, "str": str, "float": (int, float)}[str(f.type)] for f in fields(Certificate)}
    if not isinstance(read, dict) or set(read) != set(wanted):
        odd = sorted(set(wanted) ^ set(read)) if isinstance(read, dict) else ["all of it"]
        raise BadInput(f"{path} is no certificate of this version: {', '.join(odd)} should or should not be there")
    for name, kind in wanted.items():
        if not isinstance(read[name], kind):
            raise BadInput(f"{path} is no certificate: {name} is {read[name]!r}")
    return Certificate(**read)


def _weights(model: NPI) -> str:
    digest = hashlib.sha256(json.dumps([model.programs, model.generations, asdict(model.config)]).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _files(paths: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()


def _explored(histories: Histories) -> str:
    digest = hashlib.sha256()
    for parent, call, observation, decision in zip(
        histories.parent, histories.call, histories.observation, histories.decision, strict=True
    ):
        decided = None if decision is None else (decision.program, decision.args)
        digest.update(repr((parent, call.program, call.args, tuple(map(int, observation)), decided)).encode())
    return digest.hexdigest()
