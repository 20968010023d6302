"""Sampling practice programs as tensors: any number of new ones at once, each with one frame.

A frame takes its observations from a recorded rollout, so no environment runs here. The program's instructions are
those of the rollout, so that observations follow from actions, or random others. Its conditions and the branch that is
not taken are chosen to fit: at the observation where the program branches, the conditions select the branch taken.

A program has three sections: the prefix, the branch taken if the conditions hold, and the else branch.

Axes: J programs, R rollouts, T observations of a rollout, O instructions, A arguments, C conditions, V values of a
field, F observed numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from npi.network.model import ModelConfig
from npi.training.practice_program import (
    ELSE_LENGTHS,
    ITSELF,
    LOOP,
    MAX_BRANCH_INSTRUCTIONS,
    MAX_CONDITIONS,
    MAX_INSTRUCTIONS,
    PREFIX_PROBABILITY,
    PROGRAM_KINDS,
    SEQUENCE,
    TWO_CONDITIONS_PROBABILITY,
    Condition,
    FieldArgument,
    Instruction,
    Rollout,
)

# Chosen by experiment (docs/LOG.md).
ROLLOUT_PROBABILITY = 0.5  # that a frame has the instructions of its rollout
COPYING_PROBABILITY = 0.2  # that any other instruction is one that copies an argument, the slowest to learn
CONDITION_CANDIDATES = 8  # conditions tried for a program, to find one that selects the branch that a coin toss chose

SECTIONS = 3
PREFIX, THEN, ELSE = range(SECTIONS)


class InstructionTensors(NamedTuple):
    """Instructions: the memory row of the program, and each argument's value, or the field it is copied from."""

    program: Int[Tensor, " O"]
    value: Int[Tensor, "O A"]
    field: Int[Tensor, "O A"]  # -1: not copied
    shift: Int[Tensor, "O A"]

    @staticmethod
    def of(instructions: Sequence[Instruction], row: dict[str, int]) -> InstructionTensors:
        copied = [[arg if isinstance(arg, FieldArgument) else None for arg in one.args] for one in instructions]
        return InstructionTensors(
            torch.tensor([row[one.program] for one in instructions]),
            torch.tensor([[0 if isinstance(arg, FieldArgument) else arg for arg in one.args] for one in instructions]),
            torch.tensor([[-1 if arg is None else arg.field for arg in args] for args in copied]),
            torch.tensor([[0 if arg is None else arg.shift for arg in args] for args in copied]),
        )


class ConditionTensors(NamedTuple):
    """Conditions, as tensors of the attributes of `Condition`."""

    field: Int[Tensor, " C"]
    values: Bool[Tensor, "C V"]  # whether each value is one of `Condition.values`
    other: Int[Tensor, " C"]  # -1: none
    equal: Bool[Tensor, " C"]

    @staticmethod
    def of(conditions: Sequence[Condition], values: int) -> ConditionTensors:
        return ConditionTensors(
            torch.tensor([condition.field for condition in conditions]),
            torch.tensor([[value in condition.values for value in range(values)] for condition in conditions]),
            torch.tensor([-1 if condition.other is None else condition.other for condition in conditions]),
            torch.tensor([condition.equal for condition in conditions]),
        )

    def hold(self, which: Int[Tensor, "J _"], observation: Int[Tensor, "J F"]) -> Bool[Tensor, "J _"]:
        """Whether each program's conditions, the indices `which`, hold at its observation."""
        value, other = (observation.gather(1, field[which].clamp_min(0)) for field in (self.field, self.other))
        compared = torch.where(self.equal[which], value == other, value < other)
        return torch.where(self.other[which] < 0, self.values[which, value], compared)


class RolloutTensors(NamedTuple):
    """The rollouts of one environment, with their instructions and conditions: what practice programs are made of."""

    env: str
    field_count: int  # observed numbers that are fields; the rest are auxiliary labels of the image
    sizes: Int[Tensor, " F"]  # how many values each observed number has
    observations: Int[Tensor, "R T F"]  # T: one more than a rollout has instructions
    instructions: InstructionTensors  # those of each rollout, in order; last, a call of the program itself
    copying: Int[Tensor, " _"]  # indices of the instructions that copy an argument
    conditions: ConditionTensors

    @staticmethod
    def of(
        rollouts: Sequence[Rollout], config: ModelConfig, row: dict[str, int], device: torch.device
    ) -> RolloutTensors:
        env = rollouts[0].env
        call_of_itself = Instruction(ITSELF, (0,) * len(config.argument_sizes))
        instructions = InstructionTensors.of(
            [*(one for rollout in rollouts for one in rollout.instructions), call_of_itself], row
        )
        sizes = observed_sizes(config, env)
        conditions = ConditionTensors.of([rollout.condition for rollout in rollouts], max(sizes))
        return RolloutTensors(
            env,
            len(config.fields[env]),
            torch.tensor(sizes, device=device),
            torch.tensor([rollout.observations for rollout in rollouts], device=device),
            InstructionTensors(*(part.to(device) for part in instructions)),
            torch.nonzero((instructions.field >= 0).any(1))[:, 0].to(device),
            ConditionTensors(*(part.to(device) for part in conditions)),
        )


class PracticeBatch(NamedTuple):
    """Practice programs of one environment, one row of each tensor for each program and its frame."""

    source: RolloutTensors
    rollout: Int[Tensor, " J"]
    instructions: Int[Tensor, "J 3 4"]  # SECTIONS, MAX_INSTRUCTIONS: indices into `source.instructions`
    counts: Int[Tensor, "J 3"]  # how many instructions each section has; the others are ignored
    conditions: Int[Tensor, "J 2"]  # MAX_CONDITIONS: indices into `source.conditions`
    condition_count: Int[Tensor, " J"]  # how many conditions count; 0: the program does not branch
    branch: Int[Tensor, " J"]  # the branch taken: THEN or ELSE

    def step(self, time: int) -> tuple[Int[Tensor, " J"], Bool[Tensor, " J"]]:
        """The instruction of each program at a time step, and whether there is one; otherwise the program returns."""
        prefix = self.counts[:, PREFIX]
        in_prefix = prefix > time
        section = torch.where(in_prefix, PREFIX, self.branch)[:, None]
        index = torch.where(in_prefix, time, time - prefix)
        calls = (index < self.counts.gather(1, section)[:, 0]) & (in_prefix | (self.condition_count > 0))
        index = section * MAX_INSTRUCTIONS + index.clamp_max(MAX_INSTRUCTIONS - 1)[:, None]
        return self.instructions.flatten(1).gather(1, index)[:, 0], calls


def sample_programs(source: RolloutTensors, count: int, generator: torch.Generator) -> PracticeBatch:
    """New practice programs, shaped as `ProgramSampler.propose` shapes them, each with one frame."""
    device = source.observations.device

    def below(limit: int, *shape: int) -> Tensor:
        return torch.randint(limit, shape or (count,), generator=generator, device=device)

    def chance(probability: float, *shape: int) -> Tensor:
        return torch.rand(*shape or (count,), generator=generator, device=device) < probability

    kind, rollout = below(PROGRAM_KINDS), below(len(source.observations))
    branches, loops = kind != SEQUENCE, kind == LOOP
    prefix = torch.where(branches, chance(PREFIX_PROBABILITY).long(), 1 + below(MAX_INSTRUCTIONS))
    else_length = torch.tensor(ELSE_LENGTHS, device=device)[below(len(ELSE_LENGTHS))]
    lengths = torch.stack([prefix, (1 + below(MAX_BRANCH_INSTRUCTIONS)) * branches, else_length * branches], 1)
    call_of_itself = len(source.instructions.program) - 1  # the index of the last instruction; see RolloutTensors
    instructions = below(call_of_itself, count, SECTIONS, MAX_INSTRUCTIONS)
    if len(source.copying):
        copying = chance(COPYING_PROBABILITY, *instructions.shape)
        instructions = torch.where(
            copying, source.copying[below(len(source.copying), *instructions.shape)], instructions
        )
    counts = lengths.clone()
    counts[:, THEN] += loops
    index = torch.arange(MAX_INSTRUCTIONS, device=device)
    ends_loop = loops[:, None] & (index == lengths[:, THEN, None])
    instructions[:, THEN] = torch.where(ends_loop, call_of_itself, instructions[:, THEN])

    condition_count = torch.where(branches, 1 + chance(TWO_CONDITIONS_PROBABILITY).long(), 0)
    candidates = below(len(source.conditions.field), count, CONDITION_CANDIDATES, MAX_CONDITIONS)
    # Take the first candidate whose conditions hold, or the first that does not, as a coin toss decides.
    held = source.conditions.hold(candidates.flatten(1), source.observations[rollout, prefix]).view_as(candidates)
    held = held[..., 0] & (held[..., 1] | (condition_count < 2)[:, None])
    chosen = (held == chance(0.5)[:, None]).long().argmax(1, keepdim=True)
    branch = torch.where(held.gather(1, chosen)[:, 0], THEN, ELSE)

    # A program with the instructions of its rollout: the first become its prefix, the next the branch that is taken.
    uses_rollout = chance(ROLLOUT_PROBABILITY)[:, None]
    of_rollout = rollout[:, None] * MAX_INSTRUCTIONS + index
    in_prefix = uses_rollout & (index < prefix[:, None])
    instructions[:, PREFIX] = torch.where(in_prefix, of_rollout, instructions[:, PREFIX])
    for section in (THEN, ELSE):
        taken = uses_rollout & (branch == section)[:, None] & (index < lengths[:, section, None])
        instructions[:, section] = torch.where(taken, of_rollout + prefix[:, None], instructions[:, section])
    conditions = candidates.gather(1, chosen[..., None].expand(-1, 1, MAX_CONDITIONS))[:, 0]
    return PracticeBatch(source, rollout, instructions, counts, conditions, condition_count, branch)


def observed_sizes(config: ModelConfig, env: str) -> list[int]:
    """How many values each observed number of an environment has: fields, then auxiliary labels."""
    return [*config.fields[env].values(), *config.label_sizes.get(env, ())]
