"""Proofs: exploration finds every history that a run can have, and comparison finds every wrong decision."""

import copy
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Annotated, Any, NamedTuple

import pytest
import torch
from samples.graphs import graphs
from torch.nn.functional import one_hot

from npi import Env, GraphKind, Limits, act, program, record, tasks
from npi.errors import NotProvable
from npi.language.interpreter import run_batch
from npi.language.program import Call
from npi.language.tape import RIGHT, TapeKind
from npi.language.trace import Trace
from npi.network.checkpoint import save_model
from npi.network.decision import Logits
from npi.network.neural_decider import NeuralDecider
from npi.network.pretrained import DEFAULT_MODEL
from npi.proof.certificate import load_certificate
from npi.proof.compare import compare_decisions, compare_histories
from npi.proof.counterexample import counterexample
from npi.proof.explore import Exploration
from npi.tasks import sorting, toposort
from npi.tasks.sorting import SortingPad
from npi.tasks.toposort import GraphPad

FAULTS = 300  # planted for each task


def small_problems(name):
    if name == "addition":
        return [(str(a), str(b)) for a in range(0, 112, 3) for b in range(112)]
    if name in ("bubblesort", "quicksort"):
        return [array for size in range(1, 6) for array in product(range(size), repeat=size)]
    if name == "toposort":
        return list(graphs(4))
    short = [array for size in (1, 2, 3) for array in product(range(0, 10, 1 if size < 3 else 3), repeat=size)]
    return short + list(product((0, 5, 9), repeat=5))


@pytest.mark.parametrize(
    ("name", "least"),
    [("addition", 3_000), ("sorting", 3_000), ("bubblesort", 50), ("quicksort", 50), ("toposort", 27)],
)
def test_every_history_of_a_run_is_explored(explore, name, least):
    """On all small problems, and on ten thousand random ones."""
    task, histories, rng = tasks.find(name), explore(name).histories, Random(3)
    reached = set()
    for problem in small_problems(name) + [task.sample(rng, rng.randint(1, 7)) for _ in range(10_000)]:
        for recording in task.demonstrate(problem):
            for frame in recording:
                if frame not in reached:
                    reached.add(frame)
                    for node, step in zip(histories.nodes_of(frame), frame.steps, strict=True):
                        assert node is not None, (problem, frame)
                        assert histories.decision[node] == step.decision
    assert len(reached) > least


@pytest.mark.parametrize("name", ["addition", "sorting"])
def test_the_shipped_model_is_proved(explore, shipped, name):
    result = compare_histories(shipped, tasks.find(name), explore(name).histories)
    assert result.proved
    assert result.histories == len(explore(name).histories) > 20_000


@pytest.mark.parametrize("name", ["addition", "sorting"])
def test_every_planted_fault_is_found(explore, shipped, name):
    """The teacher's decision is changed after one of 300 histories of runs at a time. The comparison notices each."""
    task, histories = tasks.find(name), explore(name).histories
    rng = Random(8)
    reached = set()
    while len(reached) < 2_000:
        for frame in task.demonstrate(task.sample(rng, rng.randint(1, 8)))[0]:
            reached |= {node for node in histories.nodes_of(frame) if node is not None}
    decisions = list(dict.fromkeys(histories.decision))
    for node in rng.sample(sorted(reached), FAULTS):
        right = histories.decision[node]
        # A change of the network would change many decisions, so one decision of the teacher is changed instead.
        changed = copy.copy(histories)
        changed.decision = list(histories.decision)
        changed.decision[node] = rng.choice([decision for decision in decisions if decision != right])
        only = _branch(changed, node)
        assert compare_histories(shipped, task, only).wrong_nodes == (len(only) - 1,)


class TableNetwork:
    """A network that looks its decisions up in a list. Its state holds the node of the history."""

    def __init__(self, task, histories):
        self.histories, self.decision = histories, list(histories.decision)
        self.programs = sorted({call.program for call in (*histories.call, *histories.decision) if call})
        self.argument_sizes = task.env.argument_sizes()

    def start(self):
        return (torch.tensor([-1]),)

    def step(self, nodes, state, parents):
        found = []
        for node, parent in zip(nodes.tolist(), state[0][parents].tolist(), strict=True):
            before = self.histories.call[node] if parent < 0 else parent
            found.append(self.histories.children[before, self.histories.observation[node]])
        decided = [self.decision[node] for node in found]
        calls = [call or Call("ACT") for call in decided]
        chosen = [torch.tensor([self.programs.index(call.program) for call in calls])]
        chosen += torch.tensor([call.args for call in calls]).T
        sizes = (len(self.programs), *self.argument_sizes)
        program, *args = (one_hot(which, size).double() for which, size in zip(chosen, sizes, strict=True))
        stop = torch.tensor([1.0 if call is None else -1.0 for call in decided])
        exact = Logits(0 * stop, 0 * program, tuple(0 * slot for slot in args))
        return Logits(stop, program, tuple(args)), exact, (torch.tensor(found),)

    def compare(self):
        return compare_decisions(self, self.programs, self.histories)


@pytest.mark.parametrize("name", ["bubblesort", "quicksort", "toposort"])
def test_every_fault_planted_in_decisions_is_found(explore, name):
    """The network's decision is changed after one history of a run at a time, 300 times."""
    task, histories = tasks.find(name), explore(name).histories
    network, rng = TableNetwork(task, histories), Random(8)
    assert network.compare().proved
    reached = {n for p in small_problems(name)[:1200] for f in task.demonstrate(p)[0] for n in histories.nodes_of(f)}
    if name == "toposort":
        assert reached == set(range(len(histories)))  # exploration finds no history that no run has
    actions = [Call("ACT", args) for args in product(*map(range, task.env.argument_sizes()))]
    decisions = dict.fromkeys([*histories.decision, *actions, *histories.call])
    faults = [(node, wrong) for node in sorted(reached) for wrong in decisions if wrong != histories.decision[node]]
    for node, wrong in rng.sample(faults, FAULTS):
        network.decision[node] = wrong
        assert network.compare().wrong_nodes == (node,)
        network.decision[node] = histories.decision[node]


def _branch(histories, node):
    """The histories on the path to a node, alone, which saves the time to compare all others."""
    nodes = [node]
    while histories.parent[nodes[0]] >= 0:
        nodes.insert(0, histories.parent[nodes[0]])
    branch = type(histories)()
    for index, old in enumerate(nodes):
        branch.add(histories.call[old], index - 1, histories.observation[old], histories.decision[old])
    return branch


def test_a_network_that_is_wrong_somewhere_has_a_counterexample(explore, shipped):
    task, model = tasks.find("sorting"), copy.deepcopy(shipped)
    rows = model.get_parameter("encoders.SortingPad.rows.weight")
    with torch.no_grad():
        rows[[3, 8]] = rows[[8, 3]]  # it confuses 3 and 8 under pointer 1
    result = compare_histories(model, task, explore("sorting").histories)
    assert not result.proved
    found = counterexample(task, explore("sorting").histories, result.wrong_nodes)
    assert found is not None
    (trace,) = run_batch([task.env.of(found.problem)], task.call, NeuralDecider(model, task.env), Limits(5_000))
    assert trace != Trace.of(record(task.env.of(found.problem), task.main))
    assert counterexample(task, explore("sorting").histories, [], max_problems=20) is None


def test_a_network_whose_logits_are_not_numbers_is_not_proved(explore, shipped):
    model = copy.deepcopy(shipped)
    with torch.no_grad():
        model.args_head.bias[:] = torch.nan
    result = compare_histories(model, tasks.find("sorting"), explore("sorting").histories)
    assert (result.margin, result.proved) == (0.0, False)


def test_a_loop_cannot_be_proved():
    for name in ("sorting", "addition", "toposort"):
        with pytest.raises(NotProvable, match="Use the recursive teacher"):
            for _ in Exploration(tasks.find(name, "loop")).run():
                pass


def test_a_task_without_tapes_cannot_be_proved():
    with pytest.raises(NotProvable, match="does not declare its tapes"):
        Exploration(tasks.find("cars"))


class Nothing(NamedTuple):
    end: Annotated[int, range(2)]


def test_an_environment_that_reads_its_tapes_in_its_constructor_is_refused():
    class Early(SortingPad):
        def __init__(self, array, count):
            super().__init__(array, count)
            array.read(0)

    with pytest.raises(NotProvable, match="only observe and act may use"):
        Exploration(replace(tasks.find("sorting"), env=Early))


def test_an_environment_that_keeps_state_beside_its_tapes_is_refused():
    class Counting(SortingPad):
        def act(
            self,
            op: Annotated[int, range(3)],
            pointer: Annotated[int, range(3)],
            direction: Annotated[int, range(2)],
            /,
        ) -> None:
            super().act(op, pointer, direction)
            self.acts = getattr(self, "acts", 0) + 1

    with pytest.raises(NotProvable, match="assigns to the attribute acts"):
        for _ in Exploration(replace(tasks.find("sorting"), env=Counting)).run():
            pass

    class Logging(SortingPad):
        def __init__(self, array, count):
            super().__init__(array, count)
            self.log = []  # a list that is changed in place always equals itself

    with pytest.raises(NotProvable, match=r"keeps log = \[\] beside its tapes"):
        for _ in Exploration(replace(tasks.find("sorting"), env=Logging)).run():
            pass

    class Measuring(SortingPad):
        def observe(self) -> sorting.Observation:
            return super().observe()._replace(end3=len(self.array.contents()) > 3)

    with pytest.raises(NotProvable, match=r"contents.*: use read, write, greater, .*, move, at_start, at_last alone"):
        for _ in Exploration(replace(tasks.find("sorting"), env=Measuring)).run():
            pass

    class Peeping(GraphPad):
        def observe(self) -> toposort.Observation:
            return super().observe()._replace(empty=not self.graph.order())

    with pytest.raises(NotProvable, match=r"order.*: use start, child, empty, .*, next_child, close alone"):
        for _ in Exploration(replace(tasks.find("toposort"), env=Peeping)).run():
            pass


def test_a_teacher_that_depends_on_more_than_its_observations_is_refused():
    line = TapeKind(symbols=1)

    class Line(Env):
        def __init__(self, tape):
            self.tape = tape

        @classmethod
        def of(cls, problem):
            return cls(line.tape([0] * problem))

        @classmethod
        def tapes(cls):
            return (line,)

        def observe(self) -> Nothing:
            return Nothing(0)

        def act(self, a: Annotated[int, range(2)], b: Annotated[int, range(1)], c: Annotated[int, range(1)], /) -> None:
            self.tape.move(a)

    @program
    def reads(env):
        if not env.tape.at_last():
            act(env, RIGHT)
            reads(env)

    calls = SimpleQueue()

    @program
    def varies(env):
        calls.put(0)
        act(env, calls.qsize() % 2)
        varies(env)

    task = replace(tasks.find("sorting"), env=Line, main=reads)
    place = r"only observe and act may use .*, in reads \(.*test_verify.py:\d+\): programs call act\(env, ...\)"
    with pytest.raises(NotProvable, match=place):
        for _ in Exploration(task).run():
            pass
    with pytest.raises(NotProvable, match="after the same observations"):
        for _ in Exploration(replace(task, main=varies)).run():
            pass


def test_an_environment_may_have_tapes_and_graphs(explore):
    line = TapeKind(symbols=2)

    class Both(GraphPad):
        def __init__(self, tape, graph):
            super().__init__(graph)
            self.tape = tape

        @classmethod
        def tapes(cls) -> Any:
            return line, GraphKind()

        def act(
            self, op: Annotated[int, range(3)], vertex: Annotated[int, range(2)], third: Annotated[int, range(1)], /
        ) -> None:
            super().act(op, vertex, third)
            self.tape.move(RIGHT)

    exploration = Exploration(replace(tasks.find("toposort"), env=Both))
    assert len(exploration.abstract.initial) == 2  # a tape of one cell, or of more
    for _ in exploration.run():
        pass
    assert len(exploration.summaries) > len(explore("toposort").summaries)
    assert len(exploration.histories) == len(explore("toposort").histories)  # the environment does not show the tape


PROVED = ["toposort", "bubblesort", "quicksort", "sorting", "addition"]
PAGE = (Path(__file__).parents[2] / "docs" / "proof.md").read_text()


@pytest.mark.parametrize("name", PROVED)
def test_the_page_on_proofs_gives_the_measured_sizes(explore, name):
    rows = {
        row[0]: row[1:] for row in re.findall(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    }
    assert sorted(rows) == sorted(PROVED)
    histories, calls, states = explore(name).histories, explore(name).summaries, explore(name).table.states
    assert rows[name] == tuple(f"{len(found):,}" for found in (histories, calls, states))


def test_the_page_on_proofs_gives_the_margins_of_the_certificates():
    found = re.search(r"addition, with a\s+smallest margin of ([\d.]+), and for sorting, with ([\d.]+);", PAGE)
    assert found is not None
    for name, margin in zip(("addition", "sorting"), found.groups(), strict=True):
        assert margin == f"{load_certificate(DEFAULT_MODEL / f'{name}.certificate.json')[0].margin:.2f}"


def test_a_failed_proof_shows_a_history_and_a_problem(npi, tmp_path, shipped):
    broken = copy.deepcopy(shipped)
    with torch.no_grad():
        rows = broken.get_parameter("encoders.SortingPad.rows.weight")
        rows[[3, 8]] = rows[[8, 3]]
    save_model(broken, tmp_path / "m")
    code, out, _ = npi("verify", "sorting", "--model", tmp_path / "m", "--certificate", tmp_path / "c.json")
    assert code == 1
    assert "a problem that shows it" in out
    assert re.search(r"in \w+ the teacher .+ and the network .+, after observing:", out)
    assert not (tmp_path / "c.json").exists()


def test_other_bad_input(npi, tmp_path):
    assert npi("verify", "sorting", "--check", tmp_path / "none.json")[0] == 2
    code, _, err = npi("verify", "sorting", "--check", tmp_path / "a", "--certificate", tmp_path / "b")
    assert code == 2
    assert "give one of them" in err
    assert npi("verify", "cars")[0] == 2
    code, _, err = npi("verify", "sorting", "--check", DEFAULT_MODEL / "addition.certificate.json")
    assert code == 2
    assert "is a certificate of addition, not of sorting: give one of sorting, or run npi verify addition" in err
    (tmp_path / "file").touch()
    code, out, err = npi("verify", "sorting", "--certificate", tmp_path / "file" / "c.json")
    assert (code, out) == (2, "")
    assert "is a file; move it away, or choose another place" in err
