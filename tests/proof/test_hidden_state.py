"""Tasks that hide state from a proof, or look behind a tape: each is refused, or what is not watched is listed.

Nearly all of them are one attack: a guard that counts the depth of a run and ends it at twenty. A replay sees one frame
at a time and finds the guard as it was, so an unwatched guard would let a proof miss what happens in long runs.
"""

import builtins
import sys

import pytest

from npi.errors import BadInput, NotProvable
from npi.language.task_file import load_task_file
from npi.language.trace import Limits
from npi.proof import concrete
from npi.proof.reachable import find_reachable
from npi.proof.source_files import hash_files

TASK = """
{prelude}
from typing import Annotated, NamedTuple
from npi import RIGHT, Env, Tape, TapeKind, Task, act, program

MOVE, OFF = OPERATIONS = range(2)
SHELF = TapeKind(symbols=2)
Bit = Annotated[int, range(2)]


class Observation(NamedTuple):
    light: Bit
    last: Bit


class Shelf({base}):
    {first}

    def __init__(self, lights: Tape):
        self.lights = lights

    @classmethod
    def of(cls, problem):
        {of}
        return cls(SHELF.tape(problem))

    @classmethod
    def tapes(cls):
        return (SHELF,)

    def observe(self) -> Observation:
        return {observe}

    def act(self, operation: Annotated[int, OPERATIONS], direction: Bit, _: Annotated[int, range(1)], /) -> None:
        {act}
        if operation == MOVE:
            self.lights.move(direction)
        elif operation == OFF:
            self.lights.write(0)


@program
def darken(shelf):
    if shelf.observe().light:
        act(shelf, OFF)


@program
def tidy(shelf):
    {enter}
    try:
        if {deep}:
            return
        darken(shelf)
        if not shelf.observe().last:
            act(shelf, MOVE, RIGHT)
            tidy(shelf)
    finally:
        {leave}


task = Task(
    name="tidy", teacher="recursive", env=Shelf, main=tidy, sample={sample},
    answer=lambda problem: None, result=lambda shelf: None, parse=lambda words: [0], show=str, sizes=range(1, 6),
    examples=20,
)
"""
HONEST = {
    "prelude": "",
    "base": "Env",
    "first": "pass",
    "of": "pass",
    "observe": "Observation(self.lights.read(), int(self.lights.at_last()))",
    "act": "pass",
    "enter": "pass",
    "deep": "False",
    "leave": "pass",
    "sample": "lambda rng, size: rng.choices((0, 1), k=size)",
}
# A second file of the same project, which the file of the task may import.
HELPER = """
OPEN = []
def step(i): OPEN.append(i) if i else OPEN.pop()
def deep(): return len(OPEN) > 20
"""


@pytest.fixture
def task(tmp_path, monkeypatch):
    def make(**parts):
        file = tmp_path / "tidy.py"
        file.write_text(TASK.format(**(HONEST | parts)))
        (tmp_path / "tidy_helper.py").write_text(HELPER)
        monkeypatch.delitem(sys.modules, "tidy_helper", raising=False)
        return load_task_file(f"{file}:task")

    return make


def guard(prelude, enter, deep, leave):
    return {"prelude": prelude, "enter": enter, "deep": deep, "leave": leave}


METHODS = """
STATE = [0]
{before}
class Guard({base}):
    {fields}
    def enter(self): STATE[0] += 1
    def leave(self): STATE[0] -= 1
    def deep(self): return STATE[0] > 20
GUARD = {made}
"""


def methods(base, fields, made, before=""):
    prelude = METHODS.format(base=base, fields=fields, made=made, before=before)
    return guard(prelude, "GUARD.enter()", "GUARD.deep()", "GUARD.leave()")


GUARDS = {
    "attribute of a program": (guard("", "tidy.depth = 1", "tidy.depth > 20", "tidy.depth = 0"), "the attribute depth"),
    "attribute of act": (guard("", "act.depth = 1", "False", "act.depth = 0"), "the attribute depth"),
    "attribute of a module": (guard("import math", "math.d = 1", "math.d > 20", "math.d = 0"), "the attribute d"),
    "attribute of a library": (
        guard("from collections import Counter", "Counter.q = 1", "Counter.q > 20", "Counter.q = 0"),
        "the attribute q",
    ),
    "attribute of Env": (guard("", "Env.depth = 1", "Env.depth > 20", "Env.depth = 0"), "the attribute depth"),
    "annotations": (guard("", "tidy.__annotations__['d'] = 1", "False", "pass"), "uses __annotations__"),
    "globals()": (guard("d = 0", "globals()['d'] += 1", "d > 20", "globals()['d'] -= 1"), "uses globals"),
    "setattr": (guard("class G: d = 0", "setattr(G, 'd', G.d + 1)", "G.d > 20", "pass"), "uses setattr"),
    "a dunder as text": (guard("", "getattr(tidy, '__dict__')['d'] = 1", "False", "pass"), "uses getattr"),
    "the stack of Python": (guard("import sys", "pass", "sys._getframe(60) is None", "pass"), "sys may answer"),
    "a frozen dataclass": (
        guard(
            "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass G:\n    d: int = 0\nC = G()",
            "object.__setattr__(C, 'd', C.d + 1)",
            "C.d > 20",
            "object.__setattr__(C, 'd', C.d - 1)",
        ),
        "uses (object|__setattr__)",
    ),
    "methods of a frozen dataclass": (
        methods("", "limit: int = 1", "Guard()", "from dataclasses import dataclass\n@dataclass(frozen=True)"),
        "tidy changes STATE, which Guard.enter refers to",
    ),
    "methods of a named tuple": (
        methods("NamedTuple", "limit: int = 1", "Guard()", "from typing import NamedTuple\n"),
        "tidy changes STATE, which Guard.enter refers to",
    ),
    "methods of an enumeration": (
        methods("Enum", "ONE = 1", "Guard.ONE", "from enum import Enum\n"),
        "tidy changes STATE, which Guard.enter refers to",
    ),
    "an integer with an attribute": (
        guard("class N(int):\n    n = 0\nZERO = N(0)", "ZERO.n += 1", "ZERO.n > 20", "ZERO.n -= 1"),
        "assigns to the attribute n",
    ),
    "a deque": (
        guard("from collections import deque\nD = deque()", "D.append(1)", "len(D) > 20", "D.pop()"),
        "tidy changes D, which tidy refers to",
    ),
    "a context variable": (
        guard(
            "from contextvars import ContextVar\nD = ContextVar('d', default=0)",
            "D.set(D.get() + 1)",
            "D.get() > 20",
            "D.set(D.get() - 1)",
        ),
        "contextvars may answer differently|exploration missed a history of TIDY",
    ),
    "an object in C": (
        guard("from queue import SimpleQueue\nQ = SimpleQueue()", "Q.put(1)", "Q.qsize() > 20", "Q.get()"),
        "exploration missed a history of TIDY that a problem with the cells",  # found by runs on forty cells
    ),
    "a file": (guard("", "open('/dev/null')", "False", "pass"), "uses open"),
    "chance": (guard("from os import urandom", "pass", "urandom(1) == b'x'", "pass"), "posix may answer differently"),
    "hash": (guard("", "pass", "hash('x') % 2", "pass"), "uses hash"),
    "a helper that builds problems, too": (
        {
            **guard(
                "OPEN = []\ndef note(i):\n    OPEN.append(1) if i > 0 else OPEN.pop() if i < 0 else None\n"
                "    return len(OPEN) > 20",
                "note(1)",
                "note(0)",
                "note(-1)",
            ),
            "of": "note(0)",
        },
        "OPEN, which note refers to",
    ),
    "a module in a comprehension": (
        guard("import tidy_helper as h", "any([h.step(1) for i in (0,)])", "any(h.deep() for i in (0,))", "h.step(0)"),
        "tidy changes OPEN, which (step|deep) refers to",
    ),
    "a module in a tuple": (
        guard(
            "import tidy_helper\nH = (tidy_helper,)", "H[0].OPEN.append(1)", "len(H[0].OPEN) > 20", "H[0].OPEN.pop()"
        ),
        "tidy changes tidy_helper.OPEN",
    ),
    "a module as an argument": (
        guard(
            "import tidy_helper as h\ndef get(m): return m.OPEN",
            "get(h).append(1)",
            "len(get(h)) > 20",
            "get(h).pop()",
        ),
        "tidy changes tidy_helper.OPEN",
    ),
    "an attribute of a program": (
        guard(
            "from npi import program as p\n@p\ndef other(s): pass\nother.open = []",
            "other.open.append(1)",
            "len(other.open) > 20",
            "other.open.pop()",
        ),
        "tidy changes open, an attribute of other",
    ),
    "an attribute called name": (
        guard("def h(): pass\nh.name = []", "h.name.append(1)", "len(h.name) > 20", "h.name.pop()"),
        "tidy changes name, an attribute of h",
    ),
    "a method that no step calls": (
        guard(
            "O = []\nclass Base(__import__('npi').Env):\n    def describe(self, args): O.append(1)",
            "shelf.describe((0, 0, 0))",
            "len(O) > 20",
            "O.pop()",
        )
        | {"base": "Base"},
        "O, which tidy refers to, and O, which Base.describe",
    ),
    "a slice": (guard("S = slice([], 0)", "S.start.append(1)", "len(S.start) > 20", "S.start.pop()"), "a part of S"),
    "a private attribute of a class": (
        guard("class K:\n    _abc_x = []", "K._abc_x.append(1)", "len(K._abc_x) > 20", "K._abc_x.pop()"),
        "tidy changes K._abc_x",
    ),
    "the members of an enumeration": (
        guard(
            "from enum import Enum\nclass K(Enum):\n    A = 1",
            "K._member_names_.append(1)",
            "len(K._member_names_) > 20",
            "K._member_names_.pop()",
        ),
        "tidy changes K._member_names_",
    ),
    "a dictionary of npi": (
        guard(
            "from npi.language.tape import HeadPlaces\nD = HeadPlaces()",
            "D.update({len(D): 1})",
            "len(D) > 20",
            "D.popitem()",
        ),
        "tidy changes D",
    ),
    "an annotation": (
        guard(
            "from typing import Annotated, get_args\nX = Annotated[int, []]",
            "get_args(X)[1].append(1)",
            "False",
            "pass",
        ),
        "get_args can keep state",
    ),
    "overloads": (
        guard("import typing", "typing.clear_overloads()", "False", "pass"),
        "clear_overloads can keep state",
    ),
    "a module of a module": (guard("import enum", "enum.bltns.setattr", "False", "pass"), "builtins may answer"),
    "a module of a library": (
        guard("import statistics", "pass", "statistics.random.random() > 2", "pass"),
        "random may",
    ),
    "the frame of a generator": (
        guard("", "g = (i for i in (0,))", "g.gi_frame.f_back is None", "pass"),
        "uses gi_frame",
    ),
    "a dunder by attrgetter": (
        guard("from operator import attrgetter", "attrgetter('x')(tidy)", "False", "pass"),
        "attrgetter can keep state",
    ),
    "a dunder in a format": (guard("", "pass", "'{0.__dict__}'.format(tidy) == ''", "pass"), "uses {0.__dict__}"),
    "room on the stack": (
        {"enter": "deep = False", "deep": "False", "leave": "try: pass\n        except RecursionError: pass"},
        "handles errors",
    ),
    "an import": (guard("", "import random", "random.random() < 0.5", "pass"), "imports random: import at the top"),
}


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_on_the_depth_of_a_run_is_refused(task, name):
    parts, message = GUARDS[name]
    with pytest.raises(NotProvable, match=message):
        find_reachable(task(**parts))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"prelude": "BIG = False", "of": "global BIG; BIG = len(problem) > 20", "deep": "BIG"},
            "Shelf.of .* assigns to BIG, a name that a step of tidy refers to",
        ),
        ({"of": "cls.big = len(problem) > 20", "deep": "shelf.big"}, "Shelf.of .* assigns to big, a name"),
        (
            {
                "prelude": "B = [0]\ndef note(p):\n    global N\n    N = len(p)",
                "of": "note(problem)",
                "deep": "N > 20",
            },
            "note .* assigns to N, a name",
        ),
    ],
)
def test_what_builds_a_problem_leaves_nothing_behind(task, parts, message):
    with pytest.raises(NotProvable, match=message):
        find_reachable(task(**parts))


MODE = {"prelude": "MODE = {'big': False}", "deep": "MODE['big']"}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (MODE | {"of": "MODE['big'] = len(problem) > 100"}, "MODE, which tidy refers to, and MODE, which Shelf.of"),
        (
            MODE | {"sample": "lambda rng, size: MODE.update(big=True) or [0]"},
            "MODE, which tidy refers to, and MODE, which <lambda>",
        ),
        ({"prelude": "BIG = 0", "deep": "BIG", "of": "setattr(cls, 'big', 1)"}, "uses setattr"),
        ({"prelude": "BIG = 0", "deep": "BIG", "of": "globals()['BIG'] = 1"}, "uses globals"),
        ({"prelude": "BIG = 0", "deep": "BIG", "of": "cls.of.__globals__['BIG'] = 1"}, "uses __globals__"),
        (
            {
                "prelude": "class C:\n    big = 0\nCFG = C()",
                "deep": "CFG.big",
                "of": "c = CFG; c.big = len(problem) > 100",
            },
            "Shelf.of .* assigns to big, a name",
        ),
        (
            {
                "prelude": "BIG = 0\ndef note(p):\n    global BIG\n    BIG = len(p) > 100",
                "of": "[note(problem) for _ in (0,)]",
                "deep": "BIG",
            },
            "note .* assigns to BIG, a name",
        ),
        (
            {
                "prelude": "BIG = 0\nclass H:\n    def note(self, p):\n        global BIG\n        BIG = len(p) > 100",
                "of": "H().note(problem)",
                "deep": "BIG",
            },
            "H.note .* assigns to BIG, a name",
        ),
        (
            {"first": "modes = [0]", "of": "cls.modes[0] = len(problem) > 100", "deep": "Shelf.modes[0]"},
            "Shelf.modes, and Shelf.modes",
        ),
        (
            {"first": "modes = [0]", "sample": "lambda rng, size: Shelf.modes.append(1) or [0]", "deep": "Shelf.modes"},
            "Shelf.modes, and Shelf.modes",
        ),
        (
            {
                "prelude": "MODES = [0]",
                "first": "def note(p): MODES[0] = len(p) > 100",
                "of": "cls.note(problem)",
                "deep": "MODES[0]",
            },
            "MODES, which .* refers to, and MODES, which Shelf.note",
        ),
    ],
)
def test_what_runs_around_problems_leaves_nothing_behind(task, parts, message):
    with pytest.raises(NotProvable, match=message):
        find_reachable(task(**parts))


def test_what_builds_problems_may_do_nearly_anything(task):
    """It may draw numbers, keep a cache, build objects, and share constants that nobody can change."""
    prelude = """
import random
from types import MappingProxyType
SEEN = {}
LIT = MappingProxyType({False: 0, True: 1})
class Node:
    def __init__(self): self.value = None
def build(problem):
    global LAST
    node = Node()
    node.child = node.lights = random.random()  # `lights` is an attribute of the environment, too
    LAST = SEEN[tuple(problem)] = [LIT[bool(light)] for light in problem]
"""
    reachable = find_reachable(task(prelude=prelude, of="build(problem)", deep="LIT[False]"))
    assert not [one for one in reachable.assumptions() if one.startswith("constant")]


LIGHT = "Observation({}, int(self.lights.at_last()))"


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


def test_what_nobody_watches_is_listed(task):
    honest = find_reachable(task())
    assert not [one for one in honest.assumptions() if one.startswith("constant")]
    listed = find_reachable(task(prelude="import json", deep="json.loads('[]')"))
    assert [one for one in listed.assumptions() if one.startswith("constant")] == [
        "constant: json, which tidy refers to (module)"
    ]


@pytest.mark.parametrize(
    "parts",
    [
        {
            "prelude": "from enum import IntEnum\nclass Op(IntEnum):\n    MOVE = 0\n    OFF = 1",
            "act": "assert Op(0) is Op.MOVE",
        },
        {
            "prelude": "from enum import IntEnum\nclass Op(IntEnum):\n    MOVE = 0\n    OFF = 1",
            "of": "assert [*Op]",
            "act": "assert Op(0) is Op.MOVE",
            "sample": "lambda rng, size: [Op(0).value] * size",
        },
        {
            "prelude": "from enum import IntFlag\nclass Op(IntFlag):\n    A = 1\n    B = 2\n    C = 4",
            "act": "assert Op(5) == Op.A | Op.C",
        },
        {"prelude": "TABLE = {0: 0, 1: 1}", "observe": LIGHT.format("TABLE[self.lights.read()]")},
        {
            "prelude": "import functools\n@functools.cache\ndef same(x):\n    return x",
            "observe": LIGHT.format("same(self.lights.read())"),
        },
    ],
    ids=["enumeration", "enumeration also in other code", "flags", "dictionary", "cache of a function"],
)
def test_constants_are_allowed(task, parts):
    assert len(find_reachable(task(**parts)).histories) == len(find_reachable(task()).histories)


def test_code_that_changed_after_it_was_imported_has_no_hash(task, tmp_path):
    loaded = task()
    before = hash_files(loaded)
    assert "tidy.py" in before
    task(deep="shelf.observe().light")  # writes the file anew
    with pytest.raises(BadInput, match=r"tidy\.py has changed since tidy was imported from it: start again"):
        hash_files(loaded)


def test_constants_are_hashed_wherever_they_come_from(task, tmp_path):
    """A table that the file of a task reads from another file, for example."""
    rules = tmp_path / "rules.json"
    prelude = f"import json\nfrom pathlib import Path\nRULES = json.loads(Path({str(rules)!r}).read_text())"
    hashes = []
    for content in ('{"when": [1, 2]}', '{"when": [1, 2]}', '{"when": [1, 3]}'):
        rules.write_text(content)
        hashes.append(hash_files(task(prelude=prelude, deep="RULES['when'][1] > 20")))
    assert hashes[0] == hashes[1]
    changed = {name for name in hashes[0] if hashes[0][name] != hashes[2][name]}
    assert changed == {"constants that the code refers to"}


def test_every_file_with_code_that_runs_is_hashed(tmp_path, monkeypatch):
    package = tmp_path / "shelves"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "shared.py").write_text("def same(x):\n    return x\n")
    (package / "deep" / "__init__.py").write_text("")
    source = TASK.format(**HONEST | {"prelude": "from ..shared import same", "observe": LIGHT.format("same(0)")})
    (package / "deep" / "tidy.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    from shelves.deep.tidy import task as installed  # pyright: ignore[reportMissingImports]

    mine = {name for name in hash_files(installed) if not name.startswith("npi/")}
    constants = "constants that the code refers to"
    assert mine == {"tidy.py", "__init__.py", "../__init__.py", "../shared.py", constants}
