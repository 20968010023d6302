"""Running a learned program on one problem: the answer, the trace and the call tree.

A compiled program runs without torch, so modules that need torch are imported only where a network runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from npi import tasks
from npi.errors import BadInput
from npi.language.call_tree import format_tree
from npi.language.env import Env
from npi.language.interpreter import Decider, run_program
from npi.language.memo import Memo
from npi.language.program import Call
from npi.language.record import count_steps
from npi.language.task import Task
from npi.language.trace import Limits, Runaway, Trace

if TYPE_CHECKING:
    import torch

    from npi.network.model import NPI

# The default limit of a run: STEP_FACTOR times the teacher's steps, plus EXTRA_STEPS for short problems. A run that
# needs more no longer follows its teacher.
STEP_FACTOR, EXTRA_STEPS = 2, 1000
# When counting a teacher's steps, in case it never returns; and of compiled programs that keep no trace.
TEACHER_LIMITS = Limits(steps=100_000_000)


@dataclass(frozen=True)
class Run:
    """One finished run.

    answer  what the task reads off the environment at the end
    steps   how many decisions the run took
    trace   every decision, in order; None if the run kept no trace
    """

    task: Task[Any, Any]
    problem: Any
    answer: Any
    steps: int
    trace: Trace | None

    @cached_property
    def right(self) -> bool:
        """Whether the answer is correct."""
        return self.answer == self.task.answer(self.problem)

    @cached_property
    def tree(self) -> str:
        """The call tree, one line for each call, as in the paper's figures; empty if the run kept no trace."""
        return "\n".join(format_tree(self.trace, self.task.env)) if self.trace else ""


@runtime_checkable
class UntracedDecider(Protocol):
    """A decider that can also run a program by itself, faster, keeping no trace."""

    def run(self, env: Env, call: Call, limits: Limits) -> int:
        """Run a program; return the number of steps, or raise `Runaway`."""
        ...


@runtime_checkable
class OwnTaskDecider(Decider, Protocol):
    """A decider that was made for one task, such as a compiled program."""

    def task_to_run(self, task: Task[Any, Any] | str) -> Task[Any, Any]:
        """Find the task; raise BadInput if the decider was not made for it, or if it has changed since."""
        ...


def run(
    task: Task[Any, Any] | str,
    problem: Any,
    model: NPI | Decider | str | Path | None = None,
    *,
    engine: Literal["memo", "neural"] = "memo",
    limits: Limits | None = None,
    keep_trace: bool = True,
    device: str | torch.device = "auto",
) -> Run:
    """Solve one problem with a learned program.

    task        a `Task`, the name of a built-in one, or "FILE.py:NAME"
    problem     a problem of the task, as `task.sample` draws them
    model       an `NPI`, a folder, None for the model that comes with npi, or a decider, such as a compiled program
    engine      "neural" queries the network at every step; "memo" only once for each distinct history (a call and the
                observations of its frame so far), with the same decisions
    limits      bounds on steps and depth; by default, twice the teacher's steps plus 1,000, and for a compiled program
                without a trace 100 million steps: counting the teacher's would take as long as the run
    keep_trace  False: a compiled program keeps no trace, and runs faster
    device      where to load the model, if it is not given as an `NPI`: "cpu", "cuda" or "auto"

    Raises `Runaway` if the run reaches a limit, and `BadInput` if the model has not learned the task.

    >>> import npi
    >>> done = npi.run("addition", ("96", "125"))
    >>> done.answer, done.right
    ('221', True)
    >>> print(*done.tree.splitlines()[:4], sep="\\n")
    ADD
      ADD1
        WRITE OUT 1
        CARRY
    """
    if isinstance(model, OwnTaskDecider):
        found, decider = model.task_to_run(task), model
    elif isinstance(model, Decider):
        found, decider = tasks.find_task(task), model
    else:
        from npi.network.checkpoint import resolve_model
        from npi.network.learned_task import learned_task
        from npi.network.neural_decider import NeuralDecider

        network = resolve_model(model, device)
        found = learned_task(task, network)
        neural = NeuralDecider(network, found.env)
        decider = Memo(neural) if engine == "memo" else neural
    try:
        env = found.env.of(problem)
    except (ValueError, TypeError, IndexError, KeyError) as error:
        raise BadInput(f"{problem!r} is no problem of {found.name}: {error}") from error
    trace = None
    try:
        if isinstance(decider, UntracedDecider) and not keep_trace:
            steps = decider.run(env, found.call, limits or TEACHER_LIMITS)
        else:
            trace = run_program(env, found.call, decider, limits or default_limits(found, problem))
            steps = len(trace.decisions)
    except KeyError as error:  # the table of a compiled program has no entry for a history
        raise BadInput(
            f"the compiled program has no decision after {error}: it or {found.name} has changed; compile it again"
        ) from error
    return Run(found, problem, found.result(env), steps, trace)


def default_limits(task: Task[Any, Any], problem: Any) -> Limits:
    """The limits of a run if none are given."""
    try:
        steps = count_steps(task.env.of(problem), task.main, limits=TEACHER_LIMITS)
    except Runaway as error:
        raise BadInput(
            f"the teacher itself does not finish here ({error}): give limits, such as --max-steps"
        ) from error
    return Limits(STEP_FACTOR * steps + EXTRA_STEPS)
