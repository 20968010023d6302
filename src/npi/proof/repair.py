"""Training until verified: rounds that alternate a proof with training on the histories that it found failing.

A repair round adds the failing histories to every batch (`Trainer.start_repair_round`) and continues training; then the
proof is tried again. Later rounds keep the histories that failed in earlier ones, so that the network does not unlearn
them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from npi.errors import NotProvable
from npi.language.program import Frame
from npi.language.task import Task
from npi.network.model import NPI
from npi.progress import ProgressCallback, no_progress
from npi.proof.compare import Comparison, compare_histories
from npi.proof.reachable import find_reachable
from npi.training.trainer import Metrics, Trainer


class Verifier:
    """Finds the reachable histories of some tasks once, then compares models with their teachers as often as needed.

    Tasks whose environments declare no tapes cannot be proved and are left out.
    """

    def __init__(self, tasks: Sequence[Task], progress: ProgressCallback = no_progress):
        provable = [task for task in tasks if task.env.tapes()]
        if not provable:
            environments = ", ".join(dict.fromkeys(task.env.__name__ for task in tasks))
            raise NotProvable(
                f"no task of {', '.join(task.name for task in tasks)} can be proved: {environments} declares no tapes. "
                f"Keep all of the state on tapes and graphs, and list their kinds in a classmethod `tapes` "
                f"(docs/proof.md)"
            )
        self.reachable = {task.name: find_reachable(task, progress=progress) for task in provable}

    def compare(self, model: NPI) -> dict[str, Comparison]:
        """A comparison for each task."""
        return {name: compare_histories(model, one.task, one.histories) for name, one in self.reachable.items()}

    def frames(self, failing: Mapping[str, Sequence[int]]) -> list[tuple[str, Frame]]:
        """The histories of each task's failing nodes as frames to train on, with the names of their environments."""
        return [
            (self.reachable[name].task.env.__name__, self.reachable[name].histories.frame(node))
            for name, nodes in failing.items()
            for node in nodes
        ]


def train_until_verified(trainer: Trainer, verifier: Verifier) -> Iterator[Metrics | dict[str, Comparison]]:
    """Train, compare, and repair until every task is proved or the repair rounds are used up.

    Yields metrics after each update, and the comparison of each task after each attempt at a proof. Nothing is compared
    if training ends before the tasks are learned.
    """
    max_rounds = trainer.config.repair_rounds
    for repair_round in range(max_rounds + 1):
        yield from trainer.run()
        if not trainer.learned and not trainer.repair_round:
            return
        comparisons = verifier.compare(trainer.ema_model)
        yield comparisons
        if all(comparison.proved for comparison in comparisons.values()) or repair_round == max_rounds:
            return
        failing = {
            name: sorted({*trainer.failing_histories.get(name, []), *comparison.wrong_nodes, *comparison.unsure_nodes})
            for name, comparison in comparisons.items()
        }
        trainer.start_repair_round(failing, verifier.frames(failing))
