"""The loss: how far a network is from its teacher's decisions, and from auxiliary labels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from npi.network.model import Outputs
from npi.training.dataset import Batch


def loss_of(said: Outputs, batch: Batch) -> Float[Tensor, " S"]:
    """- log P(decision) at every step: of stopping or not, and where the teacher called, of program and arguments."""
    stop = binary_cross_entropy_with_logits(said.stop, batch.stop.to(said.stop), reduction="none")
    call = cross_entropy(said.program, batch.next_program, reduction="none")
    for slot, logits in enumerate(said.args):
        call = call + cross_entropy(logits, batch.next_args[:, slot], reduction="none")
    return stop + call * ~batch.stop


def wrong_steps(said: Outputs, batch: Batch) -> Bool[Tensor, " S"]:
    """Where the decision the model would make is not the teacher's."""
    call = said.program.argmax(1) != batch.next_program
    for slot, logits in enumerate(said.args):
        call = call | (logits.argmax(1) != batch.next_args[:, slot])
    return ((said.stop >= 0) != batch.stop) | (call & ~batch.stop)


def caption_loss(
    glimpse: Float[Tensor, "I G"], captions: Int[Tensor, "I C"], sizes: Sequence[int]
) -> Float[Tensor, ""]:
    """- log P(caption): how far what is said of pictures is from what the teacher says of them."""
    said = glimpse.split(list(sizes), dim=1)
    right = torch.cat([part.gather(1, number[:, None]) for part, number in zip(said, captions.T, strict=True)], 1)
    return -right.clamp_min(1e-30).log().sum(1).mean()
