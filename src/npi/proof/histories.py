"""Histories: the call of a frame, its observations up to a decision, and that decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from npi.language.program import Call, Decision, Frame, Observation, Step

State = TypeVar("State")


@dataclass
class Histories:
    """A set of histories, stored as a trie.

    Each node is one history: its parent's history and one more observation. Nodes are numbered from 0, parents before
    children; a node without a parent (parent -1) is the first step of a frame.
    """

    parent: list[int] = field(default_factory=list)
    call: list[Call] = field(default_factory=list)  # of the frame
    observation: list[Observation] = field(default_factory=list)  # the last one
    decision: list[Decision] = field(default_factory=list)  # the teacher's, after that observation
    children: dict[tuple[int | Call, Observation], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.parent)

    @staticmethod
    def of(
        entries: Mapping[Call, State], outcomes: Callable[[State], Mapping[Observation, tuple[Decision, State]]]
    ) -> Histories:
        """Every history that a state machine has a decision for.

        `entries` are the states in which calls begin, and `outcomes` gives, for each observation that a state knows,
        the decision after it and the next state, which means nothing where the decision is to return.
        """
        found = Histories()
        for call, entry in entries.items():
            pending = [(-1, entry)]
            while pending:
                parent, state = pending.pop()
                for observation, (decision, after) in outcomes(state).items():
                    history = found.add(call, parent, observation, decision)
                    if decision is not None:
                        pending.append((history, after))
        return found

    def find(self, call: Call, parent: int, observation: Observation) -> int | None:
        """The node of a history; None if it is not in the set."""
        return self.children.get((call if parent < 0 else parent, observation))

    def add(self, call: Call, parent: int, observation: Observation, decision: Decision) -> int:
        """Add a history that is new, with the decision after it; returns its node."""
        node = self.children[call if parent < 0 else parent, observation] = len(self.parent)
        self.parent.append(parent)
        self.call.append(call)
        self.observation.append(observation)
        self.decision.append(decision)
        return node

    def nodes_of(self, frame: Frame) -> Iterator[int | None]:
        """The node of each history in a frame; None from the first history on that is not in the set."""
        node: int | None = -1
        for step in frame.steps:
            if node is not None:
                node = self.find(frame.call, node, step.observation)
            yield node

    def frame(self, node: int) -> Frame:
        """A history as a frame that ends with the node's decision."""
        steps: list[Step] = []
        call = self.call[node]
        while node >= 0:
            steps.append(Step(self.observation[node], self.decision[node]))
            node = self.parent[node]
        return Frame(call, tuple(reversed(steps)))
