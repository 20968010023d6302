"""Compiled programs: a proved program as a finite table, run without a network.

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
from npi.language.interpreter import Answer, Question
from npi.language.program import ACT, Call, Decision, Observation
from npi.language.task import Task

if TYPE_CHECKING:
    from npi.proof.histories import Histories

FORMAT = 1
State: TypeAlias = dict[tuple[int, ...], tuple[Decision, Any]]  # observation -> what is decided, and the next state


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


class Compiled:
    """A decider that looks everything up."""

    def __init__(self, task: str, teacher: str, first: dict[Call, State], states: list[State], facts: dict[str, Any]):
        self.task, self.teacher, self.first, self.states, self.facts = task, teacher, first, states, facts

    def recall(self, seen: Observation, call: Call, state: State | None) -> Answer | None:
        return (self.first[call] if state is None else state)[seen]

    def decide(self, questions: list[Question]) -> list[Answer]:
        raise AssertionError("a table answers at once")

    def run(self, env: Env, call: Call) -> int:
        """Run a program as the interpreter would, as fast as may be, keeping no trace; returns how many steps it took.

        Where a state decides the same whatever is observed, nothing is observed; a call that is the last thing a frame
        does leaves nothing to come back to.
        """
        act, observe, stack, steps, plan = env.act, env.observe, [], 0, self.plans[call]
        seen = None  # not looked at since the last action
        while True:
            if plan.acts:
                for args in plan.acts:
                    act(*args)
                seen = None
            steps += plan.steps
            if plan.looks is not None:
                if seen is None:
                    seen = observe()
                plan = plan.looks[seen]
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

        def plan(decision: Decision, after: State | None) -> Plan:
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
            looks = {seen: plan(*answer) for seen, answer in state.items()}
            known[id(state)] = next(iter(looks.values())) if alike else Plan(steps=0, looks=looks)
        for call, begun in first.items():
            found = known[id(self.first[call])]
            for field in fields(Plan):
                setattr(begun, field.name, getattr(found, field.name))
        return first


def compile_histories(task: Task, histories: Histories, facts: dict[str, Any]) -> Compiled:
    """The table of all histories, with as few states as there are ways to go on."""
    after: dict[int, dict[tuple[int, ...], tuple[Decision, Any]]] = {}
    roots: dict[Call, State] = {}
    known: dict[frozenset, State] = {}
    states: list[State] = []

    def state(node: int) -> State | None:
        """The one state of all histories that go on as this one does."""
        if node not in after:
            return None  # the frame returned
        return unique(after.pop(node))

    def unique(ways: State) -> State:
        key = frozenset((seen, decision, id(next_state)) for seen, (decision, next_state) in ways.items())
        if key not in known:
            known[key] = ways
            states.append(ways)
        return known[key]

    for node in reversed(range(len(histories))):  # children come after their parents
        seen = tuple(map(int, histories.seen[node]))
        answer = (histories.decision[node], state(node))
        parent = histories.parent[node]
        if parent < 0:
            roots.setdefault(histories.call[node], {})[seen] = answer
        else:
            after.setdefault(parent, {})[seen] = answer
    first = {call: unique(ways) for call, ways in roots.items()}
    return Compiled(task.name, task.teacher, first, states, facts)


def save_compiled(compiled: Compiled, path: Path) -> None:
    place = {id(state): index for index, state in enumerate(compiled.states)}
    decisions: dict[Decision, int] = {}

    def row(seen: tuple[int, ...], decision: Decision, state: State | None) -> list[Any]:
        return [seen, decisions.setdefault(decision, len(decisions)), -1 if state is None else place[id(state)]]

    states = [[row(seen, *answer) for seen, answer in state.items()] for state in compiled.states]
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


def load_compiled(path: Path) -> Compiled:
    if not path.is_file():
        raise BadInput(f"there is no table {path}: make it with npi compile TASK --out {path}")
    try:
        table: Any = json.loads(path.read_text())
        if table["format"] != FORMAT:
            raise BadInput(f"{path} has format {table['format']}; this version reads format {FORMAT}")
        decisions = [None if found is None else _call(*found) for found in table["decisions"]]
        states: list[State] = [{} for _ in table["states"]]
        for state, rows in zip(states, table["states"], strict=True):
            for seen, decision, after in rows:
                state[tuple(seen)] = (decisions[decision], None if after < 0 else states[after])
        first = {_call(program, args): states[index] for program, args, index in table["first"]}
        return Compiled(table["task"], table["teacher"], first, states, table["facts"])
    except BadInput:
        raise
    except (ValueError, KeyError, TypeError, IndexError, OSError) as error:
        raise BadInput(f"{path} is no compiled program, or only a part of one: make it with npi compile") from error


def _call(program: str, args: Sequence[int]) -> Call:
    return Call(program, tuple(args))
