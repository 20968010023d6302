"""Metrics: which frames a network gets right.

Axes: S steps, I images, G width of the image features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import embedding

from npi.language.record import record
from npi.language.task import Task
from npi.network.decision import Logits, decide, differs
from npi.network.encoders import to_rgb
from npi.network.model import NPI
from npi.training.dataset import Batch, FrameDataset

# How much is evaluated in one forward pass, so that it fits into little memory.
FRAMES_AT_ONCE = 1024
STEPS_AT_ONCE = 1 << 17
IMAGES_AT_ONCE = 256

# A function of an environment's name and the indices of some of its images in the dataset: encodes these images.
EncodeImages: TypeAlias = Callable[[str, Int[Tensor, " I"]], Float[Tensor, "I G"]]


def batch_logits(model: NPI, dataset: FrameDataset, batch: Batch, encode_images: EncodeImages) -> Logits:
    """The logits at every step of a batch."""

    def encode(env: str, observation: Tensor, args: Tensor, image: Tensor) -> Tensor:
        if env not in dataset.images:
            return model.encode(env, observation, args)
        distinct, index = image.unique(return_inverse=True)
        return model.encode(env, observation, args, embedding(index, encode_images(env, distinct)))

    if len(dataset.envs) == 1:
        encoded = encode(dataset.envs[0], batch.observation, batch.args, batch.image)
    else:
        encoded = torch.empty(len(batch.stop), model.config.state_width, device=batch.stop.device)
        for index, (env, fields) in enumerate(zip(dataset.envs, dataset.field_counts, strict=True)):
            mine = batch.env == index
            if mine.any():
                encoded[mine] = encode(env, batch.observation[mine, :fields], batch.args[mine], batch.image[mine])
    return model.frame_logits(encoded, batch.program, batch.batch_sizes)


def wrong_steps(logits: Logits, batch: Batch) -> Bool[Tensor, " S"]:
    """The steps at which the model's decision is not the teacher's."""
    return differs(decide(logits), batch.stop, batch.next_program, batch.next_args)


@torch.no_grad()
def count_wrong_decisions(
    model: NPI, dataset: FrameDataset, mask: np.ndarray, max_wrong: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate the frames in a mask. Returns which were evaluated, and how many decisions of each are wrong.

    All are evaluated unless more than `max_wrong` frames turn out wrong: then the rest is left out.
    """
    model.eval()
    evaluated, wrong = np.zeros_like(mask), np.zeros(len(mask), dtype=np.int64)
    features = {
        env: torch.zeros(len(images), model.config.image_features_width(env), device=images.device)
        for env, images in dataset.images.items()
    }
    for env, table in features.items():
        for part in dataset.images_of(env, mask).split(IMAGES_AT_ONCE):
            table[part] = model.encode_images(env, to_rgb(dataset.images[env][part]))
    # A batch takes as many time steps as its longest frame, so frames of similar length are batched together.
    # Short ones come first: they take little time, so an evaluation that ends early ends as soon as possible.
    frames = dataset.longest_first(np.nonzero(mask)[0])[::-1]
    start = 0
    while start < len(frames) and (max_wrong is None or (wrong > 0).sum() <= max_wrong):
        fitting = int((dataset.length[frames[start : start + FRAMES_AT_ONCE]].cumsum() <= STEPS_AT_ONCE).sum())
        chosen = frames[start : start + max(1, fitting)][::-1]
        batch = dataset.batch(chosen)
        steps = wrong_steps(batch_logits(model, dataset, batch, lambda env, images: features[env][images]), batch)
        wrong[chosen] = np.bincount(batch.frame[steps].cpu().numpy(), minlength=len(chosen))
        evaluated[chosen] = True
        start += len(chosen)
    return evaluated, wrong


def matches_teacher(model: NPI, task: Task, problem: Any) -> bool:
    """Whether a model, left to itself, would run as the teacher does on a problem.

    It would if it makes the teacher's decision at every step of the teacher's run, since its first different decision
    would be at one of them. So each distinct frame of that run is evaluated once, in one batch: much faster than a run.
    """
    frames = {(task.env.__name__, frame): None for frame in record(task.env.of(problem), task.main)}
    if not {frame.call.program for _, frame in frames} <= set(model.programs):
        return False
    dataset = FrameDataset(frames, model.programs, model.keys.device)
    return not count_wrong_decisions(model, dataset, np.ones(len(dataset), dtype=bool))[1].any()
