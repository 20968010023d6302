"""Practice programs as they are invented: each frame is what the program it is said to be of would do."""

import pytest
import torch

from npi import tasks
from npi.language.program import Call
from npi.network.model import NPI, ModelConfig
from npi.training.practice import (
    ANOTHER,
    Condition,
    FieldArgument,
    Instruction,
    PracticeProgram,
    ProgramSampler,
    make_rollouts,
)
from npi.training.practice_batch import PracticeBatch, invent
from npi.training.practice_memory import PracticeMemory
from npi.training.trainer import TEACHABLE_WIDTHS


def random(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


NAMES = ["addition", "sorting", "cars"]


@pytest.fixture(scope="module")
def gyms() -> dict[str, ProgramSampler]:
    return {gym.env: gym for gym in (ProgramSampler(tasks.find(name)) for name in NAMES)}


@pytest.fixture(scope="module")
def practised(gyms) -> tuple[NPI, PracticeMemory]:
    chosen = [tasks.find(name) for name in NAMES]
    programs = dict.fromkeys(["ACT", *(name for gym in gyms.values() for name in gym.programs)])
    torch.manual_seed(0)
    model = NPI(ModelConfig.of([task.env for task in chosen], **TEACHABLE_WIDTHS, teachable=True), programs)
    return model, PracticeMemory(model, list(make_rollouts(chosen, 200)))


def written(made: PracticeBatch, index: int, programs: list[str]) -> PracticeProgram:
    """An invention, as a program that a gym could run."""
    ground = made.ground
    names = [*programs, "ITSELF", ANOTHER]

    def order(which: int) -> Instruction:
        table = ground.orders
        args = zip(table.value[which], table.field[which], table.shift[which], strict=True)
        return Instruction(
            names[table.program[which]],
            tuple(int(value) if field < 0 else FieldArgument(int(field), int(shift)) for value, field, shift in args),
        )

    def check(which: int) -> Condition:
        table = ground.checks
        if table.other[which] >= 0:
            return Condition(int(table.field[which]), other=int(table.other[which]), equal=bool(table.equal[which]))
        return Condition(int(table.field[which]), frozenset(table.values[which].nonzero()[:, 0].tolist()))

    first, *ways = (
        tuple(order(which) for which in made.orders[index, place, :count].tolist())
        for place, count in enumerate(made.counts[index].tolist())
    )
    asked = int(made.asked[index])
    checks = (tuple(check(which) for which in made.checks[index, :asked].tolist()),) if asked else ()
    return PracticeProgram("ITSELF", ground.env, first, checks, tuple(ways) if asked else ())


def calls(practice: PracticeProgram, gym: ProgramSampler, observation: torch.Tensor) -> list[Call]:
    """What a program decides if this is what it sees, step by step."""
    chosen = practice.way(observation[len(practice.first)].tolist())
    return [gym.given(order, observation[time].tolist()) for time, order in enumerate((*practice.first, *chosen))]


def test_every_frame_is_what_its_program_would_do(practised, gyms):
    model, practice = practised
    inventions = practice.invent(900, random(0))
    batch = practice.batch(inventions)
    names = [*model.programs, "ITSELF", ANOTHER]
    decided: dict[int, list[Call]] = {}
    for row, stop, program, args in zip(
        batch.program.tolist(), batch.stop.tolist(), batch.next_program.tolist(), batch.next_args.tolist(), strict=True
    ):
        made = decided.setdefault(row, [])
        if not stop:
            made.append(Call(names[program], tuple(args)))
    assert len(decided) == 900
    for number in range(900):
        made, index = inventions[number // 300], number % 300
        program = written(made, index, model.programs)
        gym = gyms[made.ground.env]
        assert decided[number] == calls(program, gym, made.ground.observation[made.walk[index]])
    assert batch.stop.sum() == 900


def test_both_ways_are_gone_and_loops_call_themselves(practised):
    _, practice = practised
    made = invent(practice.grounds[0], 3000, random(1))
    chooses = made.asked > 0
    assert 0.4 < (made.way[chooses] == 1).float().mean() < 0.6
    assert 0.25 < practice.calls(made, practice.itself).float().mean() < 0.42
    assert practice.calls(made, practice.another).any()
    assert len({tuple(row) for row in practice.features(made).tolist()}) > 2500  # short ones come twice


def test_faithful_frames_give_the_orders_of_their_walk(practised):
    _, practice = practised
    made = invent(practice.grounds[1], 2000, random(2))
    order, gives = made.step(0)
    walked = order[gives] // 4 == made.walk[gives]
    assert 0.35 < walked.float().mean() < 0.65


def test_features_tell_programs_apart(practised):
    """Two programs are written alike if and only if they have the same features."""
    model, practice = practised
    made = invent(practice.grounds[1], 3000, random(3))
    features = [tuple(sorted(row)) for row in practice.features(made).tolist()]
    seen: dict[tuple, PracticeProgram] = {}
    for index, row in enumerate(features):
        program = written(made, index, model.programs)
        assert seen.setdefault(row, program) == program
    assert len(set(seen.values())) == len(seen)
    assert len(seen) < len(features)  # or else nothing was compared


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
