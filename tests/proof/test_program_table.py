"""Program tables: they run as the teacher does, without torch."""

import json
import subprocess
import sys
from random import Random

import pytest

from npi import BadInput, Limits, record, tasks
from npi.language.interpreter import run_program
from npi.language.memo import Memo
from npi.proof.program_table import compile_histories, load_table, save_table

NAMES = ["bubblesort", "quicksort", "toposort"]


@pytest.fixture(scope="module")
def tables(explore):
    """Tables of the teachers' own decisions: a proved network makes the same ones."""
    found = {}
    for name in NAMES:
        exploration = explore(name)
        found[name] = (compile_histories(exploration.task, exploration.histories, {"a": 1}), exploration.histories)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_table_runs_as_the_teacher(tables, name):
    table, _ = tables[name]
    task, rng = tasks.find(name), Random(4)
    for size in (1, 2, 3, 5, 8, 20):
        for problem in task.test_problems(size, 20, rng.randrange(99)):
            frames = record(task.env.of(problem), task.main, limits=Limits())
            by_table, fast, by_teacher = (task.env.of(problem) for _ in range(3))
            trace = run_program(by_table, task.call, table)
            assert trace.decisions == run_program(by_teacher, task.call, Memo.of(frames)).decisions
            assert table.run(fast, task.call) == len(trace.decisions)
            assert task.result(by_table) == task.result(fast) == task.answer(problem)


@pytest.mark.parametrize("name", NAMES)
def test_histories_with_the_same_future_share_a_state(tables, name):
    table, histories = tables[name]
    assert len(table.states) < len(histories) / 4
    keys = {
        frozenset((observation, decision, id(state)) for observation, (decision, state) in state.items())
        for state in table.states
    }
    assert len(keys) == len(table.states)


def test_a_loaded_table_equals_the_saved_one(tables, tmp_path):
    table, _ = tables["quicksort"]
    save_table(table, tmp_path / "table.json")
    loaded = load_table(tmp_path / "table.json")
    assert (loaded.task, loaded.teacher, loaded.facts) == ("quicksort", "recursive", {"a": 1})
    assert len(loaded.states) == len(table.states)
    task = tasks.find("quicksort")
    problem = tuple(Random(0).randint(-99, 99) for _ in range(200))
    first, second = task.env.of(problem), task.env.of(problem)
    assert run_program(first, task.call, table).decisions == run_program(second, task.call, loaded).decisions


def test_running_a_table_does_not_import_torch(tables, tmp_path):
    save_table(tables["quicksort"][0], tmp_path / "table.json")
    command = ["run", "quicksort", "512", "-3", "77", "12", "--table", str(tmp_path / "table.json")]
    code = f"import sys; from npi.cli import main\nassert main({command}) == 0\nassert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "-3 12 77 512\n"


def test_problems_can_be_read_from_files(npi, tables, tmp_path):
    save_table(tables["bubblesort"][0], tmp_path / "table.json")
    (tmp_path / "words.txt").write_text("pear\napple fig\n")
    code, output, err = npi(
        "run", "bubblesort", f"@{tmp_path / 'words.txt'}", "kiwi", "--table", str(tmp_path / "table.json")
    )
    assert (code, output) == (0, "apple fig kiwi pear\n")
    code, output, err = npi("run", "bubblesort", "@nowhere.txt", "--table", str(tmp_path / "table.json"))
    assert code == 2
    assert "nowhere.txt" in err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: "", "is not a compiled program"),
        (lambda t: json.dumps(t)[:300], "is not a compiled program"),
        (lambda t: "[]", "is not a compiled program"),
        (lambda t: json.dumps(t | {"format": 7}), "has format 7"),
        (lambda t: json.dumps(t | {"first": [["QUICKSORT", [0, 0, 0], 9999]]}), "is not a compiled program"),
        (lambda t: json.dumps(t | {"states": [[] for _ in t["states"]]}), "has no decision after"),
        (lambda t: json.dumps(t | {"task": "sorting"}), "is a table of sorting"),
    ],
)
def test_bad_tables_are_refused(npi, tables, tmp_path, change, message):
    path = tmp_path / "table.json"
    save_table(tables["quicksort"][0], path)
    path.write_text(change(json.loads(path.read_text())))
    code, _, err = npi("run", "quicksort", "2", "1", "--table", str(path))
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_a_missing_table_is_refused(npi, tmp_path):
    with pytest.raises(BadInput, match="there is no table"):
        load_table(tmp_path / "no.json")
    assert npi("run", "quicksort", "1", "--engine", "compiled")[0] == 2
    assert npi("run", "addition", "1", "2", "--engine", "memo", "--table", str(tmp_path / "no.json"))[0] == 2


def test_compiling_requires_a_proof(npi, tmp_path):
    out = str(tmp_path / "t.json")
    code, output, err = npi("compile", "cars", "--out", out)
    assert code == 2
    (tmp_path / "t.json").write_text("mine")
    code, output, err = npi("compile", "sorting", "--out", out)
    assert (code, (tmp_path / "t.json").read_text()) == (2, "mine")
    code, output, err = npi("compile", "sorting", "--out", out, "--force")
    assert code == 0, err
    assert load_table(tmp_path / "t.json").facts["task"] == "sorting"
    code, output, err = npi("run", "sorting", "9", "2", "5", "--table", out, "--json")
    assert json.loads(output)["right"] is True
