"""The adaptive curriculum: programs with more errors are sampled more often (the paper's section 4).

The curriculum chooses between groups of frames: those of one program with images, and those without. Groups are sampled
by a softmax over their error rates, mixed with uniform sampling, and frames within a group uniformly. Frames found
wrong at the last evaluation are replayed. Frames with and without images each have their own part of a batch, so that
neither is crowded out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npi.training.config import TrainConfig
from npi.training.dataset import FrameDataset


@dataclass(frozen=True)
class FrameGroup:
    """The frames of one program, with images or without."""

    program: int  # row of memory
    has_images: bool
    frames: np.ndarray


class Curriculum:
    """Samples the frames of each batch, by the outcome of the last evaluation."""

    def __init__(self, dataset: FrameDataset, config: TrainConfig):
        self.dataset, self.config = dataset, config
        self.has_images = np.array([env in dataset.images for env in dataset.envs])[dataset.env]
        groups = [
            FrameGroup(row, images, np.nonzero((dataset.program == row) & (self.has_images == images))[0])
            for row in range(len(dataset.programs))
            for images in (False, True)
        ]
        self.groups = [group for group in groups if len(group.frames)]
        # By group, at the last evaluation: the fraction of decisions that are wrong, and of frames that are right.
        self.error_rate = np.ones(len(self.groups))
        self.accuracy = np.zeros(len(self.groups))
        self.wrong = np.zeros(len(dataset), dtype=bool)  # the frames that were wrong at the last evaluation

    def sample(self, rng: np.random.Generator, uniform: bool) -> np.ndarray:
        """The frames of a batch, longest first. With `uniform`, every frame is equally likely, right or wrong."""
        parts = []
        for images, size in ((False, self.config.batch_size), (True, self.config.image_batch_size)):
            among = np.array([group.has_images == images for group in self.groups])
            if among.any():
                parts.append(self._truncate(self._sample_groups(among, size, rng, uniform)))
        return self.dataset.longest_first(np.concatenate(parts))

    def _sample_groups(self, among: np.ndarray, size: int, rng: np.random.Generator, uniform: bool) -> np.ndarray:
        config = self.config
        groups = [group for group, chosen in zip(self.groups, among, strict=True) if chosen]
        if uniform:
            frames = np.concatenate([group.frames for group in groups])
            return frames[rng.integers(len(frames), size=size)]
        error = self.error_rate[among]
        weight = np.exp((error - error.max()) / config.curriculum_temperature)
        uniform_fraction = config.curriculum_uniform
        probability = (1 - uniform_fraction) * weight / weight.sum() + uniform_fraction / len(groups)
        chosen = [
            group.frames[rng.integers(len(group.frames), size=count)]
            for group, count in zip(groups, rng.multinomial(size, probability), strict=True)
            if count
        ]
        wrong = np.sort(np.concatenate([group.frames[self.wrong[group.frames]] for group in groups]))
        # Augmentation changes an image every time, so a frame with images cannot be shown again as it was.
        if config.replay_fraction and len(wrong) and not groups[0].has_images:
            chosen.append(wrong[rng.integers(len(wrong), size=max(1, round(config.replay_fraction * size)))])
        return rng.permutation(np.concatenate(chosen))

    def _truncate(self, frames: np.ndarray) -> np.ndarray:
        """The first of these frames, as many as have `max_batch_steps` steps together, and at least one."""
        fitting = self.dataset.length[frames].cumsum() <= self.config.max_batch_steps
        fitting[0] = True
        return frames[fitting]

    def evaluation_sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """A mask of at most `count` frames of each group."""
        mask = np.zeros(len(self.dataset), dtype=bool)
        for group in self.groups:
            frames = group.frames
            mask[rng.choice(frames, count, replace=False) if len(frames) > count else frames] = True
        return mask

    def update(self, sampled: np.ndarray, evaluated: np.ndarray, mistakes: np.ndarray) -> None:
        """Store the outcome of an evaluation.

        sampled    mask of the frames sampled uniformly from each group: the accuracy is estimated on these
        evaluated  mask of all frames evaluated: the error rate is estimated on these
        mistakes   how many wrong decisions each frame has
        """
        self.wrong = mistakes > 0
        for index, group in enumerate(self.groups):
            frames = group.frames[evaluated[group.frames]]
            if len(frames):
                self.error_rate[index] = mistakes[frames].sum() / self.dataset.length[frames].sum()
                self.accuracy[index] = 1 - self.wrong[group.frames[sampled[group.frames]]].mean()

    def image_goal_reached(self) -> bool:
        """Whether enough frames with images are right in every program that has any."""
        return all(
            accuracy >= self.config.image_accuracy_goal
            for group, accuracy in zip(self.groups, self.accuracy, strict=True)
            if group.has_images
        )

    def program_accuracy(self) -> dict[str, float]:
        """The accuracy of each program at the last evaluation; for frames with and without images, the lower one."""
        accuracy: dict[str, float] = {}
        for group, value in zip(self.groups, self.accuracy.tolist(), strict=True):
            name = self.dataset.programs[group.program]
            accuracy[name] = min(value, accuracy.get(name, 1.0))
        return accuracy
