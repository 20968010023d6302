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
from typing import Any, Never

from npi.errors import NotProvable
from npi.language.env import Env
from npi.language.program import ARGS, Call, Decision, Observation, Program, act, handle_calls
from npi.language.task import Task
from npi.proof.abstract_env import AbstractEnv
from npi.proof.hidden_state import Watch

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


class _ReplayEnd(BaseException):
    """Ends a replay whose result is known. It is no `Exception`, so that a teacher that handles errors lets it pass."""

    def __init__(self, decision: Decision, looks: bool, fault: NotProvable | None):
        self.decision, self.looks, self.fault = decision, looks, fault


class Teacher:
    """The decisions of a task's programs.

    programs  every program that was called, by name
    roots     the calls with which a recording begins: the main program, then `extra_programs`
    """

    def __init__(self, task: Task[Any, Any], abstract: AbstractEnv):
        self.task, self.abstract = task, abstract
        self.env: Any = _replayed(task.env)(abstract.structures, self)
        self.watch = Watch(task.name)
        self.programs: dict[str, Program] = {}
        self.given_args: dict[Call, tuple[int, ...]] = {}  # the arguments that a program gives in a call
        self.starts: dict[Call, Position] = {}
        self.roots = [self._identify(program, ()) for program in (task.main, *task.extra_programs)]

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
            self._end(fault=self._inconsistent(f"{decision} and {self.position.decided[self.step]}"))
        self.step += 1

    def _end(self, decision: Decision = None, looks: bool = False, fault: NotProvable | None = None) -> Never:
        if self.end is not None:
            fault = self._inconsistent("it goes on after its replay has ended: name the errors that `except` handles")
        self.end = _ReplayEnd(decision, looks, fault)
        raise self.end

    def _check(self) -> None:
        """End the replay if something that outlives it has changed: the frames that it calls could see it."""
        try:
            self.watch.check()
        except NotProvable as fault:
            self._end(fault=fault)

    def _identify(self, program: Program, args: tuple[int, ...]) -> Call:
        """A call as a network makes it, with every argument: 0 where the teacher gives none.

        Two calls that differ for Python and not for a network are refused.
        """
        call = Call(program.name, tuple(int(arg) for arg in args) + (0,) * (ARGS - len(args)))
        if program is act:
            return call
        if program.name not in self.programs:
            self.watch.add(program.function)
        if self.programs.setdefault(program.name, program) is not program:
            raise NotProvable(
                f"two functions are named {program.name}, and a network cannot tell them apart: give each program one "
                f"function, or rename one"
            )
        if self.given_args.setdefault(call, args) != args:
            raise NotProvable(
                f"{program.name} is called with the arguments {args} and {self.given_args[call]}, which a network "
                f"cannot tell apart, since missing arguments are 0: give all arguments at every call"
            )
        return call

    def _inconsistent(self, how: str) -> NotProvable:
        return NotProvable(
            f"{self.position.call.program} decides differently after the same observations ({how}), so it depends on "
            f"something that observe does not show: npi check finds out what"
        )


def _replayed(env: type[Env]) -> Any:
    """A constructor of a subclass of an environment whose observations come from a replay."""

    class Replayed(env):
        def __init__(self, structures: list[Any], teacher: Teacher):
            super().__init__(*structures)
            self._teacher = teacher

        def observe(self) -> Observation:
            return self._teacher.observe()

    return Replayed
