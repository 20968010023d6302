"""Proof for every length: what a program can meet, computed, and the network compared with the teacher on all of it.

The task's own environment runs over lazy tapes (lazy.py) and graphs (lazygraph.py), and its teacher over the
environment. A call is explored once for each state it can be entered in, up to what the sketches of the tapes leave
open; whoever makes a call goes on from every state in which it may return. Calls whose returns are not known yet are
waited for, until nothing new is found. What a frame observed up to a decision is a history. The set of all histories is
finite where frames are short, as those of recursive teachers are; if the network decides as the teacher after each of
them, then by induction on the steps of a run it runs as the teacher on every problem of every size. `docs/proof.md`
says so with more care.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

from npi.errors import NotProvable
from npi.language.env import Env
from npi.language.graph import GraphKind
from npi.language.program import ARGS, Call, Decision, Observation, Program, act, handle_calls
from npi.language.tape import TapeKind
from npi.language.task import Task
from npi.proof.histories import Histories
from npi.proof.lazy_graph import LazyGraph
from npi.proof.lazy_tape import LazyTape
from npi.proof.oracle import Oracle

AbstractState: TypeAlias = tuple[Any, ...]  # the sketch of each tape and graph
# What stands for all tapes or graphs of a kind; it also has the methods `first`, `load` and `sketch`.
LAZY: dict[type, Any] = {TapeKind: LazyTape, GraphKind: LazyGraph}
LONGEST = 200  # decisions of one frame: those of recursive teachers are far shorter


Key: TypeAlias = tuple[Call, AbstractState]


@dataclass
class _Summary:
    """One call in one state: where it may return, and the points of other frames at which that is waited for."""

    program: Program
    args: tuple[int, ...]
    exits: dict[AbstractState, None] = field(default_factory=dict)
    waiting: dict[tuple[Key, int], None] = field(default_factory=dict)  # a frame, and the node of its call


class _Waits(Exception):
    """A way through a frame has come to a call; it goes on from each return of it, by itself."""


class Exploration:
    """Everything a task's programs can meet, on problems of every size."""

    def __init__(self, task: Task):
        self.task = task
        self.kinds = task.env.tapes()
        if not self.kinds:
            raise NotProvable(
                f"{task.env.__name__} does not say which tapes it is made of, so its programs cannot be proved: keep "
                f"all of its state on tapes and list their kinds in a classmethod `tapes` (docs/proof.md)"
            )
        self.histories = Histories()
        self.summaries: dict[Key, _Summary] = {}
        # What is left to do: a frame, the node of its last call (or -1), and the state in which that returned.
        self.todo: list[tuple[Key, int, AbstractState]] = []
        self.known: set[tuple[Key, int, AbstractState]] = set()
        self.path = _Path(self)

    def run(self) -> Iterator[tuple[int, int]]:
        """Explore until nothing new is found; yields how many histories there are, and at least will be."""
        entries = dict.fromkeys(self.first_states())
        for program in (self.task.main, *self.task.extra_programs):
            summaries = [self.need(program, (), entry) for entry in entries]
            yield from self.settle()
            # each is demonstrated after the one before returned
            entries = dict.fromkeys(state for summary in summaries for state in summary.exits)

    def programs(self) -> list[Program]:
        """The programs that were called."""
        return list(dict.fromkeys(summary.program for summary in self.summaries.values()))

    def first_states(self) -> Iterator[AbstractState]:
        oracle = Oracle()
        while True:
            chosen: dict[Any, int] = {}
            first = [LAZY[type(kind)].first(kind, oracle, chosen) for kind in self.kinds]
            yield tuple(tape.sketch() for tape in self.lazy(oracle, first))
            if not oracle.advance():
                return

    def lazy(self, oracle: Oracle, sketches: Iterable[Any]) -> list[Any]:
        """The tapes and graphs of the environment."""
        return [LAZY[type(kind)](kind, oracle, sketch) for kind, sketch in zip(self.kinds, sketches, strict=True)]

    def need(self, program: Program, args: tuple[int, ...], entry: AbstractState) -> _Summary:
        """The summary of a call; a new one is looked at later."""
        key = (_call(program, args), entry)
        summary = self.summaries.get(key)
        if summary is None:
            summary = self.summaries[key] = _Summary(program, args)
            self.push(key, -1, entry)
        return summary

    def push(self, key: Key, node: int, state: AbstractState) -> None:
        job = (key, node, state)
        if job not in self.known:
            self.known.add(job)
            self.todo.append(job)

    def settle(self) -> Iterator[tuple[int, int]]:
        for count in itertools.count(1):
            if not self.todo:
                return
            self.go_on(*self.todo.pop())
            if count % 4096 == 0:
                yield len(self.histories), len(self.histories) + len(self.todo)

    def go_on(self, key: Key, node: int, state: AbstractState) -> None:
        """Go all ways through a frame from one point, each as far as the next call or the end."""
        self.path.make_trainer(key, node)
        while True:
            with suppress(_Waits):
                try:
                    self.returns(key, self.path.run(state))
                except (AttributeError, TypeError) as error:
                    raise self.unanswered(error) from error
            if not self.path.oracle.advance():
                return

    def unanswered(self, error: Exception) -> NotProvable:
        return NotProvable(
            f"{self.task.env.__name__} or its teacher asks what only a concrete tape or graph can answer ({error}): "
            f"use {_methods(self.kinds)} alone"
        )

    def returns(self, key: Key, state: AbstractState) -> None:
        """A call may return in a state: if that is new, whoever waits for it goes on from there."""
        summary = self.summaries[key]
        if state not in summary.exits:
            summary.exits[state] = None
            for waiting, node in summary.waiting:
                self.push(waiting, node, state)

    def wait(self, called: _Summary, key: Key, node: int) -> None:
        """Go on from each return of a call, now and later."""
        if (key, node) not in called.waiting:
            called.waiting[key, node] = None
            for state in called.exits:
                self.push(key, node, state)


class _Path:
    """Ways through a frame: the teacher runs, and is told of calls instead of their being made.

    What it did up to the node is known: it is shown the same observations again, and acts in earnest from there on.
    """

    def __init__(self, exploration: Exploration):
        self.exploration, self.oracle = exploration, Oracle()
        self.tapes = exploration.lazy(self.oracle, next(exploration.first_states()))
        self.oracle.open = False
        try:
            self.env: Any = _watched(exploration.task.env)(self.tapes, self)
        except (AttributeError, TypeError) as error:
            raise exploration.unanswered(error) from error
        self.kept = dict(vars(self.env))
        for name, value in self.kept.items():
            parts = value if isinstance(value, tuple) else (value,)
            if value is not self and not all(any(part is tape for tape in self.tapes) for part in parts):
                raise NotProvable(
                    f"{exploration.task.env.__name__} keeps {name} beside its tapes, which a proof would not see: keep "
                    f"all of its state on tapes"
                )

    def make_trainer(self, key: Key, node: int) -> None:
        """Take a frame, and the node of its last call, or -1."""
        self.key, self.first = key, node
        self.summary = self.exploration.summaries[key]
        self.before = self.exploration.histories.frame(node).steps if node >= 0 else ()

    def run(self, state: AbstractState) -> AbstractState:
        """Go on from where the node's call returned in a state; returns the state in which the frame returns."""
        self.node, self.steps = self.first, 0
        self.oracle.open = False
        self.set(state)
        with handle_calls(self):
            self.summary.program.function(self.env, *self.summary.args)
        if self.steps < len(self.before):
            raise self.fickle()
        self.decide(None)
        return self.state()

    def fickle(self) -> NotProvable:
        return NotProvable(
            f"{self.summary.program.name} does not decide the same after the same observations: it reads what observe "
            f"does not show. npi check says more"
        )

    def set(self, state: AbstractState) -> None:
        self.observation: Observation | None = None
        for tape, sketch in zip(self.tapes, state, strict=True):
            tape.load(sketch)

    def state(self) -> AbstractState:
        if vars(self.env) != self.kept:
            raise NotProvable(
                f"{self.exploration.task.env.__name__} keeps something beside its tapes, which a proof would not see: "
                f"keep all of its state on tapes"
            )
        return tuple([tape.sketch() for tape in self.tapes])

    def observe(self, look: Callable[[], Observation]) -> Observation:
        """What the environment shows; it is looked at once, until something is done."""
        if self.steps < len(self.before):
            return self.before[self.steps].observation
        if self.observation is None:
            self.oracle.open = True
            self.observation = look()
            self.oracle.open = False
        return self.observation

    def decide(self, decision: Decision) -> None:
        if self.steps >= LONGEST:
            raise NotProvable(
                f"a frame of {self.summary.program.name} has more than {LONGEST} decisions, and its like may have any "
                f"number: a loop cannot be proved for every length. Use the recursive teacher, whose frames are short"
            )
        self.node = self.exploration.histories.add(self.key[0], self.node, self.env.observe(), decision)
        self.steps += 1

    def call(self, program: Program, args: tuple[int, ...]) -> None:
        call = _call(program, args)
        if self.steps < len(self.before):
            if call != self.before[self.steps].decision:
                raise self.fickle()
            self.steps += 1
            return
        self.decide(call)
        if program is act:
            self.oracle.open = True
            self.env.act(*call.args)
            self.oracle.open = False
            self.observation = None
            return
        self.exploration.wait(self.exploration.need(program, args, self.state()), self.key, self.node)
        raise _Waits


def _methods(kinds: Collection[Any]) -> str:
    """What an environment may ask of its tapes and graphs."""
    lazy = [LAZY[type(kind)] for kind in kinds]
    names = [name for one in lazy for name in vars(one) if name not in ("first", "load", "sketch")]
    return ", ".join(dict.fromkeys(name for name in names if not name.startswith("_")))


def _watched(env: type[Env]) -> Callable[[list[Any], _Path], Env]:
    """An environment that asks a path what it observes."""

    class Watched(env):
        def __init__(self, tapes: list[Any], path: _Path):
            super().__init__(*tapes)
            self._path = path

        def observe(self) -> Observation:
            return self._path.observe(super().observe)

    return Watched


@cache
def _call(program: Program, args: tuple[int, ...]) -> Call:
    return Call(program.name, tuple(int(arg) for arg in args) + (0,) * (ARGS - len(args)))
