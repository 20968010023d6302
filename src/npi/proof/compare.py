"""Comparison: the network against the teacher, on every history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from npi.errors import BadInput
from npi.language.program import ACT, Call
from npi.language.task import Task
from npi.network.model import NPI
from npi.network.neural_decider import check_model_fits
from npi.proof.histories import Histories

MARGIN = 1e-3  # logits that are nearer to each other than this may change places when batched otherwise


@dataclass(frozen=True)
class Comparison:
    """How a network decides on all histories. `margin` is the smallest lead of any choice it makes."""

    histories: int
    wrong: tuple[int, ...]  # nodes at which it decides otherwise
    unsure: tuple[int, ...]  # nodes at which it decides as the teacher, but by less than MARGIN
    margin: float

    @property
    def proved(self) -> bool:
        return not self.wrong and not self.unsure and self.margin >= MARGIN


@torch.inference_mode()
def compare(model: NPI, task: Task, histories: Histories, at_once: int = 1 << 14) -> Comparison:
    """Ask a network about every history, level by level of the trie."""
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
    none = Call(ACT)
    decided = [decision or none for decision in histories.decision]
    next_program = torch.tensor([row[call.program] for call in decided], device=device)
    next_args = torch.tensor([call.args for call in decided], device=device)
    wrong: list[int] = []
    unsure: list[int] = []
    margin = float("inf")
    level = np.nonzero(parent < 0)[0]
    before: tuple[torch.Tensor, torch.Tensor] | None = None  # the states after the level above
    place = np.full(len(histories), -1)  # of a node in its level
    while len(level):
        after: list[tuple[torch.Tensor, torch.Tensor]] = []
        for start in range(0, len(level), at_once):
            nodes = torch.from_numpy(level[start : start + at_once]).to(device)
            if before is None:
                zero = torch.zeros(model.config.lstm_layers, len(nodes), model.config.lstm_width, device=device)
                state = (zero, zero)
            else:
                above = torch.from_numpy(place[parent[level[start : start + at_once]]]).to(device)
                state = (before[0][:, above], before[1][:, above])
            said, state = model.step(env, observation[nodes], args[nodes], program[nodes], state)
            calls = ~stop[nodes]
            lead = said.stop.abs()
            bad = (said.stop >= 0) != stop[nodes]
            for logits, right in zip((said.program, *said.args), (next_program, *next_args.T), strict=True):
                bad |= calls & (logits.argmax(1) != right[nodes])
                if logits.shape[1] > 1:
                    best = logits.topk(2, dim=1).values
                    lead = torch.where(calls, torch.minimum(lead, best[:, 0] - best[:, 1]), lead)
            lead = lead.nan_to_num(nan=0.0)  # what is no number leads by nothing
            wrong += nodes[bad].tolist()
            unsure += nodes[~bad & (lead < MARGIN)].tolist()
            margin = min(margin, lead.min().item())
            after.append(state)
        before = (torch.cat([h for h, _ in after], 1), torch.cat([c for _, c in after], 1))
        place[level] = np.arange(len(level))
        inside = np.zeros(len(histories), dtype=bool)
        inside[level] = True
        level = np.nonzero((parent >= 0) & inside[np.maximum(parent, 0)])[0]
    return Comparison(len(histories), tuple(wrong), tuple(unsure), margin)
