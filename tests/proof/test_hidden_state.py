"""Tasks that hide state from a proof, or look behind a tape: each is refused, or what is not watched is listed.

Nearly all of them are one attack: a guard that counts the depth of a run and ends it at twenty. A replay sees one frame
at a time and finds the guard as it was, so an unwatched guard would let a proof miss what happens in long runs.
"""

import pytest

from npi.errors import NotProvable
from npi.proof.reachable import find_reachable


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
        "O, which tidy refers to and O, which Base.describe",
    ),
    "a slice": (
        guard("S = slice([], 0)", "S.start.append(1)", "len(S.start) > 20", "S.start.pop()"),
        "changes part 0 of S",
    ),
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
    "a private slot": (
        guard(
            "class K:\n    __slots__ = ('__open',)\n    def __init__(self): self.__open = []\n"
            "    def up(self): self.__open.append(1)\n    def down(self): self.__open.pop()\n"
            "    def deep(self): return len(self.__open) > 20\nKEPT = K()",
            "KEPT.up()",
            "KEPT.deep()",
            "KEPT.down()",
        ),
        "tidy changes _K__open, an attribute of KEPT",
    ),
    "a slot named by a text": (
        guard(
            "class K:\n    __slots__ = 'open'\nKEPT = K()\nKEPT.open = []",
            "KEPT.open.append(1)",
            "len(KEPT.open) > 20",
            "KEPT.open.pop()",
        ),
        "tidy changes open, an attribute of KEPT",
    ),
    "what makes the entries of a dictionary": (
        guard(
            "from collections import defaultdict\nN = 0\ndef up():\n    global N\n    N += 1\n    return N\n"
            "D = defaultdict(up)",
            "D.pop(0, 0)",
            "D[0] > 20",
            "pass",
        ),
        "up .* assigns to N, which outlives it",
    ),
    "a module that computes": (
        guard("import types\nclass M(types.ModuleType):\n    n = []\nm = M('m')", "m.n.append(1)", "m.n", "m.n.pop()"),
        "a module that computes what it holds",
    ),
    "an attribute in a pattern": (
        guard(
            "class C:\n    pass\nKEPT = C()",
            "match KEPT:\n        case C(__dict__=kept): kept.update(n=kept.get('n', 0) + 1)",
            "KEPT.n > 20",
            "pass",
        ),
        "uses __dict__",
    ),
    "a constructor called again": (
        guard(
            "class C:\n    def __init__(self, n): self.n = n\nKEPT = C(0)",
            "KEPT.__init__(KEPT.n + 1)",
            "KEPT.n > 20",
            "pass",
        ),
        "uses __init__",
    ),
    "a constructor of another object": (
        guard(
            "class C:\n    def __init__(self, kept):\n        self = kept\n        self.n += 1\n"
            "class K:\n    n = 0\nKEPT = K()",
            "C(KEPT)",
            "KEPT.n > 20",
            "pass",
        ),
        "assigns to self, which is its object",
    ),
    "a constructor as a function": (
        guard(
            "class C:\n    def __init__(self, n): self.n = n\nKEPT = C(0)\nagain = C.__init__",
            "again(KEPT, KEPT.n + 1)",
            "KEPT.n > 20",
            "pass",
        ),
        "__init__ .* assigns to the attribute n",
    ),
    "a function called __init__": (
        guard(
            "class C:\n    n = 0\nKEPT = C()\ndef __init__(kept, n): kept.n = n\nput = __init__",
            "put(KEPT, KEPT.n + 1)",
            "KEPT.n > 20",
            "pass",
        ),
        "__init__ .* assigns to the attribute n",
    ),
    "a new object that is an old one": (
        guard(
            "KEPT = []\nclass C:\n    n = 0\n    def __new__(cls): return KEPT[0] if KEPT else super().__new__(cls)\n"
            "    def __init__(self): self.n = self.n + 1\nKEPT.append(C())",
            "C()",
            "KEPT[0].n > 20",
            "pass",
        ),
        "uses C.__new__",
    ),
    "a docstring": (
        guard("def h(): pass\nh.__doc__ = []", "h.__doc__.append(1)", "len(h.__doc__) > 20", "h.__doc__.pop()"),
        "uses __doc__",
    ),
    "an error": (
        guard("", "try:\n        1 / 0\n    except ZeroDivisionError: pass", "False", "pass"),
        "handles errors",
    ),
    "any error": (guard("", "try:\n        1 / 0\n    except: pass", "False", "pass"), "handles errors"),
    "an error in `with`": (
        guard("class C:\n    def __enter__(self): pass", "with C(): pass", "False", "pass"),
        "handles errors, or uses `with`",
    ),
    "the same object": (
        guard("", "pass", "shelf.observe is shelf.observe", "pass"),
        "whether two objects are the same",
    ),
    "a text that formats": (guard("", "pass", "('{0.' + 'x}').format(shelf) == ''", "pass"), "uses format"),
    "a class registered as another": (
        guard(
            "from abc import ABC\nclass A(ABC): pass\nclass C: pass\nKEPT = C()",
            "A.register(C)",
            "isinstance(KEPT, A)",
            "pass",
        ),
        "uses register and isinstance",
    ),
    "an attribute put on Env": (
        guard(
            "class B(Env): kept = []\n".replace("Env", "__import__('npi').Env"),
            "B.kept.append(1)",
            "len(B.kept) > 20",
            "B.kept.pop()",
        ),
        "tidy changes B.kept",
    ),
    "a program among the acts": ({"act": "darken(self)"}, "calls the program DARKEN in observe or act"),
    "an import": (guard("", "import random", "random.random() < 0.5", "pass"), "imports random: import at the top"),
}


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_on_the_depth_of_a_run_is_refused(task, name):
    parts, message = GUARDS[name]
    with pytest.raises(NotProvable, match=message):
        find_reachable(task(**parts))
