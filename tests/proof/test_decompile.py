"""Decompiled programs: Python that decides as the table does, and so as the teacher, on inputs of every size."""

import inspect
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, get_type_hints

import pytest

from npi import FAST, BadInput, Call, make_trainer, record, save_model, tasks
from npi.language.program import ACT, handle_calls
from npi.proof.decompile import decompile
from npi.proof.explore import Exploration
from npi.proof.histories import Histories
from npi.proof.program_table import ProgramTable, TableState, compile_histories, save_table

GOLDEN = Path(__file__).parents[1] / "golden"
PROVED = ["bubblesort", "quicksort", "sorting", "toposort"]


def explored(task):
    exploration = Exploration(task)
    for _ in exploration.run():
        pass
    return exploration.histories


def met(task, problems):
    """The histories of some problems: far fewer than can occur, and quickly found."""
    histories = Histories()
    for problem in problems:
        for frame in dict.fromkeys(frame for recording in task.demonstrate(problem) for frame in recording):
            node = -1
            for step in frame.steps:
                node = histories.add(frame.call, node, step.observation, step.decision)
    return histories


def loaded(source) -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "decompiled"}
    exec(compile(source, "decompiled.py", "exec"), found)
    return found


@pytest.fixture(scope="module")
def teachers():
    return {name: explored(tasks.find(name)) for name in PROVED}


@pytest.fixture(scope="module")
def sources(teachers):
    """Printed from the teachers' decisions: those of a proved network are the same."""
    return {
        name: decompile(compile_histories(tasks.find(name), teachers[name], {}), tasks.find(name)) for name in PROVED
    }


@pytest.fixture(scope="module")
def addition():
    """Of all sums of two digits with and without a carry, and some more."""
    task = tasks.find("addition")
    sums = [(str(a), str(b)) for a in range(100) for b in range(a % 2, 100, 7)]
    problems = [
        *sums,
        *((str(a) + "9", "9") for a in range(100)),
        *(p for s in (1, 3, 4) for p in task.test_problems(s, 60, 1)),
    ]
    return task, decompile(compile_histories(task, met(task, problems), {}), task)


@pytest.mark.parametrize("name", PROVED)
def test_exploring_the_printed_program_finds_the_same_histories_and_decisions(teachers, sources, name):
    """A proof that it runs as the teacher on inputs of every size."""
    ours, theirs = explored(loaded(sources[name])["task"]), teachers[name]
    same = {-1: -1}
    for node in range(len(theirs)):
        parent = same[theirs.parent[node]]
        found = ours.children[theirs.call[node] if parent < 0 else parent, theirs.observation[node]]
        assert ours.decision[found] == theirs.decision[node]
        same[node] = found
    assert len(ours) == len(theirs)


@pytest.mark.parametrize("name", [*PROVED, "addition"])
def test_the_printed_program_has_the_teachers_traces(request, sources, name):
    task = tasks.find(name)
    source = request.getfixturevalue("addition")[1] if name == "addition" else sources[name]
    printed = loaded(source)["task"]
    assert printed.main is not task.main
    for size in (1, 2, 3, 5, 8, 13, 21):
        for problem in task.test_problems(size, 12, 3):
            ours, theirs = task.env.of(problem), task.env.of(problem)
            assert record(ours, printed.main) == record(theirs, task.main)
            assert task.result(ours) == task.answer(problem)
            assert [record(ours, p) for p in printed.extra_programs] == [record(theirs, p) for p in task.extra_programs]


def test_what_is_printed_is_good_to_read(sources, addition):
    assert sources["quicksort"] == (GOLDEN / "quicksort-decompiled.txt").read_text()
    assert addition[1] == (GOLDEN / "addition-decompiled.txt").read_text()
    assert "    if seen.value1 > seen.value2:\n        act(pad, SWAP)\n" in sources["sorting"]
    assert "    elif seen.child == WHITE:\n        act(pad, OPEN, CHILD)\n" in sources["toposort"]


class Replay:
    """Shows a program what it observed in a history, and notes what it calls."""

    def __init__(self, kind, history):
        self.env, self.kind, self.history, self.calls = self, kind, history, []

    def observe(self):
        return self.kind(*self.history[len(self.calls)])

    def call(self, program, args):
        self.calls.append(Call(program.name, (*args, 0, 0, 0)[:3]))


def ways(state, observation=(), decided=()):
    for now, (decision, after) in state.items():
        if decision is None:
            yield (*observation, now), [*decided]
        else:
            yield from ways(after, (*observation, now), (*decided, decision))


def check_decides_alike(table, source, task):
    printed = loaded(source)
    programs = {known.name: known for known in printed.values() if hasattr(known, "function")}
    kind = get_type_hints(task.env.observe)["return"]
    for call, state in table.first.items():
        function = programs[call.program].function
        args = call.args[: len(inspect.signature(function).parameters) - 1]
        for observation, decided in ways(state):
            replay = Replay(kind, observation)
            with handle_calls(replay):
                function(replay, *args)
            assert replay.calls == decided, source


def random_table(rng, task):
    """A table without rhyme or reason, with a program that takes an argument."""
    calls = [Call(ACT, tuple(map(rng.randrange, task.env.argument_sizes()))) for _ in range(3)]
    calls += [Call("AUX", (number, 0, 0)) for number in range(3)]
    sizes, states, levels = list(task.env.fields().values()), [], []
    for level in range(rng.randint(1, 4)):
        levels.append([{} for _ in range(3)])
        for state in levels[-1]:
            alike, usual = rng.random() < 0.4, rng.choice(calls)
            for _ in range(rng.randint(1, 6)):
                call = usual if alike else rng.choice([None, *calls])
                answer = (None, None) if not level or call is None else (call, rng.choice(levels[-2]))
                state[tuple(map(rng.randrange, sizes))] = answer
            states.append(state)
    first = {
        call: rng.choice(levels[-1]) for call in (task.call, *calls[3:], *(Call(p.name) for p in task.extra_programs))
    }
    return ProgramTable(task.name, task.teacher, first, states, {})


@pytest.mark.parametrize("name", ["quicksort", "addition", "sorting"])
def test_any_table_is_printed_as_it_is(name):
    task = tasks.find(name)
    for seed in range(12):
        table = random_table(Random(seed), task)
        source = decompile(table, task)
        check_decides_alike(table, source, task)
        assert max(map(len, source.splitlines())) <= 120


def table_of(main, **others):
    """A table of quicksort: for each program, a list of what is seen and decided in each of its histories."""
    task, histories = tasks.find("quicksort"), Histories()
    for name, frames in {"QUICKSORT": main, **others}.items():
        for args, *steps in frames:
            node = -1
            for observation, decision in steps:
                node = histories.add(Call(name, args), node, observation, decision)
    return compile_histories(task, histories, {})


def body(source, function):
    return source.split(f"def {function}(")[1].split(":\n", 1)[1].split("\n\n")[0]


NONE, SWAP, SPLIT, POP = (0, 0, 0), Call(ACT, (1, 0, 3)), Call(ACT, (2, 0, 0)), Call(ACT, (3, 0, 0))
A, B, C = (0, 0, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0)


def test_sides_are_joined_where_the_same_follows():
    frames = [(NONE, (A, SWAP), (B, SPLIT), (B, POP), (A, None)), (NONE, (B, SPLIT), (A, POP), (C, None))]
    source = decompile(table_of(frames), tasks.find("quicksort"))
    assert body(source, "quicksort").splitlines() == [
        "    if not pad.observe().small:",
        "        act(pad, SWAP, LOW, HIGH)",
        "    act(pad, SPLIT)",
        "    act(pad, POP)",
    ]


def test_a_choice_between_the_same_is_none():
    """Found among random tables: each side of a choice began with another one, and they were made as one."""
    task, aux = tasks.find("sorting"), [Call("AUX", (number, 0, 0)) for number in range(3)]
    states: list[TableState] = [
        {(1, 7, 1, 0, 1, 1, 1): (None, None)},
        {(6, 8, 1, 0, 0, 0, 1): (None, None)},
    ]
    end, other = states
    states.append({(4, 5, 0, 0, 0, 1, 1): (aux[2], end)})
    three = {
        (7, 5, 1, 0, 0, 0, 1): (None, None),
        (7, 9, 0, 1, 1, 1, 1): (SWAP, end),
        (3, 6, 0, 0, 0, 0, 0): (aux[1], end),
    }
    states.append(three)
    states.append({(5, 4, 0, 0, 0, 0, 0): (aux[0], three), (5, 1, 1, 1, 0, 0, 0): (aux[2], states[2])})
    states.append({(4, 6, 0, 1, 1, 1, 1): (aux[0], three), (2, 2, 1, 0, 0, 0, 1): (aux[0], other)})
    states.append({(5, 7, 0, 1, 0, 1, 1): (aux[2], states[5])})
    first = {task.call: end, aux[0]: states[6], aux[1]: states[6], aux[2]: states[4]}
    table = ProgramTable("sorting", "recursive", first, states, {})
    check_decides_alike(table, decompile(table, task), task)


def test_what_was_seen_before_is_kept_where_it_is_needed_later():
    frames = [(NONE, (A, SWAP), (C, SPLIT), (A, None)), (NONE, (B, SWAP), (C, POP), (A, None))]
    source = decompile(table_of(frames), tasks.find("quicksort"))
    assert body(source, "quicksort").splitlines() == [
        "    seen = pad.observe()",
        "    act(pad, SWAP, LOW, HIGH)",
        "    if seen.small:",
        "        act(pad, POP)",
        "    else:",
        "        act(pad, SPLIT)",
    ]


def test_arguments_are_parameters():
    frames = [(NONE, (A, Call("PUT", (3, 0, 0))), (A, Call("PUT", (1, 0, 0))), (A, None))]
    put = [((n, 0, 0), (A, Call(ACT, (1, n, 3))), (A, None)) for n in range(1, 4)]
    source = decompile(table_of(frames, PUT=put), tasks.find("quicksort"))
    assert "def put(pad: QuicksortPad, first: int = 0) -> None:\n    act(pad, SWAP, first, HIGH)\n" in source
    assert "    put(pad, 3)\n    put(pad, 1)\n" in source


def test_names_that_python_has_taken_are_changed_and_stay_the_same_programs():
    frames = [(NONE, (A, Call("MAX")), (A, Call("2ND-TRY")), (A, None))]
    empty = [(NONE, (A, None))]
    table = table_of(frames, MAX=empty, **{"2ND-TRY": empty})
    source = decompile(table, tasks.find("quicksort"))
    assert '@program(name="MAX")\ndef max_(pad: QuicksortPad) -> None:\n    pass\n' in source
    check_decides_alike(table, source, tasks.find("quicksort"))


@pytest.fixture
def table(teachers, tmp_path):
    path = tmp_path / "table.json"
    save_table(compile_histories(tasks.find("quicksort"), teachers["quicksort"], {}), path)
    return path


def test_no_torch_is_imported(table):
    command = ["decompile", "quicksort", "--table", str(table)]
    code = f"import sys; from npi.cli import main\nassert main({command}) == 0\nassert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (GOLDEN / "quicksort-decompiled.txt").read_text()


def test_it_is_written_to_a_file_that_can_be_checked(npi, table, tmp_path):
    out = tmp_path / "new" / "printed.py"
    assert npi("decompile", "quicksort", "--table", table, "--out", out)[0] == 0
    assert npi("check", f"{out}:task", "--problems", "20")[0] == 0
    code, _, err = npi("decompile", "quicksort", "--table", table, "--out", out)
    assert code == 2
    assert "--force" in err
    code, said, _ = npi("decompile", "quicksort", "--table", table, "--out", out, "--force", "--json")
    assert code == 0
    assert json.loads(said)["source"] == out.read_text()


def test_a_task_in_a_file_is_imported_from_it(npi, teachers, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(inspect.getsource(sys.modules["npi.tasks.quicksort"]))
    save_table(compile_histories(tasks.find("quicksort"), teachers["quicksort"], {}), tmp_path / "t.json")
    code, said, err = npi("decompile", f"{mine}:recursive", "--table", tmp_path / "t.json")
    assert code == 0, err
    assert "\nfrom mine import BORDER, HIGH, MOVE, NEXT, POP, SPLIT, SWAP, QuicksortPad, recursive\n" in said


def states(change):
    """A change of one row of a table: what is seen, the number of the decision, and of the next state."""

    def changed(table):
        state = next(s for s in table["states"] if s[0][2] >= 0)
        return json.dumps(table | {"states": [[change(*s[0])] if s is state else s for s in table["states"]]})

    return changed


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: json.dumps(t)[:300], "no compiled program"),
        (lambda t: json.dumps(t | {"format": 7}), "has format 7"),
        (lambda t: json.dumps(t | {"task": "sorting"}), "is a table of sorting"),
        (lambda t: json.dumps(t | {"states": [[] for _ in t["states"]]}), "does not say what to do in state 0"),
        (lambda t: json.dumps(t | {"first": t["first"][:1]}), "does not say what"),
        (lambda t: json.dumps(t | {"first": t["first"][1:]}), "does not say what"),
        (lambda t: json.dumps(t | {"decisions": [d and [d[0], d[1][:2]] for d in t["decisions"]]}), "no call"),
        (lambda t: json.dumps(t | {"decisions": [d and [7, d[1]] for d in t["decisions"]]}), "no compiled program"),
        (states(lambda observation, decision, after: [observation[:3], decision, after]), "does not show"),
        (states(lambda observation, decision, after: [[9, *observation[1:]], decision, after]), "does not show"),
        (states(lambda observation, decision, after: [observation, decision, -1]), "goes on wrongly"),
        (
            lambda t: json.dumps(
                t | {"states": [[[r[0], r[1], len(t["states"]) - 1] for r in s] for s in t["states"]]}
            ),
            "wrongly",
        ),
    ],
)
def test_bad_tables_are_refused(npi, table, change, says):
    table.write_text(change(json.loads(table.read_text())))
    code, said, err = npi("decompile", "quicksort", "--table", table)
    assert (code, said) == (2, "")
    assert says in err
    assert str(table) in err


def test_other_bad_input_is_refused(npi, table, tmp_path):
    (tmp_path / "file").write_text("")
    for words, says in (
        (("quicksot",), "did you mean 'quicksort'?"),
        (("quicksort", "--table", tmp_path / "no.json"), "there is no table"),
        (("quicksort", "--table", table, "--model", tmp_path), "give one of them"),
        (("quicksort", "--table", table, "--out", tmp_path / "x.txt"), "does not end in .py"),
        (("quicksort", "--table", table, "--out", tmp_path / "file" / "x.py"), "is a file"),
        (("quicksort",), "was not taught quicksort"),
    ):
        code, said, err = npi("decompile", *words)
        assert (code, said) == (2, "")
        assert says in err


def test_what_is_not_proved_is_not_printed(npi, tmp_path):
    task = replace(tasks.find("bubblesort"), sizes=(2,), examples=1)
    save_model(make_trainer([task], FAST).model, tmp_path / "model", {})
    code, said, err = npi("decompile", "bubblesort", "--model", tmp_path / "model")
    assert (code, said) == (2, "")
    assert "bubblesort is not proved" in err


def test_a_table_of_another_environment_is_refused(teachers):
    table = compile_histories(tasks.find("quicksort"), teachers["quicksort"], {})
    with pytest.raises(BadInput, match="does not say what BUBBLESORT is"):
        decompile(table, tasks.find("bubblesort"))
