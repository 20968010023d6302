"""Mutation testing of the trusted code: change it in many small ways, and see whether the tests notice.

`make mutation` makes every mutant of the files in TARGETS, and runs the tests named there on each until one fails. It
writes tests/mutation.json: how many mutants were killed, and which survived. tests/mutation_survivors.toml explains the
survivors; one without an explanation is a gap in the tests, and the command fails. What was found is kept in
.mutation/, so a run can be interrupted and resumed.

Every mutant runs in a process of its own, forked from one in which the libraries are loaded and `npi` is not. An import
hook gives it the mutated module; no file changes.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib.abc
import importlib.util
import json
import math
import os
import resource
import select
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import beartype
import hypothesis
import jaxtyping
import mpmath
import numpy
import pytest
import torch

LOADED = (beartype, hypothesis, jaxtyping, mpmath, numpy, torch)  # before the processes of mutants are forked

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PACKAGE = ROOT / "src" / "npi"
RESULTS, SURVIVORS, KEPT = TESTS / "mutation.json", TESTS / "mutation_survivors.toml", ROOT / ".mutation"
LEAST_RATE = 0.95  # of all mutants must be killed
MARK = "__mutated__"  # a name in the mutated module
NOT_IMPORTED = "nothing: the tests pass, but they did not import the mutant"
MEMORY = 6 << 30  # bytes that a mutant may use: some grow without end

TAPES = ["proof/test_lazy_objects.py", "proof/test_lazy_tape.py", "proof/test_exhaustive_tapes.py"]
GRAPHS = ["proof/test_lazy_objects.py", "proof/test_lazy_graph.py", "proof/test_exhaustive_graphs.py"]
RULES = ["proof/test_soundness.py", "proof/test_hidden_state.py", "proof/test_refused_tasks.py"]
EXPLORED = [
    f"proof/test_verify.py::test_the_page_on_proofs_gives_the_measured_sizes[{name}]"
    for name in ("toposort", "bubblesort", "quicksort", "sorting")
]
COMPARISON = [
    "proof/test_compare.py",
    "test_decision_rule.py",
    "proof/test_rounding.py::test_a_decision_within_rounding_is_unsure",
]
TARGETS = {
    "language/tape.py": [
        "language/test_tape.py",
        *TAPES[:2],
        "proof/test_exhaustive_tapes.py::test_a_concrete_tape_does_what_the_model_does",
        *RULES,
    ],
    "language/graph.py": ["language/test_graph.py", *GRAPHS, *RULES],
    "proof/lazy_tape.py": [*TAPES[:2], *EXPLORED[:3], TAPES[2], EXPLORED[3]],
    "proof/lazy_graph.py": [*GRAPHS, *EXPLORED],
    "proof/oracle.py": ["proof/test_oracle.py", *TAPES[:2], *GRAPHS, *RULES],
    "proof/explore.py": ["proof/test_checker.py", *RULES, *EXPLORED],
    "proof/checker.py": ["proof/test_checker.py"],
    "proof/compare.py": COMPARISON,
    "network/decision.py": COMPARISON,
}

COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
}
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = dict(pair for a, b in [("min", "max"), ("any", "all"), ("argmax", "argmin"), ("amax", "amin"),
                               ("minimum", "maximum")] for pair in ((a, b), (b, a)))  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A file with one change; `name` says where the change is and what it is."""

    file: str
    name: str
    source: str


def mutants(file: str) -> list[Mutant]:
    """Every mutant of a file of the package."""
    tree = ast.parse((PACKAGE / file).read_text())
    made: list[Mutant] = []
    seen: Counter[str] = Counter()
    for place, node, put in _slots(tree, ""):
        for other in _alternatives(node):
            name = f"{place}: {_difference(ast.unparse(node), ast.unparse(other))}"
            seen[name] += 1
            put(other)
            made.append(Mutant(file, name + (f" #{seen[name]}" if seen[name] > 1 else ""), ast.unparse(tree)))
            put(node)
    return made


def _slots(node: ast.AST, place: str) -> Iterator[tuple[str, ast.AST, Callable[[ast.AST], None]]]:
    """Everything in a tree that can be replaced: the function or class it is in, itself, and what replaces it.

    Text for people is left out: messages, docstrings, annotations.
    """
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        place = f"{place}.{node.name}".lstrip(".")
    for field, value in ast.iter_fields(node):
        if isinstance(node, ast.Raise) or field in ("annotation", "returns", "decorator_list", "bases", "msg"):
            continue
        values = value if isinstance(value, list) else [value]
        for index, child in enumerate(values):
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr) or _is_text(child):
                continue

            def put(other: ast.AST, field: str = field, value: Any = value, index: int = index) -> None:
                if isinstance(value, list):
                    value[index] = other
                else:
                    setattr(node, field, other)

            yield place, child, put
            yield from _slots(child, place)


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a docstring, or defines names for Python such as __slots__."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith("__")


def _alternatives(node: ast.AST) -> Iterator[ast.AST]:
    """What each kind of node is replaced by."""
    match node:
        case ast.Compare(ops=operators):
            for index, operator in enumerate(operators):
                for other in COMPARISONS[type(operator)]:
                    yield _changed(node, ops=[*operators[:index], other(), *operators[index + 1 :]])
        case ast.BoolOp(op=operator, values=values):
            yield _changed(node, op=OPERATORS[type(operator)]())
            for index in range(len(values)):
                rest = [*values[:index], *values[index + 1 :]]
                yield rest[0] if len(rest) == 1 else _changed(node, values=rest)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.BinOp(op=operator) if type(operator) in OPERATORS:
            yield _changed(node, op=OPERATORS[type(operator)]())
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
                yield _changed(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=[_, *_]):
            yield _changed(node, ifs=[])
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
            if value:
                yield ast.Constant(value - 1)
        case ast.Name(id=name) if name in NAMES:
            yield _changed(node, id=NAMES[name])
        case ast.Attribute(attr=name) if name in NAMES:
            yield _changed(node, attr=NAMES[name])
        case ast.Slice():
            for field in ("lower", "upper", "step"):
                if getattr(node, field) is not None:
                    yield _changed(node, **{field: None})
        case ast.AugAssign(op=operator):
            yield _changed(node, op=OPERATORS[type(operator)]())
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield ast.Pass()
        case ast.Expr() | ast.Delete() | ast.Raise() | ast.Return() | ast.Break() | ast.Continue():
            yield ast.Pass()


def _changed(node: ast.AST, **fields: object) -> Any:
    other = copy.copy(node)
    for field, value in fields.items():
        setattr(other, field, value)
    return other


def _difference(old: str, new: str) -> str:
    """The first line in which two texts differ, before and after."""
    lines = zip(old.splitlines(), new.splitlines(), strict=False)
    before, after = next((pair for pair in lines if pair[0] != pair[1]), (old, new))
    return f"{before.strip()} -> {after.strip()}"


class Mutated(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module of the package from a source of its own."""

    def __init__(self, mutant: Mutant):
        self.path = PACKAGE / mutant.file
        self.module = "npi." + mutant.file.removesuffix(".py").replace("/", ".")
        self.source = mutant.source

    def find_spec(self, name: str, path: object, target: object = None) -> Any:
        if name != self.module:
            return None
        spec = importlib.util.spec_from_loader(name, self, origin=str(self.path))
        assert spec is not None
        spec.has_location = True
        return spec

    def get_source(self, fullname: str) -> str:
        return f"{self.source}\n{MARK} = True"

    def get_code(self, fullname: str) -> Any:
        return self.source_to_code(self.get_source(fullname), str(self.path))


class FirstFailure:
    """A plugin of pytest that notes the test that failed first."""

    name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid.removeprefix("tests/")


def run_tests(mutant: Mutant, pipe: int) -> None:
    """Run the tests on a mutant, and write the test that fails, or nothing, to a pipe. In a process of its own."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    mutated = Mutated(mutant)
    sys.meta_path.insert(0, mutated)
    failure = FirstFailure()
    files = [str(TESTS / file) for file in TARGETS[mutant.file]]
    options = ["-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", "--rootdir", str(ROOT)]
    no_hooks = ["-o", "addopts="]  # jaxtyping's import hook would load the file as it is
    code = pytest.main([*options, *no_hooks, *files], plugins=[failure])
    if code:
        killed = failure.name or "when the tests are collected"
    else:
        killed = "" if hasattr(sys.modules.get(mutated.module), MARK) else NOT_IMPORTED
    os.write(pipe, killed.encode()[:2000])


@dataclass
class Running:
    """A mutant whose tests run."""

    mutant: Mutant
    process: int
    pipe: int
    start: float


def start(mutant: Mutant) -> Running:
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.setsid()
        try:
            run_tests(mutant, writing)
        except BaseException as error:  # such as an import that fails
            os.write(writing, type(error).__name__.encode())
        os._exit(0)
    os.close(writing)
    return Running(mutant, process, reading, time.monotonic())


def finish(running: Running, stopped: bool) -> str:
    """What killed a mutant; empty if it survived."""
    if stopped:
        os.killpg(running.process, signal.SIGKILL)
    killed = b"".join(iter(lambda: os.read(running.pipe, 4096), b"")).decode()
    _, status = os.waitpid(running.process, 0)
    os.close(running.pipe)
    return killed or ("a test that does not end" if stopped else "a crash" if status else "")


def run_all(waiting: list[Mutant], limits: dict[str, float], workers: int) -> Iterator[tuple[Mutant, str, float]]:
    """Try mutants, some at once. Gives each with what killed it, and the seconds it took."""
    running: list[Running] = []
    waiting = waiting[::-1]
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                running.append(start(waiting.pop()))
            ready = select.select([one.pipe for one in running], [], [], 0.5)[0]
            for one in list(running):
                seconds = time.monotonic() - one.start
                stopped = one.pipe not in ready and seconds > limits[one.mutant.file]
                if one.pipe in ready or stopped:
                    running.remove(one)
                    yield one.mutant, finish(one, stopped), seconds
    finally:
        for one in running:
            finish(one, stopped=True)


def seconds_without_change(file: str) -> float:
    """How long the tests of a file take. They must pass."""
    unchanged = Mutant(file, "no change", ast.unparse(ast.parse((PACKAGE / file).read_text())))
    for _, failed, seconds in run_all([unchanged], {file: math.inf}, 1):
        if failed:
            sys.exit(f"{file}: the tests do not pass without any change, or not on this file: {failed}")
        return seconds
    raise AssertionError("nothing was run")


class Kept:
    """What was found for the mutants of one file, on disk.

    All is kept until the file changes. When its tests change, survivors that nobody has explained are tried again.
    """

    def __init__(self, file: str, explained: Container[str], fresh: bool):
        self.path = KEPT / (file.replace("/", ".") + ".json")
        tests = [TESTS / test.split("::")[0] for test in TARGETS[file]]
        self.of = {"file": _digest([PACKAGE / file]), "tests": _digest(tests)}
        found = {} if fresh or not self.path.exists() else json.loads(self.path.read_text())
        self.killed: dict[str, str] = found["killed"] if found.get("file") == self.of["file"] else {}
        same_tests = found.get("tests") == self.of["tests"]
        survived = found["survived"] if self.killed else []
        self.survived: list[str] = [name for name in survived if same_tests or name in explained]

    def add(self, mutant: Mutant, killed: str) -> None:
        if killed:
            self.killed[mutant.name] = killed
        else:
            self.survived.append(mutant.name)
        self.path.write_text(json.dumps({**self.of, "killed": self.killed, "survived": self.survived}, indent=1))


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def try_mutants(file: str, explained: Container[str], workers: int, fresh: bool) -> dict[str, Any]:
    """Try every mutant of a file, and say how many were killed and which survived."""
    kept, every = Kept(file, explained, fresh), mutants(file)
    waiting = [mutant for mutant in every if mutant.name not in kept.killed and mutant.name not in kept.survived]
    if waiting:
        limit, begun = 20 + 3 * seconds_without_change(file), time.monotonic()
        for done, (mutant, killed, seconds) in enumerate(run_all(waiting, {file: limit}, workers), 1):
            kept.add(mutant, killed)
            left = (time.monotonic() - begun) / done * (len(waiting) - done) / 60
            result = f"killed by {killed}" if killed else "SURVIVED"
            print(f"{file} {done}/{len(waiting)}, {left:.0f} min left: {mutant.name}: {result}, {seconds:.0f} s")
            sys.stdout.flush()
    survived = [mutant.name for mutant in every if mutant.name in kept.survived]
    return {"mutants": len(every), "killed": len(every) - len(survived), "survived": survived}


def main() -> int:
    parser = argparse.ArgumentParser(description="Change the trusted code in many small ways: do the tests notice?")
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"of {', '.join(TARGETS)}; all, if none is given")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="mutants tried at once")
    parser.add_argument("--fresh", action="store_true", help="forget what was found before")
    args = parser.parse_args()
    if unknown := [file for file in args.files if file not in TARGETS]:
        parser.error(f"{unknown[0]} is none of {', '.join(TARGETS)}")
    KEPT.mkdir(exist_ok=True)
    explained: dict[str, dict[str, str]] = tomllib.loads(SURVIVORS.read_text())
    report = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for file in args.files or TARGETS:
        report[file] = try_mutants(file, explained.get(file, {}), args.workers, args.fresh)
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    every, killed = (sum(found[key] for found in report.values()) for key in ("mutants", "killed"))
    print(f"{killed} of {every} mutants killed ({killed / every:.1%})")
    gaps = [
        f"{file}: {name}" for file, found in report.items() for name in found["survived"]
        if name not in explained.get(file, {})
    ]  # fmt: skip
    for gap in gaps:
        print(f"survived, and {SURVIVORS.name} does not say why: {gap}")
    return int(bool(gaps) or killed < LEAST_RATE * every)


if __name__ == "__main__":
    sys.exit(main())
