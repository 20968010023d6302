"""Code that runs around problems: what it may do, and what it could leave behind for a step."""

import pytest

from npi.errors import NotProvable
from npi.proof.reachable import find_reachable


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
        (MODE | {"of": "MODE['big'] = len(problem) > 100"}, "MODE, which tidy refers to and MODE, which Shelf.of"),
        (
            MODE | {"sample": "lambda rng, size: MODE.update(big=True) or [0]"},
            "MODE, which tidy refers to and MODE, which <lambda>",
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
            {
                "prelude": "from types import MappingProxyType\nKEPT = {'big': 0}\nMODE = MappingProxyType(KEPT)",
                "of": "KEPT['big'] = len(problem) > 100",
                "deep": "MODE['big']",
            },
            "MODE, which tidy refers to and KEPT, which Shelf.of",
        ),
        (
            {
                "prelude": "class C:\n    def __init__(self, big): self.big = big\nCFG = C(0)",
                "of": "CFG.__init__(len(problem) > 100)",
                "deep": "CFG.big",
            },
            "uses __init__",
        ),
        (
            {
                "prelude": "class C:\n    big = 0\nCFG = C()",
                "of": "match CFG:\n            case C(__dict__=kept): kept['big'] = len(problem) > 100",
                "deep": "CFG.big",
            },
            "uses __dict__",
        ),
        ({"prelude": "put = setattr\nBIG = 0", "of": "put(cls, 'big', 1)", "deep": "BIG"}, "put, .* is setattr"),
        (
            {"prelude": "import builtins\nBIG = 0", "of": "builtins.setattr(cls, 'big', 1)", "deep": "BIG"},
            "uses setattr",
        ),
        (
            {
                "prelude": "from functools import partial\nput = partial(setattr)\nBIG = 0",
                "of": "put(cls, 'big', 1)",
                "deep": "BIG",
            },
            "put, .* is setattr",
        ),
        (
            {"prelude": "import sys\nBIG = 0", "of": "sys._getframe().f_globals['BIG'] = 1", "deep": "BIG"},
            "uses f_globals",
        ),
        (
            {"prelude": "from functools import wraps\nBIG = 0", "of": "wraps(tidy)(darken)", "deep": "BIG"},
            "wraps, .* is wraps",
        ),
        (
            {"first": "modes = [0]", "of": "cls.modes[0] = len(problem) > 100", "deep": "Shelf.modes[0]"},
            "share what can be changed: Shelf.modes",
        ),
        (
            {"first": "modes = [0]", "sample": "lambda rng, size: Shelf.modes.append(1) or [0]", "deep": "Shelf.modes"},
            "share what can be changed: Shelf.modes",
        ),
        (
            {
                "prelude": "MODES = [0]",
                "first": "def note(p): MODES[0] = len(p) > 100",
                "of": "cls.note(problem)",
                "deep": "MODES[0]",
            },
            "share what can be changed: MODES, which Shelf.note",
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
