"""Program tables: they run as the teacher does, without torch."""

import json
import subprocess
import sys
from dataclasses import replace
from random import Random

import pytest
from samples.certificates import certified, resealed
from samples.json_edits import edits

from npi import BadInput, Limits, record, run, tasks
from npi.language.interpreter import run_program
from npi.language.memo import Memo
from npi.language.program import ACT, Call
from npi.language.trace import Runaway
from npi.proof.program_table import ProgramTable, TableState, load_table, save_table

NAMES = ["bubblesort", "quicksort", "toposort"]


@pytest.fixture(scope="module")
def tables(explore):
    """Tables of the teachers' own decisions: a proved network makes the same ones."""
    found = {}
    for name in NAMES:
        found[name] = (certified(explore(name).table), explore(name).histories)
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
    assert (loaded.task, loaded.teacher) == ("quicksort", "recursive")
    assert loaded.certificate == table.certificate
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


def run_edited(npi, tables, path, edit):
    """Run a stored table after an edit of its file; returns what the refusal says."""
    save_table(tables["quicksort"][0], path)
    path.write_text(edit(json.loads(path.read_text())))
    code, output, err = npi("run", "quicksort", "2", "1", "--table", path)
    assert (code, output) == (2, "")
    return err


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda t: "", "is not a compiled program"),
        (lambda t: json.dumps(t)[:300], "is not a compiled program"),
        (lambda t: "[]", "is not a compiled program"),
        (lambda t: json.dumps(t | {"format": 7}), "has format 7"),
        (lambda t: resealed(t | {"calls": [["QUICKSORT", [0, 0, 0], 9999]]}), "is not a compiled program"),
        (lambda t: resealed(t | {"nodes": [[] for _ in t["nodes"]]}), "has no decision after"),
        (lambda t: resealed(t | {"task": "sorting"}), "is a table of sorting"),
    ],
)
def test_bad_tables_are_refused(npi, tables, tmp_path, edit, message):
    assert message in run_edited(npi, tables, tmp_path / "table.json", edit)


def test_every_edit_of_a_stored_table_is_noticed(tables, tmp_path):
    """Each number and text of the file, its certificate included, is changed once."""
    path = tmp_path / "table.json"
    save_table(tables["quicksort"][0], path)
    documents = list(edits(json.loads(path.read_text())))
    assert len(documents) > 500
    for document in documents:
        path.write_text(json.dumps(document))
        with pytest.raises(BadInput, match=r"was edited|has format|holds no certificate"):
            load_table(path)


@pytest.mark.parametrize("command", ["run", "decompile"])
def test_a_table_of_a_task_that_has_changed_since_is_refused(npi, tables, tmp_path, command):
    table, _ = tables["quicksort"]
    assert table.certificate is not None
    files = table.certificate.files | {"npi/tasks/quicksort.py": "0" * 64}
    stale = replace(table.certificate, files=files)
    path = tmp_path / "table.json"
    save_table(ProgramTable(table.task, table.teacher, table.entry_states, table.states, stale), path)
    words = ["quicksort", *(["2", "1"] if command == "run" else [])]
    code, output, err = npi(command, *words, "--table", path)
    assert (code, output) == (2, "")
    assert "npi/tasks/quicksort.py: changed since the proof" in err
    if command == "run":
        with pytest.raises(BadInput, match="is out of date"):
            run("quicksort", (2, 1), load_table(path))


def test_limits_hold_for_tables_too(npi, tables, tmp_path):
    """A program that calls itself for ever, as a tail call and otherwise, and one that only acts."""
    task = tasks.find("quicksort")
    seen = tuple(map(int, task.env.of((2, 1)).observe()))
    returned = {seen: (None, None)}
    endless_tables: list[tuple[TableState, Limits, str]] = [
        ({seen: (task.call, returned)}, Limits(1_000), "step limit of 1,000 reached"),
        ({seen: (task.call, {seen: (Call(ACT, (9, 9, 9)), returned)})}, Limits(depth=50), "depth limit of 50 calls"),
    ]
    for table, limits, message in endless_tables:
        states = [returned, *[after for _, after in table.values() if after is not returned], table]
        endless = ProgramTable("quicksort", "recursive", {task.call: table}, states)
        with pytest.raises(Runaway, match=message):
            endless.run(task.env.of((2, 1)), task.call, limits)
    path = tmp_path / "table.json"
    save_table(tables["quicksort"][0], path)
    code, output, err = npi("run", "quicksort", "3", "2", "1", "--table", path, "--max-steps", "5")
    assert code == 1
    assert "step limit of 5 reached" in output + err


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
    certificate = load_table(tmp_path / "t.json").certificate
    assert certificate is not None
    assert (certificate.task, certificate.histories) == ("sorting", 27_860)
    code, output, err = npi("run", "sorting", "9", "2", "5", "--table", out, "--json")
    assert json.loads(output)["right"] is True
