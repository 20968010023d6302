"""Decompiled programs: they make the decisions of the table, and so of the teacher, on problems of every size."""

import inspect
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, get_type_hints

import pytest
from samples.certificates import certified, resealed
from samples.tables import table_from

from npi import BadInput, record, tasks
from npi.language.program import ACT, Call, handle_calls
from npi.network.checkpoint import save_model
from npi.proof.decompile import decompile
from npi.proof.explore import Exploration
from npi.proof.histories import Histories
from npi.proof.program_table import ProgramTable, TableState, save_table
from npi.training.config import FAST
from npi.training.trainer import make_trainer

GOLDEN = Path(__file__).parents[1] / "golden"
PROVED = ["bubblesort", "quicksort", "sorting", "toposort"]


def explored(task):
    exploration = Exploration(task)
    for _ in exploration.run():
        pass
    return exploration.histories


def recorded(task, problems):
    """The histories of some problems: far fewer than exploration finds, but found quickly."""
    histories = Histories()
    for problem in problems:
        for frame in dict.fromkeys(frame for recording in task.demonstrate(problem) for frame in recording):
            node = -1
            for step in frame.steps:
                node = histories.add(frame.call, node, step.observation, step.decision)
    return histories


def imported(source) -> dict[str, Any]:
    """The names that a decompiled module defines."""
    names: dict[str, Any] = {"__name__": "decompiled"}
    exec(compile(source, "decompiled.py", "exec"), names)
    return names


@pytest.fixture(scope="module")
def teachers(explore):
    return {name: explore(name).histories for name in PROVED}


@pytest.fixture(scope="module")
def sources(explore):
    """Decompiled from the teachers' own decisions: a proved network makes the same ones."""
    return {name: decompile(explore(name).table, tasks.find(name)) for name in PROVED}


@pytest.fixture(scope="module")
def addition():
    """Decompiled from recordings of every pair of digits with and without a carry, and of some longer sums."""
    task = tasks.find("addition")
    sums = [(str(a), str(b)) for a in range(100) for b in range(a % 2, 100, 7)]
    problems = [
        *sums,
        *((str(a) + "9", "9") for a in range(100)),
        *(p for s in (1, 3, 4) for p in task.test_problems(s, 60, 1)),
    ]
    return task, decompile(table_from(task, recorded(task, problems)), task)


@pytest.mark.parametrize("name", PROVED)
def test_exploring_the_decompiled_program_finds_the_same_histories_and_decisions(teachers, sources, name):
    """A proof that it runs as the teacher on problems of every size."""
    decompiled, teacher = explored(imported(sources[name])["task"]), teachers[name]
    matching = {-1: -1}  # from each node of the teacher's histories to the decompiled program's
    for node in range(len(teacher)):
        parent = matching[teacher.parent[node]]
        found = decompiled.children[teacher.call[node] if parent < 0 else parent, teacher.observation[node]]
        assert decompiled.decision[found] == teacher.decision[node]
        matching[node] = found
    assert len(decompiled) == len(teacher)


@pytest.mark.parametrize("name", [*PROVED, "addition"])
def test_the_decompiled_program_has_the_teachers_traces(request, sources, name):
    task = tasks.find(name)
    source = request.getfixturevalue("addition")[1] if name == "addition" else sources[name]
    decompiled = imported(source)["task"]
    assert decompiled.main is not task.main
    for size in (1, 2, 3, 5, 8, 13, 21):
        for problem in task.test_problems(size, 12, 3):
            env, teachers_env = task.env.of(problem), task.env.of(problem)
            assert record(env, decompiled.main) == record(teachers_env, task.main)
            assert task.result(env) == task.answer(problem)
            extra = [record(env, program) for program in decompiled.extra_programs]
            assert extra == [record(teachers_env, program) for program in task.extra_programs]


def test_decompiled_programs_are_easy_to_read(sources, addition):
    assert sources["quicksort"] == (GOLDEN / "quicksort-decompiled.txt").read_text()
    assert addition[1] == (GOLDEN / "addition-decompiled.txt").read_text()
    assert "    if seen.value1 > seen.value2:\n        act(pad, SWAP)\n" in sources["sorting"]
    assert "    elif seen.child == WHITE:\n        act(pad, OPEN, CHILD)\n" in sources["toposort"]


class Replay:
    """An environment that shows a program the observations of one history, and collects its calls."""

    def __init__(self, observation_type, history):
        self.env, self.observation_type, self.history, self.calls = self, observation_type, history, []

    def observe(self):
        return self.observation_type(*self.history[len(self.calls)])

    def call(self, program, args):
        self.calls.append(Call(program.name, (*args, 0, 0, 0)[:3]))


def complete_histories(state, observations=(), calls=()):
    """The observations and the calls of each history that begins in a state and ends with a return."""
    for observation, (decision, next_state) in state.items():
        if decision is None:
            yield (*observations, observation), [*calls]
        else:
            yield from complete_histories(next_state, (*observations, observation), (*calls, decision))


def check_same_decisions(table, source, task):
    programs = {value.name: value for value in imported(source).values() if hasattr(value, "function")}
    observation_type = get_type_hints(task.env.observe)["return"]
    for call, state in table.entry_states.items():
        function = programs[call.program].function
        args = call.args[: len(inspect.signature(function).parameters) - 1]
        for observations, calls in complete_histories(state):
            replay = Replay(observation_type, observations)
            with handle_calls(replay):
                function(replay, *args)
            assert replay.calls == calls, source


def random_table(rng, task):
    """A table of random decisions, with a program AUX that takes an argument."""
    calls = [Call(ACT, tuple(map(rng.randrange, task.env.argument_sizes()))) for _ in range(3)]
    calls += [Call("AUX", (number, 0, 0)) for number in range(3)]
    sizes, states, levels = list(task.env.fields().values()), [], []
    for level in range(rng.randint(1, 4)):
        levels.append([{} for _ in range(3)])
        for state in levels[-1]:
            one_call, only = rng.random() < 0.4, rng.choice(calls)  # often one call, so that statements are shared
            for _ in range(rng.randint(1, 6)):
                call = only if one_call else rng.choice([None, *calls])
                outcome = (None, None) if not level or call is None else (call, rng.choice(levels[-2]))
                state[tuple(map(rng.randrange, sizes))] = outcome
            states.append(state)
    entries = (task.call, *calls[3:], *(Call(program.name) for program in task.extra_programs))
    entry_states = {call: rng.choice(levels[-1]) for call in entries}
    return ProgramTable(task.name, task.teacher, entry_states, states)


@pytest.mark.parametrize("name", ["quicksort", "addition", "sorting"])
def test_random_tables_are_decompiled_correctly(name):
    task = tasks.find(name)
    for seed in range(12):
        table = random_table(Random(seed), task)
        source = decompile(table, task)
        check_same_decisions(table, source, task)
        assert max(map(len, source.splitlines())) <= 120


def table_of(main, **others):
    """A table of quicksort's environment.

    For each program, a list of frames: the arguments, and then pairs of an observation and a decision.
    """
    task, histories = tasks.find("quicksort"), Histories()
    for name, frames in {"QUICKSORT": main, **others}.items():
        for args, *steps in frames:
            node = -1
            for observation, decision in steps:
                node = histories.add(Call(name, args), node, observation, decision)
    return table_from(task, histories)


def body(source, function):
    return source.split(f"def {function}(")[1].split(":\n", 1)[1].split("\n\n")[0]


NONE, SWAP, SPLIT, POP = (0, 0, 0), Call(ACT, (1, 0, 3)), Call(ACT, (2, 0, 0)), Call(ACT, (3, 0, 0))
A, B, C = (0, 0, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0)


def test_branches_are_merged_where_the_same_statements_follow():
    frames = [(NONE, (A, SWAP), (B, SPLIT), (B, POP), (A, None)), (NONE, (B, SPLIT), (A, POP), (C, None))]
    source = decompile(table_of(frames), tasks.find("quicksort"))
    assert body(source, "quicksort").splitlines() == [
        "    if not pad.observe().small:",
        "        act(pad, SWAP, LOW, HIGH)",
        "    act(pad, SPLIT)",
        "    act(pad, POP)",
    ]


def test_a_merged_branch_inside_a_branch_is_correct():
    """A random table that was once decompiled wrongly: both sides of a branch begin with another branch."""
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
    entry_states = {task.call: end, aux[0]: states[6], aux[1]: states[6], aux[2]: states[4]}
    table = ProgramTable("sorting", "recursive", entry_states, states)
    check_same_decisions(table, decompile(table, task), task)


def test_an_observation_is_kept_in_a_variable_if_it_is_used_later():
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


def test_programs_with_arguments_become_functions_with_parameters():
    frames = [(NONE, (A, Call("PUT", (3, 0, 0))), (A, Call("PUT", (1, 0, 0))), (A, None))]
    put = [((n, 0, 0), (A, Call(ACT, (1, n, 3))), (A, None)) for n in range(1, 4)]
    source = decompile(table_of(frames, PUT=put), tasks.find("quicksort"))
    assert "def put(pad: QuicksortPad, first: int = 0) -> None:\n    act(pad, SWAP, first, HIGH)\n" in source
    assert "    put(pad, 3)\n    put(pad, 1)\n" in source


def test_functions_avoid_python_names_and_keep_their_program_names():
    frames = [(NONE, (A, Call("MAX")), (A, Call("2ND-TRY")), (A, None))]
    empty = [(NONE, (A, None))]
    table = table_of(frames, MAX=empty, **{"2ND-TRY": empty})
    source = decompile(table, tasks.find("quicksort"))
    assert '@program(name="MAX")\ndef max_(pad: QuicksortPad) -> None:\n    pass\n' in source
    check_same_decisions(table, source, tasks.find("quicksort"))


@pytest.fixture
def table(explore, tmp_path):
    path = tmp_path / "table.json"
    save_table(certified(explore("quicksort").table), path)
    return path


def test_decompiling_a_table_does_not_import_torch(table):
    command = ["decompile", "quicksort", "--table", str(table)]
    code = f"import sys; from npi.cli import main\nassert main({command}) == 0\nassert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (GOLDEN / "quicksort-decompiled.txt").read_text()


def test_the_source_can_be_written_to_a_file_and_checked(npi, table, tmp_path):
    out = tmp_path / "new" / "decompiled.py"
    assert npi("decompile", "quicksort", "--table", table, "--out", out)[0] == 0
    assert npi("check", f"{out}:task", "--problems", "20")[0] == 0
    code, _, err = npi("decompile", "quicksort", "--table", table, "--out", out)
    assert code == 2
    assert "--force" in err
    code, output, _ = npi("decompile", "quicksort", "--table", table, "--out", out, "--force", "--json")
    assert code == 0
    assert json.loads(output)["source"] == out.read_text()


def test_the_task_is_imported_from_its_file(npi, explore, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(inspect.getsource(sys.modules["npi.tasks.quicksort"]))
    save_table(certified(explore("quicksort").table, tasks.find_task(f"{mine}:recursive")), tmp_path / "t.json")
    code, output, err = npi("decompile", f"{mine}:recursive", "--table", tmp_path / "t.json")
    assert code == 0, err
    assert "\nfrom mine import BORDER, HIGH, MOVE, NEXT, POP, SPLIT, SWAP, QuicksortPad, recursive\n" in output


def with_row(change):
    """Change one row of a stored table: the observation, and the numbers of the decision and of the next state."""

    def changed(table):
        state = next(s for s in table["nodes"] if s[0][2] >= 0)
        return resealed(table | {"nodes": [[change(*s[0])] if s is state else s for s in table["nodes"]]})

    return changed


def with_calls(kept):
    """Keep the calls of some programs alone."""
    return lambda table: resealed(table | {"calls": [call for call in table["calls"] if kept(call[0])]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: json.dumps(t)[:300], "is not a compiled program"),
        (lambda t: json.dumps(t | {"format": 7}), "has format 7"),
        (lambda t: resealed(t | {"task": "sorting"}), "is a table of sorting"),
        (lambda t: resealed(t | {"nodes": [[] for _ in t["nodes"]]}), "has no decision in state 0"),
        (with_calls(lambda name: name == "QUICKSORT"), "does not contain that call"),
        (with_calls(lambda name: name != "QUICKSORT"), "has no program QUICKSORT"),
        (lambda t: resealed(t | {"decisions": [d and [d[0], d[1][:2]] for d in t["decisions"]]}), "is not a call"),
        (
            lambda t: resealed(t | {"decisions": [d and [7, d[1]] for d in t["decisions"]]}),
            "is not a compiled program",
        ),
        (with_row(lambda observation, decision, after: [observation[:3], decision, after]), "cannot make"),
        (with_row(lambda observation, decision, after: [[9, *observation[1:]], decision, after]), "cannot make"),
        (with_row(lambda observation, decision, after: [observation, decision, -1]), "has a wrong next state"),
        (
            lambda t: resealed(t | {"nodes": [[[r[0], r[1], len(t["nodes"]) - 1] for r in s] for s in t["nodes"]]}),
            "has a wrong next state",
        ),
    ],
)
def test_bad_tables_are_refused(npi, table, change, message):
    table.write_text(change(json.loads(table.read_text())))
    code, output, err = npi("decompile", "quicksort", "--table", table)
    assert (code, output) == (2, "")
    assert message in err
    assert str(table) in err


def test_other_bad_input_is_refused(npi, table, tmp_path):
    (tmp_path / "file").write_text("")
    for words, message in (
        (("quicksot",), "did you mean 'quicksort'?"),
        (("quicksort", "--table", tmp_path / "no.json"), "there is no table"),
        (("quicksort", "--table", table, "--model", tmp_path), "give one of them"),
        (("quicksort", "--table", table, "--out", tmp_path / "x.txt"), "does not end in .py"),
        (("quicksort", "--table", table, "--out", tmp_path / "file" / "x.py"), "is a file"),
        (("quicksort",), "has not learned quicksort"),
    ):
        code, output, err = npi("decompile", *words)
        assert (code, output) == (2, "")
        assert message in err


def test_unproved_programs_are_not_decompiled(npi, tmp_path):
    task = replace(tasks.find("bubblesort"), sizes=(2,), examples=1)
    save_model(make_trainer([task], FAST).model, tmp_path / "model", {})
    code, output, err = npi("decompile", "bubblesort", "--model", tmp_path / "model")
    assert (code, output) == (2, "")
    assert "bubblesort is not proved" in err


def test_a_table_of_another_environment_is_refused(explore):
    with pytest.raises(BadInput, match="has no program BUBBLESORT"):
        decompile(explore("quicksort").table, tasks.find("bubblesort"))
