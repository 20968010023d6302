"""The teacher's decisions, found by replaying its programs.

A replay runs the function of a program once more, from its start. It is given the observations of a history, and its
calls are noted but not made. The next call that it makes, or its return, is its decision.

A replay knows when the function observes. What it does not observe cannot change its decisions, so a program is a tree:
at each step it either looks at the observation, and then has a branch for each, or it does not. The tree is small, even
where a program has many thousands of histories.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from types import FunctionType, MethodType
from typing import Any, Never

from npi.errors import NotProvable
from npi.language.program import ARGS, Call, Decision, Observation, Program, act, handle_calls, is_program
from npi.language.task import Task
from npi.proof.abstract_env import AbstractEnv, is_plain_number
from npi.proof.around_runs import check_around_runs
from npi.proof.hidden_state import Watch
from npi.proof.oracle import Signal
from npi.proof.snapshot import REMEDY

# Frames of the built-in recursive teachers have fewer than ten decisions. A frame with more than this many is taken for
# a loop.
MAX_DECISIONS = 200


@dataclass(eq=False, slots=True)
class Position:
    """A place in the tree of a program: what the function has observed up to a step, where it looked."""

    call: Call
    observed: tuple[Observation | None, ...] = ()  # at each step so far; None: the function did not look
    decided: tuple[Decision, ...] = ()  # at each of these steps
    # Whether the function looks at the observation of this step; None: not known yet.
    looks: bool | None = None
    after: dict[Observation | None, tuple[Decision, Position]] = field(default_factory=dict)


class _ReplayEnd(Signal):
    """Ends a replay whose result is known."""

    def __init__(self, decision: Decision, looks: bool, fault: NotProvable | None):
        self.decision, self.looks, self.fault = decision, looks, fault


class Teacher:
    """The decisions of a task's programs.

    programs  every program that was called, by name
    roots     the calls with which a recording begins: the main program, then `extra_programs`
    """

    def __init__(self, task: Task[Any, Any], abstract: AbstractEnv):
        check_around_runs(task, abstract.attributes)
        self.task, self.abstract = task, abstract
        self.env: Any = abstract.guarded(lambda: abstract.env_class(*abstract.structures))
        # Of the environment's own class, so that a teacher finds no difference; only `observe` is replaced.
        vars(self.env)["observe"] = MethodType(self._observe_method(), self.env)
        self.attributes = dict(vars(self.env))
        self.argument_sizes = task.env.argument_sizes()
        self.watch = Watch(task.name, task.env)
        self.watch.add_class(task.env)
        self.programs: dict[str, Program] = {}
        self.given_args: dict[Call, tuple[int, ...]] = {}  # the arguments that a program gives in a call
        self.starts: dict[Call, Position] = {}
        if act in (task.main, *task.extra_programs):
            raise NotProvable(f"{task.name} has act for a program of its own: give it a program that calls act")
        self.roots = [self._identify(program, ()) for program in (task.main, *task.extra_programs)]

    def _observe_method(self) -> FunctionType:
        """`observe` of this teacher, as a function of the name that the environment's own has."""

        def observe(env: Any) -> Observation:
            return self.observe()

        observe.__qualname__ = self.task.env.observe.__qualname__
        return observe

    def start(self, call: Call) -> Position:
        """The place at which a call begins."""
        return self.starts.setdefault(call, Position(call))

    def decide(self, position: Position, observation: Observation) -> tuple[Decision, Position]:
        """The decision at a place after one more observation, and the place that follows."""
        if position.looks is None:
            self._replay(position, None)
        seen = observation if position.looks else None
        if seen not in position.after:
            self._replay(position, observation)
        return position.after[seen]

    def repeat(self, rng: Random) -> None:
        """Repeat every replay in a random order. A teacher that remembers something decides differently then."""
        done: list[tuple[Position, Any, Decision]] = []
        pending = list(self.starts.values())
        while pending:
            position = pending.pop()
            for observation, (decision, after) in position.after.items():
                done.append((position, observation, decision))
                if decision is not None:
                    pending.append(after)
        rng.shuffle(done)
        for position, observation, decision in done:
            again = Position(position.call, position.observed, position.decided)
            if (repeated := self.decide(again, observation)[0]) != decision:
                raise self._inconsistent(f"{_decision_text(decision)} and {_decision_text(repeated)}")

    def _replay(self, position: Position, observation: Observation | None) -> None:
        """Replay up to the decision at a place. Without an observation, find out whether the function looks."""
        if len(position.observed) >= MAX_DECISIONS:
            raise NotProvable(
                f"a frame of {position.call.program} makes more than {MAX_DECISIONS} decisions. A loop makes more on "
                f"longer problems, so it cannot be proved for every size. Use the recursive teacher, whose frames are "
                f"short"
            )
        self.position, self.step = position, 0
        self.observed: tuple[Observation | None, ...] = (*position.observed, observation)
        self.end: _ReplayEnd | None = None
        program = self.programs[position.call.program]
        with suppress(_ReplayEnd), handle_calls(self):
            self.abstract.guarded(lambda: program.function(self.env, *self.given_args[position.call]))
            self._decide(None)
        assert self.end is not None
        self._check_env()
        if self.end.fault is not None:
            raise self.end.fault
        position.looks = self.end.looks or observation is not None
        if not self.end.looks:
            decision = self.end.decision
            after = Position(position.call, (*position.observed, observation), (*position.decided, decision))
            position.after[observation] = (decision, after)

    def observe(self) -> Observation:
        """The observation of the step at which the function is."""
        self._check()
        observation = self.observed[self.step]
        if observation is None:
            if self.step < len(self.position.observed):
                self._end(fault=self._inconsistent("it observes where it did not before"))
            self._end(looks=True)
        return observation

    def call(self, program: Program, args: tuple[int, ...]) -> None:
        """Take a call that the function makes."""
        self._check()
        try:
            decision = self._identify(program, args)
        except NotProvable as fault:
            self._end(fault=fault)
        self._decide(decision)

    def _decide(self, decision: Decision) -> None:
        if self.step == len(self.position.observed):
            self._end(decision=decision)
        if decision != self.position.decided[self.step]:
            both = map(_decision_text, (decision, self.position.decided[self.step]))
            self._end(fault=self._inconsistent(" and ".join(both)))
        self.step += 1

    def _end(self, decision: Decision = None, looks: bool = False, fault: NotProvable | None = None) -> Never:
        if self.end is not None:
            fault = NotProvable(
                f"{self.position.call.program} goes on after its replay has ended: a program must not act in `finally`"
            )
        self.end = _ReplayEnd(decision, looks, fault)
        raise self.end

    def _check(self) -> None:
        """End the replay if something that outlives it has changed: the frames that it calls could see it."""
        try:
            self.watch.check()
            self._check_env()
        except NotProvable as fault:
            self._end(fault=fault)

    def _check_env(self) -> None:
        if vars(self.env) != self.attributes or type(self.env) is not self.task.env:
            raise NotProvable(
                f"the teacher of {self.task.name} changes an attribute of {self.task.env.__name__}, where {REMEDY}"
            )

    def _identify(self, program: Program, args: tuple[int, ...]) -> Call:
        """A call as a network makes it, with every argument: 0 where the teacher gives none.

        Two calls that differ for Python and not for a network are refused.
        """
        if not is_program(program):
            raise NotProvable(f"{program.name} is not what @program made: put @program above every other decorator")
        for arg, size in zip(args, self.argument_sizes, strict=False):
            if not (is_plain_number(arg) and 0 <= arg < size):
                raise NotProvable(
                    f"{program.name} is called with the arguments {args}; each must be an integer in the range that "
                    f"{self.task.env.__name__}.act declares for it, here 0..{size - 1}"
                )
        call = Call(program.name, tuple(map(int, args)) + (0,) * (ARGS - len(args)))
        if program is act:
            return call
        if program.name not in self.programs:
            self.watch.add_program(program)
        if self.programs.setdefault(program.name, program) is not program:
            raise NotProvable(
                f"two programs are named {program.name}, and a network cannot tell them apart: use @program once for "
                f"each name"
            )
        known = self.given_args.setdefault(call, args)
        if known != args or [*map(type, known)] != [*map(type, args)]:
            raise NotProvable(
                f"{program.name} is called with the arguments {args} and {known}, which a network cannot tell apart: "
                f"to it, missing arguments are 0 and True is 1. Give all arguments at every call, of one type"
            )
        return call

    def _inconsistent(self, how: str) -> NotProvable:
        return NotProvable(
            f"{self.position.call.program} decides differently after the same observations ({how}), so it depends on "
            f"something that observe does not show, such as a global variable or an object that changes"
        )


def _decision_text(decision: Decision) -> str:
    return "return" if decision is None else f"{decision.program}{decision.args}"
