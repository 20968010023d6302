"""Practice programs sampled as tensors: each frame holds what its program would do."""

import pytest
import torch

from npi import tasks
from npi.language.program import Call
from npi.network.model import NPI, ModelConfig
from npi.training.practice_batch import THEN, PracticeBatch, sample_programs
from npi.training.practice_memory import PracticeMemory
from npi.training.practice_program import (
    MAX_INSTRUCTIONS,
    OTHER_PROGRAM,
    Condition,
    FieldArgument,
    Instruction,
    PracticeProgram,
)
from npi.training.program_sampler import ProgramSampler, make_rollouts
from npi.training.trainer import TEACHABLE_WIDTHS


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


NAMES = ["addition", "sorting", "cars"]


@pytest.fixture(scope="module")
def samplers() -> dict[str, ProgramSampler]:
    return {sampler.env_name: sampler for sampler in (ProgramSampler(tasks.find(name)) for name in NAMES)}


@pytest.fixture(scope="module")
def practised(samplers) -> tuple[NPI, PracticeMemory]:
    chosen = [tasks.find(name) for name in NAMES]
    programs = dict.fromkeys(["ACT", *(name for sampler in samplers.values() for name in sampler.programs)])
    torch.manual_seed(0)
    model = NPI(ModelConfig.of([task.env for task in chosen], **TEACHABLE_WIDTHS, teachable=True), programs)
    return model, PracticeMemory(model, list(make_rollouts(chosen, 200)))


def program_of(made: PracticeBatch, index: int, programs: list[str]) -> PracticeProgram:
    """One program of a batch, as a `PracticeProgram`."""
    source = made.source
    names = [*programs, "ITSELF", OTHER_PROGRAM]

    def instruction(which: int) -> Instruction:
        table = source.instructions
        args = zip(table.value[which], table.field[which], table.shift[which], strict=True)
        return Instruction(
            names[table.program[which]],
            tuple(int(value) if field < 0 else FieldArgument(int(field), int(shift)) for value, field, shift in args),
        )

    def condition(which: int) -> Condition:
        table = source.conditions
        if table.other[which] >= 0:
            return Condition(int(table.field[which]), other=int(table.other[which]), equal=bool(table.equal[which]))
        return Condition(int(table.field[which]), frozenset(table.values[which].nonzero()[:, 0].tolist()))

    prefix, *branches = (
        tuple(instruction(which) for which in made.instructions[index, section, :count].tolist())
        for section, count in enumerate(made.counts[index].tolist())
    )
    count = int(made.condition_count[index])
    conditions = (tuple(condition(which) for which in made.conditions[index, :count].tolist()),) if count else ()
    return PracticeProgram("ITSELF", source.env, prefix, conditions, tuple(branches) if count else ())


def calls(practice: PracticeProgram, sampler: ProgramSampler, observations: torch.Tensor) -> list[Call]:
    """The calls that a program makes at these observations, step by step."""
    branch = practice.branch(observations[len(practice.prefix)].tolist())
    return [
        instruction.resolve(observation, sampler.argument_sizes)
        for instruction, observation in zip((*practice.prefix, *branch), observations.tolist(), strict=False)
    ]


def test_every_frame_is_what_its_program_would_do(practised, samplers):
    model, practice = practised
    batches = practice.sample_programs(900, generator(0))
    batch = practice.batch(batches)
    names = [*model.programs, "ITSELF", OTHER_PROGRAM]
    decided: dict[int, list[Call]] = {}
    for row, stop, program, args in zip(
        batch.program.tolist(), batch.stop.tolist(), batch.next_program.tolist(), batch.next_args.tolist(), strict=True
    ):
        made = decided.setdefault(row, [])
        if not stop:
            made.append(Call(names[program], tuple(args)))
    assert len(decided) == 900
    for number in range(900):
        made, index = batches[number // 300], number % 300
        program = program_of(made, index, model.programs)
        sampler = samplers[made.source.env]
        assert decided[number] == calls(program, sampler, made.source.observations[made.rollout[index]])
    assert batch.stop.sum() == 900


def test_both_branches_are_taken_and_loops_call_themselves(practised):
    _, practice = practised
    made = sample_programs(practice.sources[0], 3000, generator(1))
    branches = made.condition_count > 0
    assert 0.4 < (made.branch[branches] == THEN).float().mean() < 0.6
    assert 0.25 < practice.calls(made, practice.self_row).float().mean() < 0.42
    assert practice.calls(made, practice.other_row).any()
    assert len({tuple(row) for row in practice.features(made).tolist()}) > 2500  # short programs may occur twice


def test_half_of_the_frames_have_the_instructions_of_their_rollout(practised):
    _, practice = practised
    made = sample_programs(practice.sources[1], 2000, generator(2))
    instruction, calls = made.step(0)
    rolled_out = instruction[calls] // MAX_INSTRUCTIONS == made.rollout[calls]
    assert 0.35 < rolled_out.float().mean() < 0.65


def test_features_identify_programs(practised):
    """Two programs are equal if and only if they have the same features."""
    model, practice = practised
    made = sample_programs(practice.sources[1], 3000, generator(3))
    features = [tuple(sorted(row)) for row in practice.features(made).tolist()]
    seen: dict[tuple, PracticeProgram] = {}
    for index, row in enumerate(features):
        program = program_of(made, index, model.programs)
        assert seen.setdefault(row, program) == program
    assert len(set(seen.values())) == len(seen)
    assert len(seen) < len(features)  # some programs occurred twice, so equal ones were compared


def test_samples_depend_on_the_seed_alone(practised):
    model, practice = practised
    one, two, other = (practice.sample(model, 60, seed) for seed in (5, 5, 6))
    assert torch.equal(one[0].stop, two[0].stop)
    assert torch.equal(one[0].program, two[0].program)
    assert not torch.equal(one[0].stop[:60], other[0].stop[:60])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_small_samples_have_the_requested_frames(practised, count):
    model, practice = practised
    for seed in range(10):
        logits, batch = practice.sample(model, count, seed)
        assert batch.stop.sum() == count
        assert len(logits.stop) == batch.batch_sizes.sum() == len(batch.stop)
