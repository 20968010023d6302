"""Traces: every decision of one run, in order, and the limits of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from npi.language.program import ACT, Call, Decision, Frame, Step


@dataclass(frozen=True)
class Limits:
    """Bounds on a run; a run that reaches one ends with `Runaway`.

    steps  how many decisions it may make
    depth  how many calls may be open

    >>> import npi
    >>> npi.run("addition", ("96", "125"), limits=npi.Limits(steps=10))
    Traceback (most recent call last):
    npi.language.trace.Runaway: ADD did not return: step limit of 10 reached
    """

    steps: int = 10_000_000
    depth: int = 1_000_000


@dataclass
class Trace:
    """The decisions of one run of `call`. `runaway` says which limit ended it; None means that it returned."""

    call: Call
    decisions: list[Decision]
    runaway: str | None = None

    @staticmethod
    def of(frames: list[Frame]) -> Trace:
        """The trace of a recording."""
        return Trace(frames[0].call, [step.decision for _, step in steps_in_order(frames)])


def steps_in_order(frames: Iterable[Frame]) -> Iterator[tuple[Frame, Step]]:
    """Every step of a recording with its frame, in the order of the run."""
    frames = iter(frames)
    root = next(frames)
    stack = [(root, iter(root.steps))]
    while stack:
        frame, steps = stack[-1]
        for step in steps:
            yield frame, step
            if step.decision is not None and step.decision.program != ACT:
                called = next(frames, None)
                if called is None:  # a recording cut short by a limit
                    return
                stack.append((called, iter(called.steps)))
                break
        else:
            stack.pop()


class Runaway(Exception):
    """A run reached a limit; `trace` holds its decisions until then, and `frames` the frames of a recording."""

    def __init__(self, trace: Trace, frames: Sequence[Frame] = ()):
        super().__init__(f"{trace.call.program} did not return: {trace.runaway}")
        self.trace, self.frames = trace, frames
