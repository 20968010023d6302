"""Practice programs: random small programs that are trained beside a task's own.

A core trained on its tasks' programs alone cannot learn a new program from a memory row: it runs the programs that it
knows, not whatever an embedding describes. Practice makes it an interpreter of embeddings. A practice program is made
of what a task has already: its programs, `act`, and the fields of its observation. It runs some instructions, and may
then take one of two branches by a condition on the observation. A branch that ends in a call of the program itself is a
loop.

program_sampler.py samples practice programs and runs them in an environment. practice_batch.py samples a new program
for every frame of every update, so that none can be memorised; practice_memory.py computes their embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from npi.language.image import Image
from npi.language.program import Call

# The size of practice programs. With larger ones the core had most frames wrong (docs/LOG.md).
MAX_INSTRUCTIONS = 4  # of a program without branches, and of a rollout
MAX_CONDITIONS = 2  # of a branch
MAX_BRANCH_INSTRUCTIONS = 2  # of one branch, before a possible call of the program itself
ELSE_LENGTHS = (0, 0, 1, MAX_BRANCH_INSTRUCTIONS)  # lengths of the else branch, each equally likely: often empty
PREFIX_PROBABILITY = 0.15  # that one instruction comes before the condition; most programs start with the condition
TWO_CONDITIONS_PROBABILITY = 0.1  # that a branch has two conditions, which must both hold, instead of one
PROGRAM_KINDS = 3  # equally likely
SEQUENCE, BRANCH, LOOP = range(PROGRAM_KINDS)

# Names of callees in place of a program of the task: the practice program itself, and any other practice program.
ITSELF, OTHER_PROGRAM = "", "another program"


@dataclass(frozen=True)
class FieldArgument:
    """An argument copied from the observation: the value of a field plus `shift`, modulo the argument's size."""

    field: int
    shift: int

    def value(self, observation: Sequence[int], size: int) -> int:
        return (observation[self.field] + self.shift) % size


@dataclass(frozen=True)
class Instruction:
    """A call in a practice program; its arguments may depend on the observation."""

    program: str
    args: tuple[int | FieldArgument, ...]

    def resolve(self, observation: Sequence[int], argument_sizes: Sequence[int]) -> Call:
        """The call that this instruction makes at an observation."""
        args = (
            arg.value(observation, size) if isinstance(arg, FieldArgument) else arg
            for arg, size in zip(self.args, argument_sizes, strict=True)
        )
        return Call(self.program, tuple(args))


@dataclass(frozen=True)
class Condition:
    """A test of one field of the observation.

    Without `other`, the condition holds if the field has one of `values`. With `other`, it compares two fields: it
    holds if they are equal or, without `equal`, if `field` is less than `other`.
    """

    field: int
    values: frozenset[int] = frozenset()
    other: int | None = None
    equal: bool = False

    def holds(self, observation: Sequence[int]) -> bool:
        if self.other is None:
            return observation[self.field] in self.values
        return (
            observation[self.field] == observation[self.other]
            if self.equal
            else observation[self.field] < observation[self.other]
        )


@dataclass(frozen=True)
class PracticeProgram:
    """A random program: the `prefix`, then the first branch whose conditions all hold, or else the last branch.

    conditions  for each branch but the last, the conditions under which it is taken
    branches    the instructions of each branch; none if the program has no condition
    """

    name: str
    env: str
    prefix: tuple[Instruction, ...]
    conditions: tuple[tuple[Condition, ...], ...] = ()
    branches: tuple[tuple[Instruction, ...], ...] = ()

    def branch(self, observation: Sequence[int]) -> tuple[Instruction, ...]:
        """The branch taken at an observation; empty if the program has no branches."""
        for conditions, instructions in zip(self.conditions, self.branches, strict=False):
            if all(condition.holds(observation) for condition in conditions):
                return instructions
        return self.branches[-1] if self.branches else ()


@dataclass(frozen=True)
class Rollout:
    """Random instructions run one after another, the observations before and after each, and a random condition.

    Practice batches combine the instructions and conditions of many rollouts into new programs.
    """

    env: str
    instructions: tuple[Instruction, ...]
    observations: tuple[tuple[int, ...], ...]  # as numbers (`observed_values`); one more than instructions
    condition: Condition


def observed_values(observation: Sequence[Any]) -> Sequence[int]:
    """The observed numbers: the fields of an observation and, in place of an image, its auxiliary labels."""
    return (*observation[:-1], *observation[-1].labels) if isinstance(observation[-1], Image) else observation
