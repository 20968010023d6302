"""Training memory rows for new programs; everything else of the model stays frozen.

A memory row is a key, by which a program is found, and an embedding, by which it is run. A teaching set holds the
frames of some new programs. `train_rows` finds rows for many unrelated teaching sets in one run, which costs little
more than one: each set has several restarts, and each restart has its own parameters.

A core that was trained without practice points to the key of a program only where its training frames call it: to that
of a main program never, to that of RSHIFT only after COMPSWAP. So for such a core each old program that the new ones
call gets an extra key, which is trained with their rows and which old programs do not see.

Axes as in model.py, with U restarts of all sets together, W new programs of a restart, E extra keys, and S steps of a
batch.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from npi.language.program import Call, Frame
from npi.network.decision import Logits
from npi.network.encoders import to_rgb
from npi.network.model import NPI, MemoryRows, best_of_keys, mask_newer_keys
from npi.training.dataset import Batch, EnvFrame, FrameDataset
from npi.training.loss import decision_loss
from npi.training.metrics import IMAGES_AT_ONCE, count_wrong_decisions, wrong_steps

# How much is evaluated in one forward pass, so that it fits into little memory.
FRAMES_AT_ONCE = 4096
STEPS_AT_ONCE = 1 << 16

EMA_WARMUP = 10  # the EMA decay after n updates is at most n / (n + EMA_WARMUP), to forget the initial rows soon


@dataclass(frozen=True)
class TeachConfig:
    """How to train memory rows. The defaults were chosen by experiment (docs/LOG.md).

    restarts               random initialisations trained side by side; of those with the fewest wrong frames, the one
                           with the smallest loss is taken
    updates                give up after so many
    batch_frames           frames per restart and update; half of them were wrong at the last evaluation, if any were
    learning_rate          of Adam; it follows a half cosine to 0 over `updates`
    init_spread            standard deviation of the initial embeddings, in units of the prior's
    noise                  standard deviation of the noise added to embeddings at each update
    prior_weight           weight of the squared distance of embeddings from the prior's mean, in units of the prior
    ema_decay              decay of the exponential moving average of the rows, which is what is evaluated and kept
    updates_after_learned  updates once every frame is right, with steps that follow a half cosine to 0; they
                           widen the margins, so that rows are right on more than the frames they were trained on
    eval_every             how often, in updates, all frames are evaluated
    extra_keys             whether a core without practice gets extra keys for the old programs that new ones call
    """

    restarts: int = 4
    updates: int = 600
    batch_frames: int = 48
    learning_rate: float = 0.1
    init_spread: float = 0.5
    noise: float = 0.15
    prior_weight: float = 1e-4
    ema_decay: float = 0.9
    updates_after_learned: int = 200
    eval_every: int = 25
    extra_keys: bool = True


@dataclass(frozen=True)
class TeachingSet:
    """Frames from which to train the rows of the new `programs`; with rehearsal, also frames of known programs."""

    programs: tuple[str, ...]
    frames: Sequence[EnvFrame]


@dataclass(frozen=True)
class TaughtRows:
    """Rows trained on a teaching set, and how many of its frames they get wrong."""

    rows: MemoryRows
    extra_keys: dict[str, Float[Tensor, " K"]]  # of old programs that the new ones call
    wrong: int
    frames: int
    updates: int  # after how many updates these rows were evaluated


def add_rows(model: NPI, programs: Sequence[str], taught: TaughtRows, generation: int) -> NPI:
    """A copy of a model with the rows of new programs, and the extra keys that were trained with them."""
    larger = copy.deepcopy(model)
    for name, key, embedding in zip(programs, *taught.rows, strict=False):
        larger.add_program(name, key, embedding, generation)
    for name, key in taught.extra_keys.items():
        larger.add_key(name, key, generation)
    return larger


class RestartScore(NamedTuple):
    """The errors and the loss of a restart on some frames."""

    wrong: np.ndarray  # the frames it gets wrong
    loss: float  # the sum over all the frames, right or wrong


class RowTrainer:
    """Trains the rows of several teaching sets side by side. Restart n belongs to set n // config.restarts."""

    def __init__(
        self,
        model: NPI,
        teaching_sets: Sequence[TeachingSet],
        config: TeachConfig,
        seed: int,
        generation: int | None = None,
    ):
        """`generation` is that of the new programs; by default, one later than any in the model."""
        self.model, self.config = copy.deepcopy(model).eval().requires_grad_(False), config
        self.model.lstm.train()  # cuDNN computes gradients in this mode only; without dropout nothing else changes
        device = model.keys.device
        self.known_count = len(model.programs)
        # In the dataset, the new programs of all sets have the same names; whose rows they are depends on the restart.
        new = [f"new {index}" for index in range(max(len(one.programs) for one in teaching_sets))]
        new_generation = max(model.generations) + 1 if generation is None else generation
        pairs: list[EnvFrame] = []
        set_of_frame: list[int] = []
        for number, one in enumerate(teaching_sets):
            names = dict(zip(one.programs, new, strict=False))
            pairs += [(env, _renamed(frame, names)) for env, frame in one.frames]
            set_of_frame += [number] * len(one.frames)
        steps = [step for _, frame in pairs for step in frame.steps if frame.call.program in new]
        called = {step.decision.program for step in steps if step.decision is not None}
        wanted = config.extra_keys and not model.config.teachable
        self.extra = [name for name in model.programs if wanted and name in called]
        self.generations = [*model.generations, *[new_generation] * len(new)]
        self.extra_generations = [*(key.generation for key in model.extra_keys), *[new_generation] * len(self.extra)]
        self.extra_programs = [
            model.programs.index(name) for name in (*(key.program for key in model.extra_keys), *self.extra)
        ]
        self.dataset = FrameDataset(pairs, [*model.programs, *new], device)
        self.frames_of_set = [np.nonzero(np.array(set_of_frame) == n)[0] for n in range(len(teaching_sets))]
        self.samplers = [self.dataset.balanced_sampler(frames) for frames in self.frames_of_set]
        self.scores: dict[int, RestartScore] = {}  # of each restart, at the last evaluation
        self.encoded = self.encode()
        self.rng = np.random.default_rng(seed)
        self.generator = generator = torch.Generator().manual_seed(seed)
        restarts = len(teaching_sets) * config.restarts
        shape = (restarts, len(new), model.config.key_width)
        keys = torch.nn.functional.normalize(torch.randn(*shape, generator=generator), dim=-1)
        extra = model.keys.detach()[[model.programs.index(name) for name in self.extra]].cpu()  # start as the old keys
        keys = torch.cat([keys, extra.expand(restarts, -1, -1)], 1)
        shape = (restarts, len(new), model.config.embedding_width)
        coordinates = config.init_spread * torch.randn(*shape, generator=generator)
        self.keys = torch.nn.Parameter(keys.to(device))
        self.coordinates = torch.nn.Parameter(coordinates.to(device))
        self.ema = (self.keys.detach().clone(), self.coordinates.detach().clone())

    def rows(self, keys: Float[Tensor, "U _ K"], coordinates: Float[Tensor, "U W P"]) -> MemoryRows:
        """The rows of all restarts; last, without embeddings, the extra keys.

        An embedding is given by its coordinates along the principal axes of the prior.
        """
        mean, axes = self.model.prior
        return MemoryRows(keys, mean + coordinates @ axes.T)

    @torch.no_grad()
    def encode(self) -> Float[Tensor, "S D"]:
        """The state encodings of all steps: the encoders are frozen, so once is enough."""
        model, dataset = self.model, self.dataset
        encoded = torch.empty(len(dataset.stop), model.config.state_width, device=dataset.stop.device)
        frame = np.repeat(np.arange(len(dataset)), dataset.length)
        env = torch.from_numpy(dataset.env[frame]).to(encoded.device)
        args = dataset.args[torch.from_numpy(frame).to(encoded.device)]
        for index, (name, fields) in enumerate(zip(dataset.envs, dataset.field_counts, strict=True)):
            mine = torch.nonzero(env == index)[:, 0]
            features = None
            if name in dataset.images:
                images = dataset.images[name].split(IMAGES_AT_ONCE)
                features = torch.cat([model.encode_images(name, to_rgb(part)) for part in images])
            for part in mine.split(STEPS_AT_ONCE):
                shown = None if features is None else features[dataset.image[part]]
                encoded[part] = model.encode(name, dataset.observation[part, :fields], args[part], shown)
        return encoded

    def logits(
        self, batch: Batch, encoded: Float[Tensor, "S D"], restart: Int[Tensor, " S"], rows: MemoryRows
    ) -> Logits:
        """The logits at each step, with the rows of the step's restart added to the model's memory."""
        model = self.model
        new = (batch.program - self.known_count).clamp_min(0)
        old_embedded = model.embeddings[batch.program.clamp_max(self.known_count - 1)]
        # Indexing gives the same values, but its backward pass adds gradients in no fixed order.
        new_count = rows.embeddings.shape[1]
        new_embedded = torch.nn.functional.embedding(restart * new_count + new, rows.embeddings.flatten(0, 1))
        embedded = torch.where((batch.program < self.known_count)[:, None], old_embedded, new_embedded)
        stop, key, args = model.heads(model.run_frames(encoded, embedded, batch.batch_sizes))
        keys = torch.nn.functional.embedding(restart, rows.keys.flatten(1)).unflatten(1, rows.keys.shape[1:])
        trained = torch.einsum("sk,swk->sw", key, keys)
        count = len(model.programs)
        known = key @ model.keys.T
        scores = torch.cat([known[:, :count], trained[:, :new_count], known[:, count:], trained[:, new_count:]], 1)
        scores = mask_newer_keys(scores, batch.program, self.generations, self.extra_generations)
        return Logits(stop, best_of_keys(scores, count + new_count, self.extra_programs), args)

    def batch(self, frames: np.ndarray, restarts: np.ndarray) -> tuple[Batch, Float[Tensor, "S D"], Int[Tensor, " S"]]:
        """A batch of frames, each for a restart, with the state encoding and the restart of each step."""
        order = np.argsort(-self.dataset.length[frames], kind="stable")
        batch = self.dataset.batch(frames[order])
        column = batch.frame
        first = torch.from_numpy(self.dataset.first[frames[order]]).to(column.device)
        running = batch.batch_sizes.to(column.device)
        time = torch.repeat_interleave(torch.arange(len(running), device=column.device), running)
        return batch, self.encoded[first[column] + time], torch.from_numpy(restarts[order]).to(column.device)[column]

    def restarts_of(self, teaching_set: int) -> range:
        return range(teaching_set * self.config.restarts, (teaching_set + 1) * self.config.restarts)

    def run(self) -> Iterator[list[TaughtRows]]:
        """Train until every set is learned or the updates are used up; yield the best rows after each evaluation."""
        config = self.config
        optimizer = torch.optim.Adam([self.keys, self.coordinates], lr=config.learning_rate, betas=(0.9, 0.98))
        best = self.evaluate(range(len(self.frames_of_set)), 0)
        learned_at: dict[int, int] = {}  # the update at which all frames of a set were right for the first time
        unfinished = set(range(len(self.frames_of_set)))
        for update in range(1, config.updates + 1):
            training = [restart for number in sorted(unfinished) for restart in self.restarts_of(number)]
            frames = np.concatenate([self.sample(restart) for restart in training])
            batch, encoded, restart = self.batch(frames, np.repeat(training, config.batch_frames))
            rows = self.rows(self.keys, self.coordinates)
            noise = torch.randn(rows.embeddings.shape, generator=self.generator).to(rows.embeddings)
            rows = rows._replace(embeddings=rows.embeddings + config.noise * noise)
            # A sum over restarts, not a mean, so that the gradients of one do not depend on the number of others.
            loss = decision_loss(self.logits(batch, encoded, restart, rows), batch).sum() / config.batch_frames
            loss = loss + config.prior_weight * self.coordinates.square().sum()
            optimizer.zero_grad()
            loss.backward()
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * 0.5 * (1 + np.cos(np.pi * (update - 1) / config.updates))
            before = (self.keys.detach().clone(), self.coordinates.detach().clone())
            optimizer.step()
            self._shorten_steps(before, update, learned_at)
            if update % config.eval_every == 0 or update == config.updates:
                numbers = sorted(unfinished)
                for number, reached in zip(numbers, self.evaluate(numbers, update), strict=True):
                    if reached.wrong <= best[number].wrong:
                        best[number] = reached
                    if not reached.wrong:
                        learned_at.setdefault(number, update)
                    if number in learned_at and update - learned_at[number] >= config.updates_after_learned:
                        unfinished.discard(number)
                yield best
                if not unfinished:
                    return

    @torch.no_grad()
    def _shorten_steps(self, before: tuple[Tensor, Tensor], update: int, learned_at: Mapping[int, int]) -> None:
        """Shorten the last optimiser step of restarts whose set is learned, and update the moving average.

        Adam has one learning rate for all restarts, so the half cosine of each is applied to the step it made.
        """
        config = self.config
        fractions = [
            (update - learned_at.get(restart // config.restarts, update)) / max(1, config.updates_after_learned)
            for restart in range(len(self.keys))
        ]
        scale = 0.5 * (1 + torch.tensor(fractions).clamp_max(1).mul(np.pi).cos())[:, None, None].to(self.keys)
        decay = min(config.ema_decay, update / (update + EMA_WARMUP))
        for average, old, value in zip(self.ema, before, (self.keys, self.coordinates), strict=True):
            value.copy_(torch.lerp(old, value, scale))
            average.lerp_(value, 1 - decay)

    def sample(self, restart: int) -> np.ndarray:
        """The frames of an update for a restart: half of them wrong at the last evaluation, the others balanced."""
        wrong = self.scores[restart].wrong
        replayed = self.config.batch_frames // 2 if len(wrong) else 0
        sampler = self.samplers[restart // self.config.restarts]
        fresh = sampler.sample(self.config.batch_frames - replayed, self.rng)
        return np.concatenate([fresh, wrong[self.rng.integers(len(wrong), size=replayed)]]) if replayed else fresh

    def evaluate(self, teaching_sets: Sequence[int], updates: int) -> list[TaughtRows]:
        """For each of these sets, the moving average of its best restart's rows, evaluated on all its frames."""
        rows = self.rows(*self.ema)
        pairs = [(restart, self.frames_of_set[n]) for n in teaching_sets for restart in self.restarts_of(n)]
        self.scores |= self.score(pairs, rows)
        taught = []
        for number in teaching_sets:
            rank = {n: (len(self.scores[n].wrong), self.scores[n].loss) for n in self.restarts_of(number)}
            best = min(rank, key=lambda restart: rank[restart])
            new_count = rows.embeddings.shape[1]
            chosen = MemoryRows(rows.keys[best, :new_count].clone(), rows.embeddings[best].clone())
            extra_keys = dict(zip(self.extra, rows.keys[best, new_count:].clone(), strict=True))
            taught.append(TaughtRows(chosen, extra_keys, rank[best][0], len(self.frames_of_set[number]), updates))
        return taught

    @torch.no_grad()
    def score(self, pairs: Sequence[tuple[int, np.ndarray]], rows: MemoryRows) -> dict[int, RestartScore]:
        """The score of each restart on the frames paired with it."""
        restarts = np.concatenate([np.full(len(frames), restart) for restart, frames in pairs])
        frames = np.concatenate([frames for _, frames in pairs])
        order = np.argsort(
            -self.dataset.length[frames], kind="stable"
        )  # a batch takes as many time steps as its longest frame
        wrong, loss = np.zeros(len(frames), dtype=bool), np.zeros(len(frames))
        for start in range(0, len(frames), FRAMES_AT_ONCE):
            part = order[start : start + FRAMES_AT_ONCE]
            batch, encoded, restart = self.batch(frames[part], restarts[part])
            logits = self.logits(batch, encoded, restart, rows)
            column = batch.frame.cpu().numpy()
            wrong[part] = np.bincount(column, wrong_steps(logits, batch).cpu().numpy(), len(part)) > 0
            loss[part] = np.bincount(column, decision_loss(logits, batch).cpu().numpy(), len(part))
        ends = np.cumsum([len(own) for _, own in pairs])
        spans = [slice(end - len(own), end) for end, (_, own) in zip(ends, pairs, strict=True)]
        return {
            restart: RestartScore(own[wrong[span]], float(loss[span].sum()))
            for span, (restart, own) in zip(spans, pairs, strict=True)
        }


def train_rows(
    model: NPI, teaching_sets: Sequence[TeachingSet], config: TeachConfig = TeachConfig(), seed: int = 0
) -> Iterator[list[TaughtRows]]:
    """Train rows for unrelated teaching sets, side by side; yield the best rows of each after each evaluation."""
    yield from RowTrainer(model, teaching_sets, config, seed).run()


def count_wrong_frames(model: NPI, teaching_set: TeachingSet, taught: TaughtRows) -> int:
    """How many frames of a teaching set are wrong with rows that were trained on another."""
    larger = add_rows(model, teaching_set.programs, taught, max(model.generations) + 1)
    dataset = FrameDataset(teaching_set.frames, larger.programs, model.keys.device)
    return int(np.count_nonzero(count_wrong_decisions(larger, dataset, np.ones(len(dataset), dtype=bool))[1]))


def _renamed(frame: Frame, names: Mapping[str, str]) -> Frame:
    """A frame in which the programs in `names` have other names."""

    def renamed(call: Call) -> Call:
        return call._replace(program=names.get(call.program, call.program))

    steps = (step._replace(decision=step.decision and renamed(step.decision)) for step in frame.steps)
    return Frame(renamed(frame.call), tuple(steps))
