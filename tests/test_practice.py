"""Practice programs: honest, different, and run as they are written."""

from random import Random

import pytest

from npi import tasks
from npi.picture import Picture
from npi.practice import Check, Copy, Gym, Order, Practice, TooFar, fields_of, practise, practise_all
from npi.program import ACT, Call


@pytest.mark.parametrize("name", ["addition", "sorting", "cars"])
def test_decisions_follow_from_what_is_observed(name):
    """As any teacher's: two frames of a program that saw the same decided the same."""
    for practice, frames in practise(tasks.find(name), 12):
        assert frames
        decided = {}
        for frame in frames:
            assert frame.call == Call(practice.name)
            history = ()
            for step in frame.steps:
                history += (step.seen,)
                assert decided.setdefault(history, step.decision) == step.decision
            assert frame.steps[-1].decision is None


def test_programs_differ_and_use_what_the_task_has():
    made = list(practise(tasks.find("sorting"), 60))
    assert len({practice for practice, _ in made}) == 60
    called = {order.program for p, _ in made for way in (p.first, *p.ways) for order in way}
    assert called >= {ACT, "BUBBLE", "COMPSWAP", "LSHIFT", "RSHIFT", "RESET", "BSTEP", "BUBBLESORT"}
    loops = [p for p, _ in made if any(order.program == p.name for way in p.ways for order in way)]
    straight = [p for p, _ in made if not p.ways]
    assert len(loops) > 5
    assert len(straight) > 5
    assert len(made) - len(loops) - len(straight) > 5


def test_a_practice_program_runs_as_it_is_written():
    """Written by hand: while the first digit is no blank, write its successor to the output and go left."""
    gym = Gym(tasks.find("addition"))
    write = Order(ACT, (1, 3, Copy(0, 1)))
    itself = Order("COUNT", (0, 0, 0))
    digit = Check(0, frozenset(range(10)))
    count = Practice("COUNT", "AdditionPad", (), ((digit,),), ((write, Order("LSHIFT", (0, 0, 0)), itself), ()))
    pad = gym.task.env.of(("258", "1"))
    frames = []
    gym.run(count, pad, frames)
    assert gym.task.result(pad) == "369"
    assert len(frames) == 4
    assert [step.decision for step in frames[0].steps] == [
        Call(ACT, (1, 3, 9)), Call("LSHIFT"), Call("COUNT"), None
    ]  # fmt: skip


def test_a_program_that_never_comes_back_is_not_practised():
    gym = Gym(tasks.find("sorting"))
    endless = Practice("ENDLESS", "SortingPad", (Order("ENDLESS", (0, 0, 0)),))
    with pytest.raises(TooFar):
        gym.run(endless, gym.start(Random(0)), [])
    assert gym.frames(endless, Random(0), 5) == []


def test_of_pictures_only_the_caption_counts():
    shown = {}
    for _, frames in practise(tasks.find("cars"), 10):
        for frame in frames:
            for step in frame.steps:
                picture = step.seen[-1]
                assert isinstance(picture, Picture)
                assert shown.setdefault(picture.caption, picture) is picture
                assert fields_of(step.seen) == (*step.seen[:-1], *picture.caption)


def test_the_same_seed_gives_the_same_programs_in_any_number_of_processes():
    chosen = [tasks.find("sorting"), tasks.find("addition")]
    one, two = (list(practise_all(chosen, 120, 5, workers)) for workers in (1, 2))
    assert one == two
    assert len(one) == 240
    assert one != list(practise_all(chosen, 120, 6, 1))
    assert list(practise_all(chosen, 0)) == []
