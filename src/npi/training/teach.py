"""Teaching: new programs by new rows of memory, with everything else frozen.

A row is a key, by which a program is found, and an embedding, by which it is run. Rows are found by gradient descent
from several beginnings side by side, each a pupil of its own; the core, the encoders and every other row stay as they
are. `learn` teaches many unrelated programs at once, which costs little more than one.

Axes as in model.py, with U pupils, W new programs of a pupil, S steps of a batch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from npi.errors import BadInput
from npi.language.program import Call, Frame
from npi.language.task import Task, distinct_frames
from npi.network.decision import Logits
from npi.network.encoders import to_rgb
from npi.network.model import NPI, MemoryRows, mask_newer_programs
from npi.training.dataset import Batch, FrameDataset
from npi.training.loss import decision_loss
from npi.training.metrics import count_wrong_decisions, wrong_steps

AT_ONCE = 4096  # frames judged together


@dataclass(frozen=True)
class TeachConfig:
    """How to teach.

    pupils          beginnings side by side; the surest of those with fewest frames wrong is taken
    updates         give up after so many
    frames          of each pupil's frames, how many are drawn for an update, half of them from those it had wrong
    learning_rate   of Adam; it falls to nothing along a cosine, sooner where every frame is right
    spread          how far from the usual one embeddings are at first, in standard deviations
    noise, pull     how far embeddings are moved at random at each update, and how strongly they are drawn to the usual
    average         how much of the running average of the rows stays at each update; the average is what is taken
    settle          updates after every frame is right, ever smaller ones: what is right becomes sure, and holds for
                    more than was shown
    estimate_every  how often all frames are looked at
    """

    restarts: int = 4
    updates: int = 600
    frames: int = 48
    learning_rate: float = 0.1
    spread: float = 0.5
    noise: float = 0.15
    pull: float = 1e-4
    average: float = 0.9
    settle: int = 200
    estimate_every: int = 25


@dataclass(frozen=True)
class TeachingSet:
    """What is to be taught: the frames of new programs, and perhaps of old ones that must not suffer."""

    programs: tuple[str, ...]
    frames: Sequence[tuple[str, Frame]]  # each with the name of its environment


@dataclass(frozen=True)
class Rows:
    """What came of a lesson: the rows, and how many of its frames they get wrong."""

    memory: MemoryRows
    wrong: int
    frames: int
    updates: int


class RestartScore(NamedTuple):
    """What a pupil made of frames."""

    wrong: np.ndarray  # those it got wrong
    loss: float  # of all


class RowTrainer:
    """FrameDataset given side by side, each to several pupils."""

    def __init__(
        self, model: NPI, lessons: Sequence[TeachingSet], config: TeachConfig, seed: int, generation: int | None = None
    ):
        """`generation` is that of the new programs; one of their own if none is given."""
        self.model, self.config = copy.deepcopy(model).eval().requires_grad_(False), config
        self.model.lstm.train()  # it has no dropout, and CUDA gives no gradients otherwise
        device = model.keys.device
        self.own = len(model.programs)
        # All lessons call their new programs by the same names in the table: which rows these are is the pupil's.
        new = [f"new {index}" for index in range(max(len(lesson.programs) for lesson in lessons))]
        born = max(model.generations) + 1 if generation is None else generation
        self.generations = [*model.generations, *[born] * len(new)]
        pairs: list[tuple[str, Frame]] = []
        of: list[int] = []
        for number, lesson in enumerate(lessons):
            names = dict(zip(lesson.programs, new, strict=False))
            pairs += [(env, _renamed(frame, names)) for env, frame in lesson.frames]
            of += [number] * len(lesson.frames)
        self.table = FrameDataset(pairs, [*model.programs, *new], device)
        self.frames_of = [np.nonzero(np.array(of) == number)[0] for number in range(len(lessons))]
        self.groups = [self.table.balanced_sampler(frames) for frames in self.frames_of]
        self.judged: dict[int, RestartScore] = {}  # each pupil, at the last estimate
        self.encoded = self.encode()
        self.rng = np.random.default_rng(seed)
        self.generator = generator = torch.Generator().manual_seed(seed)
        restarts = (len(lessons) * config.restarts, len(new))
        keys = torch.nn.functional.normalize(
            torch.randn(*restarts, model.config.key_width, generator=generator), dim=-1
        )
        codes = config.spread * torch.randn(*restarts, model.config.embedding_width, generator=generator)
        self.keys = torch.nn.Parameter(keys.to(device))
        self.codes = torch.nn.Parameter(codes.to(device))
        self.average = MemoryRows(self.keys.detach().clone(), self.codes.detach().clone())

    def rows(self, keys: Float[Tensor, "U W K"], codes: Float[Tensor, "U W P"]) -> MemoryRows:
        """The rows of all pupils. Embeddings are looked for in steps as long as practice makes them differ."""
        mean, axes = self.model.prior
        return MemoryRows(keys, mean + codes @ axes.T)

    @torch.no_grad()
    def encode(self) -> Float[Tensor, "S D"]:
        """What the frozen encoders make of every step: it never changes, so once is enough."""
        model, table = self.model, self.table
        encoded = torch.empty(len(table.stop), model.config.state_width, device=table.stop.device)
        frame = np.repeat(np.arange(len(table)), table.length)
        env = torch.from_numpy(table.env[frame]).to(encoded.device)
        args = table.args[torch.from_numpy(frame).to(encoded.device)]
        for index, (name, fields) in enumerate(zip(table.envs, table.field_counts, strict=True)):
            mine = torch.nonzero(env == index)[:, 0]
            image_features = None
            if name in table.images:
                observation = [model.encode_images(name, to_rgb(part)) for part in table.images[name].split(256)]
                image_features = torch.cat(observation)
            for part in mine.split(1 << 16):
                shown = None if image_features is None else image_features[table.image[part]]
                encoded[part] = model.encode(name, table.observation[part, :fields], args[part], shown)
        return encoded

    def outputs(
        self, batch: Batch, encoded: Float[Tensor, "S D"], restart: Int[Tensor, " S"], rows: MemoryRows
    ) -> Logits:
        """What the frozen core says at every step, each step with the rows of its pupil beside the model's own."""
        model = self.model
        new = (batch.program - self.own).clamp_min(0)
        old = model.embeddings[batch.program.clamp_max(self.own - 1)]
        taught = torch.nn.functional.embedding(restart * rows.keys.shape[1] + new, rows.embeddings.flatten(0, 1))
        embedded = torch.where((batch.program < self.own)[:, None], old, taught)
        stop, key, args = model.heads(model.run_frames(encoded, embedded, batch.batch_sizes))
        keys = torch.nn.functional.embedding(restart, rows.keys.flatten(1)).unflatten(1, rows.keys.shape[1:])
        found = torch.cat([key @ model.keys.T, torch.einsum("sk,swk->sw", key, keys)], 1)
        return Logits(stop, mask_newer_programs(found, batch.program, self.generations), args)

    def batch(self, frames: np.ndarray, restarts: np.ndarray) -> tuple[Batch, Float[Tensor, "S D"], Int[Tensor, " S"]]:
        order = np.argsort(-self.table.length[frames], kind="stable")
        batch = self.table.batch(frames[order])
        column = batch.frame
        first = torch.from_numpy(self.table.first[frames[order]]).to(column.device)
        going = batch.batch_sizes.to(column.device)
        time = torch.repeat_interleave(torch.arange(len(going), device=column.device), going)
        return batch, self.encoded[first[column] + time], torch.from_numpy(restarts[order]).to(column.device)[column]

    def learn(self) -> Iterator[list[Rows]]:
        """Teach until every lesson is learned or the updates are used up; yield what is reached at each estimate."""
        config, count = self.config, self.config.restarts
        optimizer = torch.optim.Adam([self.keys, self.codes], lr=config.learning_rate, betas=(0.9, 0.98))
        best = self.estimate(range(len(self.frames_of)), 0)
        since: dict[int, int] = {}  # the update at which a lesson was right first
        open_lessons = set(range(len(self.frames_of)))
        for update in range(1, config.updates + 1):
            taught = [n for lesson in sorted(open_lessons) for n in range(lesson * count, (lesson + 1) * count)]
            frames = np.concatenate([self.draw(restart) for restart in taught])
            batch, encoded, restart = self.batch(frames, np.repeat(taught, config.frames))
            rows = self.rows(self.keys, self.codes)
            noise = torch.randn(rows.embeddings.shape, generator=self.generator).to(rows.embeddings)
            rows = rows._replace(embeddings=rows.embeddings + config.noise * noise)
            # A sum over pupils: each has gradients of its own, whatever the others do.
            loss = decision_loss(self.outputs(batch, encoded, restart, rows), batch).sum() / config.frames
            loss = loss + config.pull * self.codes.square().sum()
            optimizer.zero_grad()
            loss.backward()
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * 0.5 * (1 + np.cos(np.pi * (update - 1) / config.updates))
            before = MemoryRows(self.keys.detach().clone(), self.codes.detach().clone())
            optimizer.step()
            calm = [(update - since.get(n // count, update)) / max(1, config.settle) for n in range(len(self.keys))]
            share = 0.5 * (1 + torch.tensor(calm).clamp_max(1).mul(np.pi).cos())[:, None, None].to(self.keys)
            with torch.no_grad():
                for average, old, value in zip(self.average, before, (self.keys, self.codes), strict=True):
                    value.copy_(torch.lerp(old, value, share))
                    average.lerp_(value, 1 - min(config.average, update / (update + 10)))
            if update % config.estimate_every == 0 or update == config.updates:
                still = sorted(open_lessons)
                for lesson, reached in zip(still, self.estimate(still, update), strict=True):
                    if reached.wrong <= best[lesson].wrong:
                        best[lesson] = reached
                    if not reached.wrong:
                        since.setdefault(lesson, update)
                    if lesson in since and update - since[lesson] >= config.settle:
                        open_lessons.discard(lesson)
                yield best
                if not open_lessons:
                    return

    def draw(self, restart: int) -> np.ndarray:
        """Frames for a pupil: of all kinds, and of those that it had wrong at the last estimate."""
        wrong = self.judged[restart].wrong
        review = self.config.frames // 2 if len(wrong) else 0
        fresh = self.groups[restart // self.config.restarts].sample(self.config.frames - review, self.rng)
        return np.concatenate([fresh, wrong[self.rng.integers(len(wrong), size=review)]]) if review else fresh

    def estimate(self, lessons: Sequence[int], updates: int) -> list[Rows]:
        """The best pupil of each of some lessons, judged on all of its frames: the surest of those with least wrong."""
        reached, count = [], self.config.restarts
        rows = self.rows(*self.average)
        pairs = [(restart, self.frames_of[n]) for n in lessons for restart in range(n * count, (n + 1) * count)]
        self.judged |= self.judge(pairs, rows)
        for number in lessons:
            rank = {
                n: (len(self.judged[n].wrong), self.judged[n].loss) for n in range(number * count, (number + 1) * count)
            }
            chosen = min(rank, key=lambda restart: rank[restart])
            memory = MemoryRows(rows.keys[chosen].clone(), rows.embeddings[chosen].clone())
            reached.append(Rows(memory, rank[chosen][0], len(self.frames_of[number]), updates))
        return reached

    @torch.no_grad()
    def judge(self, pairs: Sequence[tuple[int, np.ndarray]], rows: MemoryRows) -> dict[int, RestartScore]:
        """What each pupil makes of the frames given for it."""
        restarts = np.concatenate([np.full(len(frames), restart) for restart, frames in pairs])
        frames = np.concatenate([frames for _, frames in pairs])
        order = np.argsort(-self.table.length[frames], kind="stable")  # frames of like length together waste no time
        wrong, loss = np.zeros(len(frames), dtype=bool), np.zeros(len(frames))
        for start in range(0, len(frames), AT_ONCE):
            part = order[start : start + AT_ONCE]
            batch, encoded, restart = self.batch(frames[part], restarts[part])
            said = self.outputs(batch, encoded, restart, rows)
            column = batch.frame.cpu().numpy()
            wrong[part] = np.bincount(column, wrong_steps(said, batch).cpu().numpy(), len(part)) > 0
            loss[part] = np.bincount(column, decision_loss(said, batch).cpu().numpy(), len(part))
        ends = np.cumsum([len(given) for _, given in pairs])
        spans = [slice(end - len(given), end) for end, (_, given) in zip(ends, pairs, strict=True)]
        return {
            restart: RestartScore(given[wrong[span]], float(loss[span].sum()))
            for span, (restart, given) in zip(spans, pairs, strict=True)
        }


def learn(
    model: NPI, lessons: Sequence[TeachingSet], config: TeachConfig = TeachConfig(), seed: int = 0
) -> Iterator[list[Rows]]:
    """Teach lessons that have nothing to do with each other, side by side; yield what is reached at each estimate."""
    yield from RowTrainer(model, lessons, config, seed).learn()


def count_wrong(model: NPI, lesson: TeachingSet, memory: MemoryRows) -> int:
    """How many frames of a lesson rows get wrong."""
    judge = RowTrainer(model, [lesson], TeachConfig(restarts=1), 0)
    rows = MemoryRows(memory.keys[None], memory.embeddings[None])
    return len(judge.judge([(0, judge.frames_of[0])], rows)[0].wrong)


def _renamed(frame: Frame, names: Mapping[str, str]) -> Frame:
    def renamed(call: Call) -> Call:
        return call._replace(program=names.get(call.program, call.program))

    steps = (step._replace(decision=step.decision and renamed(step.decision)) for step in frame.steps)
    return Frame(renamed(frame.call), tuple(steps))


@dataclass(frozen=True)
class TeachResult:
    """What came of teaching a task. `model` is new, and has the new rows; where `wrong` is not 0 it is not learned."""

    model: NPI
    programs: tuple[str, ...]
    wrong: int
    frames: int
    updates: int

    @property
    def learned(self) -> bool:
        return not self.wrong


def teach(
    model: NPI,
    task: Task,
    rehearse: Sequence[Task] = (),
    config: TeachConfig = TeachConfig(),
    seed: int = 0,
    progress: Callable[[int, int, int], None] = lambda updates, wrong, frames: None,
) -> TeachResult:
    """Teach a model the new programs of a task by new rows of memory alone; the model given stays as it is.

    Without `rehearse`, old programs are kept from calling new ones, so that they run as before whatever was taught.
    With it, they may: frames of these old tasks that the model has right are then learned again beside the new ones.
    """
    new, frames = new_programs(model, task, seed)
    old = [(known.env.__name__, frame) for known in rehearse for frame in _rehearsal(model, known, seed)]
    lesson = TeachingSet(new, [*((task.env.__name__, frame) for frame in frames), *old])
    generation = max(model.generations) + (0 if rehearse else 1)
    restarts = RowTrainer(model, [lesson], config, seed, generation)
    (reached,) = restarts.estimate([0], 0)
    for made, (reached,) in enumerate(restarts.learn(), 1):
        progress(made * config.estimate_every, reached.wrong, reached.frames)
    taught = copy.deepcopy(model)
    for name, key, embedding in zip(new, *reached.memory, strict=False):
        taught.add_program(name, key, embedding, generation)
    taught.tasks = {**model.tasks, task.name: task.teacher}
    check_frozen(model, taught)
    return TeachResult(taught.eval(), new, reached.wrong, reached.frames, reached.updates)


def new_programs(model: NPI, task: Task, seed: int = 0) -> tuple[tuple[str, ...], list[Frame]]:
    """The programs of a task that a model does not know, and their frames, if it can be taught them."""
    env = task.env.__name__
    if env not in model.config.fields:
        raise BadInput(
            f"the model cannot be taught {task.name}: it has no encoder for {env}, only for "
            f"{', '.join(model.config.fields)}. Teaching adds programs, not senses: train a model that sees it with: "
            f"npi train {task.name} --out DIR"
        )
    if missing := [known.name for known in task.builds_on if known.name not in model.programs]:
        raise BadInput(
            f"{task.name} calls {', '.join(missing)}, which the model does not know; it knows "
            f"{', '.join(model.programs)}. Train a model that does"
        )
    recorded = distinct_frames(task, task.training_problems(seed))
    new = tuple(dict.fromkeys(f.call.program for f in recorded if f.call.program not in model.programs))
    if task.main.name not in new:
        raise BadInput(f"the model has a program {task.main.name} already: run it, or give the new one another name")
    return new, [frame for frame in recorded if frame.call.program in new]


def _rehearsal(model: NPI, task: Task, seed: int) -> list[Frame]:
    """Some frames of a task that a model knows; what it has wrong is left out, as it can be neither lost nor mended."""
    few = replace(task, examples=4)
    frames = [
        frame for frame in distinct_frames(few, few.training_problems(seed)) if frame.call.program in model.programs
    ]
    if not frames:
        return []
    table = FrameDataset([(task.env.__name__, frame) for frame in frames], model.programs, model.keys.device)
    _, wrong = count_wrong_decisions(model, table, np.ones(len(frames), dtype=bool))
    return [frame for frame, mistakes in zip(frames, wrong, strict=True) if not mistakes]


class NotFrozen(AssertionError):
    """Teaching changed something that was to stay as it is."""


def check_frozen(before: NPI, after: NPI) -> None:
    """Raise unless every tensor, and every old row of memory, is the same to the last byte."""
    old, new = before.state_dict(), after.state_dict()
    rows = len(before.programs)
    changed = [
        name
        for name, tensor in old.items()
        if not _same(tensor, new[name][:rows] if name in ("keys", "embeddings") else new[name])
    ]
    if after.programs[:rows] != before.programs or after.generations[:rows] != before.generations:
        changed.append("the order of programs")
    if changed:
        raise NotFrozen(f"teaching changed what was to stay as it is: {', '.join(changed)}; nothing was written")


def _same(first: Tensor, second: Tensor) -> bool:
    return first.dtype == second.dtype and first.cpu().numpy().tobytes() == second.cpu().numpy().tobytes()
