"""The teachers of the built-in tasks, against Python's own integers and `sorted`."""

from collections import defaultdict
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npi import BadInput, record, tasks
from npi.cars.poses import POSES, steps_between
from npi.evaluation.car_scores import held_out_starts
from npi.language.call_tree import format_call, format_tree
from npi.language.program import ACT, Call
from npi.language.trace import Trace
from npi.tasks import cars
from npi.tasks.addition import AdditionPad
from npi.tasks.cars import CarScene, held_out_poses
from npi.tasks.quicksort import QuicksortPad
from npi.tasks.sorting import SortingPad
from npi.tasks.toposort import GraphPad

GOLDEN = Path(__file__).parents[1] / "golden"
TEACHERS = tasks.TEACHERS
numbers = st.integers(0, 10**40)
arrays = st.lists(st.integers(0, 9), min_size=1, max_size=12)


def solve(name, teacher, problem):
    task = tasks.find(name, teacher)
    env = task.env.of(problem)
    record(env, task.main)
    return task.result(env)


@pytest.mark.parametrize("teacher", TEACHERS)
@given(numbers, numbers)
def test_addition_is_addition(teacher, a, b):
    assert solve("addition", teacher, (str(a), str(b))) == str(a + b)
    assert tasks.find("addition", teacher).answer((str(a), str(b))) == str(a + b)


@pytest.mark.parametrize("teacher", TEACHERS)
def test_all_sums_of_small_numbers(teacher):
    for a in range(120):
        for b in range(0, 120, 7):
            assert solve("addition", teacher, (str(a), str(b))) == str(a + b)


@pytest.mark.parametrize("teacher", TEACHERS)
@given(arrays)
def test_sorting_sorts(teacher, array):
    assert solve("sorting", teacher, tuple(array)) == sorted(array)


@given(st.lists(st.tuples(st.integers(-2, 3), st.integers(-2, 5), st.integers(-2, 12)), max_size=40), arrays)
@settings(max_examples=200)
def test_act_is_total(actions, array):
    graph = (("a", ("b", "c")), ("b", ("c",)), ("c", ()))
    for env in (AdditionPad.of(("905", "".join(map(str, array)))), SortingPad.of(array), GraphPad.of(graph)):
        fields = type(env).fields()
        for args in actions:
            env.act(*args)
            for (_, size), value in zip(fields.items(), env.observe(), strict=True):
                assert 0 <= value < size


# Each program and what it calls, from the table in the paper's appendix. One difference: RESET moves pointer 3 itself.
CALLS = {
    "addition": {
        "ADD": {"ADD1", "LSHIFT"},
        "ADD1": {"ACT", "CARRY"},
        "CARRY": {"ACT"},
        "LSHIFT": {"ACT"},
        "RSHIFT": {"ACT"},
    },
    "cars": {
        "GOTO": {"HGOTO", "VGOTO"},
        "HGOTO": {"LGOTO", "RGOTO"},
        "VGOTO": {"UGOTO", "DGOTO"},
        "LGOTO": {"ACT"},
        "RGOTO": {"ACT"},
        "UGOTO": {"ACT"},
        "DGOTO": {"ACT"},
    },
    "sorting": {
        "BUBBLESORT": {"BUBBLE", "RESET"},
        "BUBBLE": {"ACT", "BSTEP"},
        "RESET": {"LSHIFT", "ACT"},
        "BSTEP": {"COMPSWAP", "RSHIFT"},
        "COMPSWAP": {"ACT"},
        "LSHIFT": {"ACT"},
        "RSHIFT": {"ACT"},
    },
}
CALLS["maximum"] = {"MAX": {"BUBBLESORT", "RJMP"}, "RJMP": {"RSHIFT"}, **CALLS["sorting"]}
CALLS["bubblesort"] = CALLS["sorting"]
CALLS["quicksort"] = {
    "QUICKSORT": {"PARTITION", "ACT"},
    "PARTITION": {"PSTEP", "ACT"},
    "PSTEP": {"PSWAP", "ACT"},
    "PSWAP": {"ACT"},
}
CALLS["toposort"] = {
    "TOPOSORT": {"VISIT", "ACT"},
    "VISIT": {"ACT", "EXPLORE"},
    "EXPLORE": {"ESTEP"},
    "ESTEP": {"ACT"},
}
SELF_CALLS = {
    "bubblesort": {"BUBBLESORT", "BSTEP", "LSHIFT"},
    "quicksort": {"QUICKSORT", "PSTEP"},
    "toposort": {"TOPOSORT", "EXPLORE"},
    "addition": {"ADD"},
    "cars": {"LGOTO", "RGOTO", "UGOTO", "DGOTO"},
    "sorting": {"BUBBLESORT", "BSTEP", "LSHIFT"},
    "maximum": {"BUBBLESORT", "BSTEP", "LSHIFT", "RJMP"},
}


@pytest.mark.parametrize("teacher", TEACHERS)
@pytest.mark.parametrize("name", tasks.names())
def test_the_programs_are_those_of_the_papers_table(name, teacher):
    task = tasks.find(name, teacher)
    calls = defaultdict(set)
    for problem in task.test_problems(6, 20, 0):
        for recording in task.demonstrate(problem):
            for frame in recording:
                calls[frame.call.program] |= {step.decision.program for step in frame.steps if step.decision}
    expected = {program: set(callees) for program, callees in CALLS[name].items()}
    if teacher == "recursive":
        for program in SELF_CALLS[name]:
            expected[program].add(program)
    assert dict(calls) == expected


@pytest.mark.parametrize("teacher", TEACHERS)
@pytest.mark.parametrize(("name", "problem"), [("addition", ("96", "125")), ("sorting", (9, 2, 5))])
def test_the_call_trees_of_the_paper(name, problem, teacher):
    task = tasks.find(name, teacher)
    trace = Trace.of(record(task.env.of(problem), task.main))
    assert "\n".join(format_tree(trace, task.env)) + "\n" == (GOLDEN / f"{name}-{teacher}.txt").read_text()


def test_recursive_frames_are_short():
    for name in tasks.names():
        task = tasks.find(name, "recursive")
        longest = 6 if name == "quicksort" else 5  # QUICKSORT makes five calls, and returns
        for problem in task.test_problems(12, 10, 0):
            assert all(len(frame.steps) <= longest for recording in task.demonstrate(problem) for frame in recording)


def test_very_long_numbers_have_answers():
    task = tasks.find("addition")
    [problem] = task.test_problems(9_000, 7, 0)[-1:]
    assert max(map(len, problem)) == 9_000
    assert task.answer(("9" * 9_000, "1")) == "1" + "0" * 9_000


@pytest.mark.parametrize("size", [1, 2, 5, 10, 33])
def test_corner_cases_have_the_requested_size(size):
    for problem in tasks.find("addition").corner_cases(size)[:5]:
        assert max(map(len, problem)) == size
    for problem in tasks.find("sorting").corner_cases(size):
        assert len(problem) == size


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("addition", ["96"], "two numbers"),
        ("addition", ["1", "2", "3"], "it was given 3"),
        ("addition", [], "it was given 0"),
        ("addition", ["abc", "1"], "'abc' is not a number"),
        ("addition", ["-5", "1"], "'-5'"),
        ("addition", ["+5", "1"], "'\\+5'"),
        ("addition", ["1.5", "1"], "'1.5'"),
        ("addition", ["", "1"], "'' is not a number"),
        ("addition", ["٣", "1"], "'٣'"),
        ("addition", ["²", "1"], "'²'"),
        ("bubblesort", [], "nothing to sort"),
        ("quicksort", [], "nothing to sort"),
        ("sorting", [], "given none"),
        ("sorting", ["9", "x"], "'x' cannot be sorted"),
        ("sorting", ["9", "-1"], "'-1' cannot be sorted"),
        ("sorting", ["9", "12"], r"12 is outside 0\.\.9"),
        ("sorting", ["๙"], "'๙' cannot be sorted"),
        ("sorting", ["1.0"], "'1.0' cannot be sorted"),
    ],
)
def test_invalid_problems_are_refused_with_a_reason(name, words, message):
    with pytest.raises(BadInput, match=message):
        tasks.find(name).parse(words)


def test_unknown_names_are_refused_with_the_nearest_known_name():
    with pytest.raises(BadInput, match="did you mean 'addition'"):
        tasks.find("adition")
    known = "addition, bubblesort, cars, maximum, quicksort, sorting, toposort"
    with pytest.raises(BadInput, match=f"the known ones are {known}"):
        tasks.find("xyz")
    with pytest.raises(BadInput, match="did you mean 'recursive'"):
        tasks.find("addition", "recursiv")


@pytest.mark.parametrize("teacher", TEACHERS)
@pytest.mark.parametrize("name", ["bubblesort", "quicksort"])
def test_any_comparable_values_are_sorted(name, teacher):
    task = tasks.find(name, teacher)
    rng = Random(1)
    problems = [p for size in range(1, 6) for p in product(range(size), repeat=size)]
    problems += [task.parse(["512", "-3", "77", "12"]), task.parse(["to", "be", "or", "not", "to", "be"])]
    problems += [tuple(rng.randint(-(10**12), 10**12) for _ in range(30)) for _ in range(20)]
    for problem in problems:
        env = task.env.of(problem)
        task.main(env)
        assert task.result(env) == sorted(problem)


def test_actions_are_described():
    assert QuicksortPad.describe((1, 1, 3)) == "SWAP BORDER HIGH"
    assert QuicksortPad.describe((0, 2, 0)) == "PTR NEXT RIGHT"
    assert GraphPad.describe((0, 1, 0)) == "OPEN CHILD"
    assert GraphPad.describe((1, 0, 0)) == "NEXT START"
    assert GraphPad.describe((2, 0, 0)) == "CLOSE"
    assert AdditionPad.describe((1, 3, 7)) == "WRITE OUT 7"
    assert AdditionPad.describe((0, 2, 0)) == "PTR CARRY LEFT"
    assert AdditionPad.describe((0, 2, 9)) == "PTR CARRY -"
    assert SortingPad.describe((0, 2, 1)) == "PTR 3 RIGHT"
    assert SortingPad.describe((1, 0, 0)) == "SWAP 1 2"
    assert ACT == "ACT"


def test_meaningless_actions_are_described():
    """A model of several tasks shares its arguments, so a wrong decision may use those of another task."""
    for task in map(tasks.find, tasks.names()):
        assert format_call(Call("ACT", (9, 9, 9)), task.env) == "ACT 9 9 9"
    assert format_call(Call("ACT", (0, 0, 1)), tasks.find("sorting").env) == "PTR 1 RIGHT"


def test_training_never_shows_held_out_poses():
    task = tasks.find("cars")
    rng = Random(0)
    for size in list(task.sizes) * 20:
        problem = task.sample(rng, size)
        assert steps_between(problem.start, problem.target) == size
        scene = CarScene.of(problem)
        observation = {step.observation[-1] for frame in record(scene, task.main) for step in frame.steps}
        assert scene.pose == problem.target
        for pose in held_out_poses(problem.car.number):
            assert CarScene.of(problem._replace(start=pose)).image() not in observation
    for problem in held_out_starts(cars.TRAINING_CARS):
        assert problem.start in held_out_poses(problem.car.number)


def test_a_path_length_that_no_car_has_is_refused(monkeypatch):
    monkeypatch.setattr(cars, "held_out_poses", lambda number: frozenset(POSES))
    monkeypatch.setattr(cars, "training_pairs", cars.training_pairs.__wrapped__)
    with pytest.raises(BadInput, match="no training car has a path of 14 steps"):
        cars.sample(Random(0), 14)
    with pytest.raises(BadInput, match="15 steps apart"):
        cars.sample_test(Random(0), 15)
