"""Exploration: every history that a task's programs can have, on problems of every size.

The task's own environment runs on lazy tapes and graphs (lazy_tape.py, lazy_graph.py), and its teacher on that
environment. Their state is an abstract state; each call is explored once for each abstract state in which it can be
entered. This is interprocedural analysis with call summaries: the summary of a call lists the abstract states in which
it can return, and each of its callers continues from each of them. Exploration ends when nothing new is found.

The histories found are the reachable histories V. V is finite where frames have a bounded number of decisions, as those
of recursive teachers have. If the network decides as the teacher after every history in V, then, by induction on the
steps of a run, it runs as the teacher on every problem of every size. `docs/proof.md` gives the argument.
"""

from __future__ import annotations

import itertools
import traceback
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

AbstractState: TypeAlias = tuple[Any, ...]  # one AbstractTape or AbstractGraph for each kind that the environment lists
LAZY_CLASSES: dict[type, Any] = {TapeKind: LazyTape, GraphKind: LazyGraph}
EXPLORATION_METHODS = ("initial", "load", "abstract")  # of the lazy classes; the others are for environments
# Frames of the built-in recursive teachers have fewer than ten decisions. A frame with more than this many is taken for
# a loop.
MAX_DECISIONS = 200
PROGRESS_EVERY = 4096  # pieces of work (see `pending`) between two reports: some reports a second

# A call, and the abstract state in which it is entered: it stands for all frames that begin like this.
AbstractFrame: TypeAlias = tuple[Call, AbstractState]


@dataclass
class _CallSummary:
    """What is known of one call entered in one state."""

    program: Program
    args: tuple[int, ...]
    exits: dict[AbstractState, None] = field(default_factory=dict)  # states in which it can return
    # Frames that make this call, each with the node of the call.
    callers: dict[tuple[AbstractFrame, int], None] = field(default_factory=dict)


class _CallReached(Exception):
    """A path through a frame has reached a call. The frame continues once for each state in which the call returns."""


class Exploration:
    """All reachable histories of a task, and a summary of each call. `run` finds them."""

    def __init__(self, task: Task):
        self.task = task
        self.kinds = task.env.tapes()
        if not self.kinds:
            raise NotProvable(
                f"{task.env.__name__} does not declare its tapes, so its programs cannot be proved: keep all of its "
                f"state on tapes and graphs, and list their kinds in a classmethod `tapes` (docs/proof.md)"
            )
        self.histories = Histories()
        self.summaries: dict[AbstractFrame, _CallSummary] = {}
        self.programs_by_name: dict[str, Program] = {}
        self.given_args: dict[Call, tuple[int, ...]] = {}  # the arguments that the teacher gives in a call
        # Work left: a frame, the node of its call that returned (-1: the frame starts), and the state it returned in.
        self.pending: list[tuple[AbstractFrame, int, AbstractState]] = []
        # All work so far, so that none is repeated.
        self.scheduled: set[tuple[AbstractFrame, int, AbstractState]] = set()
        self.runner = _FrameRunner(self)
        self.problems_checked = 0  # concrete problems whose runs stayed within this exploration (concrete.py)

    def run(self) -> Iterator[tuple[int, int]]:
        """Explore until nothing new is found. Yields the number of histories found, and an estimate of the total."""
        entries = dict.fromkeys(self.initial_states())
        for program in (self.task.main, *self.task.extra_programs):
            summaries = [self.summary(program, (), entry) for entry in entries]
            yield from self._explore_pending()
            # The recording of a problem runs each program in the state in which the one before it returned.
            entries = dict.fromkeys(state for summary in summaries for state in summary.exits)
        self.runner.check_class()

    def programs(self) -> list[Program]:
        """The programs that were called."""
        return list(dict.fromkeys(summary.program for summary in self.summaries.values()))

    def initial_states(self) -> Iterator[AbstractState]:
        """The abstract states in which problems start."""
        oracle, measures = Oracle(), [self.measure(number) for number in range(len(self.kinds))]
        while True:
            lengths: dict[int, int] = {}
            state = [
                LAZY_CLASSES[type(kind)].initial(kind, oracle, lengths, measure)
                for kind, measure in zip(self.kinds, measures, strict=True)
            ]
            yield tuple(structure.abstract() for structure in self.lazy_structures(oracle, state))
            if not oracle.advance():
                return

    def measure(self, number: int) -> int:
        """The number of the tape whose length a tape has: its own, unless it is declared to be as long as another."""
        other = getattr(self.kinds[number], "length_of", None)
        if other is None:
            return number
        candidates = [index for index, kind in enumerate(self.kinds) if kind == other]
        if len(candidates) != 1:
            raise NotProvable(
                f"{self.task.env.__name__} declares a tape as long as another kind of tape, of which it declares "
                f"{len(candidates)}: give length_of a kind that exactly one of its tapes has"
            )
        return self.measure(candidates[0])

    def lazy_structures(self, oracle: Oracle, state: Iterable[Any]) -> list[Any]:
        """The lazy tapes and graphs of the environment, in an abstract state."""
        return [LAZY_CLASSES[type(kind)](kind, oracle, part) for kind, part in zip(self.kinds, state, strict=True)]

    def summary(self, program: Program, args: tuple[int, ...], entry: AbstractState) -> _CallSummary:
        """The summary of a call in a state. A call that is new is scheduled to be explored."""
        call = _call(program, args)
        self._check_identity(call, program, args)
        frame = (call, entry)
        summary = self.summaries.get(frame)
        if summary is None:
            summary = self.summaries[frame] = _CallSummary(program, args)
            self._schedule(frame, -1, entry)
        return summary

    def _check_identity(self, call: Call, program: Program, args: tuple[int, ...]) -> None:
        """Refuse two calls that differ for Python and not for a network, which knows the name and three arguments."""
        if self.programs_by_name.setdefault(call.program, program) is not program:
            raise NotProvable(
                f"two functions are named {program.name}, and a network cannot tell them apart: give each program one "
                f"function, or rename one"
            )
        if self.given_args.setdefault(call, args) != args:
            raise NotProvable(
                f"{program.name} is called with the arguments {args} and {self.given_args[call]}, which a network "
                f"cannot tell apart, since missing arguments are 0: give all arguments at every call"
            )

    def continue_after(self, called: _CallSummary, frame: AbstractFrame, node: int) -> None:
        """Continue a frame after the call at `node`, from each state in which that returns, known or found later."""
        if (frame, node) not in called.callers:
            called.callers[frame, node] = None
            for state in called.exits:
                self._schedule(frame, node, state)

    def _schedule(self, frame: AbstractFrame, node: int, state: AbstractState) -> None:
        work = (frame, node, state)
        if work not in self.scheduled:
            self.scheduled.add(work)
            self.pending.append(work)

    def _explore_pending(self) -> Iterator[tuple[int, int]]:
        for count in itertools.count(1):
            if not self.pending:
                return
            self._explore(*self.pending.pop())
            if count % PROGRESS_EVERY == 0:
                yield len(self.histories), len(self.histories) + len(self.pending)

    def _explore(self, frame: AbstractFrame, node: int, state: AbstractState) -> None:
        """Follow every path through a frame from one point, up to its next call or its return."""
        self.runner.select(frame, node)
        while True:
            with suppress(_CallReached):
                try:
                    self._add_exit(frame, self.runner.run(state))
                except (AttributeError, TypeError) as error:
                    raise self.unsupported(error) from error
            if not self.runner.oracle.advance():
                return

    def _add_exit(self, frame: AbstractFrame, state: AbstractState) -> None:
        """Note a state in which a call can return. If it is new, every caller continues from it."""
        summary = self.summaries[frame]
        if state not in summary.exits:
            summary.exits[state] = None
            for caller, node in summary.callers:
                self._schedule(caller, node, state)

    def unsupported(self, error: Exception) -> NotProvable:
        """Why exploration ended with an error: a mistake in the task, or something that abstract tapes do not allow."""
        if isinstance(error, AttributeError) and not isinstance(error.obj, (*LAZY_CLASSES.values(), type(None))):
            *_, place = traceback.extract_tb(error.__traceback__)
            return NotProvable(
                f"the code of {self.task.name} fails in {place.name} ({place.filename}:{place.lineno}): {error}. This "
                f"is a mistake in the task, or a state that no problem reaches; npi check shows which"
            )
        return NotProvable(
            f"{self.task.env.__name__} or its teacher does what only a concrete tape or graph allows ({error}): "
            f"use {_structure_methods(self.kinds)} alone"
        )


class _FrameRunner:
    """Runs the teacher's function for one frame, on lazy tapes and graphs.

    Python cannot continue a function in its middle, so it runs from its start each time. Up to the selected node its
    decisions are known: it is given the recorded observations, and its calls are checked but not made. From there on it
    observes and acts on the abstract state.
    """

    def __init__(self, exploration: Exploration):
        self.exploration, self.oracle, self.acting = exploration, Oracle(), False
        self.structures = exploration.lazy_structures(self.oracle, next(exploration.initial_states()))
        self.oracle.enabled = False
        try:
            self.env: Any = _observed_by_runner(exploration.task.env)(self.structures, self)
        except (AttributeError, TypeError) as error:
            raise exploration.unsupported(error) from error
        self.attributes = dict(vars(self.env))
        name = exploration.task.env.__name__
        if slots := [c.__name__ for c in type(self.env).__mro__ if vars(c).get("__slots__")]:
            raise NotProvable(
                f"{slots[0]} declares __slots__, where {name} could keep state that a proof cannot see: use attributes"
            )
        self.class_attributes = _class_attributes(type(self.env))
        for name, value in self.attributes.items():
            if isinstance(value, tuple) and getattr(value, "__dict__", None) is not None:
                raise NotProvable(
                    f"{exploration.task.env.__name__} keeps {name} in a tuple that has attributes of its own, where a "
                    f"proof cannot see them: use a plain tuple of tapes"
                )
            parts = value if isinstance(value, tuple) else (value,)
            if value is not self and not all(any(part is structure for structure in self.structures) for part in parts):
                raise NotProvable(
                    f"{exploration.task.env.__name__} keeps {name} beside its tapes, where a proof cannot see it: keep "
                    f"all of its state on tapes and graphs"
                )

    def concrete_structures(self, env: Any) -> list[Any] | None:
        """The tapes and graphs of a concrete environment, in the order of the declared kinds.

        They are found in the attributes in which the environment keeps abstract ones; None: it has other attributes.
        """
        found: dict[int, Any] = {}
        for name, value in self.attributes.items():
            if value is self:
                continue
            concrete = vars(env).get(name)
            parts = value if isinstance(value, tuple) else (value,)
            for part, there in zip(parts, concrete if isinstance(concrete, tuple) else (concrete,), strict=False):
                number = next((n for n, structure in enumerate(self.structures) if structure is part), None)
                if number is None:
                    return None
                found[number] = there
        return [found.get(number) for number in range(len(self.structures))]

    def select(self, frame: AbstractFrame, node: int) -> None:
        """Select the frame to run, and the node of its last call that returned; -1: the start of the frame."""
        self.frame, self.start_node = frame, node
        self.summary = self.exploration.summaries[frame]
        self.known_steps = self.exploration.histories.frame(node).steps if node >= 0 else ()

    def run(self, state: AbstractState) -> AbstractState:
        """Continue the selected frame from a state up to its return, and return the state there.

        Raises _CallReached if the frame makes a call first.
        """
        self.node, self.steps = self.start_node, 0
        self.oracle.enabled = self.acting = False
        self.load(state)
        with handle_calls(self):
            self.summary.program.function(self.env, *self.summary.args)
        if self.steps < len(self.known_steps):
            raise self.inconsistent()
        self.add_decision(None)
        return self.abstract_state()

    def inconsistent(self) -> NotProvable:
        return NotProvable(
            f"{self.summary.program.name} decides differently after the same observations, so it depends on something "
            f"that observe does not show: npi check finds out what"
        )

    def load(self, state: AbstractState) -> None:
        self.observation: Observation | None = None
        for structure, part in zip(self.structures, state, strict=True):
            structure.load(part)

    def abstract_state(self) -> AbstractState:
        if vars(self.env) != self.attributes:
            raise NotProvable(
                f"{self.exploration.task.env.__name__} changes an attribute beside its tapes, where a proof cannot see "
                f"it: keep all of its state on tapes and graphs"
            )
        return tuple([structure.abstract() for structure in self.structures])

    def check_class(self) -> None:
        """Refuse an environment that changed an attribute of its class during the exploration."""
        now = _class_attributes(type(self.env))
        if changed := [name for name, value in self.class_attributes.items() if now.get(name) != value]:
            raise NotProvable(
                f"{self.exploration.task.env.__name__} changes {changed[0]}, an attribute of its class, where a proof "
                f"cannot see it: keep all of its state on tapes and graphs"
            )

    def observe(self, env_observe: Callable[[], Observation]) -> Observation:
        """The environment's observation. It is computed once after each action, then repeated."""
        if self.steps < len(self.known_steps):
            return self.known_steps[self.steps].observation
        if self.acting:  # act itself observes, perhaps after a change
            return env_observe()
        if self.observation is None:
            self.oracle.enabled = True
            self.observation = env_observe()
            self.oracle.enabled = False
        return self.observation

    def add_decision(self, decision: Decision) -> None:
        if self.steps >= MAX_DECISIONS:
            raise NotProvable(
                f"a frame of {self.summary.program.name} makes more than {MAX_DECISIONS} decisions. A loop makes more "
                f"on longer problems, so it cannot be proved for every size. Use the recursive teacher, whose frames "
                f"are short"
            )
        self.node = self.exploration.histories.add(self.frame[0], self.node, self.env.observe(), decision)
        self.steps += 1

    def call(self, program: Program, args: tuple[int, ...]) -> None:
        """Take a call that the teacher makes: perform an action; end this path at any other call."""
        call = _call(program, args)
        if self.steps < len(self.known_steps):
            if call != self.known_steps[self.steps].decision:
                raise self.inconsistent()
            self.steps += 1
            return
        self.add_decision(call)
        if program is act:
            self.oracle.enabled = self.acting = True
            self.env.act(*call.args)
            self.oracle.enabled = self.acting = False
            self.observation = None
            return
        called = self.exploration.summary(program, args, self.abstract_state())
        self.exploration.continue_after(called, self.frame, self.node)
        raise _CallReached


def _class_attributes(env: type[Env]) -> dict[str, str]:
    """The attributes of a class and its bases that are no functions, as text: a list that grows differs too."""
    found = {name: value for c in reversed(env.__mro__) if issubclass(c, Env) for name, value in vars(c).items()}
    plain = {name: value for name, value in found.items() if not (name.startswith("__") or name == "_abc_impl")}
    return {name: repr(value) for name, value in plain.items() if not callable(value)}


def _structure_methods(kinds: Collection[Any]) -> str:
    """The methods of tapes and graphs that an environment may use."""
    lazy = [LAZY_CLASSES[type(kind)] for kind in kinds]
    names = [name for one in lazy for name in vars(one) if name not in EXPLORATION_METHODS]
    return ", ".join(dict.fromkeys(name for name in names if not name.startswith("_")))


def _observed_by_runner(env: type[Env]) -> Callable[[list[Any], _FrameRunner], Env]:
    """A constructor of a subclass of an environment whose observations go through a runner."""

    class Observed(env):
        def __init__(self, structures: list[Any], runner: _FrameRunner):
            super().__init__(*structures)
            self._runner = runner

        def observe(self) -> Observation:
            return self._runner.observe(super().observe)

    return Observed


@cache
def _call(program: Program, args: tuple[int, ...]) -> Call:
    """A call as the network makes it: with every argument, 0 where the teacher gives none."""
    return Call(program.name, tuple(int(arg) for arg in args) + (0,) * (ARGS - len(args)))
