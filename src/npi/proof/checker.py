"""The checker: is the table of a proof closed?

A proof table lists, for each call and each abstract state in which it may be entered, the abstract states in which it
may return; and for each program its decision after each history, as a finite state machine whose nodes are histories
with the same future. How it was found does not matter. This module checks all that the theorem of docs/proof.md needs:

1. Every abstract state in which a problem may start is listed for the main program. The programs that follow it are
   listed for every state in which the one before may return.
2. Walk through each listed call, from the state in which it is entered. After every observation that the state may
   show, the table has a decision. A return ends in a listed exit. An action leads on to every state that the
   environment may be in afterwards. A call is itself listed for the state it is made in, and the walk goes on from each
   of its exits.
3. The decision after each history is the teacher's.

Then every history of every run of the teacher is in the table. The checker needs no network and no torch. It trusts
AbstractEnv, with the lazy tapes and graphs, for what an environment may show and do, and Teacher for the replays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from npi.errors import BadInput, NotProvable
from npi.language.graph import GraphKind
from npi.language.program import ACT, ARGS, Call, Decision, Observation
from npi.language.tape import TapeKind
from npi.language.task import Task
from npi.proof.abstract_env import AbstractEnv
from npi.proof.histories import Histories
from npi.proof.lazy_graph import AbstractGraph
from npi.proof.lazy_tape import AbstractTape
from npi.proof.teacher import Position, Teacher

Node: TypeAlias = dict[tuple[int, ...], tuple[Decision, int]]  # from an observation to the decision and the next node


class ProofTable:
    """A proof table, read from the JSON document of a certificate.

    nodes      the histories with the same future; the next node is one before it, so there are no cycles
    entries    the node at which each call begins
    summaries  for each call and abstract state, the abstract states in which it may return
    shown      every observation that the environment showed in the walks, as the environment makes it
    abstract   the environment that the walks ran on
    teacher    the replays of the teacher
    """

    def __init__(self, task: Task[Any, Any], document: Mapping[str, Any], abstract: AbstractEnv | None):
        abstract = self.abstract = abstract or AbstractEnv(task.env)
        self.teacher = Teacher(task, abstract)
        try:
            decisions = [None if row is None else _call(*row) for row in document["decisions"]]
            self.nodes: list[Node] = [
                {_numbers(seen): (decisions[decision], _numbers([after])[0]) for seen, decision, after in rows}
                for rows in document["nodes"]
            ]
            self.entries = {_call(name, args): range(len(self.nodes))[node] for name, args, node in document["calls"]}
            calls = list(self.entries)
            parts = [_tuples(part) for part in document["parts"]]
            states = [
                abstract.number(_part(kind, parts[part]) for kind, part in zip(abstract.kinds, state, strict=True))
                for state in map(_numbers, document["states"])
            ]
            self.summaries = {
                (calls[call], states[entry]): [states[state] for state in _numbers(exits)]
                for call, entry, exits in document["summaries"]
            }
            if len(self.entries) < len(document["calls"]) or len(self.summaries) < len(document["summaries"]):
                raise ValueError("a call is listed twice")
            for number, (node, rows) in enumerate(zip(self.nodes, document["nodes"], strict=True)):
                if len(node) != len(rows):
                    raise ValueError(f"node {number} decides twice after an observation")
                if not all(decision is None or 0 <= after < number for decision, after in node.values()):
                    raise ValueError(f"node {number} is followed by one that is not before it")
            self.shown: dict[tuple[int, ...], Observation] = {}
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise BadInput(f"this is no proof table ({type(error).__name__}: {error}): prove the task again") from error

    def histories(self) -> Histories:
        """Every history that the table has a decision for."""
        shown = self.shown
        outcomes = [{shown[observation]: outcome for observation, outcome in node.items()} for node in self.nodes]
        return Histories.of(self.entries, outcomes.__getitem__)


class _NotClosed(Exception): ...


def check_table(task: Task[Any, Any], document: Mapping[str, Any], abstract: AbstractEnv | None = None) -> ProofTable:
    """Check that a proof table is closed, and return it; raise NotProvable with the first fault.

    `abstract`: the environment on abstract states, if there is one already that has answers stored.
    """
    table = ProofTable(task, document, abstract)
    try:
        _check_starts(table)
        for (call, entry), exits in table.summaries.items():
            _check_walk(table, call, entry, {*exits})
        _check_decisions(table)
    except _NotClosed as fault:
        raise NotProvable(f"the proof table of {task.name} is not closed: {fault}. Prove the task again") from None
    return table


def _check_starts(table: ProofTable) -> None:
    """Every call with which a recording begins is listed for the states in which it starts."""
    entries = list(table.abstract.initial)
    for call in table.teacher.roots:
        if any((call, entry) not in table.summaries for entry in entries):
            raise _NotClosed(f"{_name(call)} is not listed for a state in which it starts")
        entries = [state for entry in entries for state in table.summaries[call, entry]]


def _check_walk(table: ProofTable, call: Call, entry: int, exits: set[int]) -> None:
    """Walk through a call, after every observation, and see that the walk stays in the table."""
    abstract = table.abstract
    pending = [(table.entries[call], entry)]
    seen = set(pending)
    while pending:
        node, state = pending.pop()
        outcomes = table.nodes[node]
        for observation, refined in abstract.observe(state):
            if observation not in outcomes:
                shown = tuple(map(int, observation))
                raise _NotClosed(f"in {_name(call)}, the observation {shown} has no decision")
            table.shown.setdefault(observation, observation)
            decision, after = outcomes[observation]
            if decision is None:
                if abstract.forget(refined) not in exits:
                    raise _NotClosed(f"in {_name(call)}, a state in which it returns is not listed")
                continue
            if decision.program == ACT:
                following = abstract.act(refined, decision.args)
            else:
                called = (decision, abstract.forget(refined))
                if called not in table.summaries:
                    raise _NotClosed(f"in {_name(call)}, a state in which it calls {_name(decision)} is not listed")
                following = table.summaries[called]
            points = {(after, state) for state in following} - seen
            seen |= points
            pending += points


def _check_decisions(table: ProofTable) -> None:
    """After every history of the table, its decision is the teacher's."""
    teacher = table.teacher
    checked: set[Call] = set()
    calls = list(teacher.roots)
    while calls:
        call = calls.pop()
        if call in checked or call not in table.entries:
            continue
        checked.add(call)
        pending: list[tuple[int, Position]] = [(table.entries[call], teacher.start(call))]
        seen = set(pending)
        while pending:
            node, position = pending.pop()
            for observation, (decision, after) in table.nodes[node].items():
                if observation not in table.shown:
                    raise _NotClosed(f"{_name(call)} has a decision after {observation}, which no state shows")
                taught, following = teacher.decide(position, table.shown[observation])
                if taught != decision:
                    raise _NotClosed(f"{_name(call)} decides {taught} after {observation}, and not {decision}")
                if decision is not None and (after, following) not in seen:
                    seen.add((after, following))
                    pending.append((after, following))
                if decision is not None and decision.program != ACT:
                    calls.append(decision)
    if unknown := table.entries.keys() - checked:
        raise _NotClosed(f"no program calls {', '.join(sorted(map(_name, unknown)))}")


def _name(call: Call) -> str:
    return call.program + (str(call.args) if any(call.args) else "")


def _numbers(values: Any) -> tuple[int, ...]:
    """Integers, and not what only equals them: the code of a task may tell them apart."""
    if not all(type(value) is int for value in values):
        raise ValueError(f"{values!r} are not integers")
    return tuple(values)


def _call(name: str, args: Any) -> Call:
    if len(args) == ARGS and type(name) is str:
        return Call(name, _numbers(args))
    raise ValueError(f"{name!r} with the arguments {args!r} is no call")


def _part(kind: TapeKind | GraphKind, values: Any) -> AbstractTape | AbstractGraph:
    part = AbstractGraph(*values) if isinstance(kind, GraphKind) else AbstractTape(*values)
    if not part.fits(kind):  # pyright: ignore[reportArgumentType]  # the kind decides the class
        raise ValueError(f"{part} is not of the kind {kind}")
    return part


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
