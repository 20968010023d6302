"""The losses: of the decisions, and of auxiliary labels.

Axes: S steps, I images, C auxiliary labels of an image.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from npi.network.decision import Logits
from npi.training.dataset import Batch

SMALLEST_PROBABILITY = 1e-30  # lower bound on a label's probability, whose softmax may underflow to 0, before its log


def decision_loss(logits: Logits, batch: Batch) -> Float[Tensor, " S"]:
    """-log P(teacher's decision) at each step: of stopping or not and, where the teacher calls, of what it calls."""
    stop = binary_cross_entropy_with_logits(logits.stop, batch.stop.to(logits.stop), reduction="none")
    call = cross_entropy(logits.program, batch.next_program, reduction="none")
    for slot, scores in enumerate(logits.args):
        call = call + cross_entropy(scores, batch.next_args[:, slot], reduction="none")
    return stop + call * ~batch.stop


def auxiliary_loss(
    probabilities: Float[Tensor, "I _"], labels: Int[Tensor, "I C"], label_sizes: Sequence[int]
) -> Float[Tensor, ""]:
    """-log P(auxiliary labels), mean over images, from the predicted class probabilities."""
    predicted = probabilities.split(list(label_sizes), dim=1)
    right = torch.cat([part.gather(1, label[:, None]) for part, label in zip(predicted, labels.T, strict=True)], 1)
    return -right.clamp_min(SMALLEST_PROBABILITY).log().sum(1).mean()
