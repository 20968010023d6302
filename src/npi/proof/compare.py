"""Comparison: the network's decision against the teacher's, after every history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from npi.errors import BadInput
from npi.language.program import ACT, Call
from npi.language.task import Task
from npi.network.decision import Logits, decide, differs, largest_bound, margin
from npi.network.learned_task import check_model_fits
from npi.network.model import NPI
from npi.proof.histories import Histories
from npi.proof.rounding import BoundedNetwork, State

# The guaranteed margin, in logits, that a proof requires of every decision. Whatever runs a model computes in float32,
# each in its own order. tests/proof/test_rounding.py requires its logits to be within a fifth of MARGIN of the exact
# ones, so the lead of one over another changes by less than half of it.
MARGIN = 1e-3
HISTORIES_AT_ONCE = 1 << 10  # in one step; as many as fit into the processor's cache, and few enough for any memory


@dataclass(frozen=True)
class Comparison:
    """How a network's decisions compare with the teacher's, over a set of histories.

    A *guaranteed margin* is a margin of the exact network, the function of real numbers that the stored weights define:
    the margin that was computed, less the bounds on its rounding errors.
    """

    histories: int
    wrong_nodes: tuple[int, ...]  # nodes (of Histories) at which the network decides differently
    unsure_nodes: tuple[int, ...]  # nodes at which it decides as the teacher, with a guaranteed margin below MARGIN
    margin: float  # the smallest of all margins, as computed (see npi.network.decision.margin)
    rounding: float  # the largest bound on the rounding error of a logit that a decision rests on
    guaranteed: float  # the smallest guaranteed margin
    guaranteed_by_program: dict[str, float]  # program of the frame -> the smallest guaranteed margin

    @property
    def proved(self) -> bool:
        return not self.wrong_nodes and not self.unsure_nodes


class Network(Protocol):
    """What evaluates histories: one step from the states of their parents, with bounds on what it computes."""

    def start(self) -> State: ...

    def step(self, nodes: Tensor, state: State, parents: Tensor) -> tuple[Logits, Logits, State]: ...


def compare_histories(model: NPI, task: Task, histories: Histories) -> Comparison:
    """Evaluate a network once after each history, and compare its decisions with the teacher's."""
    check_model_fits(model, task)
    missing = {call.program for call in histories.call} - set(model.programs)
    if missing:
        raise BadInput(f"the model does not know {', '.join(sorted(missing))}, which {task.name} calls")
    network = BoundedNetwork(model, task.env.__name__, histories)
    return compare_decisions(network, model.programs, histories, model.keys.device)


def compare_decisions(
    network: Network, programs: Sequence[str], histories: Histories, device: torch.device | str = "cpu"
) -> Comparison:
    """Compare the decisions of whatever evaluates histories. `programs` are the names of its program logits."""
    row = {name: index for index, name in enumerate(programs)}
    number: dict = {}  # of each distinct decision of the teacher
    decision = torch.tensor([number.setdefault(made, len(number)) for made in histories.decision], device=device)
    calls = [made or Call(ACT) for made in number]  # a placeholder where the teacher returns; `differs` ignores it
    stop = torch.tensor([made is None for made in number], device=device)
    next_program = torch.tensor([row[call.program] for call in calls], device=device)
    next_args = torch.tensor([call.args for call in calls], device=device)
    wrong = np.zeros(len(histories), dtype=bool)
    margins, guaranteed, rounding = np.zeros((3, len(histories)))
    for part, logits, bounds in evaluate(network, histories, device):
        made = decision[torch.from_numpy(part).to(device)]
        wrong[part] = differs(decide(logits), stop[made], next_program[made], next_args[made]).cpu()
        margins[part] = margin(logits, stop[made]).cpu()
        guaranteed[part] = margin(logits, stop[made], bounds).cpu()
        rounding[part] = largest_bound(bounds, stop[made]).cpu()
    frame_program = np.array([row[call.program] for call in histories.call])
    return Comparison(
        len(histories),
        tuple(np.nonzero(wrong)[0].tolist()),
        tuple(np.nonzero(~wrong & ~(guaranteed >= MARGIN))[0].tolist()),
        margins.min().item(),
        rounding.max().item(),
        guaranteed.min().item(),
        {programs[int(index)]: guaranteed[frame_program == index].min().item() for index in np.unique(frame_program)},
    )


def evaluate(
    network: Network, histories: Histories, device: torch.device | str = "cpu"
) -> Iterator[tuple[np.ndarray, Logits, Logits]]:
    """Batches of nodes, with the logits after each and their bounds.

    A node's step starts from the state of its parent, so what histories share at their start is evaluated once. The
    latest batch is continued first, so that few states wait at a time.
    """
    parent = np.array(histories.parent)
    by_parent = np.argsort(parent, kind="stable")
    count = np.bincount(parent + 1, minlength=len(parent) + 1)  # of children; those of no node (-1) come first
    first = np.cumsum(count) - count  # place of a node's children in `by_parent`
    waiting: list[tuple[np.ndarray, State, np.ndarray]] = []

    def wait(parents: np.ndarray, state: State) -> None:
        """Put the children of some nodes on the list, in batches with the states that they need."""
        family = count[parents + 1]
        row = np.repeat(np.arange(len(parents)), family)
        place = np.arange(len(row)) - np.repeat(np.cumsum(family) - family, family)  # within each family
        children = by_parent[first[parents + 1][row] + place]
        for start in range(0, len(children), HISTORIES_AT_ONCE):
            part = slice(start, start + HISTORIES_AT_ONCE)
            needed, rows = np.unique(row[part], return_inverse=True)
            kept = torch.from_numpy(needed).to(device)
            waiting.append((children[part], tuple(tensor[kept] for tensor in state), rows))

    wait(np.array([-1]), network.start())
    while waiting:
        nodes, state, rows = waiting.pop()
        logits, bounds, after = network.step(
            torch.from_numpy(nodes).to(device), state, torch.from_numpy(rows).to(device)
        )
        yield nodes, logits, bounds
        wait(nodes, after)
