"""Certificates of tables that no network was compared with: for tests of what reads certificates and tables."""

import json
from dataclasses import replace

from npi import tasks
from npi.language.task import Task
from npi.proof.certificate import Certificate, program_hash, read_certificate
from npi.proof.program_table import ProgramTable
from npi.proof.source_files import hash_files


def certified(table: ProgramTable, task: Task | None = None) -> ProgramTable:
    """A table with a certificate that fits the table and the code of today. `task`: if it is not a built-in one."""
    document = table.document()
    certificate = Certificate(
        task=table.task,
        teacher=table.teacher,
        weights="",
        config="",
        files=hash_files(task or tasks.find(table.task, table.teacher)),
        table="",
        program=program_hash(document),
        histories=1,
        calls=len(document["calls"]),
        problems=0,
        margin=1.0,
        rounding=0.0,
        guaranteed={},
        margin_needed=0.0,
        assumptions=[],
        versions={},
    )
    return ProgramTable(table.task, table.teacher, table.entry_states, table.states, certificate)


def resealed(content: dict) -> str:
    """A stored table that was edited, with hashes that fit: what is left to find is in the table itself."""
    certificate = read_certificate(content["certificate"], "the original")
    edited = replace(certificate, task=content["task"], teacher=content["teacher"], program=program_hash(content))
    fields = {name: getattr(edited, name) for name in content["certificate"] if name != "digest"}
    return json.dumps(content | {"certificate": fields | {"digest": edited.digest}})
