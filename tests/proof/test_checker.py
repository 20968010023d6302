"""The checker: it accepts what exploration finds, and no table from which anything is missing."""

import copy
import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pytest
from test_soundness import Pair, Seen, task_of, write_one

from npi import LEFT, RIGHT, BadInput, act, program, tasks
from npi.errors import NotProvable
from npi.proof import checker
from npi.proof.checker import check_table
from npi.proof.explore import Exploration
from npi.proof.proof_table import proof_table

NAMES = ["bubblesort", "quicksort", "toposort"]


@pytest.fixture(scope="module")
def document(explore):
    """The proof table of a built-in task, by its name, as a file of it gives it."""
    return cache(lambda name: json.loads(json.dumps(proof_table(explore(name)))))


def named(histories):
    """Histories by their content: node numbers differ from one search to another."""
    return {(histories.frame(node)) for node in range(len(histories))}


@pytest.mark.parametrize("name", [*NAMES, "sorting", pytest.param("addition", marks=pytest.mark.slow)])
def test_what_exploration_finds_is_closed(explore, document, name):
    found = check_table(tasks.find(name), document(name)).histories()
    assert named(found) == named(explore(name).histories)


def drop_summary(table, rng):
    del table["summaries"][rng.randrange(len(table["summaries"]))]


def drop_exit(table, rng):
    exits = rng.choice([exits for _, _, exits in table["summaries"] if exits])
    del exits[rng.randrange(len(exits))]


def drop_observation(table, rng):
    node = rng.choice([rows for rows in table["nodes"] if rows])
    del node[rng.randrange(len(node))]


def change_decision(table, rng):
    row = rng.choice(rng.choice([rows for rows in table["nodes"] if rows]))
    row[1] = rng.choice([n for n in range(len(table["decisions"])) if n != row[1]])


def change_next_node(table, rng):
    row = rng.choice([row for rows in table["nodes"] for row in rows if row[2] >= 0])
    others = [n for n in range(len(table["nodes"])) if n != row[2]]
    row[2] = rng.choice(others)


def drop_call(table, rng):
    del table["calls"][rng.randrange(len(table["calls"]))]


def change_entry(table, rng):
    summary = rng.choice(table["summaries"])
    summary[1] = rng.choice([n for n in range(len(table["states"])) if n != summary[1]])


def change_state(table, rng):
    state = rng.choice(table["states"])
    place = rng.randrange(len(state))
    same = [n for n, part in enumerate(table["parts"]) if len(part) == len(table["parts"][state[place]])]
    state[place] = rng.choice([n for n in same if n != state[place]])


FAULTS = [drop_summary, drop_exit, drop_observation, change_decision, change_next_node, drop_call, change_entry]
FAULTS.append(change_state)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_fault_planted_in_a_table_is_found(explore, document, name, fault):
    """Only another next node may do no harm: the table then has all the histories still, and others."""
    rng, harmless = Random(f"{name} {fault.__name__}"), 0
    for _ in range(25):
        table = copy.deepcopy(document(name))
        fault(table, rng)
        try:
            found = check_table(tasks.find(name), table).histories()
        except (NotProvable, BadInput):
            continue
        harmless += 1
        assert named(found) > named(explore(name).histories)
    assert harmless == 0 or (fault is change_next_node and harmless < 10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("states"), "no proof table"),
        (lambda t: t["nodes"][-1].append(t["nodes"][-1][0]), "decides twice"),
        (lambda t: t["nodes"][-1][0].__setitem__(2, len(t["nodes"]) - 1), "followed by one that is not before it"),
        (lambda t: t["states"][0].append(t["states"][0][0]), "no proof table"),
        (lambda t: t["states"][0].pop(), "no proof table"),
        (lambda t: t["summaries"][0].__setitem__(0, 99), "no proof table"),
        (lambda t: t["parts"][0].append(1), "no proof table"),
        (lambda t: t["parts"][0].__setitem__(2, [-1] * len(t["parts"][0][2])), "is not of the kind"),
        (lambda t: t["nodes"][-1][0][0].__setitem__(0, True), "are not integers"),
        (lambda t: t["nodes"][-1][0].__setitem__(2, False), "are not integers"),
        (lambda t: t["states"][0].__setitem__(0, float(t["states"][0][0])), "are not integers"),
        (lambda t: t["summaries"][0][2].append(False), "are not integers"),
        (lambda t: t["calls"][0][1].__setitem__(2, False), "are not integers"),
        (lambda t: t["calls"][0][1].append(0), "is no call"),
        (lambda t: t["calls"][0][1].pop(), "is no call"),
        (lambda t: t["calls"][0].__setitem__(0, 7), "is no call"),
        (lambda t: t["decisions"][-1].__setitem__(0, None), "is no call"),
        (lambda t: t["calls"].append(t["calls"][0]), "a call is listed twice"),
        (lambda t: t["summaries"].append(t["summaries"][0]), "a call is listed twice"),
    ],
)
def test_a_malformed_table_is_refused(document, change, message):
    table = copy.deepcopy(document("quicksort"))
    change(table)
    with pytest.raises(BadInput, match=message):
        check_table(tasks.find("quicksort"), table)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (["GHOST", [0, 0, 0]], "GHOST"),
        (["GHOST", [0, 1, 0]], r"GHOST\(0, 1, 0\)"),
        (["ACT", [0, 1, 0]], r"ACT\(0, 1, 0\)"),
    ],
)
def test_a_table_with_a_call_that_nobody_makes_is_refused(document, call, name):
    table = copy.deepcopy(document("quicksort"))
    table["calls"].append([*call, 0])
    with pytest.raises(NotProvable, match=f"no program calls {name}. Prove"):
        check_table(tasks.find("quicksort"), table)


@program(name="SHOWN")
def to_the_left(pad):
    if pad.observe().bit:
        act(pad, 1, LEFT)


@program(name="SHOWN")
def to_the_right(pad):
    if pad.observe().bit:
        act(pad, 1, RIGHT)


def test_a_table_of_another_teacher_is_refused():
    exploration = Exploration(task_of(to_the_left))
    for _ in exploration.run():
        pass
    table = proof_table(exploration)
    check_table(task_of(to_the_left), table)
    with pytest.raises(NotProvable, match=r"SHOWN decides .*ACT.*\(1, 1, 0\).* and not .*ACT.*\(1, 0, 0\)"):
        check_table(task_of(to_the_right), table)


def test_a_table_of_another_environment_is_refused(document):
    class Wider(Pair):
        """Shows an end that Pair does not have."""

        def observe(self) -> Seen:
            return super().observe()._replace(last=0)

    exploration = Exploration(task_of(write_one, Wider))
    for _ in exploration.run():
        pass
    with pytest.raises(NotProvable, match="has no decision"):
        check_table(task_of(write_one), proof_table(exploration))
    with pytest.raises((NotProvable, BadInput)):
        check_table(replace(tasks.find("quicksort"), env=Pair), document("quicksort"))


def test_the_checker_is_short_and_needs_neither_torch_nor_the_search():
    assert len(Path(checker.__file__).read_text().splitlines()) < 200
    code = (
        "import sys, npi.proof.checker\n"
        "loaded = [name for name in sys.modules if name.startswith(('npi.', 'torch', 'numpy'))]\n"
        "rooms = ('npi.language.', 'npi.proof.', 'npi.errors')\n"
        "print(*sorted(name for name in loaded if not name.startswith(rooms) or name.startswith('npi.proof.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    trusted = """
    abstract_env around_runs checker code_rules hidden_state histories lazy_graph lazy_tape oracle project python_names
    snapshot teacher"""
    found = [name for name in done.stdout.split() if name.startswith("npi.proof.")]
    assert found == [f"npi.proof.{name}" for name in trusted.split()]
    assert "torch" not in done.stdout.split()
    assert "numpy" not in done.stdout.split()


@program
def rest(pad):
    act(pad, 1, RIGHT)


@program
def move_or_rest(pad):
    if pad.observe().bit:
        act(pad, 1, RIGHT)
    else:
        rest(pad)


@program
def write_and_move(pad):
    act(pad, 0, 1)
    move_or_rest(pad)


def test_a_table_without_a_state_in_which_a_program_starts_is_refused():
    """For the main program, and for the program that is run after it."""
    task = replace(task_of(write_and_move), extra_programs=(move_or_rest,))
    exploration = Exploration(task)
    for _ in exploration.run():
        pass
    whole = proof_table(exploration)
    check_table(task, whole)
    assert [name for name, *_ in whole["calls"]] == ["WRITE_AND_MOVE", "MOVE_OR_REST", "REST"]
    main = [summary for summary in whole["summaries"] if summary[0] == 0]
    after = {state for _, _, exits in main for state in exits}
    second = [summary for summary in whole["summaries"] if summary[0] == 1 and summary[1] in after]
    for name, starts in (("WRITE_AND_MOVE", main), ("MOVE_OR_REST", second)):
        assert len(starts) > 1
        for start in starts:
            table = whole | {"summaries": [other for other in whole["summaries"] if other is not start]}
            with pytest.raises(NotProvable, match=f"{name} is not listed for a state in which it starts"):
                check_table(task, table)


def test_decisions_that_no_run_reaches_must_be_the_teachers_too():
    """A table may have more histories than there are, even one with a call that is never made."""
    task = task_of(write_and_move)
    exploration = Exploration(task)
    for _ in exploration.run():
        pass
    table = proof_table(exploration)
    name, _, entry = table["calls"][1]
    assert name == "MOVE_OR_REST"
    (_, move, after), *_ = table["nodes"][entry]
    assert [row[0][0] for row in table["nodes"][entry]] == [1] * 4
    unreached = [[0, 0, 0], len(table["decisions"]), after]
    table["decisions"].append(["REST", [0, 0, 0]])
    table["nodes"][entry].append(unreached)
    assert named(check_table(task, table).histories()) > named(exploration.histories)
    unreached[1] = move
    with pytest.raises(NotProvable, match=r"MOVE_OR_REST decides .*REST.* after .*, and not .*ACT"):
        check_table(task, table)
    unreached[0] = [0, 0, 2]  # out of its range, so no environment shows it
    with pytest.raises(NotProvable, match=r"MOVE_OR_REST has a decision after \(0, 0, 2\), which no state shows"):
        check_table(task, table)
