"""`check_task` must find each of these planted faults, and say what is wrong."""

from dataclasses import replace
from random import Random
from typing import Annotated, NamedTuple

import pytest

from npi import Env, Task, act, check_task, program, tasks


class Observation(NamedTuple):
    light: Annotated[int, range(3)]


class Lamp(Env):
    """A lamp with three levels and a hidden switch."""

    def __init__(self, level, hidden):
        self.level, self.hidden = level, hidden

    @classmethod
    def of(cls, problem):
        return cls(*problem)

    def observe(self) -> Observation:
        return Observation(self.level)

    def act(self, by: Annotated[int, range(2)], _: Annotated[int, range(1)], __: Annotated[int, range(1)], /) -> None:
        if by == 1:
            self.level = max(0, self.level - 1)


@program
def off(lamp):
    while lamp.observe().light:
        act(lamp, 1)


def lamp_task(env=Lamp, main=off, **changes):
    task = Task(
        name="lamp",
        teacher="loop",
        env=env,
        main=main,
        sample=lambda rng, size: (rng.randrange(3), rng.randrange(2)),
        answer=lambda problem: 0,
        result=lambda lamp: lamp.level,
        parse=lambda words: (int(words[0]), 0),
        show=str,
        sizes=range(1, 4),
        examples=5,
    )
    return replace(task, **changes)


def faults(**changes):
    return "\n".join(check_task(lamp_task(**changes)).faults)


def test_a_sound_task_has_no_fault():
    report = check_task(lamp_task())
    assert report.faults == []
    assert (report.problems, report.programs) == (100, ["OFF"])
    assert report.distinct == 3


@pytest.mark.parametrize("teacher", tasks.TEACHERS)
@pytest.mark.parametrize("name", tasks.names())
def test_the_built_in_tasks_have_no_fault(name, teacher):
    assert check_task(tasks.find(name, teacher), problems=30).faults == []


def test_a_teacher_that_reads_what_is_not_observed_is_caught():
    @program(name="OFF")
    def peeks(lamp):
        if lamp.hidden:
            act(lamp, 0)
        off.function(lamp)

    found = faults(main=peeks)
    assert "OFF decides differently after the same history" in found
    assert "ACT(0, 0, 0)" in found
    assert "light=" in found


def test_a_wrong_answer_is_caught():
    assert "OFF gives 0 on" in faults(answer=lambda problem: 1)


def test_an_observation_out_of_range_is_caught():
    found = faults(sample=lambda rng, size: (rng.randrange(5), 0))
    assert "light = 4, outside its declared range 0..2" in found or "light = 3" in found


def test_an_act_that_is_not_total_is_caught():
    class Brittle(Lamp):
        def act(
            self, by: Annotated[int, range(2)], _: Annotated[int, range(1)], __: Annotated[int, range(1)], /
        ) -> None:
            self.level -= [0, 1][by]
            if by == 1 and self.level < 0:
                raise IndexError("below zero")

    assert "act must be total" in faults(env=Brittle)


def test_an_argument_out_of_range_is_caught():
    @program(name="OFF")
    def wild(lamp):
        act(lamp, 7)
        off.function(lamp)

    assert "OFF calls ACT(7, 0, 0): argument 1 is outside 0..1" in faults(main=wild)


def test_a_change_that_is_not_an_act_is_caught():
    @program(name="OFF")
    def around(lamp):
        lamp.level = 0

    assert "changed by something other than act" in faults(main=around)


def test_a_change_that_is_not_an_act_is_caught_by_the_result():
    """Nothing observes it afterwards, so every frame would be learned, and every answer be wrong."""

    @program(name="OFF")
    def around(lamp):
        lamp.note = 7

    found = faults(main=around, result=lambda lamp: getattr(lamp, "note", 0), answer=lambda problem: 7)
    assert "lead to the result 0 instead of 7" in found
    assert "never env.act(...)" in found


def test_an_observed_number_that_is_no_int_is_caught():
    class Floats(Lamp):
        def observe(self) -> Observation:
            return Observation(self.level / 1)  # pyright: ignore[reportArgumentType]

    assert "light = 1.0, a float and no int" in faults(env=Floats)


def test_a_teacher_that_raises_or_never_ends_is_caught():
    @program(name="OFF")
    def breaks(lamp):
        raise KeyError("gone")

    @program(name="OFF")
    def endless(lamp):
        endless(lamp)

    assert "OFF raises KeyError" in faults(main=breaks)
    assert "OFF did not return: depth limit" in faults(main=endless)


def test_undeclared_ranges_are_caught():
    class Undeclared(Lamp):
        def observe(self):
            return Observation(self.level)

    class Odd(Lamp):
        def act(self, by: int, _: Annotated[int, range(1)], __: Annotated[int, range(1)], /) -> None: ...

    assert "annotate what it returns" in faults(env=Undeclared)
    assert "by needs a range from 0" in faults(env=Odd)


def test_every_fault_is_reported_at_once():
    @program(name="OFF")
    def both(lamp):
        act(lamp, 1 if lamp.hidden else 0)
        act(lamp, 7)

    found = faults(main=both, answer=lambda problem: 1)
    assert "decides differently" in found
    assert "argument 1 is outside" in found
    assert "the right answer is 1" in found


def test_sampling_is_repeatable():
    task = lamp_task()
    assert list(task.training_problems(3)) == list(task.training_problems(3)) != list(task.training_problems(4))
    assert task.sample(Random(1), 2) == task.sample(Random(1), 2)


def test_an_action_no_teacher_makes_is_tried_too():
    class Touchy(Lamp):
        def act(self, op: Annotated[int, range(2)], _: Annotated[int, range(1)], value: Annotated[int, range(7)], /):
            if value == 5:
                raise RuntimeError("not five")
            super().act(op, 0, 0)

    assert "raises RuntimeError (not five); act must be total" in faults(env=Touchy)


def test_a_task_that_is_not_one_is_reported():
    assert "env is None" in faults(env=None)
    assert "main is None" in faults(main=None)
    assert "nothing to learn" in faults(sizes=range(0))
    assert "nothing to learn" in faults(examples=0)
