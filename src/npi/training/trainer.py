"""Training: the adaptive curriculum, the loss and the loop.

Every frame is a training sequence of its own, so all programs of all tasks learn side by side. A training run is an
object whose state can be saved at any update; resumed, it goes on to the same bits as if it had never stopped.

Axes as in model.py, with S the steps of a batch.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from npi.language.program import Frame
from npi.language.task import Task
from npi.network.model import NPI, ModelConfig
from npi.training.augment import vary
from npi.training.config import FAST, TrainConfig
from npi.training.dataset import Lessons, demonstrations, programs_of
from npi.training.loss import caption_loss, loss_of
from npi.training.metrics import count_wrong, outputs
from npi.training.practice import Walk, all_walks
from npi.training.practice_memory import Drill

TEACHABLE = {"program": 256, "fusion": 512, "teachable": True}  # room for more than the tasks' own programs
FEW = 1000  # distinct frames: with fewer, weights are drawn to nothing as with so many
THOROUGH = 8  # times as many frames with pictures are looked at in the end


@dataclass(frozen=True)
class Metrics:
    """Where a training run stands."""

    update: int
    loss: float
    accuracy: dict[str, float]  # per program: the share of the frames last looked at that are right in every decision
    learnt: bool  # every distinct frame is right, or as many as the goal asks for
    settled: int  # updates since then


def begin(
    tasks: Sequence[Task],
    config: TrainConfig = FAST,
    seed: int = 0,
    device: str | torch.device = "cpu",
    walks: Iterable[Walk] | None = None,
) -> Training:
    """Record the teachers of some tasks and set up a new model to learn from them.

    `walks` are walks for practice that were made already; if none are given, they are made here as `config` says.
    """
    walks = list(all_walks(tasks, config.practice, seed) if walks is None else walks)
    frames = list(demonstrations(tasks, seed))
    programs = programs_of(frames)
    torch.manual_seed(seed)
    model = NPI(ModelConfig.of({task.env: None for task in tasks}, **(TEACHABLE if walks else {})), programs)
    model.tasks = {task.name: task.teacher for task in tasks}
    drill = Drill(model, walks, device) if walks else None
    return Training(model.to(device), Lessons(frames, programs, device), config, seed, drill)


@dataclass(frozen=True)
class Unit:
    """What the curriculum chooses between: the frames of one program, with pictures or without."""

    row: int
    pictured: bool
    frames: np.ndarray


class Training:
    """One training run."""

    def __init__(self, model: NPI, lessons: Lessons, config: TrainConfig, seed: int, drill: Drill | None = None):
        self.model, self.lessons, self.config, self.seed, self.drill = model, lessons, config, seed, drill
        self.average = copy.deepcopy(model).requires_grad_(False) if config.average else model
        self.average.lstm.flatten_parameters()  # a copy's weights lie apart, which slows CUDA down
        parameters = dict(self.named_parameters()).values()
        self.optimizer = torch.optim.AdamW(
            [
                {
                    "params": [p for p in parameters if p.dim() > 1],
                    "weight_decay": config.shrink / max(len(lessons), FEW),
                },
                {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
            ],
            lr=config.learning_rate,
            betas=(0.9, config.beta2),
            fused=True,
        )
        self.rng = np.random.default_rng(seed)
        self.updates = 0
        self.loss = float("nan")
        pictured = np.array([env in lessons.pictures for env in lessons.envs])[lessons.env]
        units = [
            Unit(row, shows, np.nonzero((lessons.program == row) & (pictured == shows))[0])
            for row in range(len(lessons.programs))
            for shows in (False, True)
        ]
        self.units = [unit for unit in units if len(unit.frames)]
        # Each unit's share of wrong decisions and of right frames, and the frames found wrong, at the last estimate.
        self.error = np.ones(len(self.units))
        self.accuracy = np.zeros(len(self.units))
        self.wrong = np.zeros(len(lessons), dtype=bool)
        self.learnt = False
        self.settled = 0
        # What proofs found wrong so far: the histories of each task, as frames to be learnt; the rounds made, and the
        # update at which the last one began.
        self.failing: dict[str, list[int]] = {}
        self.insisted: Lessons | None = None
        self.round, self.began = 0, 0

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Everything that is trained."""
        yield from self.model.named_parameters()
        if self.drill is not None:
            yield from self.drill.named_parameters(prefix="drill")

    @property
    def done(self) -> bool:
        return self.learnt and self.settled >= self.config.settle

    @property
    def over(self) -> bool:
        """Whether nothing is left to be done, in this round if it is one."""
        if self.round:
            return self.updates >= self.began + self.config.again
        return self.done or self.updates >= self.config.updates

    def insist(self, failing: Mapping[str, Sequence[int]], frames: Iterable[tuple[str, Frame]]) -> None:
        """Begin a round: train on, on these frames too, from now on. They are the histories of `failing`."""
        self.failing = {name: list(nodes) for name, nodes in failing.items()}
        self.recall(frames)
        self.round, self.began = self.round + 1, self.updates

    def recall(self, frames: Iterable[tuple[str, Frame]]) -> None:
        self.insisted = Lessons(frames, self.lessons.programs, self.model.keys.device)

    def rate(self) -> float:
        config = self.config
        if self.round:
            left = 1 - (self.updates - self.began) / config.again
            return config.learning_rate * config.gentle * 0.5 * (1 - float(np.cos(np.pi * left)))
        if config.anneal:
            share = 0.5 * (1 + float(np.cos(np.pi * min(1.0, self.updates / config.updates))))
        else:
            share = config.decay ** (self.updates / config.decay_every)
        return config.learning_rate * max(config.floor, share) * min(1.0, (self.updates + 1) / config.warmup)

    def run(self) -> Iterator[Metrics]:
        """Train until every distinct frame is right and has settled, or the updates are used up; yield after each."""
        while not self.over:
            self.settled += self.learnt
            self.update()
            due = self.updates % self.config.estimate_every == 0 and (not self.learnt or bool(self.lessons.pictures))
            if due or self.over:
                self.estimate(thorough=self.over)
            yield self.metrics()

    def update(self) -> None:
        """One step of gradient descent on a batch of frames drawn by the curriculum."""
        config, batch = self.config, self.lessons.batch(self.draw())
        self.model.train()
        told: list[Tensor] = []  # how far what is said of the pictures is from their captions

        def see(env: str, which: Int[Tensor, " I"]) -> Float[Tensor, "I G"]:
            glimpse = self.model.look(env, vary(self.lessons.pictures[env][which], self.rng))
            if sizes := self.model.config.captions.get(env):
                told.append(caption_loss(glimpse, self.lessons.captions[env][which], sizes))
            return glimpse

        loss = loss_of(outputs(self.model, self.lessons, batch, see), batch).mean() + config.caption * sum(told)
        if self.drill is not None:
            loss = loss + self.practise(self.drill)
        if self.insisted is not None:
            chosen = self.rng.integers(len(self.insisted), size=config.insist)
            batch = self.insisted.batch(self.insisted.longest_first(chosen))
            loss = loss + loss_of(outputs(self.model, self.insisted, batch, see), batch).mean()
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([parameter for _, parameter in self.named_parameters()], config.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        self.optimizer.step()
        if config.average:
            keep = min(config.average, self.updates / (self.updates + 10))  # forget the first, random weights sooner
            with torch.no_grad():
                for average, weight in zip(self.average.parameters(), self.model.parameters(), strict=True):
                    average.lerp_(weight, 1 - keep)
                for average, statistic in zip(self.average.buffers(), self.model.buffers(), strict=True):
                    average.copy_(statistic)
        self.updates += 1
        self.loss = loss.item()

    def practise(self, drill: Drill) -> Float[Tensor, ""]:
        """How far a batch of practice programs is from being run as they should be."""
        said, batch = drill.lesson(self.model, self.config.drill, int(self.rng.integers(2**62)))
        return loss_of(said, batch).mean()

    def draw(self) -> np.ndarray:
        """Choose frames: those with pictures and those without each have their part, so that neither starves."""
        parts = [
            self.draw_from(np.array([unit.pictured == pictured for unit in self.units]), count)
            for pictured, count in ((False, self.config.batch), (True, self.config.pictures))
            if any(unit.pictured == pictured for unit in self.units)
        ]
        return self.lessons.longest_first(np.concatenate(parts))

    def draw_from(self, among: np.ndarray, batch: int) -> np.ndarray:
        """Choose among some units by a softmax over their errors, and their frames with equal chances."""
        config, rng = self.config, self.rng
        units = [unit for unit, chosen in zip(self.units, among, strict=True) if chosen]
        if self.learnt:
            frames = np.concatenate([unit.frames for unit in units])
            return self.fit(frames[rng.integers(len(frames), size=batch)])
        error = self.error[among]
        weight = np.exp((error - error.max()) / config.temperature)
        share = (1 - config.uniform) * weight / weight.sum() + config.uniform / len(units)
        chosen = [
            unit.frames[rng.integers(len(unit.frames), size=count)]
            for unit, count in zip(units, rng.multinomial(batch, share), strict=True)
            if count
        ]
        wrong = np.sort(np.concatenate([unit.frames[self.wrong[unit.frames]] for unit in units]))
        if config.review and len(wrong) and not units[0].pictured:  # a picture is another one every time
            chosen.append(wrong[rng.integers(len(wrong), size=max(1, round(config.review * batch)))])
        return self.fit(rng.permutation(np.concatenate(chosen)))

    def fit(self, frames: np.ndarray) -> np.ndarray:
        """As many of these frames as have no more steps together than a batch may have, and at least one."""
        fitting = self.lessons.length[frames].cumsum() <= self.config.steps
        fitting[0] = True
        return frames[fitting]

    def estimate(self, thorough: bool = False) -> None:
        """Look at some frames of each unit, and at those wrong last time; if all are right, at every frame.

        Not so where there are pictures: some of them are always taken for others, so a sample must do, a larger one
        where it must be `thorough`.
        """
        enough = self.config.estimate_frames * (THOROUGH if thorough else 1)
        if self.drill is not None:
            prior = self.drill.prior()
            for model in (self.model, self.average):
                model.usual.copy_(prior.usual)
                model.ways.copy_(prior.ways)
        sampled, pictured = np.zeros((2, len(self.lessons)), dtype=bool)
        for unit in self.units:
            frames = unit.frames
            pictured[frames] = unit.pictured
            if len(frames) > enough:
                frames = self.rng.choice(frames, enough, replace=False)
            sampled[frames] = True
        review = self.wrong & ~pictured if self.config.review else False
        looked_at, mistakes = self.count_wrong(sampled | review)
        if not mistakes[~pictured].any() and not self.learnt:
            looked_at, mistakes = self.count_wrong(sampled | ~pictured)
        self.wrong = mistakes > 0
        for index, unit in enumerate(self.units):
            mine = unit.frames[looked_at[unit.frames]]
            if len(mine):
                self.error[index] = mistakes[mine].sum() / self.lessons.length[mine].sum()
                self.accuracy[index] = 1 - self.wrong[unit.frames[sampled[unit.frames]]].mean()
        reached = all(
            accuracy >= self.config.goal
            for unit, accuracy in zip(self.units, self.accuracy, strict=True)
            if unit.pictured
        )
        self.learnt = reached and not mistakes[~pictured].any()
        if not self.learnt:
            self.settled = 0

    def count_wrong(self, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which frames were looked at, and how many wrong decisions each has. Enough wrong frames end the search."""
        enough = self.config.estimate_frames if among.mean() > 0.9 else None
        return count_wrong(self.average, self.lessons, among, enough)

    def metrics(self) -> Metrics:
        accuracy: dict[str, float] = {}
        for unit, share in zip(self.units, self.accuracy.tolist(), strict=True):
            name = self.lessons.programs[unit.row]
            accuracy[name] = min(share, accuracy.get(name, 1.0))
        return Metrics(self.updates, self.loss, accuracy, self.learnt, self.settled)
