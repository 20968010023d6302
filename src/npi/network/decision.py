"""The one decision rule: how the network's logits become a decision.

The neural decider, training metrics, teaching, proofs and the ONNX check all use the functions of this module. A frame
returns if the stop probability reaches STOP_PROBABILITY; otherwise it calls the program whose key scores highest, with
the highest-scoring value of each argument.

Axes: B steps, N programs in memory, A arguments of a call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

STOP_PROBABILITY = 0.5  # the paper's threshold on r_t


@dataclass(frozen=True)
class Logits:
    """The outputs of the heads at each step."""

    stop: Float[Tensor, " B"]  # r_t before the sigmoid
    program: Float[Tensor, "B N"]  # M_key . k_t
    args: tuple[Float[Tensor, "B _"], ...]  # a_{t+1}, one softmax for each argument


class Decisions(NamedTuple):
    """A decision at each step. Where `stop` holds, program and arguments mean nothing."""

    stop: Bool[Tensor, " B"]
    program: Int[Tensor, " B"]
    args: Int[Tensor, "B A"]


def stop_threshold() -> float:
    """The stop logit at which a frame returns: the logit of STOP_PROBABILITY, 0 for one half."""
    return math.log(STOP_PROBABILITY / (1 - STOP_PROBABILITY))


def decide(logits: Logits) -> Decisions:
    """What the network decides at each step."""
    args = torch.stack([slot.argmax(1) for slot in logits.args], 1)
    return Decisions(logits.stop >= stop_threshold(), logits.program.argmax(1), args)


def differs(
    decisions: Decisions, stop: Bool[Tensor, " B"], program: Int[Tensor, " B"], args: Int[Tensor, "B A"]
) -> Bool[Tensor, " B"]:
    """Where decisions differ from a teacher's. At steps where the teacher returns, only `stop` is compared."""
    call = (decisions.program != program) | (decisions.args != args).any(1)
    return (decisions.stop != stop) | (call & ~stop)


def margin(logits: Logits, stop: Bool[Tensor, " B"], bounds: Logits | None = None) -> Float[Tensor, " B"]:
    """How far each decision is from changing, in logits: the smallest of these gaps.

    The gaps are the distance of the stop logit from its threshold and, where the teacher does not stop, the lead of the
    best program, and of the best value of each argument, over the second best. `stop` is the teacher's. With `bounds`,
    each logit may be off by as much as its bound, and a gap is what is left of it in the worst case: if it is above 0,
    no such errors change the decision. A NaN makes the margin 0.
    """
    off = (0.0,) * (2 + len(logits.args)) if bounds is None else (bounds.stop, bounds.program, *bounds.args)
    gap = (logits.stop - stop_threshold()).abs() - off[0]
    for scores, each in zip((logits.program, *logits.args), off[1:], strict=True):
        best = scores.argmax(1, keepdim=True)
        rival = (scores + each).scatter(1, best, -torch.inf).amax(1)
        gap = torch.where(stop, gap, torch.minimum(gap, (scores - each).gather(1, best)[:, 0] - rival))
    return gap.nan_to_num(nan=0.0)


def largest_bound(bounds: Logits, stop: Bool[Tensor, " B"]) -> Float[Tensor, " B"]:
    """The largest bound on the error of a logit that each decision rests on: where the teacher stops, that is one."""
    others = torch.cat([bounds.program, *bounds.args], 1).amax(1)
    return torch.where(stop, bounds.stop, torch.maximum(bounds.stop, others))
