"""Practice programs and rollouts: they use what a task has, and programs run as they are written."""

from random import Random

import pytest

from npi import tasks
from npi.language.program import ACT, Call
from npi.training.practice_program import (
    MAX_INSTRUCTIONS,
    OTHER_PROGRAM,
    Condition,
    FieldArgument,
    Instruction,
    PracticeProgram,
    observed_values,
)
from npi.training.program_sampler import ProgramSampler, TooDeep, make_rollouts, sample_rollouts

ENVIRONMENTS = ["addition", "sorting", "cars"]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_decisions_depend_on_observations_alone(name):
    """As with any teacher: after equal observations, two frames of a program make the same decision."""
    sampler = ProgramSampler(tasks.find(name))
    for index in range(12):
        practice = sampler.sample(f"PRACTICE {index}")
        frames = sampler.frames(practice, Random(index), 12)
        assert frames
        decided = {}
        for frame in frames:
            assert frame.call == Call(practice.name)
            history = ()
            for step in frame.steps:
                history += (observed_values(step.observation),)
                assert decided.setdefault(history, step.decision) == step.decision
            assert frame.steps[-1].decision is None


def test_programs_differ_and_use_what_the_task_has():
    sampler = ProgramSampler(tasks.find("sorting"))
    made = [sampler.sample(f"PRACTICE {index}") for index in range(120)]
    assert len({(p.prefix, p.conditions, p.branches) for p in made}) > 100
    called = {one.program for p in made for section in (p.prefix, *p.branches) for one in section}
    assert called >= {ACT, "BUBBLE", "COMPSWAP", "LSHIFT", "RSHIFT", "RESET", "BSTEP", "BUBBLESORT"}
    loops = [p for p in made if any(one.program == p.name for branch in p.branches for one in branch)]
    straight = [p for p in made if not p.branches]
    assert len(loops) > 5
    assert len(straight) > 5
    assert len(made) - len(loops) - len(straight) > 5


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_rollouts_use_what_the_task_has_and_change_the_environment(name):
    task = tasks.find(name)
    rollouts = list(sample_rollouts(task, 300))
    sizes = [*task.env.fields().values(), *task.env.label_sizes()]
    programs = {one.program for rollout in rollouts for one in rollout.instructions}
    assert programs >= {ACT, OTHER_PROGRAM, task.main.name}
    for rollout in rollouts:
        assert len(rollout.instructions) == MAX_INSTRUCTIONS
        assert len(rollout.observations) == MAX_INSTRUCTIONS + 1
        for observation in rollout.observations:
            assert all(0 <= value < size for value, size in zip(observation, sizes, strict=True))
    assert sum(rollout.observations[0] != rollout.observations[-1] for rollout in rollouts) > 100


def test_a_practice_program_runs_as_it_is_written():
    """A program written by hand: while the first digit is no blank, write its successor and go left."""
    sampler = ProgramSampler(tasks.find("addition"))
    write = Instruction(ACT, (1, 3, FieldArgument(0, 1)))
    itself = Instruction("COUNT", (0, 0, 0))
    digit = Condition(0, frozenset(range(10)))
    count = PracticeProgram(
        "COUNT", "AdditionPad", (), ((digit,),), ((write, Instruction("LSHIFT", (0, 0, 0)), itself), ())
    )
    pad = sampler.task.env.of(("258", "1"))
    frames = []
    sampler.run(count, pad, frames)
    assert sampler.task.result(pad) == "369"
    assert len(frames) == 4
    assert [step.decision for step in frames[0].steps] == [
        Call(ACT, (1, 3, 9)), Call("LSHIFT"), Call("COUNT"), None
    ]  # fmt: skip


def test_a_program_that_never_returns_has_no_frames():
    sampler = ProgramSampler(tasks.find("sorting"))
    endless = PracticeProgram("ENDLESS", "SortingPad", (Instruction("ENDLESS", (0, 0, 0)),))
    with pytest.raises(TooDeep):
        sampler.run(endless, sampler.start_state(Random(0)), [])
    assert sampler.frames(endless, Random(0), 5) == []


def test_the_same_seed_gives_the_same_rollouts_in_any_number_of_processes():
    chosen = [tasks.find("sorting"), tasks.find("addition")]
    one, two = (list(make_rollouts(chosen, 700, 5, workers)) for workers in (1, 2))
    assert one == two
    assert len(one) == 1400
    assert one != list(make_rollouts(chosen, 700, 6, 1))
    assert list(make_rollouts(chosen, 0)) == []
