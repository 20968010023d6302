"""The oracle: chooses what abstract tapes and graphs leave undetermined, and enumerates all combinations of choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Never, TypeVar

T = TypeVar("T")

INCONSISTENT = (
    "a run uses its tapes differently when it is repeated, so it depends on something that a proof cannot see, such as "
    "a global, a class attribute or random numbers: keep all of the state on tapes and graphs"
)
# Methods of lazy tapes and graphs that are for the exploration; all others are for environments.
EXPLORATION_METHODS = ("abstract_start", "load_abstract", "abstract_state", "abstract_remembered")
CONCRETE_ONLY = "the environment or its teacher does what only a concrete tape or graph allows ({})"
OBSERVE_CHANGES = (
    "observe changes a tape or a graph, but it is called more or less often in a proof than in a run: make all changes "
    "in act"
)
MAX_CHOICES, MAX_OUTCOMES = 200, 100_000  # of one step; those of the built-in tasks stay below 20 and 1,000
TOO_MANY = (
    "one call of observe or act asks more of its tapes than a proof can try, as a loop to the end of a tape does: move "
    "a head by one cell in each act, and let a program repeat it"
)


class Signal(BaseException):
    """Ends a run of a task's code. It is no `Exception`, so that code which handles errors lets it pass."""


class Refused(Signal):
    """Code of a task did what a proof does not allow; `Oracle.refusal` says what, even where that code catches this."""


class Oracle:
    """Depth-first enumeration of choices.

    `choose` returns the next choice of the current combination. After a run, `advance` moves on to the next
    combination; the caller repeats the run from the same start, and `choose` returns the new choices.

    The enumeration is complete only if a repeated run with the same choices so far makes the same next choice. A run
    that does not is refused: it depends on something that outlives it.

    Lazy tapes and graphs answer only while the oracle is `enabled`. The exploration enables it during `observe` and
    `act`, so a teacher that reads a tape in any other place is refused. While it is `observing`, nothing may change.
    """

    __slots__ = ("choices", "enabled", "observing", "options", "position", "refusal", "repeated")

    def __init__(self):
        self.enabled, self.observing = True, False
        self.choices: list[int] = []  # the current combination
        self.options: list[int] = []  # how many options each of these choices has
        self.position = 0  # how many choices the current run has made
        self.refusal: str | None = None  # what code of the task did, if a proof does not allow it
        self.repeated = 0  # how many choices the current run must make at least: all but the last as the run before

    def outcomes(self, run: Callable[[], T]) -> list[T]:
        """The results of a run, one for each combination of choices. The oracle is enabled during it alone."""
        self.choices, self.options, self.position, self.repeated = [], [], 0, 0
        results: list[T] = []
        self.enabled = True
        try:
            while True:
                results.append(run())
                if len(results) > MAX_OUTCOMES:
                    self.refuse(TOO_MANY)
                if not self.advance():
                    return results
        finally:
            self.enabled = False

    def choose(self, options: int) -> int:
        """A choice from 0 to options - 1."""
        if options == 1:
            return 0
        if self.position == len(self.choices):
            if self.position >= MAX_CHOICES or options > MAX_OUTCOMES:
                self.refuse(TOO_MANY)
            self.choices.append(0)
            self.options.append(options)
        elif self.options[self.position] != options:
            self.refuse(INCONSISTENT)
        self.position += 1
        return self.choices[self.position - 1]

    def refuse(self, why: str) -> Never:
        """End a run because of what code of the task did."""
        self.refusal = self.refusal or why
        raise Refused(why)

    def check_enabled(self) -> None:
        if not self.enabled:
            self.refuse(CONCRETE_ONLY.format("only observe and act may use tapes and graphs"))

    def check_acting(self) -> None:
        """Before an operation that changes a tape or a graph."""
        self.check_enabled()
        if self.observing:
            self.refuse(OBSERVE_CHANGES)

    def refuse_copy(self) -> Never:
        """In place of what copies an object: choices on a copy would not be enumerated."""
        self.refuse(CONCRETE_ONLY.format("no abstract tape or graph can be copied"))

    def advance(self) -> bool:
        """Move on to the next combination; False if all were tried."""
        if self.position < self.repeated:
            self.refuse(INCONSISTENT)
        self.position = 0
        while self.choices and self.choices[-1] + 1 == self.options[-1]:
            self.choices.pop()
            self.options.pop()
        self.repeated = len(self.choices)
        if not self.choices:
            return False
        self.choices[-1] += 1
        return True
