"""The training loop.

Every frame is a training sequence of its own, so all programs of all tasks learn side by side. A trainer's state can be
saved after any update; a resumed run gives the same bits as one that never stopped (resume.py).

Axes: I images, G width of the image features.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from npi.errors import BadInput
from npi.language.task import Task
from npi.network.encoders import ImageEncoder
from npi.network.model import NPI, ModelConfig
from npi.training.augment import augment, randomise_fields
from npi.training.config import FAST, TrainConfig
from npi.training.curriculum import Curriculum
from npi.training.dataset import Batch, EnvFrame, FrameDataset, program_names, record_frames
from npi.training.loss import auxiliary_loss, decision_loss
from npi.training.metrics import batch_logits, count_wrong_decisions
from npi.training.practice_memory import PracticeMemory
from npi.training.practice_program import Rollout
from npi.training.program_sampler import make_rollouts

TEACHABLE_WIDTHS = {"embedding_width": 256, "fusion_width": 512}  # room for more than the tasks' own programs
WEIGHT_DECAY_MIN_FRAMES = 1000  # lower bound on the divisor of the weight decay
FINAL_EVAL_FACTOR = 8  # the last evaluation samples this many times as many frames
EMA_WARMUP = 10  # the EMA decay after n updates is at most n / (n + EMA_WARMUP), to forget the initial weights soon
NEARLY_ALL = 0.9  # fraction of frames from which on an evaluation takes so long that it is worth ending early


@dataclass(frozen=True)
class Metrics:
    """Where a training run stands."""

    update: int
    loss: float
    accuracy: dict[str, float]  # by program: at the last evaluation, the fraction of frames without a wrong decision
    learned: bool  # every distinct frame is right; of frames with images, as many as the goal asks for
    updates_since_learned: int
    evaluated: bool  # whether `accuracy` was estimated after this update


def make_trainer(
    tasks: Sequence[Task],
    config: TrainConfig = FAST,
    seed: int = 0,
    device: str | torch.device = "cpu",
    rollouts: Iterable[Rollout] | None = None,
) -> Trainer:
    """Record the teachers of some tasks, and set up a new model to learn from them.

    `rollouts` are what practice programs are made from. By default, `config.practice_rollouts` of them are made here;
    without any, there is no practice.
    """
    rollouts = None if rollouts is None else list(rollouts)
    practises = bool(config.practice_rollouts if rollouts is None else rollouts)
    bottleneck = config.auxiliary_labels == "bottleneck"
    if practises and not bottleneck and any(task.env.shows_image() for task in tasks):
        raise BadInput(
            "practice on images needs auxiliary_labels='bottleneck': it shows labels in place of what the CNN sees"
        )
    if rollouts is None:
        rollouts = list(make_rollouts(tasks, config.practice_rollouts, seed))
    frames = list(record_frames(tasks, seed))
    programs = program_names(frames)
    torch.manual_seed(seed)
    widths = {**TEACHABLE_WIDTHS, "teachable": True} if rollouts else {}
    model_config = ModelConfig.of({task.env: None for task in tasks}, label_bottleneck=bottleneck, **widths)
    if config.auxiliary_labels == "none":
        model_config = replace(model_config, label_sizes={})
    model = NPI(model_config, programs)
    model.tasks = {task.name: task.teacher for task in tasks}
    practice = PracticeMemory(model, rollouts, device) if rollouts else None
    return Trainer(model.to(device), FrameDataset(frames, programs, device), config, seed, practice)


class Trainer:
    """One training run. `ema_model` is what it produces; `model` is what gradient descent moves."""

    def __init__(
        self, model: NPI, dataset: FrameDataset, config: TrainConfig, seed: int, practice: PracticeMemory | None = None
    ):
        self.model, self.dataset, self.config, self.seed, self.practice = model, dataset, config, seed, practice
        self.ema_model = copy.deepcopy(model).requires_grad_(False) if config.ema_decay else model
        self.ema_model.lstm.flatten_parameters()  # a copy's weights lie scattered, which slows CUDA down
        parameters = dict(self.named_parameters()).values()
        decay = config.weight_decay / max(len(dataset), WEIGHT_DECAY_MIN_FRAMES)
        self.optimizer = torch.optim.AdamW(
            [
                {"params": [p for p in parameters if p.dim() > 1], "weight_decay": decay},
                {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
            ],
            lr=config.learning_rate,
            betas=(0.9, config.beta2),
            fused=True,
        )
        self.rng = np.random.default_rng(seed)
        # By environment, how many values each field has; 0 where there is none, or where noise must not replace it.
        self.field_sizes = np.zeros((len(dataset.envs), dataset.observation.shape[1]), dtype=np.int64)
        for index, env in enumerate(dataset.envs):
            if env not in dataset.images:
                sizes = list(model.config.fields[env].values())
                self.field_sizes[index, : len(sizes)] = sizes
        self.curriculum = Curriculum(dataset, config)
        self.updates = 0
        self.loss = float("nan")
        self.learned = False
        self.updates_since_learned = 0
        # Repair after failed proofs: the numbers of the failing histories by task, and their frames as a dataset; the
        # number of the current round (0: none yet), and the update at which it began.
        self.failing_histories: dict[str, list[int]] = {}
        self.repair_dataset: FrameDataset | None = None
        self.repair_round, self.repair_start = 0, 0

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Everything that is trained."""
        yield from self.model.named_parameters()
        if self.practice is not None:
            yield from self.practice.named_parameters(prefix="practice")

    @property
    def converged(self) -> bool:
        """Whether everything is learned, and `updates_after_learned` more updates are done."""
        return self.learned and self.updates_since_learned >= self.config.updates_after_learned

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do, in this repair round if there is one."""
        if self.repair_round:
            return self.updates >= self.repair_start + self.config.repair_updates
        return self.converged or self.updates >= self.config.updates

    def start_repair_round(self, failing: Mapping[str, Sequence[int]], frames: Iterable[EnvFrame]) -> None:
        """From now on, also train on these frames: those of the histories at which a proof failed."""
        self.failing_histories = {name: list(nodes) for name, nodes in failing.items()}
        self.set_repair_frames(frames)
        self.repair_round, self.repair_start = self.repair_round + 1, self.updates

    def set_repair_frames(self, frames: Iterable[EnvFrame]) -> None:
        """The frames of `failing_histories`; a resumed run sets them anew, since only the histories are saved."""
        self.repair_dataset = FrameDataset(frames, self.dataset.programs, self.model.keys.device)

    def current_lr(self) -> float:
        """The learning rate of the next update."""
        config = self.config
        if self.repair_round:
            left = 1 - (self.updates - self.repair_start) / config.repair_updates
            return config.learning_rate * config.repair_lr_ratio * 0.5 * (1 - float(np.cos(np.pi * left)))
        if config.schedule == "cosine":
            ratio = 0.5 * (1 + float(np.cos(np.pi * min(1.0, self.updates / config.updates))))
        else:
            ratio = config.lr_decay ** (self.updates / config.lr_decay_every)
        warmup = min(1.0, (self.updates + 1) / config.warmup_updates)
        return config.learning_rate * max(config.min_lr_ratio, ratio) * warmup

    def run(self) -> Iterator[Metrics]:
        """Train until converged, or until the updates are used up; yield after each update."""
        while not self.finished:
            self.updates_since_learned += self.learned
            self.update()
            due = self.updates % self.config.eval_every == 0 and (not self.learned or bool(self.dataset.images))
            evaluated = due or self.finished
            if evaluated:
                self.evaluate(final=self.finished)
            yield self.metrics(evaluated)

    def update(self) -> None:
        """One optimiser step on a batch sampled by the curriculum."""
        config = self.config
        self.model.train()
        auxiliary: list[Tensor] = []

        def encode_images(env: str, images: Int[Tensor, " I"]) -> Float[Tensor, "I G"]:
            features = self.model.encode_images(env, augment(self.dataset.images[env][images], self.rng))
            if sizes := self.model.config.label_sizes.get(env):
                encoder = self.model.image_encoders[env]
                assert isinstance(encoder, ImageEncoder)
                probabilities = encoder.label_probabilities(features)
                auxiliary.append(auxiliary_loss(probabilities, self.dataset.labels[env][images], sizes))
            return features

        batch = self.with_noise(self.dataset.batch(self.curriculum.sample(self.rng, uniform=self.learned)))
        loss = decision_loss(batch_logits(self.model, self.dataset, batch, encode_images), batch).mean()
        loss = loss + config.auxiliary_loss_weight * sum(auxiliary)
        if self.practice is not None:
            seed = int(self.rng.integers(2**62))
            loss = loss + decision_loss(*self.practice.sample(self.model, config.practice_batch_size, seed)).mean()
        if self.repair_dataset is not None:
            chosen = self.rng.integers(len(self.repair_dataset), size=config.repair_batch_size)
            batch = self.repair_dataset.batch(self.repair_dataset.longest_first(chosen))
            loss = (
                loss + decision_loss(batch_logits(self.model, self.repair_dataset, batch, encode_images), batch).mean()
            )
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([parameter for _, parameter in self.named_parameters()], config.grad_clip)
        for group in self.optimizer.param_groups:
            group["lr"] = self.current_lr()
        self.optimizer.step()
        self._update_ema()
        self.updates += 1
        self.loss = loss.item()

    def with_noise(self, batch: Batch) -> Batch:
        """A batch in which some fields of observations without images are replaced by random values."""
        probability = self.config.observation_noise
        if not probability:
            return batch
        sizes = self.field_sizes[batch.env.cpu().numpy()]
        return replace(batch, observation=randomise_fields(batch.observation, sizes, probability, self.rng))

    @torch.no_grad()
    def _update_ema(self) -> None:
        if self.ema_model is self.model:
            return
        decay = min(self.config.ema_decay, self.updates / (self.updates + EMA_WARMUP))
        for average, weight in zip(self.ema_model.parameters(), self.model.parameters(), strict=True):
            average.lerp_(weight, 1 - decay)
        for average, statistic in zip(self.ema_model.buffers(), self.model.buffers(), strict=True):
            average.copy_(statistic)

    def evaluate(self, final: bool = False) -> None:
        """Evaluate a sample of each program's frames, and those wrong last time.

        If no frame without images is wrong, evaluate all frames without images: learned means that all of these are
        right. Frames with images are only sampled, since the goal for them is a fraction; the `final` evaluation
        samples more of them.
        """
        if self.practice is not None:
            prior = self.practice.prior()
            for model in (self.model, self.ema_model):
                model.embedding_mean.copy_(prior.mean)
                model.embedding_axes.copy_(prior.axes)
        count = self.config.eval_frames * (FINAL_EVAL_FACTOR if final else 1)
        sampled, no_images = self.curriculum.evaluation_sample(self.rng, count), ~self.curriculum.has_images
        replayed = self.curriculum.wrong & no_images if self.config.replay_fraction else False
        evaluated, mistakes = self._count_wrong(sampled | replayed)
        if not mistakes[no_images].any() and not self.learned:
            evaluated, mistakes = self._count_wrong(sampled | no_images)
        self.curriculum.update(sampled, evaluated, mistakes)
        self.learned = self.curriculum.image_goal_reached() and not mistakes[no_images].any()
        if not self.learned:
            self.updates_since_learned = 0

    def _count_wrong(self, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `count_wrong_decisions`; an evaluation of nearly every frame ends once `eval_frames` frames are wrong."""
        max_wrong = self.config.eval_frames if mask.mean() > NEARLY_ALL else None
        return count_wrong_decisions(self.ema_model, self.dataset, mask, max_wrong)

    def metrics(self, evaluated: bool = False) -> Metrics:
        accuracy = self.curriculum.program_accuracy()
        return Metrics(self.updates, self.loss, accuracy, self.learned, self.updates_since_learned, evaluated)
