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


def margin(logits: Logits, stop: Bool[Tensor, " B"]) -> Float[Tensor, " B"]:
    """How far each decision is from changing, in logits: the smallest of these gaps.

    The gaps are the distance of the stop logit from its threshold and, where the teacher does not stop, the lead of the
    best program, and of the best value of each argument, over the second best. `stop` is the teacher's. A NaN logit
    makes it 0.
    """
    gap = (logits.stop - stop_threshold()).abs()
    for scores in (logits.program, *logits.args):
        if scores.shape[1] > 1:
            best = scores.topk(2, dim=1).values
            gap = torch.where(stop, gap, torch.minimum(gap, best[:, 0] - best[:, 1]))
    return gap.nan_to_num(nan=0.0)
