"""Comparison: the network's decision against the teacher's, after every history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from npi.errors import BadInput
from npi.language.program import ACT, Call
from npi.language.task import Task
from npi.network.decision import decide, differs, margin
from npi.network.learned_task import check_model_fits
from npi.network.model import NPI
from npi.proof.histories import Histories

# The margin, in logits, that a proof requires of every decision. Batching, or another order of summation, moves a logit
# by at most about 1e-5 (tests/network/test_model.py), a hundredth of this, so it does not change such a decision.
MARGIN = 1e-3
HISTORIES_AT_ONCE = 1 << 14  # in one forward pass; a bound, so that the memory of a pass is bounded too


@dataclass(frozen=True)
class Comparison:
    """How a network's decisions compare with the teacher's, over a set of histories."""

    histories: int
    wrong_nodes: tuple[int, ...]  # nodes (of Histories) at which the network decides differently
    unsure_nodes: tuple[int, ...]  # nodes at which it decides as the teacher, but with a margin below MARGIN
    margin: float  # the smallest of all margins (see npi.network.decision.margin)

    @property
    def proved(self) -> bool:
        return not self.wrong_nodes and not self.unsure_nodes and self.margin >= MARGIN


@torch.inference_mode()
def compare_histories(model: NPI, task: Task, histories: Histories, batch_size: int = HISTORIES_AT_ONCE) -> Comparison:
    """Evaluate a network once after each history, level by level of the trie.

    A node's LSTM step starts from the state of its parent, so what histories share at their start is evaluated once.
    """
    check_model_fits(model, task)
    model = model.eval()
    device, env = model.keys.device, task.env.__name__
    row = {name: index for index, name in enumerate(model.programs)}
    missing = {call.program for call in histories.call} - set(row)
    if missing:
        raise BadInput(f"the model does not know {', '.join(sorted(missing))}, which {task.name} calls")
    parent = np.array(histories.parent)
    observation = torch.tensor(histories.observation, dtype=torch.long, device=device)
    args = torch.tensor([call.args for call in histories.call], device=device)
    program = torch.tensor([row[call.program] for call in histories.call], device=device)
    stop = torch.tensor([decision is None for decision in histories.decision], device=device)
    placeholder = Call(ACT)  # where the teacher returns; `differs` ignores it
    calls = [decision or placeholder for decision in histories.decision]
    next_program = torch.tensor([row[call.program] for call in calls], device=device)
    next_args = torch.tensor([call.args for call in calls], device=device)
    wrong: list[int] = []
    unsure: list[int] = []
    smallest = float("inf")
    level = np.nonzero(parent < 0)[0]
    previous: tuple[torch.Tensor, torch.Tensor] | None = None  # LSTM states after the level above
    column = np.full(len(histories), -1)  # of each node, in the LSTM states of its level
    while len(level):
        states: list[tuple[torch.Tensor, torch.Tensor]] = []
        for start in range(0, len(level), batch_size):
            part = level[start : start + batch_size]
            nodes = torch.from_numpy(part).to(device)
            if previous is None:
                zero = torch.zeros(model.config.lstm_layers, len(nodes), model.config.lstm_width, device=device)
                state = (zero, zero)
            else:
                parents = torch.from_numpy(column[parent[part]]).to(device)
                state = (previous[0][:, parents], previous[1][:, parents])
            logits, state = model.step(env, observation[nodes], args[nodes], program[nodes], state)
            states.append(state)
            differing = differs(decide(logits), stop[nodes], next_program[nodes], next_args[nodes])
            margins = margin(logits, stop[nodes])
            wrong += nodes[differing].tolist()
            unsure += nodes[~differing & (margins < MARGIN)].tolist()
            smallest = min(smallest, margins.min().item())
        previous = (torch.cat([h for h, _ in states], 1), torch.cat([c for _, c in states], 1))
        column[level] = np.arange(len(level))
        in_level = np.zeros(len(histories), dtype=bool)
        in_level[level] = True
        level = np.nonzero((parent >= 0) & in_level[np.maximum(parent, 0)])[0]
    return Comparison(len(histories), tuple(wrong), tuple(unsure), smallest)
