"""Trainer until proved: what a proof finds wrong is learned too, in rounds, until it finds nothing.

A round trains on with the failing histories as a fixed part of every batch (`Trainer.insist`), then the proof is tried
again. Histories that failed once stay: a network that forgets them would go round in circles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from npi.errors import NotProvable
from npi.language.program import Frame
from npi.language.task import Task
from npi.network.model import NPI
from npi.proof.compare import Comparison, compare
from npi.proof.explore import Exploration
from npi.training.trainer import Metrics, Trainer


class Prover:
    """The tasks of a training run that can be proved, explored once."""

    def __init__(self, tasks: Sequence[Task]):
        self.explorations: dict[str, Exploration] = {}
        for task in tasks:
            if task.env.tapes():
                self.explorations[task.name] = Exploration(task)
        if not self.explorations:
            names = ", ".join(task.name for task in tasks)
            raise NotProvable(f"nothing here can be proved: {names} does not keep all of its state on tapes")

    def explore(self) -> Iterator[tuple[int, int]]:
        """Find all histories; yields how many there are, and how many at least there will be."""
        for exploration in self.explorations.values():
            yield from exploration.run()

    def compare(self, model: NPI) -> dict[str, Comparison]:
        return {name: compare(model, e.task, e.histories) for name, e in self.explorations.items()}

    def frames(self, failing: Mapping[str, Sequence[int]]) -> list[tuple[str, Frame]]:
        """Histories as frames to be learned, each with the name of its environment; all are of tasks explored."""
        return [
            (self.explorations[name].task.env.__name__, self.explorations[name].histories.frame(node))
            for name, nodes in failing.items()
            for node in nodes
        ]


def train_until_proved(training: Trainer, prover: Prover) -> Iterator[Metrics | dict[str, Comparison]]:
    """Train, try to prove, learn what failed, and so on; yields after each update and after each attempt at a proof."""
    for made in range(training.config.repair_rounds + 1):
        yield from training.run()
        if not training.learned and not training.repair_round:
            return
        found = prover.compare(training.ema_model)
        yield found
        if all(comparison.proved for comparison in found.values()) or made == training.config.repair_rounds:
            return
        failing = {
            name: sorted({*training.failing_histories.get(name, []), *comparison.wrong, *comparison.unsure})
            for name, comparison in found.items()
        }
        training.start_repair_round(failing, prover.frames(failing))
