from typing import Annotated, NamedTuple

import pytest

from npi import Env, Limits, Runaway, act, program, record, tasks
from npi.language.program import Call, Frame, Step
from npi.language.record import count_steps
from npi.language.trace import Trace, steps_in_order


class Observation(NamedTuple):
    left: Annotated[int, range(10)]


class Counter(Env):
    """A number that can be counted down."""

    def __init__(self, left):
        self.left = left

    @classmethod
    def of(cls, problem):
        return cls(problem)

    def observe(self) -> Observation:
        return Observation(self.left)

    def act(self, by: Annotated[int, range(3)], _: Annotated[int, range(1)], __: Annotated[int, range(1)], /) -> None:
        self.left = max(0, self.left - by)


@program
def down(env):
    act(env, 1)


@program
def twice(env, by):
    act(env, by)
    act(env, by)


@program
def empty(env):
    while env.observe().left:
        down(env)
    twice(env, 2)


@program
def forever(env):
    forever(env)


def test_a_program_runs_as_it_stands():
    env = Counter(3)
    empty(env)
    assert env.left == 0


def test_a_recording_holds_what_each_frame_saw_and_decided():
    frames = record(Counter(1), empty)
    one, two = Call("ACT", (1, 0, 0)), Call("ACT", (2, 0, 0))
    assert frames == [
        Frame(Call("EMPTY"), (Step((1,), Call("DOWN")), Step((0,), Call("TWICE", (2, 0, 0))), Step((0,), None))),
        Frame(Call("DOWN"), (Step((1,), one), Step((0,), None))),
        Frame(Call("TWICE", (2, 0, 0)), (Step((0,), two), Step((0,), two), Step((0,), None))),
    ]


def test_steps_are_walked_in_the_order_they_happened():
    steps = [
        (frame.call.program, step.decision and step.decision.program)
        for frame, step in steps_in_order(record(Counter(1), empty))
    ]
    assert steps == [
        ("EMPTY", "DOWN"),
        ("DOWN", "ACT"),
        ("DOWN", None),
        ("EMPTY", "TWICE"),
        ("TWICE", "ACT"),
        ("TWICE", "ACT"),
        ("TWICE", None),
        ("EMPTY", None),
    ]


def test_only_the_recorded_environment_is_recorded():
    other = Counter(5)

    @program
    def both(env):
        down(env)
        down(other)

    frames = record(Counter(2), both)
    assert [frame.call.program for frame in frames] == ["BOTH", "DOWN"]
    assert other.left == 4


def test_recording_ends_when_a_program_raises():
    @program
    def broken(env):
        down(env)
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        record(Counter(2), broken)
    env = Counter(2)
    down(env)  # would be appended to the dead recording if it were still on
    assert env.left == 1


def test_a_runaway_teacher_is_stopped_with_its_trace():
    with pytest.raises(Runaway, match="depth limit of 50 calls") as caught:
        record(Counter(1), forever, limits=Limits(1000, 50))
    assert len(caught.value.trace.decisions) == 50
    with pytest.raises(Runaway, match="step limit of 20"):
        record(Counter(1), forever, limits=Limits(20, 10_000))


def test_recursion_is_bounded_by_memory_not_by_python():
    class Deep(Counter):
        pass

    @program
    def sink(env):
        if env.observe().left:
            act(env, 1)
            sink(env)

    frames = record(Deep(60_000), sink)
    assert len(frames) == 60_001
    assert len(Trace.of(frames).decisions) == 2 * 60_000 + 60_001
    assert count_steps(Deep(60_000), sink) == 2 * 60_000 + 60_001


def test_steps_are_counted_as_they_are_recorded():
    for name, problem in (("addition", ("96", "125")), ("sorting", [9, 2, 5, 0, 0])):
        for teacher in tasks.TEACHERS:
            task = tasks.find(name, teacher)
            decisions = Trace.of(record(task.env.of(problem), task.main)).decisions
            assert count_steps(task.env.of(problem), task.main) == len(decisions)


def test_counting_ends_at_the_limits():
    @program
    def forever(env):
        forever(env)

    for limits in (Limits(steps=1000), Limits(depth=50)):
        with pytest.raises(Runaway, match="FOREVER did not return: limit of"):
            count_steps(Counter(1), forever, limits=limits)


def test_counting_goes_as_far_as_recording():
    task = tasks.find("addition")
    for limits in (*(Limits(steps=steps) for steps in range(40, 48)), *(Limits(depth=depth) for depth in range(1, 7))):
        ended = []
        for follow in (record, count_steps):
            try:
                follow(task.env.of(("96", "125")), task.main, limits=limits)
                ended.append(True)
            except Runaway:
                ended.append(False)
        assert ended[0] == ended[1], limits


def test_a_name_is_an_identity():
    @program(name="DOWN")
    def other_down(env):
        act(env, 2)

    @program
    def confused(env):
        down(env)
        other_down(env)

    with pytest.raises(ValueError, match="two programs named DOWN"):
        record(Counter(1), confused)


@pytest.mark.parametrize("bad", [lambda: None, lambda env, a, b, c, d: None, lambda env, *, key: None])
def test_signatures_that_cannot_be_called_by_a_network_are_refused(bad):
    with pytest.raises(TypeError, match="at most 3 integers"):
        program(bad)
