"""Comparison, with a network whose logits and bounds are set by hand."""

import pytest
import torch

from npi import tasks
from npi.errors import BadInput
from npi.language.program import ARGS, Call
from npi.network.decision import Logits, decide, differs, largest_bound, margin
from npi.proof import compare
from npi.proof.compare import MARGIN, compare_decisions, compare_histories, evaluate
from npi.proof.histories import Histories

PROGRAMS = ["ACT", "GO", "REST"]
GO, REST = Call("GO"), Call("REST", (1, 0, 0))
ACTION = Call("ACT", (0, 1, 1))


def tree():
    """GO: acts, calls REST, returns, or returns at once. REST: acts twice and returns. A chain, and a node with two."""
    histories = Histories()
    first = histories.add(GO, -1, (0,), ACTION)
    second = histories.add(GO, first, (1,), REST)
    histories.add(GO, second, (0,), None)
    histories.add(GO, second, (1,), None)
    histories.add(GO, -1, (1,), None)
    rest = histories.add(REST, -1, (0,), ACTION)
    rest = histories.add(REST, rest, (0,), ACTION)
    histories.add(REST, rest, (0,), None)
    return histories


class SetNetwork:
    """Its logits after each history are set. Each decision leads by 1 logit, and all errors are at most 0."""

    def __init__(self, histories):
        self.histories, count = histories, len(histories)
        self.logits = Logits(
            torch.full((count,), -1.0),
            torch.zeros(count, len(PROGRAMS)),
            tuple(torch.zeros(count, 2) for _ in range(ARGS)),
        )
        for node, made in enumerate(histories.decision):
            if made is None:
                self.logits.stop[node] = 1.0
            else:
                self.logits.program[node, PROGRAMS.index(made.program)] = 1.0
                for slot, arg in zip(self.logits.args, made.args, strict=True):
                    slot[node, arg] = 1.0
        parts = (self.logits.stop, self.logits.program, *self.logits.args)
        stop, program, *args = (torch.zeros_like(part) for part in parts)
        self.bounds = Logits(stop, program, tuple(args))
        self.largest = 0  # how many histories were evaluated at once

    def start(self):
        return (torch.tensor([-1]),)

    def step(self, nodes, state, parents):
        """The state is the node itself, so the step finds out whether it is given its parent's."""
        assert state[0][parents].tolist() == [self.histories.parent[node] for node in nodes.tolist()]
        self.largest = max(self.largest, len(nodes))
        logits, bounds = (
            Logits(each.stop[nodes], each.program[nodes], tuple(slot[nodes] for slot in each.args))
            for each in (self.logits, self.bounds)
        )
        return logits, bounds, (nodes,)

    def compare(self):
        return compare_decisions(self, PROGRAMS, self.histories)


@pytest.fixture
def network():
    return SetNetwork(tree())


def test_a_network_that_decides_as_the_teacher_is_proved(network):
    found = network.compare()
    assert found.proved
    assert (found.histories, found.wrong_nodes, found.unsure_nodes) == (8, (), ())
    assert (found.margin, found.rounding, found.guaranteed) == (1, 0, 1)
    assert found.guaranteed_by_program == {"GO": 1, "REST": 1}


def test_every_wrong_decision_is_found(network):
    for node, made in enumerate(network.histories.decision):
        for part in (network.logits.stop, network.logits.program, *network.logits.args):
            kept = part[node].clone()
            part[node] = -kept if part is network.logits.stop else kept.flip(0)
            counts = part is network.logits.stop or made is not None  # a return has no program and no arguments
            found = network.compare()
            if counts and not torch.equal(part[node], kept):  # the same, flipped: the middle one of three programs
                assert (found.proved, found.wrong_nodes, found.unsure_nodes) == (False, (node,), ())
            else:
                assert found.proved
            part[node] = kept


def test_a_decision_without_the_required_margin_is_unsure(network):
    network.logits.program[0, 0] = MARGIN / 2
    found = network.compare()
    assert (found.proved, found.wrong_nodes, found.unsure_nodes) == (False, (), (0,))
    assert found.margin == found.guaranteed == pytest.approx(MARGIN / 2)
    assert found.guaranteed_by_program == {"GO": found.guaranteed, "REST": 1}
    network.logits.program[0, 0] = 2 * MARGIN
    assert network.compare().proved


def test_exactly_the_required_margin_is_enough(network, monkeypatch):
    monkeypatch.setattr(compare, "MARGIN", 0.25)
    network.logits.stop[4] = 0.25
    assert network.compare().proved
    network.logits.stop[4] = 0.25 - 2**-20
    assert network.compare().unsure_nodes == (4,)


def test_bounds_are_subtracted_from_margins(network):
    network.bounds.args[1][6, 1] = 0.25
    network.bounds.args[1][6, 0] = 0.5
    found = network.compare()
    assert (found.margin, found.rounding, found.guaranteed) == (1, 0.5, 0.25)
    assert found.guaranteed_by_program == {"GO": 1, "REST": 0.25}
    network.bounds.args[1][6, 0] = 0.75
    found = network.compare()
    assert (found.guaranteed, found.wrong_nodes, found.unsure_nodes) == (0, (), (6,))


def test_where_the_teacher_returns_only_the_stop_logit_counts(network):
    network.bounds.program[2] = network.bounds.args[0][2] = 9.0
    assert network.compare().rounding == 0
    network.bounds.stop[2] = 0.125
    found = network.compare()
    assert (found.rounding, found.guaranteed) == (0.125, 0.875)
    network.bounds.stop[0] = 0.5  # the network must be sure not to return, too
    assert network.compare().guaranteed == 0.5


@pytest.mark.parametrize("at_once", [1, 2, 1024])
def test_histories_are_evaluated_in_batches(network, monkeypatch, at_once):
    monkeypatch.setattr(compare, "HISTORIES_AT_ONCE", at_once)
    nodes = [node for part, _, _ in evaluate(network, network.histories) for node in part.tolist()]
    assert sorted(nodes) == list(range(8))
    assert network.largest <= at_once
    assert network.compare().proved


def test_a_model_that_cannot_run_the_task_is_refused(shipped):
    task, histories = tasks.find("sorting"), tree()
    with pytest.raises(BadInput, match="the model does not know GO, REST, which sorting calls"):
        compare_histories(shipped, task, histories)
    with pytest.raises(BadInput, match="no encoder"):
        compare_histories(shipped, tasks.find("toposort"), histories)


def test_what_a_decision_is():
    logits = Logits(
        torch.tensor([0.0, -0.1]),
        torch.tensor([[1.0, 2.0, 0.0], [3.0, 2.0, 0.0]]),
        (torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([[1.0], [0.0]])),
    )
    made = decide(logits)
    assert made.stop.tolist() == [True, False]
    assert made.program.tolist() == [1, 0]
    assert made.args.tolist() == [[1, 0], [0, 0]]
    stop, program, args = torch.tensor([False, False]), torch.tensor([1, 0]), torch.tensor([[1, 0], [0, 0]])
    assert differs(made, stop, program, args).tolist() == [True, False]
    assert differs(made, ~stop, program, args).tolist() == [False, True]
    assert differs(made, torch.tensor([True, False]), program, 1 - args).tolist() == [False, True]
    assert differs(made, made.stop, program - 1, args).tolist() == [False, True]


def test_margins_and_bounds_of_one_step():
    """The smallest gap decides, wherever it is; NaN is no margin."""
    logits = Logits(
        torch.tensor([-4.0]), torch.tensor([[5.0, 2.0]]), (torch.tensor([[1.0, 3.0]]), torch.tensor([[7.0]]))
    )
    bounds = Logits(
        torch.tensor([0.5]), torch.tensor([[0.25, 1.0]]), (torch.tensor([[2.0, 0.125]]), torch.tensor([[8.0]]))
    )
    calls, returns = torch.tensor([False]), torch.tensor([True])
    assert margin(logits, calls).item() == 2
    assert margin(logits, returns).item() == 4
    assert margin(logits, calls, bounds).item() == -0.125
    assert margin(logits, returns, bounds).item() == 3.5
    assert largest_bound(bounds, calls).item() == 8
    assert largest_bound(bounds, returns).item() == 0.5
    assert margin(Logits(logits.stop, logits.program * torch.nan, logits.args), calls).item() == 0
