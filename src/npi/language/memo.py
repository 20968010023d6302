"""Memoisation: a decider that stores another decider's replies by history."""

from __future__ import annotations

from collections.abc import Iterable

from npi.language.interpreter import Decider, FrameState, Query, Reply
from npi.language.program import Call, Decision, Frame, Observation

# Histories that are stored at most; each keeps the state of a frame, for a network its LSTM state.
CAPACITY = 200_000


class _Node:
    """A history: a call and the observations of its frame so far. To the interpreter it is the state of the frame.

    state  the other decider's state after this history
    after  for one more observation: the decision then, and the node of the longer history
    """

    __slots__ = ("after", "state")

    def __init__(self, state: FrameState):
        self.state = state
        # Nothing points back to the parent, so an emptied trie and the states in it are freed at once, without the
        # garbage collector.
        self.after: dict[Observation, tuple[Decision, _Node]] = {}


class Memo:
    """A decider that stores another's replies in a trie of histories, and queries it for new histories only.

    A network's reply depends only on the program, its arguments and the frame's observations so far, so memoised
    decisions equal the network's own. Before the trie exceeds `capacity` histories it is emptied; a frame that is
    still running keeps the part below its history.
    """

    def __init__(self, decider: Decider, capacity: int = CAPACITY):
        self.decider, self.capacity = decider, capacity
        self.first: dict[Call, _Node] = {}
        self.held = 0  # histories in the trie

    @staticmethod
    def of(frames: Iterable[Frame]) -> Memo:
        """A decider that replays these frames: a teacher, from its recording."""
        memo = Memo(_NoDecider())
        for frame in frames:
            node = memo.root(frame.call)
            for observation, decision in frame.steps:
                known, node = node.after.get(observation) or memo.keep(node, observation, decision, None)
                if known != decision:
                    raise ValueError(f"{frame.call.program} decides differently after the same history; see check_task")
        return memo

    def cached(self, observation: Observation, call: Call, state: FrameState) -> Reply | None:
        if state is not None:
            return state.after.get(observation)
        node = self.first.get(call)
        return None if node is None else node.after.get(observation)

    def decide(self, queries: list[Query]) -> list[Reply]:
        if self.held + len(queries) > self.capacity:
            self.first, self.held = {}, 0
        nodes = [node or self.root(call) for _, call, node in queries]
        # Two runs may be at the same history: the decider is queried once.
        distinct: dict[tuple[int, Observation], Query] = {}
        for node, (observation, call, _) in zip(nodes, queries, strict=True):
            distinct.setdefault((id(node), observation), (observation, call, node.state))
        decided = dict(zip(distinct, self.decider.decide(list(distinct.values())), strict=True))
        return [
            node.after.get(observation) or self.keep(node, observation, *decided[id(node), observation])
            for node, (observation, _, _) in zip(nodes, queries, strict=True)
        ]

    def root(self, call: Call) -> _Node:
        """The history of a frame that has observed nothing yet."""
        return self.first.get(call) or self.first.setdefault(call, _Node(None))

    def keep(
        self, node: _Node, observation: Observation, decision: Decision, state: FrameState
    ) -> tuple[Decision, _Node]:
        """Store a reply. To the interpreter, the returned node is the next state of the frame."""
        self.held += 1
        reply = node.after[observation] = (decision, _Node(state))
        return reply


class _NoDecider:
    """Stands behind a replayed recording: a history that was not recorded is an error."""

    def cached(self, observation: Observation, call: Call, state: FrameState) -> Reply | None:
        return None

    def decide(self, queries: list[Query]) -> list[Reply]:
        observation, call, _ = queries[0]
        raise LookupError(f"no recorded frame of {call.program}{call.args} continues with {observation}")
