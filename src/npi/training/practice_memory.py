"""Practice as part of training: rows of memory for invented programs, and what a model makes of them.

The embedding of such a program is put together from its features, each a learned vector, so the core must learn what
the parts of a program mean, and how they go together. Its key is drawn at random, and told to whoever calls it.
Embeddings are moved a little at random, so that what is near one means the same, and one for a new program can be
found by gradient descent (teaching.py). All of this is dropped when training ends: what stays is a core that can be
told by a row what to do.

Axes as in invention.py, with J frames, R rows, K width of a key, P of an embedding, S steps, D width of a state
encoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding, one_hot

from npi.network.decision import Logits
from npi.network.model import NPI, EmbeddingPrior
from npi.training.dataset import Batch
from npi.training.practice import ANOTHER, FIRST, Rollout
from npi.training.practice_batch import PLACES, PracticeBatch, RolloutTensors, invent

NOISE = 0.15  # how far embeddings are moved
SPREAD = 0.3  # of the vector of a feature, at first
HASTE = 5.0  # how much faster than the rest these vectors are learned: each is needed now and then only
STRANGERS = 6  # keys of other programs from which one that is called must be told apart
DOUBT = 0.3  # share of the pictures of which is said what is to be said, but not with certainty
PRIOR = 8192  # programs from which is learned what embeddings are like


class Rows(NamedTuple):
    """Rows of memory of practice programs."""

    keys: Float[Tensor, "R K"]
    others: Float[Tensor, "R K"]  # of the other program that each calls, if it calls any
    embeddings: Float[Tensor, "R P"]


class PracticeMemory(nn.Module):
    """Practice: what programs are made of, and the vectors of their features."""

    def __init__(self, model: NPI, walks: Sequence[Rollout], device: str | torch.device = "cpu"):
        super().__init__()
        config = model.config
        self.own = len(model.programs)
        self.itself, self.another = self.own, self.own + 1
        row = {name: index for index, name in enumerate([*model.programs, "", ANOTHER])}
        self.slots, self.widest = len(config.argument_sizes), max(config.argument_sizes)
        self.numbered = 1  # 0: none
        self.bases: dict[str | tuple[str, str], int] = {}
        places = PLACES * FIRST
        self.reserve("orders", PLACES * (FIRST + 1))
        self.reserve("program", places * (self.own + 2))
        self.reserve("argument", places * self.slots * self.widest)
        self.reserve("checks", 3)
        self.grounds: list[RolloutTensors] = []
        for env in dict.fromkeys(walk.env for walk in walks):
            mine = [walk for walk in walks if walk.env == env]
            ground = RolloutTensors.of(mine, config, row, torch.device(device))
            fields, values = len(ground.sizes), ground.checks.values.shape[1]
            self.grounds.append(ground)
            self.reserve(("copy", env), places * self.slots * fields * 3)
            self.reserve(("field", env), 2 * fields)
            self.reserve(("value", env), 2 * fields * values)
            self.reserve(("fields", env), 2 * fields * fields * 2)
        self.parts = nn.Parameter(torch.randn(self.numbered, config.embedding_width) * SPREAD / HASTE)
        self.told_itself = nn.Linear(config.key_width, config.embedding_width, bias=False)
        self.told_another = nn.Linear(config.key_width, config.embedding_width, bias=False)
        self.to(device)

    def reserve(self, kind: str | tuple[str, str], count: int) -> None:
        self.bases[kind] = self.numbered
        self.numbered += count

    def features(self, made: PracticeBatch) -> Int[Tensor, "J _"]:
        """All that each program is made of, each part with its place, by number: other features, another program."""
        ground, env = made.ground, made.ground.env
        fields, values = len(ground.sizes), ground.checks.values.shape[1]
        device = ground.sizes.device
        place, index = torch.arange(PLACES, device=device), torch.arange(FIRST, device=device)
        slot, two = torch.arange(self.slots, device=device), torch.arange(2, device=device)

        there = (made.asked > 0)[:, None] | (place == 0)
        orders = torch.where(there, self.bases["orders"] + place * (FIRST + 1) + made.counts, 0)

        at = place[:, None] * FIRST + index  # [place, index]
        there = index < made.counts[..., None]  # [J, place, index]
        called = ground.orders.program[made.orders]
        programs = torch.where(there, self.bases["program"] + at * (self.own + 2) + called, 0)

        nth = at[..., None] * self.slots + slot  # [place, index, slot]
        value, field, shift = (part[made.orders] for part in ground.orders[1:])
        argument = self.bases["argument"] + nth * self.widest + value
        copy = self.bases["copy", env] + (nth * fields + field) * 3 + shift + 1
        arguments = torch.where(there[..., None], torch.where(field < 0, argument, copy), 0)

        asked = torch.where(made.asked > 0, self.bases["checks"] + made.asked, 0)
        there = two < made.asked[:, None]  # [J, check]
        field, admitted, other, equal = (part[made.checks] for part in ground.checks)
        nth = two * fields + field
        compared = self.bases["fields", env] + (nth * fields + other) * 2 + equal
        checked = torch.where(there, torch.where(other < 0, self.bases["field", env] + nth, compared), 0)
        value = self.bases["value", env] + nth[..., None] * values + torch.arange(values, device=device)
        admitted = torch.where(there[..., None] & admitted, value, 0)
        parts = (orders, programs, arguments, asked[:, None], checked, admitted)
        return torch.cat([part.flatten(1) for part in parts], 1)

    def calls(self, made: PracticeBatch, program: int) -> Bool[Tensor, " J"]:
        """Which programs call a program, on any way."""
        there = torch.arange(FIRST, device=made.counts.device) < made.counts[..., None]
        return ((made.ground.orders.program[made.orders] == program) & there).flatten(1).any(1)

    def rows(self, inventions: Sequence[PracticeBatch], generator: torch.Generator) -> Rows:
        """The key of each program, that of the other which it calls if it calls any, and its embedding."""
        bags = [self.features(made) for made in inventions]
        width = max(bag.shape[1] for bag in bags)
        bag = torch.cat([nn.functional.pad(bag, (0, width - bag.shape[1])) for bag in bags])
        embeddings = HASTE * nn.functional.embedding_bag(bag, self.parts, mode="sum", padding_idx=0)
        shape = (2, len(bag), self.told_itself.in_features)
        own, others = nn.functional.normalize(torch.randn(shape, generator=generator, device=bag.device), dim=-1)
        for program, tell, key in ((self.itself, self.told_itself, own), (self.another, self.told_another, others)):
            calls = torch.cat([self.calls(made, program) for made in inventions])
            embeddings = embeddings + tell(key) * calls[:, None]
        return Rows(own, others, embeddings)

    def invent(self, count: int, generator: torch.Generator) -> list[PracticeBatch]:
        """New programs on every environment."""
        each = [(count + place) // len(self.grounds) for place in range(len(self.grounds))]
        return [invent(ground, share, generator) for ground, share in zip(self.grounds, each, strict=True)]

    def sample(self, model: NPI, count: int, seed: int) -> tuple[Logits, Batch]:
        """What a model says in `count` frames, each of a new program."""
        generator = torch.Generator(self.parts.device).manual_seed(seed)
        inventions = self.invent(count, generator)
        own, others, embeddings = self.rows(inventions, generator)
        noise = torch.randn(embeddings.shape, generator=generator, device=embeddings.device)
        batch = self.batch(inventions)
        embedded = embedding(batch.program, embeddings + NOISE * noise)
        hidden = model.run_frames(self.encode(model, batch, generator), embedded, batch.batch_sizes)
        stop, key, args = model.heads(hidden)
        near = [own, others, *(own.roll(shift, 0) for shift in range(1, STRANGERS + 1))]
        found = [key @ model.keys.T, *((key * embedding(batch.program, keys)).sum(1, keepdim=True) for keys in near)]
        return Logits(stop, torch.cat(found, 1), args), batch

    def encode(self, model: NPI, batch: Batch, generator: torch.Generator) -> Float[Tensor, "S D"]:
        encoded = torch.empty(len(batch.stop), model.config.state_width, device=self.parts.device)
        for index, ground in enumerate(self.grounds):
            mine = batch.env == index
            numbers = batch.observation[mine]
            captions = model.config.label_sizes.get(ground.env, ())
            told = numbers[:, ground.numbers : ground.numbers + len(captions)].T
            said = [_said(number, size, generator) for number, size in zip(told, captions, strict=True)]
            image_features = torch.cat(said, 1) if said else None
            encoded[mine] = model.encode(ground.env, numbers[:, : ground.numbers], batch.args[mine], image_features)
        return encoded

    def batch(self, inventions: Sequence[PracticeBatch]) -> Batch:
        """Frames side by side, longest first; what is to be said of a picture stands among the numbers seen.

        The programs that run are numbered as the rows are; of those called, itself and another come after the model's.
        """
        width = max(len(made.ground.sizes) for made in inventions)
        going, stop, program, args, observation, env = [], [], [], [], [], []
        for number, made in enumerate(inventions):
            ground, before = made.ground, torch.ones_like(made.walk, dtype=torch.bool)
            for time in range(FIRST + 1):
                order, gives = made.step(time)
                shown = ground.observation[made.walk, time]
                field = ground.orders.field[order]
                read = (shown.gather(1, field.clamp_min(0)) + ground.orders.shift[order]) % ground.sizes[field]
                going.append(before)
                stop.append(before & ~gives)
                program.append(ground.orders.program[order])
                args.append(torch.where(field < 0, ground.orders.value[order], read))
                observation.append(nn.functional.pad(shown, (0, width - shown.shape[1])))
                before = gives
            env.append(torch.full_like(made.walk, number))

        def side_by_side(parts: list[Tensor]) -> Tensor:
            """Time by frame: the parts are those of one environment after the other."""
            each = FIRST + 1
            return torch.cat([torch.stack(parts[at : at + each]) for at in range(0, len(parts), each)], 1)

        steps = side_by_side(going)
        frames = steps.sum(0).argsort(descending=True, stable=True)
        steps = steps[steps.any(1)][:, frames]
        time, column = torch.nonzero(steps, as_tuple=True)
        frame = frames[column]

        def packed(parts: list[Tensor]) -> Tensor:
            return side_by_side(parts)[time, frame]

        zeros = torch.zeros(len(frame), self.slots, dtype=torch.long, device=frame.device)
        return Batch(
            batch_sizes=steps.sum(1).cpu(),
            frame=column,
            env=torch.cat(env)[frame],
            observation=packed(observation),
            image=zeros[:, 0],
            program=frame,
            args=zeros,
            stop=packed(stop),
            next_program=packed(program),
            next_args=packed(args),
        )

    @torch.no_grad()
    def prior(self) -> EmbeddingPrior:
        """What the embeddings of practice programs are like: those of new programs should not be otherwise."""
        generator = torch.Generator(self.parts.device).manual_seed(0)
        return EmbeddingPrior.of(self.rows(self.invent(PRIOR, generator), generator).embeddings)


def _said(number: Int[Tensor, " S"], size: int, generator: torch.Generator) -> Float[Tensor, "S _"]:
    """What an encoder might say where a number is to be said: that number, now and then with its neighbour in doubt."""
    draws = torch.rand(3, len(number), generator=generator, device=number.device)
    doubt = 0.45 * draws[0] * (draws[1] < DOUBT)
    step = 2 * (draws[2] < 0.5).long() - 1
    return torch.lerp(one_hot(number, size).float(), one_hot((number + step) % size, size).float(), doubt[:, None])
