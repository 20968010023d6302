"""Histories: what a frame observed up to each of its decisions, and what was decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from npi.errors import NotProvable
from npi.language.program import Call, Decision, Frame, Observation, Step


@dataclass
class Histories:
    """All histories, as a trie. Node 0.. have a parent, or -1 and a call; each has what was seen last and decided."""

    parent: list[int] = field(default_factory=list)
    call: list[Call] = field(default_factory=list)
    observation: list[Observation] = field(default_factory=list)
    decision: list[Decision] = field(default_factory=list)
    children: dict[tuple[int | Call, Observation], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.parent)

    def add(self, call: Call, parent: int, observation: Observation, decision: Decision) -> int:
        """The node of a history, which is new or known; a history that is decided in two ways is a fault."""
        key = (call if parent < 0 else parent, observation)
        node = self.children.get(key)
        if node is None:
            node = self.children[key] = len(self.parent)
            self.parent.append(parent)
            self.call.append(call)
            self.observation.append(observation)
            self.decision.append(decision)
        elif self.decision[node] != decision:
            raise NotProvable(
                f"{call.program} decides {decision} and {self.decision[node]} after the same observations: it reads "
                f"what observe does not show. npi check says more"
            )
        return node

    def walk(self, frame: Frame) -> Iterator[int | None]:
        """The node of each history in a frame, or None from the first on that is not among these."""
        node: int | None = -1
        for step in frame.steps:
            if node is not None:
                node = self.children.get((frame.call if node < 0 else node, step.observation))
            yield node

    def frame(self, node: int) -> Frame:
        """The history of a node as a frame, cut short after its decision."""
        steps: list[Step] = []
        call = self.call[node]
        while node >= 0:
            steps.append(Step(self.observation[node], self.decision[node]))
            node = self.parent[node]
        return Frame(call, tuple(reversed(steps)))
