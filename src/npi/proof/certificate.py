"""Certificates: records of proofs, each to be compared with a repetition of its proof.

A certificate is a JSON file. It holds hashes of the weights, of the task's source, of the code that the proof rests on
and of the reachable histories. Whoever repeats the proof computes the hashes again, and so notices any change.
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

FORMAT = 1  # of the file; a change that older versions cannot read increases it
# The rooms (folders of src/npi) that a proof rests on. A certificate's hash of the code covers every module in them.
PROOF_ROOMS = ("language", "network", "proof")


@dataclass(frozen=True)
class Certificate:
    """A proof that a model runs a task as its teacher does, on problems of every size."""

    format: int
    task: str
    teacher: str
    # SHA-256 of every tensor, the model's configuration, and the programs' names and generations (see NPI.generations).
    weights: str
    source: str  # SHA-256 of the files that define the environment and the teacher
    proof: str  # SHA-256 of the modules in PROOF_ROOMS
    histories: int  # reachable histories
    calls: int  # pairs of a call and an abstract state in which the call is entered
    explored: str  # SHA-256 of the reachable histories and the decision after each
    margin: float  # the smallest margin of all decisions, in logits (see npi.network.decision.margin)
    margin_needed: float  # what the proof requires of every margin
    # Versions.
    npi: str
    torch: str
    python: str

    def differences(self, other: Certificate) -> list[str]:
        """How a certificate of the repeated proof differs from this one, in words; empty if the proof still holds.

        Versions may differ. Margins may differ by up to MARGIN, because machines round differently.
        """
        messages = {
            "weights": "the weights differ",
            "source": "the task's source has changed",
            "proof": "the code that the proof rests on has changed",
            "explored": "the reachable histories have changed",
        }
        found = []
        for name in ("format", "task", "teacher", *messages, "histories", "calls", "margin_needed"):
            expected, actual = getattr(self, name), getattr(other, name)
            if expected != actual:
                found.append(messages.get(name) or f"{name} is {actual}, not {expected}")
        if abs(self.margin - other.margin) > MARGIN:
            found.append(f"the margin is {other.margin:.4f}, not {self.margin:.4f}")
        return found


def certify(model: NPI, task: Task, exploration: Exploration, comparison: Comparison) -> Certificate:
    """The certificate of a proof that succeeded."""
    if not comparison.proved:
        raise ValueError("the proof failed, so there is nothing to certify")
    sources = {inspect.getfile(thing) for thing in (task.env, *(p.function for p in exploration.programs()))}
    return Certificate(
        FORMAT,
        task.name,
        task.teacher,
        _hash_weights(model),
        _hash_files(Path(source) for source in sources),
        _hash_files(path for room in PROOF_ROOMS for path in (Path(__file__).parents[1] / room).glob("*.py")),
        comparison.histories,
        len(exploration.summaries),
        _hash_histories(exploration.histories),
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
        raise BadInput(f"there is no certificate {path}: write one with npi verify TASK --certificate {path}")
    try:
        read: Any = json.loads(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise BadInput(
            f"{path} is not a certificate, or only a part of one ({error}): write it again with npi verify"
        ) from error
    types = {f.name: {"int": int, "str": str, "float": (int, float)}[str(f.type)] for f in fields(Certificate)}
    if not isinstance(read, dict) or set(read) != set(types):
        raise BadInput(f"{path} is not a certificate of this version: {_wrong_fields(read, set(types))}")
    for name, kind in types.items():
        if not isinstance(read[name], kind):
            raise BadInput(f"{path} is not a certificate: {name} is {read[name]!r}")
    return Certificate(**read)


def _wrong_fields(read: Any, expected: set[str]) -> str:
    if not isinstance(read, dict):
        return "it is not a JSON object"
    faults = (("lacks", expected - set(read)), ("has the unknown fields", set(read) - expected))
    return "; ".join(f"it {fault} {', '.join(sorted(names))}" for fault, names in faults if names)


def _hash_weights(model: NPI) -> str:
    digest = hashlib.sha256(json.dumps([model.programs, model.generations, asdict(model.config)]).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _hash_files(paths: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()


def _hash_histories(histories: Histories) -> str:
    digest = hashlib.sha256()
    for parent, call, observation, decision in zip(
        histories.parent, histories.call, histories.observation, histories.decision, strict=True
    ):
        called = None if decision is None else (decision.program, decision.args)
        digest.update(repr((parent, call.program, call.args, tuple(map(int, observation)), called)).encode())
    return digest.hexdigest()
