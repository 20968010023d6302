"""ProgramTable programs: a proved program as a finite table, run without a network.

All histories of a proved program are known, and what is decided after each. Histories after which everything goes on
alike are one state, so the table is small: for each state, what is decided on each observation, and the next state.
A table is a JSON file. It needs no torch, only the environment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from npi.errors import BadInput
from npi.files import write
from npi.language.env import Env
from npi.language.interpreter import Query, Reply
from npi.language.program import ACT, Call, Decision, Observation
from npi.language.task import Task

if TYPE_CHECKING:
    from npi.proof.histories import Histories

FORMAT = 1
TableState: TypeAlias = dict[
    tuple[int, ...], tuple[Decision, Any]
]  # observation -> what is decided, and the next state


@dataclass(slots=True, eq=False, repr=False)  # plans go round in circles
class Plan:
    """What is done without looking, and then one of three: look and go on so, call, or return."""

    acts: tuple[tuple[int, ...], ...] = ()
    steps: int = 1
    looks: dict[tuple[int, ...], Plan] | None = None
    calls: Plan | None = None
    then: Plan | None = None  # after the call comes back, if there is anything left to do

    @property
    def returns(self) -> bool:
        return not self.acts and self.looks is None and self.calls is None


class ProgramTable:
    """A decider that looks everything up."""

    def __init__(
        self, task: str, teacher: str, first: dict[Call, TableState], states: list[TableState], facts: dict[str, Any]
    ):
        self.task, self.teacher, self.first, self.states, self.facts = task, teacher, first, states, facts

    def cached(self, observation: Observation, call: Call, state: TableState | None) -> Reply | None:
        return (self.first[call] if state is None else state)[observation]

    def decide(self, queries: list[Query]) -> list[Reply]:
        raise AssertionError("a table answers at once")

    def run(self, env: Env, call: Call) -> int:
        """Run a program as the interpreter would, as fast as may be, keeping no trace; returns how many steps it took.

        Where a state decides the same whatever is observed, nothing is observed; a call that is the last thing a frame
        does leaves nothing to come back to.
        """
        act, observe, stack, steps, plan = env.act, env.observe, [], 0, self.plans[call]
        observation = None  # not looked at since the last action
        while True:
            if plan.acts:
                for args in plan.acts:
                    act(*args)
                observation = None
            steps += plan.steps
            if plan.looks is not None:
                if observation is None:
                    observation = observe()
                plan = plan.looks[observation]
            elif plan.calls is not None:
                if plan.then is not None:
                    stack.append(plan.then)
                plan = plan.calls
            elif stack:
                plan = stack.pop()
            else:
                return steps

    @cached_property
    def plans(self) -> dict[Call, Plan]:
        """Where each program begins."""
        first = {call: Plan() for call in self.first}
        known: dict[int, Plan] = {}

        def plan(decision: Decision, after: TableState | None) -> Plan:
            if decision is None:
                return Plan()
            then = known[id(after)]
            if decision.program == ACT:
                return Plan((decision.args, *then.acts), 1 + then.steps, then.looks, then.calls, then.then)
            if then.returns:
                return Plan(steps=2, calls=first[decision])
            return Plan(calls=first[decision], then=then)

        for state in self.states:  # those that are gone on with come first
            answers = list(state.values())
            alike = answers and all(a[0] == answers[0][0] and a[1] is answers[0][1] for a in answers)
            looks = {observation: plan(*answer) for observation, answer in state.items()}
            known[id(state)] = next(iter(looks.values())) if alike else Plan(steps=0, looks=looks)
        for call, begun in first.items():
            found = known[id(self.first[call])]
            for field in fields(Plan):
                setattr(begun, field.name, getattr(found, field.name))
        return first


def compile_histories(task: Task, histories: Histories, facts: dict[str, Any]) -> ProgramTable:
    """The table of all histories, with as few states as there are ways to go on."""
    after: dict[int, dict[tuple[int, ...], tuple[Decision, Any]]] = {}
    roots: dict[Call, TableState] = {}
    known: dict[frozenset, TableState] = {}
    states: list[TableState] = []

    def state(node: int) -> TableState | None:
        """The one state of all histories that go on as this one does."""
        if node not in after:
            return None  # the frame returned
        return unique(after.pop(node))

    def unique(ways: TableState) -> TableState:
        key = frozenset((observation, decision, id(next_state)) for observation, (decision, next_state) in ways.items())
        if key not in known:
            known[key] = ways
            states.append(ways)
        return known[key]

    for node in reversed(range(len(histories))):  # children come after their parents
        observation = tuple(map(int, histories.observation[node]))
        answer = (histories.decision[node], state(node))
        parent = histories.parent[node]
        if parent < 0:
            roots.setdefault(histories.call[node], {})[observation] = answer
        else:
            after.setdefault(parent, {})[observation] = answer
    first = {call: unique(ways) for call, ways in roots.items()}
    return ProgramTable(task.name, task.teacher, first, states, facts)


def save_table(compiled: ProgramTable, path: Path) -> None:
    place = {id(state): index for index, state in enumerate(compiled.states)}
    decisions: dict[Decision, int] = {}

    def row(observation: tuple[int, ...], decision: Decision, state: TableState | None) -> list[Any]:
        return [observation, decisions.setdefault(decision, len(decisions)), -1 if state is None else place[id(state)]]

    states = [[row(observation, *answer) for observation, answer in state.items()] for state in compiled.states]
    table = {
        "format": FORMAT,
        "task": compiled.task,
        "teacher": compiled.teacher,
        "facts": compiled.facts,
        "first": [[call.program, call.args, place[id(state)]] for call, state in compiled.first.items()],
        "decisions": [None if decision is None else [decision.program, decision.args] for decision in decisions],
        "states": states,
    }
    write(path, json.dumps(table, separators=(",", ":")).encode())


def load_table(path: Path) -> ProgramTable:
    if not path.is_file():
        raise BadInput(f"there is no table {path}: make it with npi compile TASK --out {path}")
    try:
        table: Any = json.loads(path.read_text())
        if table["format"] != FORMAT:
            raise BadInput(f"{path} has format {table['format']}; this version reads format {FORMAT}")
        decisions = [None if found is None else _call(*found) for found in table["decisions"]]
        states: list[TableState] = [{} for _ in table["states"]]
        for state, rows in zip(states, table["states"], strict=True):
            for observation, decision, after in rows:
                state[tuple(observation)] = (decisions[decision], None if after < 0 else states[after])
        first = {_call(program, args): states[index] for program, args, index in table["first"]}
        return ProgramTable(table["task"], table["teacher"], first, states, table["facts"])
    except BadInput:
        raise
    except (ValueError, KeyError, TypeError, IndexError, OSError) as error:
        raise BadInput(f"{path} is no compiled program, or only a part of one: make it with npi compile") from error


def _call(program: Any, args: Sequence[int]) -> Call:
    if not isinstance(program, str):
        raise TypeError(f"{program!r} is not the name of a program")
    return Call(program, tuple(args))
