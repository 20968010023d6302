"""Constants that a step refers to: which a proof knows, which it lists, and how all are hashed."""

import sys
from dataclasses import replace

import pytest
from samples.tidy_task import HONEST, LIGHT, TASK

from npi.errors import BadInput
from npi.proof.reachable import find_reachable
from npi.proof.source_files import hash_files


@pytest.mark.parametrize(
    ("content", "used", "listed"),
    [
        ("@property\n    @functools.cache\n    def n(self): return 0", "C0.n", "C.n (_lru_cache_wrapper)"),
        (
            "def m(self, kept): return 0\n    n = functools.partialmethod(m, [])",
            "C0.n()",
            "C.n (partialmethod)",
        ),
        ("__call__ = functools.partial(len, [])", "C0()", "C.__call__ (partial)"),
        ("pass\nN = typing.NewType('N', int)", "N(0)", "N, which tidy refers to (NewType)"),
        ("pass\nM = npi.language.memo.Memo(None)", "bool(M and 0)", "M, which tidy refers to (Memo)"),
        ("pass\nrecord = npi.record", "bool(record and 0)", "record, which tidy refers to (function)"),
        ("pass\nLAST = ()\nfor _ in range(300): LAST = (LAST,)", "LAST and 0", "nested in 100 others"),
    ],
)
def test_what_a_proof_does_not_know_is_listed(task, content, used, listed):
    prelude = f"""
import functools, typing, npi, npi.language.memo
class C:
    {content}
C0 = C()
"""
    constants = [one for one in find_reachable(task(prelude=prelude, deep=used)).assumptions() if "constant:" in one]
    assert any(listed in one for one in constants)


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


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("RULES = READ", "RULES['when'][1]"),
        ("class A:\n    n = READ['when'][0]\nclass B:\n    n = READ['when'][1]", "A.n + 2 * B.n"),
        ("def pick(first=READ['when'][0], second=READ['when'][1]): return first", "pick()"),
        ("class C:\n    def __init__(self, n): self.n = n\nRULES = tuple(map(C, READ['when']))", "RULES[0].n"),
        ("RULES = (READ['when'][0], len)", "RULES[0]"),
        ("RULES = {'f': min, 'when': READ['when'][0]}", "RULES['when']"),
        ("from fractions import Fraction\nRULES = Fraction(READ['when'][0])", "RULES"),
        ("from npi import TapeKind as T\nRULES = T(symbols=READ['when'][0])", "RULES.symbols"),
    ],
)
def test_constants_are_hashed_wherever_they_come_from(task, tmp_path, made, used):
    """A table that the file of a task reads from another file, for example."""
    rules = tmp_path / "rules.json"
    prelude = (
        f"import json\nfrom pathlib import Path\nREAD = json.loads(Path({str(rules)!r}).read_text())\n{made}\ndel READ"
    )
    hashes = []
    for content in ('{"when": [1, 2]}', '{"when": [1, 2]}', '{"when": [2, 1]}'):
        rules.write_text(content)
        hashes.append(hash_files(task(prelude=prelude, deep=f"{used} > 20")))
    assert hashes[0] == hashes[1]
    changed = {name for name in hashes[0] if hashes[0][name] != hashes[2][name]}
    assert changed == {"constants that the code refers to"}


def test_which_program_is_run_is_hashed(task):
    constants = "constants that the code refers to"
    first = task()
    module = sys.modules[first.env.__module__]
    assert hash_files(replace(first, main=vars(module)["darken"]))[constants] != hash_files(first)[constants]


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
