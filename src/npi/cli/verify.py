"""npi verify"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from npi.cli.arguments import Device, ModelFolder, TaskName, find, load, taught
from npi.cli.output import print_json, short
from npi.errors import BadInput
from npi.files import check_writable
from npi.language.program import ACT, Decision
from npi.language.task import Task
from npi.network.pretrained import DEFAULT_MODEL


def verify(
    task: Positional[TaskName],
    *,
    model: ModelFolder = None,
    certificate: Annotated[Path | None, arg(metavar="FILE")] = None,
    check: Annotated[Path | None, arg(metavar="FILE")] = None,
    device: Device = "auto",
    json: bool = False,
) -> int:
    """Prove that a learned program runs as its teacher on problems of every size, or find where it does not.

    Args:
        task: A task the model was taught by its recursive teacher.
        model: The folder of a trained model.
        certificate: Write a certificate of the proof to FILE.
        check: Repeat the proof, and compare it with the certificate in FILE.
        device: Where the network runs.
        json: Print the result as JSON.
    """
    from npi.cli.progress import counted
    from npi.proof.certificate import certify, load_certificate, save_certificate
    from npi.proof.compare import MARGIN, compare
    from npi.proof.counterexample import counterexample
    from npi.proof.explore import Exploration

    if certificate is not None and check is not None:
        raise BadInput("--certificate writes one and --check reads one: give one of them")
    before = load_certificate(check) if check is not None else None
    network = load(model or DEFAULT_MODEL, device)
    known = taught(network, task, find(task))
    if before is not None and before.task != known.name:
        raise BadInput(
            f"{check} is a certificate of {before.task}, not of {known.name}: give one of {known.name}, or say "
            f"npi verify {before.task}"
        )
    if certificate is not None:
        check_writable(certificate.parent)
    began = time.monotonic()
    exploration = Exploration(known)
    counted(exploration.run(), f"exploring {known.name}")
    explored = time.monotonic() - began
    result = compare(network, known, exploration.histories)
    took = time.monotonic() - began
    out: dict[str, Any] = {
        "task": known.name,
        "teacher": known.teacher,
        "proved": result.proved,
        "histories": result.histories,
        "calls": len(exploration.summaries),
        "wrong": len(result.wrong),
        "margin": result.margin,
        "seconds": {"exploring": round(explored, 1), "all": round(took, 1)},
    }
    words = [
        f"{known.name} ({known.teacher}): {result.histories:,} histories in {len(exploration.summaries):,} calls, "
        f"explored in {explored:.1f} s; {took:.1f} s in all"
    ]
    failed = not result.proved
    if result.wrong:
        found = counterexample(known, exploration.histories, result.wrong)
        node = found.node if found else result.wrong[0]
        frame = exploration.histories.frame(node)
        decided = _said(known, frame.steps[-1].decision)
        words.append(f"not proved: the network decides otherwise than the teacher after {len(result.wrong):,} of them")
        if found:
            words.append(f"a problem that shows it: {short(found.problem)}")
        else:
            words.append("no problem was found that shows it: it may be in states that no problem leads to")
        words.append(f"in {frame.call.program}, where the teacher decides {decided}, having seen:")
        words += [f"  {step.observation}" for step in frame.steps]
        out |= {"problem": found.problem if found else None, "program": frame.call.program}
    elif failed:
        words.append(
            f"not proved: the network is right after every history, but once by {result.margin:.1e} only, less than "
            f"the {MARGIN} that rounding may change"
        )
    else:
        words.append(
            f"proved: it runs as the teacher on problems of every size; every choice leads by {result.margin:.2f} or "
            f"more"
        )
        made = certify(network, known, exploration, result)
        if certificate is not None:
            save_certificate(made, certificate)
            words.append(f"wrote {certificate}")
        out["certificate"] = asdict(made)
        if before is not None:
            differences = before.differences(made)
            failed = bool(differences)
            out["differences"] = differences
            words.append(f"{check}: {'; '.join(differences) if differences else 'holds'}")
    if json:
        print_json(out)
    else:
        print(*words, sep="\n")
    return int(failed)


def _said(task: Task, decision: Decision) -> str:
    if decision is None:
        return "to return"
    return task.env.describe(decision.args) if decision.program == ACT else decision.program
