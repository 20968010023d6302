"""npi verify"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from npi import tasks
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
        check: Repeat the proof, and compare it with the certificate in FILE.
        device: Where the network runs.
        json: Print the result as JSON.
    """
    import npi
    from npi.cli.progress import show_progress
    from npi.proof.certificate import load_certificate, save_certificate

    if certificate is not None and check is not None:
        raise BadInput("--certificate writes a certificate and --check reads one: give one of them")
    name = tasks.find_task(task).name
    stored = None if check is None else load_certificate(check)
    if stored is not None and stored.task != name:
        raise BadInput(
            f"{check} is a certificate of {stored.task}, not of {name}: give one of {name}, or run "
            f"npi verify {stored.task}"
        )
    if certificate is not None:
        check_writable(certificate.parent)
    with show_progress() as progress:
        result = npi.verify(task, model, device=device, progress=progress)
    words, differences = [str(result)], []
    if isinstance(result, npi.Proof) and certificate is not None:
        save_certificate(result.certificate, certificate)
        words.append(f"wrote {certificate}")
    if isinstance(result, npi.Proof) and stored is not None:
        differences = stored.differences(result.certificate)
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
        "calls": len(result.exploration.summaries),
        "wrong": len(result.comparison.wrong_nodes),
        "unsure": len(result.comparison.unsure_nodes),
        "margin": result.comparison.margin,
        "seconds": {"exploring": round(result.exploring, 1), "all": round(result.seconds, 1)},
    }
    if result.proved:
        return out | {"certificate": asdict(result.certificate)}
    return out | {"problem": result.problem, "program": result.frame and result.frame.call.program}
