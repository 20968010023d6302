"""Inventing practice programs: as many new ones as are wanted, at once, each with a frame of its own.

A frame takes the observations of a walk. Its orders are those of that walk, so that what is seen follows from what is
done, or any others. By which check it chose its way, and what it would have done on the other, is invented to fit.

Axes: J programs, W walks, T time steps of a walk, O orders, A arguments, C checks, V values of a field, F fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from npi.network.model import ModelConfig
from npi.training.practice import BOTH, EARLY, FIRST, MOST, OTHERWISE, Condition, FieldArgument, Instruction, Rollout

FAITHFUL = 0.5  # share of the frames whose orders are those of the walk
COPYING = 0.2  # share of the other orders that read arguments off the observation, which takes longest to learn
TRIES = 8  # checks drawn for a choice, of which one is taken that makes both ways as likely
PLACES = 3  # where orders stand: before the choice, on the way if the check holds, on the other way
SEQUENCE, CHOICE, LOOP = range(3)


class InstructionTensors(NamedTuple):
    """Orders as tensors: the row of the program, and of each argument the value or the field it is read off, if any."""

    program: Int[Tensor, " O"]
    value: Int[Tensor, "O A"]
    field: Int[Tensor, "O A"]  # -1: none
    shift: Int[Tensor, "O A"]

    @staticmethod
    def of(orders: Sequence[Instruction], row: dict[str, int]) -> InstructionTensors:
        copies = [[arg if isinstance(arg, FieldArgument) else None for arg in order.args] for order in orders]
        return InstructionTensors(
            torch.tensor([row[order.program] for order in orders]),
            torch.tensor([[0 if isinstance(arg, FieldArgument) else arg for arg in order.args] for order in orders]),
            torch.tensor([[-1 if copy is None else copy.field for copy in args] for args in copies]),
            torch.tensor([[0 if copy is None else copy.shift for copy in args] for args in copies]),
        )


class ConditionTensors(NamedTuple):
    """Checks as tensors."""

    field: Int[Tensor, " C"]
    values: Bool[Tensor, "C V"]
    other: Int[Tensor, " C"]  # -1: none
    equal: Bool[Tensor, " C"]

    @staticmethod
    def of(checks: Sequence[Condition], values: int) -> ConditionTensors:
        return ConditionTensors(
            torch.tensor([check.field for check in checks]),
            torch.tensor([[value in check.values for value in range(values)] for check in checks]),
            torch.tensor([-1 if check.other is None else check.other for check in checks]),
            torch.tensor([check.equal for check in checks]),
        )

    def hold(self, which: Int[Tensor, "J _"], observation: Int[Tensor, "J F"]) -> Bool[Tensor, "J _"]:
        """Which of some checks hold where this is seen."""
        value, other = (observation.gather(1, field[which].clamp_min(0)) for field in (self.field, self.other))
        compared = torch.where(self.equal[which], value == other, value < other)
        return torch.where(self.other[which] < 0, self.values[which, value], compared)


class RolloutTensors(NamedTuple):
    """What practice has of one environment: walks, and what they are made of."""

    env: str
    numbers: int  # of an observation, the captions of a picture left out
    sizes: Int[Tensor, " F"]  # how many values each field has
    observation: Int[Tensor, "W T F"]  # T: one more than the orders of a walk
    orders: InstructionTensors  # those of each walk, in order; then a call of itself
    copying: Int[Tensor, " _"]  # those that read arguments off the observation
    checks: ConditionTensors

    @staticmethod
    def of(walks: Sequence[Rollout], config: ModelConfig, row: dict[str, int], device: torch.device) -> RolloutTensors:
        env = walks[0].env
        itself = Instruction("", (0,) * len(config.argument_sizes))
        orders = InstructionTensors.of([*(order for walk in walks for order in walk.orders), itself], row)
        checks = ConditionTensors.of([walk.check for walk in walks], max(sizes_of(config, env)))
        return RolloutTensors(
            env,
            len(config.fields[env]),
            torch.tensor(sizes_of(config, env), device=device),
            torch.tensor([walk.observation for walk in walks], device=device),
            InstructionTensors(*(part.to(device) for part in orders)),
            torch.nonzero((orders.field >= 0).any(1))[:, 0].to(device),
            ConditionTensors(*(part.to(device) for part in checks)),
        )


class PracticeBatch(NamedTuple):
    """Programs of one environment, each with a frame of its own: a row of each tensor is one."""

    ground: RolloutTensors
    walk: Int[Tensor, " J"]
    orders: Int[Tensor, "J 3 4"]  # at a place, in order: which of the ground's orders
    counts: Int[Tensor, "J 3"]  # how many of them there are at each place
    checks: Int[Tensor, "J 2"]  # which of the ground's checks
    asked: Int[Tensor, " J"]  # how many of them there are; 0: it makes no choice
    way: Int[Tensor, " J"]  # the place of the way gone

    def step(self, time: int) -> tuple[Int[Tensor, " J"], Bool[Tensor, " J"]]:
        """Which order each gives at a time, and whether it does."""
        first = self.counts[:, 0]
        before = first > time
        place = torch.where(before, 0, self.way)[:, None]
        index = torch.where(before, time, time - first)
        gives = (index < self.counts.gather(1, place)[:, 0]) & (before | (self.asked > 0))
        index = place * FIRST + index.clamp_max(FIRST - 1)[:, None]
        return self.orders.flatten(1).gather(1, index)[:, 0], gives


def invent(ground: RolloutTensors, count: int, generator: torch.Generator) -> PracticeBatch:
    """New programs, in the shares in which `ProgramSampler.draw` makes them."""
    device = ground.observation.device

    def below(limit: int, *shape: int) -> Tensor:
        return torch.randint(limit, shape or (count,), generator=generator, device=device)

    def often(share: float, *shape: int) -> Tensor:
        return torch.rand(*shape or (count,), generator=generator, device=device) < share

    kind, walk = below(3), below(len(ground.observation))
    chooses, loops = kind != SEQUENCE, kind == LOOP
    first = torch.where(chooses, often(EARLY).long(), 1 + below(FIRST))
    otherwise = torch.tensor(OTHERWISE, device=device)[below(len(OTHERWISE))]
    given = torch.stack([first, (1 + below(MOST)) * chooses, otherwise * chooses], 1)
    itself = len(ground.orders.program) - 1
    orders = below(itself, count, PLACES, FIRST)
    if len(ground.copying):
        orders = torch.where(
            often(COPYING, *orders.shape), ground.copying[below(len(ground.copying), *orders.shape)], orders
        )
    counts = given.clone()
    counts[:, 1] += loops
    index = torch.arange(FIRST, device=device)
    orders[:, 1] = torch.where(loops[:, None] & (index == given[:, 1:2]), itself, orders[:, 1])

    asked = torch.where(chooses, 1 + often(BOTH).long(), 0)
    checks = below(len(ground.checks.field), count, TRIES, 2)
    held = ground.checks.hold(checks.flatten(1), ground.observation[walk, first]).view_as(checks)
    held = held[..., 0] & (held[..., 1] | (asked < 2)[:, None])
    taken = (held == often(0.5)[:, None]).long().argmax(1, keepdim=True)
    way = torch.where(held.gather(1, taken)[:, 0], 1, 2)

    faithful = often(FAITHFUL)[:, None]
    walked = walk[:, None] * FIRST + index
    orders[:, 0] = torch.where(faithful & (index < first[:, None]), walked, orders[:, 0])
    for place in range(1, PLACES):
        there = faithful & (way == place)[:, None] & (index < given[:, place, None])
        orders[:, place] = torch.where(there, walked + first[:, None], orders[:, place])
    chosen = checks.gather(1, taken[..., None].expand(-1, 1, 2))[:, 0]
    return PracticeBatch(ground, walk, orders, counts, chosen, asked, way)


def sizes_of(config: ModelConfig, env: str) -> list[int]:
    """How many values each number has that is seen in an environment."""
    return [*config.fields[env].values(), *config.label_sizes.get(env, ())]
