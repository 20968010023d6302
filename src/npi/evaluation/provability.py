"""Provability: what can be proved of a training run on few traces, for inputs of every size."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from npi import tasks
from npi.proof.repair import Prover, train_until_proved
from npi.training.trainer import make_trainer

# The numbers of traces from which others have proved the same programs: sizes, and traces of each size.
PUBLISHED = {
    "addition": ((1, 2, 3), 66),
    "sorting": ((2,), 100),
    "bubblesort": ((3,), 3),
    "quicksort": ((5,), 4),
    "toposort": ((6,), 6),
}


@dataclass(frozen=True)
class Proof:
    """One training run on few traces, and what could be proved of it: at once, and after how many rounds."""

    task: str
    seed: int
    traces: int
    at_once: bool
    proved: bool
    rounds: int
    failing: int | None  # histories, at the first attempt; none was made if the traces were not learned
    margin: float
    seconds: float


def prove(name: str, seed: int, device: str, examples: int | None = None) -> Proof:
    """Train a task until proved, on the published number of traces or on `examples` of each size."""
    sizes, published = PUBLISHED[name]
    task = replace(tasks.find(name), sizes=sizes, examples=examples or published)
    traces = len(sizes) * task.examples
    began = time.perf_counter()
    prover = Prover([task])
    for _ in prover.explore():
        pass
    training = make_trainer([task], seed=seed, device=device)
    found = [event[name] for event in train_until_proved(training, prover) if isinstance(event, dict)]
    took = time.perf_counter() - began
    if not found:
        return Proof(name, seed, traces, False, False, 0, None, 0.0, took)
    first, last = found[0], found[-1]
    failing = len(first.wrong) + len(first.unsure)
    return Proof(name, seed, traces, first.proved, last.proved, len(found) - 1, failing, last.margin, took)
