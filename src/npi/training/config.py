"""How to train: the settings, and named instances of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class TrainConfig:
    """How to train.

    batch_size, image_batch_size, practice_batch_size
                            frames per update: without images, with images, and of practice programs
    practice_rollouts       random rollouts recorded in each environment, from which practice programs are made. They
                            make the core teachable; 0 trains without practice
    max_batch_steps         upper bound on the total steps of a batch's frames without images, and of those with images;
                            frames beyond it are left out, except the first
    updates                 give up after so many
    learning_rate, beta2, grad_clip, warmup_updates
                            of Adam: step size, second-moment decay, gradient norm bound, updates of linear warm-up
    weight_decay            of AdamW, times the number of distinct frames (at least WEIGHT_DECAY_MIN_FRAMES). The decay
                            acts as a prior on the weights, which must count for less the more data there is
    schedule                exponential: the learning rate decays smoothly, by the factor `lr_decay` over each
                            `lr_decay_every` updates; cosine: it follows a half cosine over `updates`
    min_lr_ratio            lower bound of the learning rate, as a fraction of `learning_rate`
    ema_decay               decay of the exponential moving average of the weights, which is the model that is evaluated
                            and saved. 0: no averaging
    curriculum_temperature  temperature of the softmax over error rates by which programs are sampled
    curriculum_uniform      fraction of the samples in which all programs are equally likely instead
    replay_fraction         frames wrong at the last evaluation, added to each batch, as a fraction of its size
    eval_every, eval_frames how often, in updates, error rates are estimated, and on how many frames of each program
    updates_after_learned   updates on uniformly sampled frames once every frame is right; they widen the margins of
                            the decisions (`npi.network.decision.margin`) and improve generalisation
    image_accuracy_goal     fraction of each program's frames with images that must be right for a model to count as
                            learned; of the frames without images, all must be
    observation_noise       probability with which a field of an observation without an image is replaced by a random
                            value, so that a program does not depend on fields that it need not see
    auxiliary_labels        of images. none: train on decisions alone, as the paper does; beside: the CNN is also
                            trained to predict them; bottleneck: what it predicts is all that it hands to the core
    auxiliary_loss_weight   weight of the auxiliary loss on image labels
    repair_batch_size, repair_updates, repair_rounds
                            after a failed proof: counterexamples per update, updates per round, rounds at most
    repair_lr_ratio         learning rate at the start of a repair round, as a fraction of `learning_rate`; it follows a
                            half cosine to 0
    """

    batch_size: int = 128
    image_batch_size: int = 112
    practice_batch_size: int = 2048
    practice_rollouts: int = 0
    max_batch_steps: int = 640
    updates: int = 6_000
    learning_rate: float = 1e-3
    beta2: float = 0.98
    grad_clip: float = 0.3
    warmup_updates: int = 20
    weight_decay: float = 0.0
    schedule: Literal["exponential", "cosine"] = "exponential"
    lr_decay: float = 0.5
    lr_decay_every: int = 300
    min_lr_ratio: float = 0.05
    ema_decay: float = 0.98
    curriculum_temperature: float = 0.005
    curriculum_uniform: float = 0.2
    replay_fraction: float = 0.1
    eval_every: int = 50
    eval_frames: int = 256
    updates_after_learned: int = 200
    image_accuracy_goal: float = 0.99
    observation_noise: float = 0.0
    auxiliary_labels: Literal["none", "beside", "bottleneck"] = "bottleneck"
    auxiliary_loss_weight: float = 1.0
    repair_batch_size: int = 32
    repair_updates: int = 300
    repair_rounds: int = 10
    repair_lr_ratio: float = 0.2


# The defaults were chosen by experiment (docs/LOG.md): FAST for tasks without images, IMAGES for tasks with images, and
# PRACTICE for models that can be taught, such as the one that comes with npi.
FAST = TrainConfig()
IMAGES = TrainConfig(
    updates=3_400,
    lr_decay_every=540,
    min_lr_ratio=0.02,
    ema_decay=0.99,
    curriculum_temperature=0.05,
    curriculum_uniform=0.5,
    eval_every=100,
    updates_after_learned=3_400,  # never stop early: augmentation makes new images at every update
)
PRACTICE = replace(
    IMAGES,
    practice_rollouts=20_000,
    practice_batch_size=8192,
    learning_rate=2e-3,
    schedule="cosine",
    updates=7_000,
    updates_after_learned=7_000,
)
# The paper's values. Where it gives none (temperature, updates), a value that comes closest to its description.
PAPER = TrainConfig(
    batch_size=1,
    image_batch_size=1,
    practice_batch_size=1,
    max_batch_steps=1,
    updates=2_000_000,
    learning_rate=1e-4,
    beta2=0.999,
    grad_clip=float("inf"),
    warmup_updates=1,
    lr_decay=0.95,
    lr_decay_every=10_000,
    min_lr_ratio=0.0,
    ema_decay=0.0,
    curriculum_temperature=0.1,
    curriculum_uniform=0.0,
    replay_fraction=0.0,
    eval_every=1_000,
    updates_after_learned=0,
)
CONFIGS = {"fast": FAST, "paper": PAPER, "images": IMAGES, "practice": PRACTICE}
