"""The public API: exactly these names, each documented, with examples that run."""

import doctest
import inspect
import pydoc
import subprocess
import sys

import pytest

import npi

PUBLIC = {
    "no torch": "program act Env Image Task Tape TapeKind LEFT RIGHT Graph GraphKind check_task CheckReport record "
    "BadInput NotLearned NotProvable Limits Runaway Progress",
    "torch": "train load run evaluate teach verify compile decompile export NPI TrainConfig Run Score Proof "
    "Counterexamples",
}
NAMES = sorted(" ".join(PUBLIC.values()).split())
# Recipes: a user calls these, so each has an example. The others are what they take, return or raise.
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(npi, name))]
TYPES_WITH_EXAMPLES = ["Env", "Graph", "GraphKind", "Image", "Limits", "Progress", "Tape", "TapeKind", "Task"]


def test_dir_shows_the_public_names_and_no_others():
    assert sorted(dir(npi)) == sorted(npi.__all__) == NAMES


def test_help_shows_the_public_names():
    text = pydoc.plain(pydoc.render_doc(npi))
    assert all(name in text for name in NAMES)
    assert "import_module" not in text


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *TYPES_WITH_EXAMPLES}))
def test_the_example_in_the_docstring_runs(name):
    thing = getattr(npi, name)
    tests = [test for test in doctest.DocTestFinder(recurse=False).find(thing, name, globs={}) if test.examples]
    assert tests, f"npi.{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    for test in tests:
        runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def test_every_public_name_is_documented():
    for name in NAMES:
        if name not in ("LEFT", "RIGHT"):
            assert inspect.getdoc(getattr(npi, name)), name


def test_every_keyword_of_a_function_is_documented():
    for name in FUNCTIONS:
        thing = getattr(npi, name)
        keywords = [p.name for p in inspect.signature(thing).parameters.values() if p.kind == p.KEYWORD_ONLY]
        missing = [word for word in keywords if word not in (inspect.getdoc(thing) or "")]
        assert not missing or name in ("compile", "decompile", "record", "program"), (name, missing)


def test_importing_names_without_torch_loads_no_torch():
    code = f"import sys; from npi import {', '.join(PUBLIC['no torch'].split())}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
