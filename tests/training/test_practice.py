"""Practice: walks through an environment, and random programs that run as they are written."""

from random import Random

import pytest

from npi import tasks
from npi.language.program import ACT, Call
from npi.training.practice import (
    ANOTHER,
    FIRST,
    Condition,
    FieldArgument,
    Instruction,
    PracticeProgram,
    ProgramSampler,
    TooDeep,
    fields_of,
    make_rollouts,
    walks,
)

ENVIRONMENTS = ["addition", "sorting", "cars"]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_decisions_follow_from_what_is_observed(name):
    """As any teacher's: two frames of a program that saw the same decided the same."""
    gym = ProgramSampler(tasks.find(name))
    for index in range(12):
        practice = gym.make(f"PRACTICE {index}")
        frames = gym.frames(practice, Random(index), 12)
        assert frames
        decided = {}
        for frame in frames:
            assert frame.call == Call(practice.name)
            history = ()
            for step in frame.steps:
                history += (fields_of(step.observation),)
                assert decided.setdefault(history, step.decision) == step.decision
            assert frame.steps[-1].decision is None


def test_programs_differ_and_use_what_the_task_has():
    gym = ProgramSampler(tasks.find("sorting"))
    made = [gym.make(f"PRACTICE {index}") for index in range(120)]
    assert len({(p.first, p.checks, p.ways) for p in made}) > 100
    called = {order.program for p in made for way in (p.first, *p.ways) for order in way}
    assert called >= {ACT, "BUBBLE", "COMPSWAP", "LSHIFT", "RSHIFT", "RESET", "BSTEP", "BUBBLESORT"}
    loops = [p for p in made if any(order.program == p.name for way in p.ways for order in way)]
    straight = [p for p in made if not p.ways]
    assert len(loops) > 5
    assert len(straight) > 5
    assert len(made) - len(loops) - len(straight) > 5


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_walks_use_what_the_task_has_and_get_somewhere(name):
    task = tasks.find(name)
    made = list(walks(task, 300))
    sizes = [*task.env.fields().values(), *task.env.label_sizes()]
    programs = {order.program for walk in made for order in walk.orders}
    assert programs >= {ACT, ANOTHER, task.main.name}
    for walk in made:
        assert len(walk.orders) == FIRST
        assert len(walk.observation) == FIRST + 1
        for observation in walk.observation:
            assert all(0 <= value < size for value, size in zip(observation, sizes, strict=True))
    assert sum(walk.observation[0] != walk.observation[-1] for walk in made) > 100


def test_a_practice_program_runs_as_it_is_written():
    """Written by hand: while the first digit is no blank, write its successor to the output and go left."""
    gym = ProgramSampler(tasks.find("addition"))
    write = Instruction(ACT, (1, 3, FieldArgument(0, 1)))
    itself = Instruction("COUNT", (0, 0, 0))
    digit = Condition(0, frozenset(range(10)))
    count = PracticeProgram(
        "COUNT", "AdditionPad", (), ((digit,),), ((write, Instruction("LSHIFT", (0, 0, 0)), itself), ())
    )
    pad = gym.task.env.of(("258", "1"))
    frames = []
    gym.run(count, pad, frames)
    assert gym.task.result(pad) == "369"
    assert len(frames) == 4
    assert [step.decision for step in frames[0].steps] == [
        Call(ACT, (1, 3, 9)), Call("LSHIFT"), Call("COUNT"), None
    ]  # fmt: skip


def test_a_program_that_never_comes_back_is_not_practised():
    gym = ProgramSampler(tasks.find("sorting"))
    endless = PracticeProgram("ENDLESS", "SortingPad", (Instruction("ENDLESS", (0, 0, 0)),))
    with pytest.raises(TooDeep):
        gym.run(endless, gym.start(Random(0)), [])
    assert gym.frames(endless, Random(0), 5) == []


def test_the_same_seed_gives_the_same_walks_in_any_number_of_processes():
    chosen = [tasks.find("sorting"), tasks.find("addition")]
    one, two = (list(make_rollouts(chosen, 700, 5, workers)) for workers in (1, 2))
    assert one == two
    assert len(one) == 1400
    assert one != list(make_rollouts(chosen, 700, 6, 1))
    assert list(make_rollouts(chosen, 0)) == []
