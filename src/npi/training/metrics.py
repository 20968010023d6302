"""Metrics: which frames a network gets right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding

from npi.language.record import record
from npi.language.task import Task
from npi.network.encoders import colours
from npi.network.model import NPI, Outputs
from npi.training.dataset import Batch, Lessons
from npi.training.loss import wrong_steps

STEPS_AT_ONCE = 1 << 17  # of the frames judged together: more would not fit into little memory

See: TypeAlias = Callable[[str, Int[Tensor, " I"]], Float[Tensor, "I G"]]  # some of an environment's pictures, encoded


def outputs(model: NPI, lessons: Lessons, batch: Batch, see: See) -> Outputs:
    """What the model says at every step of a batch."""

    def encode(env: str, seen: Tensor, args: Tensor, picture: Tensor) -> Tensor:
        if env not in lessons.pictures:
            return model.encode(env, seen, args)
        distinct, place = picture.unique(return_inverse=True)
        return model.encode(env, seen, args, embedding(place, see(env, distinct)))

    if len(lessons.envs) == 1:
        encoded = encode(lessons.envs[0], batch.seen, batch.args, batch.picture)
    else:
        encoded = torch.empty(len(batch.stop), model.config.state, device=batch.stop.device)
        for index, (env, fields) in enumerate(zip(lessons.envs, lessons.fields, strict=True)):
            mine = batch.env == index
            if mine.any():
                encoded[mine] = encode(env, batch.seen[mine, :fields], batch.args[mine], batch.picture[mine])
    said, _ = model.core(encoded, batch.program, batch.going)
    return said


@torch.no_grad()
def count_wrong(
    model: NPI, lessons: Lessons, among: np.ndarray, enough: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Which of some frames were looked at, and how many decisions of each are wrong; `enough` wrong frames end it."""
    model.eval()
    looked_at, wrong = np.zeros_like(among), np.zeros(len(among), dtype=np.int64)
    glimpses = {
        env: torch.zeros(len(pictures), model.config.glimpse(env), device=pictures.device)
        for env, pictures in lessons.pictures.items()
    }
    for env, table in glimpses.items():
        for part in lessons.pictures_of(env, among).split(256):
            table[part] = model.look(env, colours(lessons.pictures[env][part]))
    # Frames of like length together waste no time; the short ones first, as they are the most and the quickest.
    frames = lessons.longest_first(np.nonzero(among)[0])[::-1]
    start = 0
    while start < len(frames) and (enough is None or (wrong > 0).sum() <= enough):
        fitting = int((lessons.length[frames[start : start + 1024]].cumsum() <= STEPS_AT_ONCE).sum())
        chosen = frames[start : start + max(1, fitting)][::-1]
        batch = lessons.batch(chosen)
        steps = wrong_steps(outputs(model, lessons, batch, lambda env, which: glimpses[env][which]), batch)
        wrong[chosen] = np.bincount(batch.frame[steps].cpu().numpy(), minlength=len(chosen))
        looked_at[chosen] = True
        start += len(chosen)
    return looked_at, wrong


def follows(model: NPI, task: Task, problem: Any) -> bool:
    """Whether a model, left to itself, would run as the teacher does on a problem.

    It would if it decides as the teacher in every frame of the teacher's run, since the first different decision would
    be in one of them. So all of them are asked at once, each distinct one once: much quicker than a run.
    """
    frames = {(task.env.__name__, frame): None for frame in record(task.env.of(problem), task.main)}
    if not {frame.call.program for _, frame in frames} <= set(model.programs):
        return False
    lessons = Lessons(frames, model.programs, model.keys.device)
    return not count_wrong(model, lessons, np.ones(len(lessons), dtype=bool))[1].any()
