"""npi verify"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from npi.cli.arguments import Device, ModelFolder, TaskName
from npi.cli.output import print_json
from npi.errors import BadInput
from npi.files import check_writable


def verify(
    task: Positional[TaskName],
    *,
    model: ModelFolder = None,
    certificate: Annotated[Path | None, arg(metavar="FILE")] = None,
    check: Annotated[Path | None, arg(metavar="FILE")] = None,
    device: Device = "auto",
    json: bool = False,
) -> int:
    """Prove that a learned program equals its teacher on problems of every size, or find where it does not.

    Args:
        task: A task that the model learned from its recursive teacher.
        model: The folder of a trained model.
        certificate: Write a certificate of the proof to FILE.
        check: Check the proof in the certificate FILE, without searching for it again.
        device: Where the network runs.
        json: Print the result as JSON.
    """
    import npi
    from npi.cli.progress import show_progress
    from npi.proof.certificate import save_certificate

    if certificate is not None and check is not None:
        raise BadInput("--certificate writes a certificate and --check reads one: give one of them")
    if certificate is not None:
        check_writable(certificate.parent)
    with show_progress() as progress:
        result = npi.verify(task, model, certificate=check, device=device, progress=progress)
    words, differences = [str(result)], []
    if isinstance(result, npi.Proof):
        differences = list(result.differences)
        if certificate is not None:
            save_certificate(result.certificate, result.table, certificate)
            words.append(f"wrote {certificate}")
        if check is not None:
            words.append(f"{check}: {'; '.join(differences) if differences else 'holds'}")
    if json:
        print_json(_as_json(result) | ({"differences": differences} if check is not None else {}))
    else:
        print(*words, sep="\n")
    return int(not result.proved or bool(differences))


def _as_json(result: Any) -> dict[str, Any]:
    out = {
        "task": result.task.name,
        "teacher": result.task.teacher,
        "proved": result.proved,
        "histories": result.comparison.histories,
        "calls": result.calls,
        "wrong": len(result.comparison.wrong_nodes),
        "unsure": len(result.comparison.unsure_nodes),
        "margin": result.comparison.margin,
        "seconds": {stage: round(seconds, 2) for stage, seconds in result.seconds.items()},
    }
    if result.proved:
        return out | {"certificate": asdict(result.certificate)}
    return out | {"problem": result.problem, "program": result.frame and result.frame.call.program}
