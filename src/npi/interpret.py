"""The interpreter: runs programs over an explicit stack, asking at each step what to do.

The semantics, stated once
- A frame starts with no state (for the network: a zero LSTM state). At each step it is asked with what is observed,
  the frame's program and arguments, and the frame's state; the answer is a decision and the next state.
- Return is a step of its own: the decision None ends the frame. (Algorithm 1 of the paper makes a call and then tests
  the stop probability, so it cannot express a program that calls nothing.)
- ACT runs on the environment directly: no frame, no step of its own.
- Only ACT changes the environment, so what is observed is looked at again only after an ACT.
- Running is bounded by a number of steps and a depth. The stack is a list: depth costs memory, not Python's recursion.

Who decides is passed in: a network, a network behind a memory of its own answers (`Memo`), or a teacher's recording
(`Memo.of`). All of them run through the same lines below.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from npi.program import ACT, Call, Decision, Frame, Limits, Observation, Runaway, Trace
from npi.task import Env

State: TypeAlias = Any  # belongs to the decider; None at the start of a frame
Question: TypeAlias = tuple[Observation, Call, State]
Answer: TypeAlias = tuple[Decision, State]


class Decider(Protocol):
    """Who answers the interpreter's questions."""

    def recall(self, seen: Observation, call: Call, state: State) -> Answer | None:
        """The answer to one question if it is at hand, without thinking."""
        ...

    def decide(self, questions: list[Question]) -> list[Answer]:
        """The answers to several questions at once, each from a run of its own."""
        ...


def interpret(env: Env, trace: Trace, decider: Decider, limits: Limits) -> Generator[Question, Answer, None]:
    """Run `trace.call` on an environment, appending each decision to the trace.

    Yields the questions that the decider cannot answer from memory, and is sent the answers.
    """
    call, state, seen = trace.call, None, env.observe()
    stack: list[tuple[Call, State]] = []
    recall, decided = decider.recall, trace.decisions.append
    for _ in range(limits.steps):
        decision, state = recall(seen, call, state) or (yield seen, call, state)
        decided(decision)
        if decision is None:
            if not stack:
                return
            call, state = stack.pop()
        elif decision.program == ACT:
            env.act(*decision.args)
            seen = env.observe()
        else:
            stack.append((call, state))
            if len(stack) >= limits.depth:
                trace.runaway = f"depth limit of {limits.depth:,} calls reached"
                return
            call, state = decision, None
    trace.runaway = f"step limit of {limits.steps:,} reached"


def run_all(envs: Sequence[Env], call: Call, decider: Decider, limits: Limits = Limits()) -> list[Trace]:
    """Run one program on many environments side by side, asking the decider about all of them at once.

    A run that reaches a limit ends with its `runaway` set; the others go on.
    """
    traces = [Trace(call, []) for _ in envs]
    live = [interpret(env, trace, decider, limits) for env, trace in zip(envs, traces, strict=True)]
    answers: list[Answer | None] = [None] * len(live)  # None starts a generator
    while live:
        waiting, questions = [], []
        for interpreter, answer in zip(live, answers, strict=True):
            try:
                questions.append(interpreter.send(answer))  # pyright: ignore[reportArgumentType]
            except StopIteration:
                continue
            waiting.append(interpreter)
        live = waiting
        answers = list(decider.decide(questions)) if questions else []
    return traces


def run(env: Env, call: Call, decider: Decider, limits: Limits = Limits()) -> Trace:
    """Run one program on one environment; raise `Runaway` if it reaches a limit."""
    [trace] = run_all([env], call, decider, limits)
    if trace.runaway:
        raise Runaway(trace)
    return trace


class _Node:
    """A history: a call and the observations of its frame so far. To the interpreter it is the state of the frame."""

    __slots__ = ("after", "state")

    def __init__(self, state: State):
        self.state = state
        # What was decided after one more observation, and that longer history. Nothing points back: a trie let go is
        # freed at once, and does not wait, with the states it holds, for the garbage collector.
        self.after: dict[Observation, tuple[Decision, _Node]] = {}


class Memo:
    """A decider that keeps another's answers in a trie of histories, and asks it only about histories never seen.

    The answer of a network depends on program, arguments and the observations of the frame so far, and on nothing
    else, so the result is its own. When `capacity` histories are held, they are let go and collected anew; a frame
    that is under way keeps its own.
    """

    def __init__(self, decider: Decider, capacity: int = 200_000):
        self.decider, self.capacity = decider, capacity
        self.first: dict[Call, _Node] = {}
        self.held = 0

    @staticmethod
    def of(frames: Iterable[Frame]) -> Memo:
        """A decider that knows these frames and nothing else: a teacher, from its recording."""
        memo = Memo(_Nobody())
        for frame in frames:
            node = memo.root(frame.call)
            for seen, decision in frame.steps:
                known, node = node.after.get(seen) or memo.keep(node, seen, decision, None)
                if known != decision:
                    raise ValueError(f"{frame.call.program} decides differently after the same history; see check_task")
        return memo

    def recall(self, seen: Observation, call: Call, state: State) -> Answer | None:
        if state is not None:
            return state.after.get(seen)
        node = self.first.get(call)
        return None if node is None else node.after.get(seen)

    def decide(self, questions: list[Question]) -> list[Answer]:
        if self.held + len(questions) > self.capacity:
            self.first, self.held = {}, 0
        nodes = [node or self.root(call) for _, call, node in questions]
        asked: dict[tuple[int, Observation], Question] = {}  # two runs may ask the same: then the decider is asked once
        for node, (seen, call, _) in zip(nodes, questions, strict=True):
            asked.setdefault((id(node), seen), (seen, call, node.state))
        decided = dict(zip(asked, self.decider.decide(list(asked.values())), strict=True))
        return [
            node.after.get(seen) or self.keep(node, seen, *decided[id(node), seen])
            for node, (seen, _, _) in zip(nodes, questions, strict=True)
        ]

    def root(self, call: Call) -> _Node:
        """The history of a frame that has observed nothing yet."""
        return self.first.get(call) or self.first.setdefault(call, _Node(None))

    def keep(self, node: _Node, seen: Observation, decision: Decision, state: State) -> tuple[Decision, _Node]:
        self.held += 1
        answer = node.after[seen] = (decision, _Node(state))
        return answer


class _Nobody:
    def recall(self, seen: Observation, call: Call, state: State) -> Answer | None:
        return None

    def decide(self, questions: list[Question]) -> list[Answer]:
        seen, call, _ = questions[0]
        raise LookupError(f"no recorded frame of {call.program}{call.args} goes on with the observation {seen}")
