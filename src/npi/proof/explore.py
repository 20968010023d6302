"""Exploration: every history that a task's programs can have, on problems of every size.

The environment runs on abstract states (abstract_env.py), and the teacher's decisions come from replays (teacher.py).
Exploration has two steps.

1. Each call is explored once for each abstract state in which it can be entered. This is interprocedural analysis with
   call summaries: the summary of a call lists the abstract states in which it can return, and each of its callers
   continues from each of them. The step ends when nothing new is found.
2. The subset construction of automata theory makes a table of decisions: a state of the table stands for histories
   after which the teacher's function is at the same place and the environment can be in the same abstract states. So
   these histories have the same future.

The histories of the table are the reachable histories V. V is finite where frames have a bounded number of decisions,
as those of recursive teachers have. If the network decides as the teacher after every history in V, then, by induction
on the steps of a run, it runs as the teacher on every problem of every size. `docs/proof.md` gives the argument.

A proof need not trust this module: checker.py checks that what it found is closed, which is all that the argument uses.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from npi.language.program import ACT, Call, Decision, Observation
from npi.language.task import Task
from npi.proof.abstract_env import AbstractEnv
from npi.proof.histories import Histories
from npi.proof.program_table import ProgramTable, TableState, TableStates
from npi.proof.teacher import Position, Teacher

PROGRESS_EVERY = 4096  # pieces of work (see `pending`) between two reports: some reports a second

# A call, and the number of the abstract state in which it is entered: it stands for all frames that begin like this.
AbstractFrame: TypeAlias = tuple[Call, int]


@dataclass(slots=True)
class CallSummary:
    """What is known of one call entered in one state."""

    frame: AbstractFrame
    exits: dict[int, None] = field(default_factory=dict)  # states in which it can return
    # Frames that make this call, each with the place in its function after the call.
    callers: dict[tuple[int, int], tuple[CallSummary, Position]] = field(default_factory=dict)


class Exploration:
    """All reachable histories of a task, and a summary of each call. `run` finds them."""

    def __init__(self, task: Task[Any, Any]):
        self.task = task
        self.abstract = AbstractEnv(task.env)
        self.teacher = Teacher(task, self.abstract)
        self.summaries: dict[AbstractFrame, CallSummary] = {}
        # Work left: a frame, the place in its function, and the abstract state of the environment there.
        self.pending: list[tuple[CallSummary, Position, int]] = []
        self.scheduled: set[tuple[int, int, int]] = set()  # all work so far, so that none is repeated

    def run(self) -> Iterator[tuple[int, int]]:
        """Explore until nothing new is found. Yields how much work is done, and an estimate of the total."""
        entries = self.abstract.initial
        for call in self.teacher.roots:
            summaries = [self.summary(call, entry) for entry in entries]
            yield from self._explore_pending()
            # The recording of a problem runs each program in the state in which the one before it returned.
            entries = list(dict.fromkeys(state for summary in summaries for state in summary.exits))

    @cached_property
    def table(self) -> ProgramTable:
        """The teacher's decisions after all reachable histories, once `run` has ended."""
        entries: dict[Call, list[int]] = {}
        for call, entry in self.summaries:
            entries.setdefault(call, []).append(entry)
        found: dict[tuple[Position, tuple[int, ...]], TableState] = {}
        states = TableStates()
        entry_states = {
            call: self._tabulate(self.teacher.start(call), tuple(sorted(numbers)), found, states)
            for call, numbers in entries.items()
        }
        return ProgramTable(self.task.name, self.task.teacher, entry_states, states.all())

    @cached_property
    def histories(self) -> Histories:
        """All reachable histories, once `run` has ended."""
        return Histories.of(self.table.entry_states, lambda state: state)

    def summary(self, call: Call, entry: int) -> CallSummary:
        """The summary of a call in a state. A call that is new is scheduled to be explored."""
        summary = self.summaries.get((call, entry))
        if summary is None:
            summary = self.summaries[call, entry] = CallSummary((call, entry))
            self._schedule(summary, self.teacher.start(call), entry)
        return summary

    def _schedule(self, summary: CallSummary, position: Position, state: int) -> None:
        work = (id(summary), id(position), state)
        if work not in self.scheduled:
            self.scheduled.add(work)
            self.pending.append((summary, position, state))

    def _explore_pending(self) -> Iterator[tuple[int, int]]:
        for count in itertools.count(1):
            if not self.pending:
                return
            self._explore(*self.pending.pop())
            if count % PROGRESS_EVERY == 0:
                yield count, count + len(self.pending)

    def _explore(self, summary: CallSummary, position: Position, state: int) -> None:
        """Continue a frame from one place and state, after every observation that it can make there."""
        abstract = self.abstract
        for observation, seen in abstract.observe(state):
            decision, after = self.teacher.decide(position, observation)
            if decision is None:
                self._add_exit(summary, abstract.forget(seen))
            elif decision.program == ACT:
                for next_state in abstract.act(seen, decision.args):
                    self._schedule(summary, after, next_state)
            else:
                called = self.summary(decision, abstract.forget(seen))
                if (id(summary), id(after)) not in called.callers:
                    called.callers[id(summary), id(after)] = summary, after
                    for returned in called.exits:
                        self._schedule(summary, after, returned)

    def _add_exit(self, summary: CallSummary, state: int) -> None:
        """Note a state in which a call can return. If it is new, every caller continues from it."""
        if state not in summary.exits:
            summary.exits[state] = None
            for caller, after in summary.callers.values():
                self._schedule(caller, after, state)

    def _tabulate(
        self,
        position: Position,
        numbers: tuple[int, ...],
        found: dict[tuple[Position, tuple[int, ...]], TableState],
        states: TableStates,
    ) -> TableState:
        """The state of the table for a place in a function and the abstract states that are possible there."""
        key = (position, numbers)
        if key in found:
            return found[key]
        abstract = self.abstract
        following: dict[Observation, tuple[Decision, Position, set[int]]] = {}
        for number in numbers:
            for observation, seen in abstract.observe(number):
                if observation not in following:
                    following[observation] = (*self.teacher.decide(position, observation), set())
                decision, _, after = following[observation]
                if decision is not None and decision.program == ACT:
                    after.update(abstract.act(seen, decision.args))
                elif decision is not None:
                    after.update(self.summaries[decision, abstract.forget(seen)].exits)
        state: TableState = {
            observation: (
                decision,
                None if decision is None else self._tabulate(place, tuple(sorted(after)), found, states),
            )
            for observation, (decision, place, after) in following.items()
        }
        found[key] = states.add(state)
        return found[key]
