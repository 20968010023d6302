"""The interpreter: runs programs over an explicit stack; at each step a decider makes the decision.

The semantics, which no other module repeats:

- A frame starts with no state (for the network: a zero LSTM state). At each step the decider gets the observation, the
  frame's program and arguments, and the frame's state. It replies with a decision and the next state.
- Return is a step of its own: the decision None ends the frame. (Algorithm 1 of the paper makes a call and then tests
  the stop probability, so it cannot express a program that calls nothing.)
- ACT acts on the environment directly and has no frame: it takes one step, that of the frame that decided it.
- Only ACT changes the environment, so it is observed again only after an ACT.
- A run is bounded in steps and depth. The stack is a list: depth costs memory, not Python's recursion.

The decider is an argument: a network, a network with memoised replies (`Memo`), a compiled program, or a teacher's
recording (`Memo.of`). The loop in `interpret` is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from npi.language.env import Env
from npi.language.program import ACT, Call, Decision, Observation
from npi.language.trace import Limits, Runaway, Trace

FrameState: TypeAlias = Any  # belongs to the decider; None at the start of a frame
Query: TypeAlias = tuple[Observation, Call, FrameState]
Reply: TypeAlias = tuple[Decision, FrameState]


@runtime_checkable
class Decider(Protocol):
    """Makes the decisions of a run."""

    def cached(self, observation: Observation, call: Call, state: FrameState) -> Reply | None:
        """The reply to one query if it is stored; None if `decide` must compute it."""
        ...

    def decide(self, queries: list[Query]) -> list[Reply]:
        """The replies to several queries, each from a different run, computed together."""
        ...


def interpret(env: Env, trace: Trace, decider: Decider, limits: Limits) -> Generator[Query, Reply, None]:
    """Run `trace.call` on an environment, appending each decision to the trace.

    A generator: it yields each query to which the decider has no stored reply, and is sent the reply.
    """
    call, state, observation = trace.call, None, env.observe()
    stack: list[tuple[Call, FrameState]] = []
    cached, append = decider.cached, trace.decisions.append
    for _ in range(limits.steps):
        decision, state = cached(observation, call, state) or (yield observation, call, state)
        append(decision)
        if decision is None:
            if not stack:
                return
            call, state = stack.pop()
        elif decision.program == ACT:
            env.act(*decision.args)
            observation = env.observe()
        else:
            stack.append((call, state))
            if len(stack) >= limits.depth:
                trace.runaway = f"depth limit of {limits.depth:,} calls reached"
                return
            call, state = decision, None
    trace.runaway = f"step limit of {limits.steps:,} reached"


def run_batch(envs: Sequence[Env], call: Call, decider: Decider, limits: Limits = Limits()) -> list[Trace]:
    """Run one program on many environments side by side; the decider gets the queries of all of them together.

    A run that reaches a limit ends with its `runaway` set; the others continue.
    """
    traces = [Trace(call, []) for _ in envs]
    live = [interpret(env, trace, decider, limits) for env, trace in zip(envs, traces, strict=True)]
    replies: list[Reply | None] = [None] * len(live)  # None starts a generator
    while live:
        waiting: list[Generator[Query, Reply, None]] = []
        queries: list[Query] = []
        for interpreter, reply in zip(live, replies, strict=True):
            try:
                queries.append(interpreter.send(reply))  # pyright: ignore[reportArgumentType]
            except StopIteration:
                continue
            waiting.append(interpreter)
        live = waiting
        replies = list(decider.decide(queries)) if queries else []
    return traces


def run_program(env: Env, call: Call, decider: Decider, limits: Limits = Limits()) -> Trace:
    """Run one program on one environment; raise `Runaway` if it reaches a limit."""
    [trace] = run_batch([env], call, decider, limits)
    if trace.runaway:
        raise Runaway(trace)
    return trace
