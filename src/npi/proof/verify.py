"""Verification: is a learned program equal to its teacher on problems of every size?

One sequence of steps serves every caller: explore the task, or take what a certificate says was found; check that it
is closed; run sampled problems; compare the network with the teacher on all reachable histories; then certify the proof
or look for a problem that shows the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from npi.errors import BadInput
from npi.language.program import ACT, Decision, Frame
from npi.language.task import Task
from npi.network.checkpoint import resolve_model
from npi.network.learned_task import learned_task
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.progress import Progress, ProgressCallback, no_progress
from npi.proof.assumptions import name_of
from npi.proof.certificate import Certificate, certify, load_certificate
from npi.proof.compare import MARGIN, Comparison, compare_histories
from npi.proof.concrete import short_text
from npi.proof.counterexample import counterexample
from npi.proof.reachable import Stopwatch, find_reachable
from npi.proof.source_files import hash_files


@dataclass(frozen=True)
class Proof:
    """A learned program equals its teacher on problems of every size, under the assumptions of docs/proof.md.

    histories    how many histories the programs can reach: the network was compared with the teacher on each
    calls        how many pairs of a call and an abstract state in which the call is entered
    margin       the smallest margin: how far, in logits, the closest decision is from changing
    certificate  what the proof rests on and what it found, to be stored and checked again
    table        the proof table: abstract states, call summaries and decisions as data
    differences  how the proof differs from the certificate that was to be checked, in words
    seconds      how long it took, in all and by stage
    """

    task: Task[Any, Any]
    comparison: Comparison
    certificate: Certificate
    table: Mapping[str, Any]
    seconds: Mapping[str, float]
    differences: Sequence[str] = ()
    proved: ClassVar[bool] = True

    @property
    def histories(self) -> int:
        return self.comparison.histories

    @property
    def calls(self) -> int:
        return self.certificate.calls

    @property
    def margin(self) -> float:
        return self.comparison.margin

    def __str__(self) -> str:
        return (
            f"{_heading(self)}\n"
            f"proved: it runs as the teacher on problems of every size; the smallest margin is {self.margin:.2f}, with "
            f"rounding errors of at most {self.certificate.rounding:.0e}\n"
            f"assumed, not checked: {', '.join(name_of(one) for one in self.certificate.assumptions)} (docs/proof.md)"
        )


@dataclass(frozen=True)
class Counterexamples:
    """Histories after which a learned program does not decide as its teacher, or not by a safe margin.

    wrong     after how many histories the network decides differently
    unsure    after how many it decides as the teacher, but with too small a margin for rounding
    problem   a problem whose run reaches a wrong history; None if none was found
    frame     one wrong history, with the decision that the teacher makes; None if none is wrong
    decision  what the network decides there
    calls     how many pairs of a call and an abstract state in which the call is entered
    seconds   how long it took, in all and by stage
    """

    task: Task[Any, Any]
    comparison: Comparison
    problem: Any
    frame: Frame | None
    decision: Decision
    calls: int
    seconds: Mapping[str, float]
    proved: ClassVar[bool] = False

    @property
    def wrong(self) -> int:
        return len(self.comparison.wrong_nodes)

    @property
    def unsure(self) -> int:
        return len(self.comparison.unsure_nodes)

    def __str__(self) -> str:
        if self.frame is None:
            return (
                f"{_heading(self)}\nnot proved: the network decides as the teacher after every history, but after "
                f"{self.unsure:,} of them by less than {MARGIN}, which rounding may change; the smallest margin is "
                f"{self.comparison.margin:.1e}"
            )
        describe = self.task.env.describe
        decided = [
            "returns" if d is None else "does " + describe(d.args) if d.program == ACT else f"calls {d.program}"
            for d in (self.frame.steps[-1].decision, self.decision)
        ]
        lines = [
            _heading(self),
            f"not proved: the network decides differently from the teacher after {self.wrong:,} of them",
            f"a problem that shows it: {short_text(self.problem)}"
            if self.problem is not None
            else "no problem was found that shows it: perhaps no problem reaches this history",
            f"in {self.frame.call.program} the teacher {decided[0]} and the network {decided[1]}, after observing:",
            *(f"  {step.observation}" for step in self.frame.steps),
        ]
        return "\n".join(lines)


def verify(
    task: Task[Any, Any] | str,
    model: NPI | str | Path | None = None,
    *,
    certificate: str | Path | None = None,
    device: str | torch.device = "auto",
    progress: ProgressCallback = no_progress,
) -> Proof | Counterexamples:
    """Prove that a learned program equals its teacher on problems of every size, or find where it does not.

    task         a `Task` whose environment declares its tapes, the name of a built-in one, or "FILE.py:NAME"
    model        an `NPI`, a folder, or None for the model that comes with npi; its teacher must be recursive
    certificate  check the proof in this file: its table is not searched for again, but checked; the result's
                 `differences` say what has changed since
    device       where the network runs
    progress     called with a `Progress` while histories are explored

    Raises `NotProvable` if this kind of proof cannot handle the task.

    >>> import npi
    >>> proof = npi.verify("sorting")
    >>> proof.proved, proof.histories
    (True, 27860)
    """
    network = resolve_model(model, device)
    found = learned_task(task, network)
    stored, document = (None, None) if certificate is None else load_certificate(Path(certificate))
    if stored is not None and stored.task != found.name:
        raise BadInput(
            f"{certificate} is a certificate of {stored.task}, not of {found.name}: give one of {found.name}, or run "
            f"npi verify {stored.task}"
        )
    stopwatch = Stopwatch()
    reachable = find_reachable(found, document, progress, stopwatch)
    histories = reachable.histories
    progress(Progress(f"comparing the network with the teacher of {found.name}", 0))
    comparison = compare_histories(network, found, histories)
    stopwatch.stop("comparing")
    calls = len(reachable.document["summaries"])
    if comparison.proved:
        made = certify(network, hash_files(found), reachable, comparison)
        differences = () if stored is None else stored.differences(made)
        return Proof(found, comparison, made, reachable.document, _seconds(stopwatch), differences)
    problem, frame, decision = None, None, None
    if comparison.wrong_nodes:
        progress(Progress(f"looking for a problem of {found.name} that shows it", 0))
        example = counterexample(found, histories, comparison.wrong_nodes)
        problem, node = (None, comparison.wrong_nodes[0]) if example is None else (example.problem, example.node)
        frame = histories.frame(node)
        decision = _last_decision(network, found, frame)
    return Counterexamples(found, comparison, problem, frame, decision, calls, _seconds(stopwatch))


def _seconds(stopwatch: Stopwatch) -> dict[str, float]:
    return stopwatch.stages | {"all": stopwatch.total()}


def _heading(result: Proof | Counterexamples) -> str:
    task = result.task
    stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in result.seconds.items() if stage != "all")
    return (
        f"{task.name} ({task.teacher}): {result.comparison.histories:,} histories in {result.calls:,} calls; "
        f"{result.seconds['all']:.1f} s: {stages}"
    )


def _last_decision(model: NPI, task: Task[Any, Any], frame: Frame) -> Decision:
    """What a network decides after a history."""
    neural, decision, state = NeuralDecider(model, task.env), None, None
    for step in frame.steps:
        ((decision, state),) = neural.decide([(step.observation, frame.call, state)])
    return decision
