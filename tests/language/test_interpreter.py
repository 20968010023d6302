"""The interpreter, with recordings of the teachers as the ones who decide."""

import gc
from random import Random

import pytest

from npi import Limits, Runaway, record, tasks
from npi.language.interpreter import run_batch, run_program
from npi.language.memo import Memo
from npi.language.program import Call
from npi.language.trace import Trace

ALL = [(name, teacher) for name in tasks.names() for teacher in tasks.TEACHERS]


class CountingDecider:
    """A decider that passes questions on and counts them."""

    def __init__(self, decider):
        self.decider, self.queries, self.rounds = decider, 0, 0

    def cached(self, observation, call, state):
        return None

    def decide(self, queries):
        self.queries += len(queries)
        self.rounds += 1
        return [self.decider.cached(*question) for question in queries]


@pytest.mark.parametrize(("name", "teacher"), ALL)
def test_interpreting_the_teachers_decisions_is_running_the_teacher(name, teacher):
    task = tasks.find(name, teacher)
    for problem in task.test_problems(7, 12, 0):
        frames = record(task.env.of(problem), task.main)
        env = task.env.of(problem)
        assert run_program(env, task.call, Memo.of(frames)) == Trace.of(frames)
        assert task.result(env) == task.answer(problem)


@pytest.mark.parametrize(("name", "teacher"), ALL)
def test_many_at_once_and_memoised_give_the_same_traces_as_one_at_a_time(name, teacher):
    task = tasks.find(name, teacher)
    problems = [problem for size in (1, 3, 9) for problem in task.test_problems(size, 8, 1)]
    recordings = [record(task.env.of(problem), task.main) for problem in problems]
    known = Memo.of([frame for frames in recordings for frame in frames])
    single = [run_program(task.env.of(problem), task.call, CountingDecider(known)) for problem in problems]
    counting = CountingDecider(known)
    memo = Memo(counting)
    envs = [task.env.of(problem) for problem in problems]
    assert run_batch(envs, task.call, memo) == single == [Trace.of(frames) for frames in recordings]
    if name != "cars":  # where every problem has a car of its own, nothing is seen twice
        assert counting.queries < sum(len(trace.decisions) for trace in single)
    before = counting.queries
    run_batch([task.env.of(problem) for problem in problems], task.call, memo)
    assert counting.queries == before  # everything is known now


def test_a_memo_that_lets_go_still_gives_the_same_traces():
    task = tasks.find("addition", "loop")
    problems = task.test_problems(12, 10, 2)
    frames = [frame for problem in problems for frame in record(task.env.of(problem), task.main)]
    memo = Memo(CountingDecider(Memo.of(frames)), capacity=7)
    for problem in problems:
        env = task.env.of(problem)
        assert run_program(env, task.call, memo) == Trace.of(record(task.env.of(problem), task.main))
        assert memo.held <= 7


class Always:
    def __init__(self, decision):
        self.decision = decision

    def cached(self, observation, call, state):
        return self.decision, None

    def decide(self, queries):
        raise AssertionError("nobody asks who always knows")


def test_runs_are_bounded_in_steps_and_depth():
    task = tasks.find("sorting")
    with pytest.raises(Runaway, match="step limit of 100") as caught:
        run_program(task.env.of((1, 2)), task.call, Always(Call("ACT")), Limits(100, 10))
    assert len(caught.value.trace.decisions) == 100
    with pytest.raises(Runaway, match="depth limit of 10 calls"):
        run_program(task.env.of((1, 2)), task.call, Always(Call("BSTEP")), Limits(100, 10))


def test_one_runaway_does_not_stop_the_others():
    task = tasks.find("addition", "loop")
    short, long = ("1", "2"), ("1" * 50, "2")
    frames = [frame for problem in (short, long) for frame in record(task.env.of(problem), task.main)]
    traces = run_batch([task.env.of(short), task.env.of(long)], task.call, Memo.of(frames), Limits(60))
    assert traces[0].runaway is None
    assert traces[1].runaway == "step limit of 60 reached"


def test_a_limit_of_exactly_the_steps_needed_is_enough():
    task = tasks.find("addition", "loop")
    frames = record(task.env.of(("5", "6")), task.main)
    needed = len(Trace.of(frames).decisions)
    assert run_program(task.env.of(("5", "6")), task.call, Memo.of(frames), Limits(needed)).runaway is None
    with pytest.raises(Runaway):
        run_program(task.env.of(("5", "6")), task.call, Memo.of(frames), Limits(needed - 1))


def test_deep_recursion_is_a_matter_of_memory():
    task = tasks.find("addition", "recursive")
    problem = task.sample(Random(0), 400)
    frames = record(task.env.of(problem), task.main)
    long = ("9" * 30_000, "1")
    more = [frame for size in range(1, 4) for frame in record(task.env.of(("9" * size, "1")), task.main)]
    env = task.env.of(long)
    run_program(env, task.call, Memo.of(frames + more))
    assert task.result(env) == "1" + "0" * 30_000


def test_an_unrecorded_history_is_named():
    task = tasks.find("addition")
    with pytest.raises(LookupError, match="no recorded frame of ADD"):
        run_program(task.env.of(("1", "2")), task.call, Memo.of([]))


def test_a_memo_lets_its_histories_go_at_once():
    """States are large: once a trie is let go, none may wait for the garbage collector."""

    class State:
        alive = 0

        def __init__(self):
            State.alive += 1

        def __del__(self):
            State.alive -= 1

    class Endless:
        def cached(self, observation, call, state):
            return None

        def decide(self, queries) -> list:
            return [(None, State()) for _ in queries]

    memo = Memo(Endless(), capacity=50)
    gc.disable()
    try:
        for number in range(200):
            memo.decide([((number,), Call("P"), None)])
            assert State.alive <= 50
    finally:
        gc.enable()
