"""Sampling practice programs and rollouts, and running practice programs in a task's environment.

Training needs rollouts only (`make_rollouts`). Whole programs, run as they are written, are what teachability is
measured on. The tests also compare the batches of practice_batch.py with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from random import Random
from typing import Any

from npi.language.program import ACT, Call, Frame, Program, Step
from npi.language.record import record_programs
from npi.language.task import Task
from npi.tasks import find, names
from npi.training.practice_program import (
    ELSE_LENGTHS,
    LOOP,
    MAX_BRANCH_INSTRUCTIONS,
    MAX_INSTRUCTIONS,
    OTHER_PROGRAM,
    PREFIX_PROBABILITY,
    PROGRAM_KINDS,
    SEQUENCE,
    TWO_CONDITIONS_PROBABILITY,
    Condition,
    FieldArgument,
    Instruction,
    PracticeProgram,
    Rollout,
    observed_values,
)

# Start states: a sampled problem, with some random calls made on it.
SIZE_DIVISOR = 3  # problems have the smallest third of the task's sizes, enough to reach all kinds of states
PROBLEMS = 64  # of each sampler: enough for many different states, and quick to sample
RECORDED_PROBLEMS = 8  # how many of them are recorded, to collect the teachers' calls: enough for nearly all calls
START_CALLS = (0, 1, 2, 4, 8)  # how many random calls, each number equally likely: states near the problem and far away
START_PROGRAM_PROBABILITY = 0.3  # that such a call is of a program, not of `act`

# Random instructions. The remaining instructions are calls of `act` that teachers make.
OTHER_PROGRAM_PROBABILITY = 0.05  # that an instruction of a rollout calls another practice program
PROGRAM_PROBABILITY = 0.45  # that any other instruction is a teacher's call of a program
RANDOM_ACT_PROBABILITY = 0.15  # that it is a call of `act` with random arguments
FIELD_ARGUMENT_PROBABILITY = 0.1  # that an argument of `act` is copied from a field of the same size
SHIFTS = (0, 0, 1, -1)  # added to a copied value, one at random: 0 in half of the cases

# Random conditions: all kinds that teachers use.
COMPARISON_PROBABILITY = 0.25  # that two fields are compared
EQUALITY_PROBABILITY = 0.25  # that such a comparison is `==`, not `<`
ONE_VALUE_PROBABILITY = 0.4  # that a field is compared with one value,
RANDOM_SET_PROBABILITY = 0.3  # or with a random set of values; otherwise with all values below a bound
POSITIVE_PROBABILITY = 0.6  # that the field must have one of these values; otherwise, none of them

# Practice programs that do not return, or always take the same branch, are rejected.
MAX_DEPTH = 60  # nested calls of a program by itself; a deeper recursion counts as endless
TRIAL_STARTS = 12  # start states from which a new program is tried
MIN_RETURN_FRACTION = 0.8  # fraction of these from which it must return

ROLLOUTS_PER_SAMPLER = 500  # then a new sampler follows, with other problems; also the unit of work of a process


class TooDeep(Exception):
    """A practice program called itself more than MAX_DEPTH levels deep."""


class ProgramSampler:
    """Samples practice programs for a task's environment, and runs them in it.

    env_name                     the name of the environment
    field_sizes, argument_sizes  how many values each observed number and each argument of a call has
    programs                     the task's programs by name
    calls, acts                  the calls that the task's teachers make: of programs, and of `act`
    """

    def __init__(self, task: Task, seed: object = 0):
        self.task, self.rng = task, Random(f"practice {task.name} {seed}")
        self.env_name = task.env.__name__
        self.field_sizes = [*task.env.fields().values(), *task.env.label_sizes()]
        self.argument_sizes = task.env.argument_sizes()
        self.programs: dict[str, Program] = {}
        sizes = task.sizes[: max(1, len(task.sizes) // SIZE_DIVISOR)]
        self.problems = [task.sample(self.rng, self.rng.choice(sizes)) for _ in range(PROBLEMS)]
        calls: dict[Call, None] = {}
        for problem in self.problems[:RECORDED_PROBLEMS]:
            env = task.env.of(problem)
            for main in (task.main, *task.extra_programs):
                frames, programs = record_programs(env, main)
                self.programs |= programs
                calls |= {frame.call: None for frame in frames}
                calls |= {s.decision: None for frame in frames for s in frame.steps if s.decision is not None}
        self.calls = sorted((call for call in calls if call.program != ACT), key=str)
        self.acts = sorted((call for call in calls if call.program == ACT), key=str)

    def start_state(self, rng: Random) -> Any:
        """An environment in a random state: some random calls after a problem was set."""
        env = self.task.env.of(rng.choice(self.problems))
        for _ in range(rng.choice(START_CALLS)):
            self.execute(rng.choice(self.calls if rng.random() < START_PROGRAM_PROBABILITY else self.acts), env)
        return env

    def execute(self, call: Call, env: Any) -> None:
        """Make a call; another practice program is replaced by random calls of the task's programs."""
        if call.program == ACT:
            env.act(*call.args)
        elif call.program == OTHER_PROGRAM:
            for _ in range(self.rng.randint(1, MAX_BRANCH_INSTRUCTIONS)):
                self.execute(self.rng.choice(self.calls), env)
        else:
            called = self.programs[call.program]
            called(env, *call.args[: called.function.__code__.co_argcount - 1])

    def run(self, practice: PracticeProgram, env: Any, frames: list[Frame], depth: int = 0) -> None:
        """Run a practice program and append its own frames to `frames`, not those of other programs that it calls."""
        if depth > MAX_DEPTH:
            raise TooDeep
        steps: list[Step] = []
        place = len(frames)
        frames.append(Frame(Call(practice.name), ()))
        self.run_instructions(practice, practice.prefix, env, steps, frames, depth)
        self.run_instructions(practice, practice.branch(observed_values(env.observe())), env, steps, frames, depth)
        steps.append(Step(env.observe(), None))
        frames[place] = Frame(Call(practice.name), tuple(steps))

    def run_instructions(
        self,
        practice: PracticeProgram,
        instructions: Sequence[Instruction],
        env: Any,
        steps: list[Step],
        frames: list[Frame],
        depth: int,
    ) -> None:
        for instruction in instructions:
            observation = env.observe()
            call = instruction.resolve(observed_values(observation), self.argument_sizes)
            steps.append(Step(observation, call))
            if call.program == practice.name:
                self.run(practice, env, frames, depth + 1)
            else:
                self.execute(call, env)

    def rollout(self) -> Rollout:
        """Run as many random instructions as a practice program may have, from a random state."""
        other = Instruction(OTHER_PROGRAM, (0,) * len(self.argument_sizes))
        instructions = tuple(
            other if self.rng.random() < OTHER_PROGRAM_PROBABILITY else self.instruction()
            for _ in range(MAX_INSTRUCTIONS)
        )
        env = self.start_state(self.rng)
        observations = [tuple(observed_values(env.observe()))]
        for instruction in instructions:
            self.execute(instruction.resolve(observations[-1], self.argument_sizes), env)
            observations.append(tuple(observed_values(env.observe())))
        return Rollout(self.env_name, instructions, tuple(observations), self.condition())

    def frames(self, practice: PracticeProgram, rng: Random, starts: int) -> list[Frame]:
        """The distinct frames of a practice program from random states, without those from which it does not return."""
        return list(dict.fromkeys(frame for _ in range(starts) for frame in self.frames_from_start(practice, rng)))

    def frames_from_start(self, practice: PracticeProgram, rng: Random) -> list[Frame]:
        """The frames of a practice program from one random state; empty if it does not return."""
        frames: list[Frame] = []
        try:
            self.run(practice, self.start_state(rng), frames)
        except TooDeep:
            return []
        return frames

    def sample(self, name: str) -> PracticeProgram:
        """A new practice program that returns from most start states, and does not always take the same branch."""
        while True:
            practice = self.propose(name)
            rng, returned, decisions = Random(name), 0, set()
            for _ in range(TRIAL_STARTS):
                frames = self.frames_from_start(practice, rng)
                returned += bool(frames)
                decisions |= {tuple(step.decision for step in frame.steps) for frame in frames}
            if returned >= MIN_RETURN_FRACTION * TRIAL_STARTS and len(decisions) >= max(1, len(practice.branches)):
                return practice

    def propose(self, name: str) -> PracticeProgram:
        """A random practice program, which may never return: a sequence of instructions, two branches, or a loop."""
        rng, kind = self.rng, self.rng.randrange(PROGRAM_KINDS)
        if kind == SEQUENCE:
            return PracticeProgram(name, self.env_name, self.instructions(rng.randint(1, MAX_INSTRUCTIONS)))
        prefix = self.instructions(int(rng.random() < PREFIX_PROBABILITY))
        branch = self.instructions(rng.randint(1, MAX_BRANCH_INSTRUCTIONS))
        if kind == LOOP:
            branch += (Instruction(name, (0,) * len(self.argument_sizes)),)
        conditions = self.conditions()
        return PracticeProgram(
            name, self.env_name, prefix, (conditions,), (branch, self.instructions(rng.choice(ELSE_LENGTHS)))
        )

    def instructions(self, count: int) -> tuple[Instruction, ...]:
        return tuple(self.instruction() for _ in range(count))

    def instruction(self) -> Instruction:
        rng, kind = self.rng, self.rng.random()
        if kind < PROGRAM_PROBABILITY:
            call = rng.choice(self.calls)
        elif kind < 1 - RANDOM_ACT_PROBABILITY:
            call = rng.choice(self.acts)
        else:
            call = Call(ACT, tuple(rng.randrange(size) for size in self.argument_sizes))
        args: list[int | FieldArgument] = list(call.args)
        for index, size in enumerate(self.argument_sizes):
            # Fields of two values are flags, which no teacher copies to an argument.
            matching = [field for field, values in enumerate(self.field_sizes) if values == size > 2]
            if call.program == ACT and matching and rng.random() < FIELD_ARGUMENT_PROBABILITY:
                args[index] = FieldArgument(rng.choice(matching), rng.choice(SHIFTS))
        return Instruction(call.program, tuple(args))

    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of a branch: mostly one, sometimes two."""
        return tuple(self.condition() for _ in range(1 + (self.rng.random() < TWO_CONDITIONS_PROBABILITY)))

    def condition(self) -> Condition:
        rng = self.rng
        field = rng.randrange(len(self.field_sizes))
        size = self.field_sizes[field]
        comparable = [other for other, values in enumerate(self.field_sizes) if values == size > 2 and other != field]
        if comparable and rng.random() < COMPARISON_PROBABILITY:
            return Condition(field, other=rng.choice(comparable), equal=rng.random() < EQUALITY_PROBABILITY)
        kind = rng.random()
        if kind < ONE_VALUE_PROBABILITY:
            values = {rng.randrange(size)}
        elif kind < 1 - RANDOM_SET_PROBABILITY:
            values = set(range(rng.randint(1, size - 1)))
        else:
            values = set(rng.sample(range(size), rng.randint(1, size - 1)))
        positive = rng.random() < POSITIVE_PROBABILITY or size == 2
        return Condition(field, frozenset(values if positive else set(range(size)) - values))


def sample_rollouts(task: Task, count: int, seed: object = 0) -> Iterator[Rollout]:
    """Rollouts made by one sampler."""
    sampler = ProgramSampler(task, seed)
    for _ in range(count):
        yield sampler.rollout()


def make_rollouts(tasks: Sequence[Task], count: int, seed: int = 0, workers: int = 1) -> Iterator[Rollout]:
    """`count` rollouts for each task; in several processes if all tasks are built in. `workers` changes no result."""
    if not count:
        return
    jobs = [
        (task, min(ROLLOUTS_PER_SAMPLER, count - first), f"{seed}.{first}")
        for task in tasks
        for first in range(0, count, ROLLOUTS_PER_SAMPLER)
    ]
    if workers <= 1 or not all(_built_in(task) for task in tasks):
        for task, size, part in jobs:
            yield from sample_rollouts(task, size, part)
        return
    named = [(task.name, task.teacher, size, part) for task, size, part in jobs]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for rollouts in pool.map(_sample_rollouts, named):
            yield from rollouts


def _sample_rollouts(job: tuple[str, str, int, str]) -> list[Rollout]:
    name, teacher, count, seed = job
    return list(sample_rollouts(find(name, teacher), count, seed))


def _built_in(task: Task) -> bool:
    return task.name in names() and find(task.name, task.teacher).main is task.main
