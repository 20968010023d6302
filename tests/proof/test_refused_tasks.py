"""Tasks that look behind a tape, or do what a network could not tell apart: each is refused, with what to do."""

import builtins
from dataclasses import replace

import pytest
from samples.tidy_task import LIGHT

from npi import act, tasks
from npi.errors import NotProvable
from npi.language.task_file import load_task_file
from npi.language.trace import Limits
from npi.proof import concrete
from npi.proof.reachable import find_reachable


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"observe": LIGHT.format("int(type(self.lights) is Tape)")}, "uses type"),
        ({"observe": LIGHT.format("int(self.lights.__class__.__name__ == 'Tape')")}, "uses __class__"),
        ({"observe": LIGHT.format("int('LazyTape' in repr(self.lights))")}, "uses repr"),
        ({"observe": LIGHT.format("int('Lazy' in str(self.lights))")}, "shown as text"),
        ({"observe": LIGHT.format("int('Lazy' in f'{self.lights}')")}, "shown as text"),
        ({"observe": LIGHT.format("int('contents' in dir(self.lights))")}, "uses dir"),
        ({"observe": LIGHT.format("int('observe' in vars(self))")}, "uses vars"),
        (
            {
                "prelude": "from npi.proof.lazy_tape import LazyTape",
                "observe": LIGHT.format("int(isinstance(self.lights, LazyTape))"),
            },
            "npi.proof.lazy_tape may answer differently",
        ),
        ({"observe": LIGHT.format("int(self.lights.abstract_state() is None)")}, "uses abstract_state"),
        ({"observe": LIGHT.format("int(self.lights._LazyTape__cells is None)")}, "uses _LazyTape__cells"),
        (
            {"observe": LIGHT.format("int('{0._LazyTape__cells}'.format(self.lights) == '')")},
            "uses {0._LazyTape__cells}",
        ),
        ({"observe": LIGHT.format("int(hasattr(self.lights, 'contents'))")}, "uses hasattr"),
    ],
)
def test_looking_behind_a_tape_is_refused(task, parts, message):
    with pytest.raises(NotProvable, match=message):
        find_reachable(task(**parts))


def test_a_teacher_cannot_tell_a_replay_from_a_run(task):
    shown = "str(shelf.observe).startswith('<bound method Shelf.observe of <')"
    reachable = find_reachable(task(deep=f"not {shown} or 'Teacher' in str(shelf.observe)"))
    assert len(reachable.histories) == len(find_reachable(task()).histories)


def test_a_number_that_only_equals_a_member_of_an_enumeration_is_refused(task):
    prelude = "from enum import IntEnum\nclass Arg(IntEnum):\n    A = 0\n    B = 1\nODD = int.__new__(Arg, 0)"
    with pytest.raises(NotProvable, match="returns light = a Arg, but must"):
        find_reachable(task(prelude=prelude, observe=LIGHT.format("ODD")))


def test_only_pythons_own_functions_are_pure(task, monkeypatch):
    monkeypatch.setattr(builtins, "divmod", lambda a, b: (a, b))
    with pytest.raises(NotProvable, match="uses divmod"):
        find_reachable(task(deep="divmod(1, 2)[0] > 20"))


def test_a_base_from_a_library_is_listed(task, tmp_path, monkeypatch):
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "tidy_counting.py").write_text("class Counting:\n    count = 0\n")
    monkeypatch.syspath_prepend(library)
    listed = find_reachable(task(prelude="from tidy_counting import Counting", base="Counting, Env"))
    assert "constant: Counting, a base of Shelf (type)" in listed.assumptions()


def test_a_program_is_made_of_a_plain_function(task, tmp_path):
    """A method can keep state in its object."""
    task(prelude="class Kept:\n    def tidy(self, shelf): pass")
    file = tmp_path / "tidy.py"
    file.write_text(file.read_text().replace("main=tidy", "main=program(name='TIDY')(Kept().tidy)"))
    with pytest.raises(NotProvable, match="is a program made of a method"):
        find_reachable(load_task_file(f"{file}:task"))


def test_act_is_no_program_of_a_task(task):
    with pytest.raises(NotProvable, match="has act for a program of its own"):
        find_reachable(replace(task(), main=act))


def test_values_that_compare_by_code_of_a_task_are_refused():
    class Card(int):
        def __gt__(self, other):
            return int(self) > int(other)

    task = tasks.find("bubblesort")
    with pytest.raises(NotProvable, match="a value that is compared must be a number or a text"):
        find_reachable(replace(task, sample=lambda rng, size: [*map(Card, task.sample(rng, size))]))


def test_isinstance_cannot_tell_an_abstract_tape_from_a_concrete_one(task):
    reachable = find_reachable(task(observe=LIGHT.format("self.lights.read() if isinstance(self.lights, Tape) else 0")))
    assert {seen[0] for seen in reachable.histories.observation} == {0, 1}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"prelude": "class N(int):\n    pass", "observe": LIGHT.format("N(self.lights.read())")},
            "observe returns light = [01], but must return an int",
        ),
        ({"observe": LIGHT.format("self.lights.read() * 7")}, r"light = 7, outside its declared range 0\.\.1"),
        ({"observe": "(self.lights.read(), 1, 1)"}, "returns 3 fields and declares 2"),
        ({"observe": LIGHT.format("[self.lights.read()]")}, r"light = \[0\], but must return an int"),
        ({"observe": "[self.lights.read(), 1]"}, "returns a list, but must return a named tuple"),
        (
            {"act": "while not self.lights.at_last(): self.lights.move(RIGHT)"},
            "more of its tapes than a proof can try, as a loop to the end",
        ),
    ],
)
def test_what_a_network_could_not_tell_apart_is_refused(task, parts, message):
    with pytest.raises(NotProvable, match=message):
        find_reachable(task(**parts))


@pytest.mark.parametrize("made", ["[lights]", "{'a': lights}", "0", "SHELF"])
def test_what_is_no_tape_of_its_own_is_refused_with_a_remedy(task, tmp_path, made):
    task()
    file = tmp_path / "tidy.py"
    file.write_text(file.read_text().replace("self.lights = lights", f"self.lights = lights; self.more = {made}"))
    with pytest.raises(NotProvable, match=r"keeps more = .*; tapes may be in attributes of their own and in tuples"):
        find_reachable(load_task_file(f"{file}:task"))


def test_long_runs_are_followed_for_a_while(task, monkeypatch):
    """A task whose smallest problems take longer than a proof follows them."""
    monkeypatch.setattr(concrete, "LONGEST_RUN", Limits(steps=100, depth=10_000))
    reachable = find_reachable(task(sample="lambda rng, size: [1] * 40"))
    assert reachable.problems > 500


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("(SHELF)", r"but must return a tuple of TapeKind and GraphKind: for one kind, write \(KIND,\)"),
        ("1 / 0", r"fails in tapes \(.*tidy.py:\d+\): ZeroDivisionError"),
    ],
)
def test_kinds_that_are_no_tuple_are_refused(task, returned, message, tmp_path):
    task()
    file = tmp_path / "tidy.py"
    file.write_text(file.read_text().replace("return (SHELF,)", f"return {returned}"))
    with pytest.raises(NotProvable, match=message):
        find_reachable(load_task_file(f"{file}:task"))


@pytest.mark.parametrize("error", ["BaseException", "GeneratorExit", "SystemExit"])
def test_an_error_of_any_kind_in_a_task_is_named(task, error):
    with pytest.raises(NotProvable, match=rf"fails in act \(.*tidy.py:\d+\): {error}"):
        find_reachable(task(act=f"raise {error}"))


def test_an_environment_with_room_for_state_in_c_is_refused(task):
    with pytest.raises(NotProvable, match="derives from a built-in type"):
        find_reachable(task(prelude="from collections import deque", base="deque, Env"))
