"""The oracle: chooses what abstract tapes and graphs leave undetermined, and enumerates all combinations of choices."""

from __future__ import annotations


class Oracle:
    """Depth-first enumeration of choices.

    `choose` returns the next choice of the current combination. After a run, `advance` moves on to the next
    combination; the caller repeats the run from the same start, and `choose` returns the new choices.

    Lazy tapes and graphs answer only while the oracle is `enabled`. The exploration enables it during `observe` and
    `act`, so a teacher that reads a tape in any other place is refused.
    """

    __slots__ = ("choices", "enabled", "options", "position")

    def __init__(self):
        self.enabled = True
        self.choices: list[int] = []  # the current combination
        self.options: list[int] = []  # how many options each of these choices has
        self.position = 0  # how many choices the current run has made

    def choose(self, options: int) -> int:
        """A choice from 0 to options - 1."""
        if options == 1:
            return 0
        if self.position == len(self.choices):
            self.choices.append(0)
            self.options.append(options)
        self.position += 1
        return self.choices[self.position - 1]

    def check_enabled(self) -> None:
        if not self.enabled:
            # The exploration reports it like a method that lazy tapes lack.
            raise AttributeError("only observe and act may use tapes and graphs")

    def advance(self) -> bool:
        """Move on to the next combination; False if all were tried."""
        del self.choices[self.position :], self.options[self.position :]
        self.position = 0
        while self.choices and self.choices[-1] + 1 == self.options[-1]:
            self.choices.pop()
            self.options.pop()
        if not self.choices:
            return False
        self.choices[-1] += 1
        return True
