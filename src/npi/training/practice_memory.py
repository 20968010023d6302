"""Practice in training: memory rows for sampled programs, and the model's logits on their frames.

The embedding of a practice program is a sum of learned feature vectors, one for each part of the program, so the core
must learn what each part means and how parts combine. Its key is random. If a program calls itself or another practice
program, a learned projection of that program's key is added to its embedding. Noise on the embeddings makes nearby
embeddings mean the same, so that gradient descent can find the embedding of a new program (row_trainer.py). All of this
is dropped after training; what remains is a core that runs the program that an embedding describes.

Axes as in practice_batch.py, with J frames, R rows, K width of a key, P of an embedding, S steps, D width of a state
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
from npi.training.practice_batch import PREFIX, SECTIONS, PracticeBatch, RolloutTensors, sample_programs
from npi.training.practice_program import ITSELF, MAX_CONDITIONS, MAX_INSTRUCTIONS, OTHER_PROGRAM, Rollout

# Chosen by experiment (docs/LOG.md).
EMBEDDING_NOISE = 0.15  # standard deviation of the noise on embeddings; 0.05 had no effect
FEATURE_INIT_STD = 0.3  # of the initial feature vectors
FEATURE_LR_FACTOR = 5.0  # feature vectors learn this much faster than the rest, as each is used in few programs only
NEGATIVE_KEYS = 6  # other practice programs among the candidates at each call; thousands were too hard to learn
LABEL_BLUR = 0.3  # fraction of auxiliary labels blurred towards a neighbouring class
MAX_BLUR = 0.45  # weight of the neighbouring class at most: below 1/2, so that the true class stays the likeliest

PRIOR_PROGRAMS = 8192  # sampled to fit the prior: many more than an embedding has dimensions
SHIFT_COUNT = 3  # values of `FieldArgument.shift`: -1, 0 and 1


class PracticeRows(NamedTuple):
    """Memory rows of practice programs."""

    keys: Float[Tensor, "R K"]
    other_keys: Float[Tensor, "R K"]  # the key of the other practice program that each may call
    embeddings: Float[Tensor, "R P"]


class PracticeMemory(nn.Module):
    """Samples practice programs, and holds the feature vectors from which their embeddings are made.

    A feature is one part of a program in its place, such as "the second instruction of the prefix calls LSHIFT". The
    features are numbered in blocks, one for each kind of part; `first_feature` is where each block begins. Feature 0 is
    padding.
    """

    def __init__(self, model: NPI, rollouts: Sequence[Rollout], device: str | torch.device = "cpu"):
        super().__init__()
        config = model.config
        self.program_count = len(model.programs)
        # Callees are numbered as the model's memory rows, then the program itself, then the other practice program.
        self.self_row, self.other_row = self.program_count, self.program_count + 1
        row = {name: index for index, name in enumerate([*model.programs, ITSELF, OTHER_PROGRAM])}
        self.argument_count, self.argument_values = len(config.argument_sizes), max(config.argument_sizes)
        self.feature_count = 1
        self.first_feature: dict[str | tuple[str, str], int] = {}
        places = SECTIONS * MAX_INSTRUCTIONS
        self.add_features("counts", SECTIONS * (MAX_INSTRUCTIONS + 1))
        self.add_features("program", places * (self.program_count + 2))
        self.add_features("argument", places * self.argument_count * self.argument_values)
        self.add_features("condition count", MAX_CONDITIONS + 1)
        self.sources: list[RolloutTensors] = []
        for env in dict.fromkeys(rollout.env for rollout in rollouts):
            mine = [rollout for rollout in rollouts if rollout.env == env]
            source = RolloutTensors.of(mine, config, row, torch.device(device))
            fields, values = len(source.sizes), source.conditions.values.shape[1]
            self.sources.append(source)
            self.add_features(("copied argument", env), places * self.argument_count * fields * SHIFT_COUNT)
            self.add_features(("tested field", env), MAX_CONDITIONS * fields)
            self.add_features(("tested value", env), MAX_CONDITIONS * fields * values)
            self.add_features(("compared fields", env), MAX_CONDITIONS * fields * fields * 2)  # less, or equal
        # Adam moves every weight by about the learning rate, so vectors stored smaller by a factor learn faster by it.
        vectors = torch.randn(self.feature_count, config.embedding_width) * FEATURE_INIT_STD / FEATURE_LR_FACTOR
        self.feature_vectors = nn.Parameter(vectors)
        self.project_own_key = nn.Linear(config.key_width, config.embedding_width, bias=False)
        self.project_other_key = nn.Linear(config.key_width, config.embedding_width, bias=False)
        self.to(device)

    def add_features(self, kind: str | tuple[str, str], count: int) -> None:
        """Number a block of features; `kind` names it, with the environment where the block depends on its fields."""
        self.first_feature[kind] = self.feature_count
        self.feature_count += count

    def features(self, programs: PracticeBatch) -> Int[Tensor, "J _"]:
        """The features of each program, padded with 0; `rows` adds the keys of the practice programs that it calls."""
        source, env = programs.source, programs.source.env
        fields, values = len(source.sizes), source.conditions.values.shape[1]
        device = source.sizes.device
        section, index = torch.arange(SECTIONS, device=device), torch.arange(MAX_INSTRUCTIONS, device=device)
        slot, condition = torch.arange(self.argument_count, device=device), torch.arange(MAX_CONDITIONS, device=device)

        present = (programs.condition_count > 0)[:, None] | (section == PREFIX)
        counts = self.first_feature["counts"] + section * (MAX_INSTRUCTIONS + 1) + programs.counts
        counts = torch.where(present, counts, 0)

        place = section[:, None] * MAX_INSTRUCTIONS + index  # [section, index]
        present = index < programs.counts[..., None]  # [J, section, index]
        called = source.instructions.program[programs.instructions]
        called = torch.where(present, self.first_feature["program"] + place * (self.program_count + 2) + called, 0)

        place = place[..., None] * self.argument_count + slot  # [section, index, slot]
        value, field, shift = (part[programs.instructions] for part in source.instructions[1:])
        constant = self.first_feature["argument"] + place * self.argument_values + value
        copied = self.first_feature["copied argument", env] + (place * fields + field) * SHIFT_COUNT + shift + 1
        arguments = torch.where(present[..., None], torch.where(field < 0, constant, copied), 0)

        has_conditions = programs.condition_count > 0
        condition_count = torch.where(
            has_conditions, self.first_feature["condition count"] + programs.condition_count, 0
        )
        present = condition < programs.condition_count[:, None]  # [J, condition]
        field, admitted, other, equal = (part[programs.conditions] for part in source.conditions)
        place = condition * fields + field
        compared = self.first_feature["compared fields", env] + (place * fields + other) * 2 + equal
        tested = torch.where(other < 0, self.first_feature["tested field", env] + place, compared)
        tested = torch.where(present, tested, 0)
        value = self.first_feature["tested value", env] + place[..., None] * values
        value = value + torch.arange(values, device=device)
        admitted = torch.where(present[..., None] & admitted, value, 0)
        parts = (counts, called, arguments, condition_count[:, None], tested, admitted)
        return torch.cat([part.flatten(1) for part in parts], 1)

    def calls(self, programs: PracticeBatch, row: int) -> Bool[Tensor, " J"]:
        """Whether each program has an instruction, in any section, that calls the program of a memory row."""
        present = torch.arange(MAX_INSTRUCTIONS, device=programs.counts.device) < programs.counts[..., None]
        return ((programs.source.instructions.program[programs.instructions] == row) & present).flatten(1).any(1)

    def rows(self, batches: Sequence[PracticeBatch], generator: torch.Generator) -> PracticeRows:
        """The memory rows of all programs, with new random keys."""
        bags = [self.features(programs) for programs in batches]
        width = max(bag.shape[1] for bag in bags)
        bag = torch.cat([nn.functional.pad(bag, (0, width - bag.shape[1])) for bag in bags])
        embeddings = FEATURE_LR_FACTOR * nn.functional.embedding_bag(
            bag, self.feature_vectors, mode="sum", padding_idx=0
        )
        shape = (2, len(bag), self.project_own_key.in_features)
        keys, other_keys = nn.functional.normalize(torch.randn(shape, generator=generator, device=bag.device), dim=-1)
        for row, project, called_keys in (
            (self.self_row, self.project_own_key, keys),
            (self.other_row, self.project_other_key, other_keys),
        ):
            calls = torch.cat([self.calls(programs, row) for programs in batches])
            embeddings = embeddings + project(called_keys) * calls[:, None]
        return PracticeRows(keys, other_keys, embeddings)

    def sample_programs(self, count: int, generator: torch.Generator) -> list[PracticeBatch]:
        """New programs, as equally many as possible for each environment."""
        counts = [(count + index) // len(self.sources) for index in range(len(self.sources))]
        return [sample_programs(source, n, generator) for source, n in zip(self.sources, counts, strict=True)]

    def sample(self, model: NPI, count: int, seed: int) -> tuple[Logits, Batch]:
        """The model's logits on `count` frames, each of a new program, with the frames as a batch."""
        generator = torch.Generator(self.feature_vectors.device).manual_seed(seed)
        batches = self.sample_programs(count, generator)
        keys, other_keys, embeddings = self.rows(batches, generator)
        noise = torch.randn(embeddings.shape, generator=generator, device=embeddings.device)
        batch = self.batch(batches)
        embedded = embedding(batch.program, embeddings + EMBEDDING_NOISE * noise)
        hidden = model.run_frames(self.encode(model, batch, generator), embedded, batch.batch_sizes)
        stop, key, args = model.heads(hidden)
        # In the order of the callees' numbers; further programs are never the right answer.
        candidates = [keys, other_keys, *(keys.roll(shift, 0) for shift in range(1, NEGATIVE_KEYS + 1))]
        scores = [key @ model.keys.T]
        scores += [(key * embedding(batch.program, rows)).sum(1, keepdim=True) for rows in candidates]
        return Logits(stop, torch.cat(scores, 1), args), batch

    def encode(self, model: NPI, batch: Batch, generator: torch.Generator) -> Float[Tensor, "S D"]:
        """State encodings; auxiliary labels, blurred, take the place of the image features that predict them."""
        encoded = torch.empty(len(batch.stop), model.config.state_width, device=self.feature_vectors.device)
        for index, source in enumerate(self.sources):
            mine = batch.env == index
            numbers = batch.observation[mine]
            label_sizes = model.config.label_sizes.get(source.env, ())
            labels = numbers[:, source.field_count : source.field_count + len(label_sizes)].T
            blurred = [blur_label(label, size, generator) for label, size in zip(labels, label_sizes, strict=True)]
            image_features = torch.cat(blurred, 1) if blurred else None
            encoded[mine] = model.encode(source.env, numbers[:, : source.field_count], batch.args[mine], image_features)
        return encoded

    def batch(self, batches: Sequence[PracticeBatch]) -> Batch:
        """The frames of all programs, longest first; auxiliary labels stand among the observed numbers.

        `program`, the running program, is a row of `PracticeRows`. `next_program`, the callee, is a row of the model's
        memory, `self_row`, or `other_row`.
        """
        width = max(len(programs.source.sizes) for programs in batches)
        running, stop, program, args, observation, env = [], [], [], [], [], []
        for number, programs in enumerate(batches):
            source, runs = programs.source, torch.ones_like(programs.rollout, dtype=torch.bool)
            for time in range(MAX_INSTRUCTIONS + 1):
                instruction, calls = programs.step(time)
                observed = source.observations[programs.rollout, time]
                field = source.instructions.field[instruction]
                copied = observed.gather(1, field.clamp_min(0)) + source.instructions.shift[instruction]
                copied = copied % source.sizes[field]
                running.append(runs)
                stop.append(runs & ~calls)
                program.append(source.instructions.program[instruction])
                args.append(torch.where(field < 0, source.instructions.value[instruction], copied))
                observation.append(nn.functional.pad(observed, (0, width - observed.shape[1])))
                runs = calls
            env.append(torch.full_like(programs.rollout, number))

        def time_by_frame(parts: list[Tensor]) -> Tensor:
            """The parts as one tensor [T, J]; they are listed by environment, and for each environment by time step."""
            times = MAX_INSTRUCTIONS + 1
            return torch.cat([torch.stack(parts[at : at + times]) for at in range(0, len(parts), times)], 1)

        steps = time_by_frame(running)
        frames = steps.sum(0).argsort(descending=True, stable=True)
        steps = steps[steps.any(1)][:, frames]
        time, column = torch.nonzero(steps, as_tuple=True)
        frame = frames[column]

        def packed(parts: list[Tensor]) -> Tensor:
            return time_by_frame(parts)[time, frame]

        zeros = torch.zeros(len(frame), self.argument_count, dtype=torch.long, device=frame.device)
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
        """The distribution of practice embeddings, from which teaching draws the initial embeddings of new programs."""
        generator = torch.Generator(self.feature_vectors.device).manual_seed(0)
        return EmbeddingPrior.of(self.rows(self.sample_programs(PRIOR_PROGRAMS, generator), generator).embeddings)


def blur_label(label: Int[Tensor, " S"], size: int, generator: torch.Generator) -> Float[Tensor, "S _"]:
    """One-hot labels, some of them blurred towards a neighbouring class, as an image encoder's predictions may be."""
    draws = torch.rand(3, len(label), generator=generator, device=label.device)
    weight = MAX_BLUR * draws[0] * (draws[1] < LABEL_BLUR)
    step = 2 * (draws[2] < 0.5).long() - 1
    neighbour = (label + step) % size
    return torch.lerp(one_hot(label, size).float(), one_hot(neighbour, size).float(), weight[:, None])
