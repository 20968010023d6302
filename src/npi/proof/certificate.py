"""Certificates: records of proofs, to be checked without repeating the search.

A certificate is a JSON file. It holds hashes of all that the proof rests on, what the proof found, and the proof table:
the abstract states, call summaries and decisions that checker.py checks. `npi verify TASK --check FILE` computes the
hashes again, checks the table, compares the network with it, and says what differs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import platform
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, get_args, get_origin, get_type_hints

from npi import __version__
from npi.errors import BadInput
from npi.files import write

if TYPE_CHECKING:
    from npi.network.model import NPI
    from npi.proof.compare import Comparison
    from npi.proof.reachable import Reachable

FORMAT = 2  # of the file; a change that older versions cannot read increases it
# A larger table, when compressed, is not stored: the certificate then holds its hash alone, and checking a proof finds
# the table again.
MAX_TABLE_BYTES = 2_000_000
LIBRARIES = ("torch", "numpy")  # whose versions a certificate records, beside those of npi and Python


@dataclass(frozen=True)
class Certificate:
    """A proof that a model runs a task as its teacher does, on problems of every size.

    task, teacher   what was proved
    weights         SHA-256 of every tensor of the model
    config          SHA-256 of its configuration, and of its programs' names and generations (see `mask_newer_keys`)
    files           SHA-256 of each file that the proof rests on (see source_files.py)
    table           SHA-256 of the proof table, as `proof_hash` computes it
    program         SHA-256 of the part of the table that a compiled program consists of
    histories       how many histories the network was compared with the teacher after
    calls           how many pairs of a call and an abstract state in which it is entered
    problems        how many concrete problems were run: their histories were all in the table
    margin          the smallest margin of a decision as computed, in logits (see npi.network.decision.margin)
    rounding        the largest bound on the rounding error of a logit that a decision rests on
    guaranteed      for each program, the smallest margin less the bounds on rounding errors: how far, in logits, the
                    exact network is from another decision
    margin_needed   what the proof requires of each of these
    assumptions     what the proof assumes and does not check (docs/proof.md)
    versions        of npi, Python and the libraries that computed the proof
    """

    task: str
    teacher: str
    weights: str
    config: str
    files: dict[str, str]
    table: str
    program: str
    histories: int
    calls: int
    problems: int
    margin: float
    rounding: float
    guaranteed: dict[str, float]
    margin_needed: float
    assumptions: list[str]
    versions: dict[str, str]
    format: int = field(default=FORMAT)

    @property
    def digest(self) -> str:
        """SHA-256 of all fields. Whoever edits a field changes it."""
        return _hash(asdict(self))

    def differences(self, other: Certificate) -> list[str]:
        """How a certificate of the repeated proof differs from this one, in words; empty if the proof still holds.

        Versions and the number of sampled problems may differ, and margins by their rounding. How much that is comes
        from the repeated proof alone: what a file says of itself allows nothing.
        """
        found = []
        for name, message in (("weights", "the weights differ"), ("config", "the model's configuration differs")):
            if getattr(self, name) != getattr(other, name):
                found.append(message)
        found += file_differences(self.files, other.files)
        if (self.table, self.program) != (other.table, other.program):
            found.append("the proof table differs")
        for name in ("task", "teacher", "histories", "calls", "margin_needed", "assumptions"):
            expected, actual = getattr(self, name), getattr(other, name)
            if expected != actual:
                found.append(f"{name} is {actual}, not {expected}")
        allowed = 4 * other.rounding
        if not abs(self.rounding - other.rounding) <= allowed:
            found.append(f"the largest bound on rounding errors is {other.rounding!r}, not {self.rounding!r}")
        if not abs(self.margin - other.margin) <= allowed:
            found.append(f"the margin is {other.margin!r}, not {self.margin!r}")
        if self.guaranteed.keys() != other.guaranteed.keys() or not all(
            abs(margin - other.guaranteed[program]) <= allowed for program, margin in self.guaranteed.items()
        ):
            found.append("the guaranteed margins of the programs differ")
        return found


def certify(model: NPI, files: dict[str, str], reachable: Reachable, comparison: Comparison) -> Certificate:
    """The certificate of a proof that succeeded."""
    from npi.proof.compare import MARGIN

    if not comparison.proved:
        raise ValueError("the proof failed, so there is nothing to certify")
    return Certificate(
        task=reachable.task.name,
        teacher=reachable.task.teacher,
        weights=_hash_weights(model),
        config=_hash([model.programs, model.generations, model.extra_keys, asdict(model.config)]),
        files=files,
        table=proof_hash(reachable.document),
        program=program_hash(reachable.document),
        histories=comparison.histories,
        calls=len(reachable.document["summaries"]),
        problems=reachable.problems,
        margin=comparison.margin,
        rounding=comparison.rounding,
        guaranteed=comparison.guaranteed_by_program,
        margin_needed=MARGIN,
        assumptions=reachable.assumptions(),
        versions=_versions(),
    )


def file_differences(expected: Mapping[str, str], actual: Mapping[str, str]) -> list[str]:
    """The files whose hashes differ, in words."""
    changed = sorted(name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name))
    return [f"{', '.join(changed)}: changed since the proof"] if changed else []


def proof_hash(table: Mapping[str, Any]) -> str:
    return _hash(table)


def program_hash(table: Mapping[str, Any]) -> str:
    """The hash of what a compiled program and a proof table have in common."""
    return _hash([table["decisions"], table["nodes"], table["calls"]])


def save_certificate(certificate: Certificate, table: Mapping[str, Any], path: Path) -> None:
    """Write a certificate with its proof table, if that is not too large."""
    packed = zlib.compress(_canonical(table).encode(), 9)
    content = asdict(certificate) | {
        "digest": certificate.digest,
        "proof_table": base64.b64encode(packed).decode() if len(packed) <= MAX_TABLE_BYTES else None,
    }
    write(path, (json.dumps(content, indent=2) + "\n").encode())


def load_certificate(path: Path) -> tuple[Certificate, dict[str, Any] | None]:
    """A certificate, and its proof table if it is stored with it."""
    if not path.is_file():
        raise BadInput(f"there is no certificate {path}: write one with npi verify TASK --certificate {path}")
    try:
        read: Any = json.loads(path.read_text("utf-8"), parse_constant=_no_number)
    except (ValueError, OSError) as error:
        raise BadInput(
            f"{path} is not a certificate, or only a part of one ({error}): write it again with npi verify"
        ) from error
    if not isinstance(read, dict):
        raise BadInput(f"{path} is not a certificate: it is not a JSON object")
    packed = read.pop("proof_table", None)
    certificate = read_certificate(read, str(path))
    if packed is None:
        return certificate, None
    try:
        table = json.loads(zlib.decompress(base64.b64decode(packed)))
        if proof_hash(table) == certificate.table:
            return certificate, table
    except (ValueError, TypeError, zlib.error):
        pass
    raise BadInput(f"{path} was edited: its proof table is not the one that was proved. Write it again with npi verify")


def read_certificate(read: Any, where: str) -> Certificate:
    """A certificate from its JSON object, with its digest. `where` is for errors."""
    if not isinstance(read, dict):
        raise BadInput(f"{where} holds no certificate: it is not a JSON object")
    if read.get("format") != FORMAT:
        raise BadInput(
            f"{where} holds no certificate of this version: its format is {read.get('format')!r}, not {FORMAT}. Prove "
            f"the task again"
        )
    read = dict(read)
    digest = read.pop("digest", None)
    names = {one.name for one in fields(Certificate)}
    if read.keys() != names:
        faults = (("lacks", names - read.keys()), ("has the unknown fields", read.keys() - names))
        text = "; ".join(f"it {fault} {', '.join(sorted(map(str, found)))}" for fault, found in faults if found)
        raise BadInput(f"{where} holds no certificate: {text}")
    hints = get_type_hints(Certificate)
    if wrong := [name for name, value in read.items() if not _has_type(value, hints[name])]:
        raise BadInput(f"{where} holds no certificate: {', '.join(wrong)} has a value of another type")
    certificate = Certificate(**read)
    if certificate.digest != digest:
        raise BadInput(f"{where} was edited: its fields do not have the digest that it gives. Prove the task again")
    return certificate


def _has_type(value: Any, kind: Any) -> bool:
    """Whether a value read from JSON is of the type of a field. Numbers must be finite."""
    parts = get_args(kind)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(_has_type(one, parts[1]) for one in value.values())
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_has_type(one, parts[0]) for one in value)
    return type(value) is kind and (kind is not float or math.isfinite(value))


def _no_number(text: str) -> Never:
    raise ValueError(f"{text} is no number")


def _canonical(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False)


def _hash(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode()).hexdigest()


def _hash_weights(model: NPI) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        # With names, types and shapes, so that no value can move from one tensor to another.
        digest.update(_canonical([name, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    return {"npi": __version__, "python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}
