"""Exploration: every history that a task's programs can have, on problems of every size.

The environment runs on abstract states (abstract_env.py), and the teacher's decisions come from replays (teacher.py).
Each call is explored once for each abstract state in which it can be entered. This is interprocedural analysis with
call summaries: the summary of a call lists the abstract states in which it can return, and each of its callers
continues from each of them. Exploration ends when nothing new is found.

The histories found are the reachable histories V. V is finite where frames have a bounded number of decisions, as those
of recursive teachers have. If the network decides as the teacher after every history in V, then, by induction on the
steps of a run, it runs as the teacher on every problem of every size. `docs/proof.md` gives the argument.

A proof need not trust this module: checker.py checks that what it found is closed, which is all that the argument uses.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from npi.language.program import ACT, Call, Program
from npi.language.task import Task
from npi.proof.abstract_env import AbstractEnv
from npi.proof.histories import Histories
from npi.proof.teacher import Position, Teacher

PROGRESS_EVERY = 4096  # pieces of work (see `pending`) between two reports: some reports a second

# A call, and the number of the abstract state in which it is entered: it stands for all frames that begin like this.
AbstractFrame: TypeAlias = tuple[Call, int]


@dataclass(slots=True)
class CallSummary:
    """What is known of one call entered in one state."""

    frame: AbstractFrame
    exits: dict[int, None] = field(default_factory=dict)  # states in which it can return
    # Frames that make this call, each with the node of the call.
    callers: dict[tuple[int, int], CallSummary] = field(default_factory=dict)


class Exploration:
    """All reachable histories of a task, and a summary of each call. `run` finds them."""

    def __init__(self, task: Task[Any, Any]):
        self.task = task
        self.abstract = AbstractEnv(task.env)
        self.teacher = Teacher(task, self.abstract)
        self.histories = Histories()
        self.positions: list[Position] = []  # of the teacher, after each history
        self.summaries: dict[AbstractFrame, CallSummary] = {}
        # Work left: a frame, the node of its call that returned (-1: the frame starts), and the state it returned in.
        self.pending: list[tuple[CallSummary, int, int]] = []
        self.scheduled: set[tuple[int, int, int]] = set()  # all work so far, so that none is repeated

    def run(self) -> Iterator[tuple[int, int]]:
        """Explore until nothing new is found. Yields the number of histories found, and an estimate of the total."""
        entries = self.abstract.initial
        for call in self.teacher.roots:
            summaries = [self.summary(call, entry) for entry in entries]
            yield from self._explore_pending()
            # The recording of a problem runs each program in the state in which the one before it returned.
            entries = list(dict.fromkeys(state for summary in summaries for state in summary.exits))

    def programs(self) -> list[Program]:
        """The programs that were called."""
        return list(self.teacher.programs.values())

    def summary(self, call: Call, entry: int) -> CallSummary:
        """The summary of a call in a state. A call that is new is scheduled to be explored."""
        summary = self.summaries.get((call, entry))
        if summary is None:
            summary = self.summaries[call, entry] = CallSummary((call, entry))
            self._schedule(summary, -1, entry)
        return summary

    def _schedule(self, summary: CallSummary, node: int, state: int) -> None:
        work = (id(summary), node, state)
        if work not in self.scheduled:
            self.scheduled.add(work)
            self.pending.append((summary, node, state))

    def _explore_pending(self) -> Iterator[tuple[int, int]]:
        for count in itertools.count(1):
            if not self.pending:
                return
            self._explore(*self.pending.pop())
            if count % PROGRESS_EVERY == 0:
                yield len(self.histories), len(self.histories) + len(self.pending)

    def _explore(self, summary: CallSummary, node: int, state: int) -> None:
        """Continue a frame from one point, after every observation that it can make there."""
        abstract = self.abstract
        for observation, seen in abstract.observe(state):
            after = self._node(summary.frame[0], node, observation)
            decision = self.histories.decision[after]
            if decision is None:
                self._add_exit(summary, abstract.forget(seen))
            elif decision.program == ACT:
                for next_state in abstract.act(seen, decision.args):
                    self._schedule(summary, after, next_state)
            else:
                called = self.summary(decision, abstract.forget(seen))
                if (id(summary), after) not in called.callers:
                    called.callers[id(summary), after] = summary
                    for returned in called.exits:
                        self._schedule(summary, after, returned)

    def _node(self, call: Call, parent: int, observation: Any) -> int:
        """The node of a history. One that is new gets the teacher's decision."""
        node = self.histories.find(call, parent, observation)
        if node is None:
            position = self.teacher.start(call) if parent < 0 else self.positions[parent]
            decision, after = self.teacher.decide(position, observation)
            node = self.histories.add(call, parent, observation, decision)
            self.positions.append(after)
        return node

    def _add_exit(self, summary: CallSummary, state: int) -> None:
        """Note a state in which a call can return. If it is new, every caller continues from it."""
        if state not in summary.exits:
            summary.exits[state] = None
            for (_, node), caller in summary.callers.items():
                self._schedule(caller, node, state)
