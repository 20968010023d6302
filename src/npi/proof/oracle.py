"""The oracle: goes through every way in which abstract tapes and graphs can be completed."""

from __future__ import annotations


class Oracle:
    """Chooses; `advance` goes to the next of all ways to choose, depth first.

    Tapes and graphs answer while it is `open`.
    """

    __slots__ = ("at", "open", "options", "path")

    def __init__(self):
        self.open = True
        self.path: list[int] = []
        self.options: list[int] = []
        self.at = 0

    def choose(self, options: int) -> int:
        if options == 1:
            return 0
        if self.at == len(self.path):
            self.path.append(0)
            self.options.append(options)
        self.at += 1
        return self.path[self.at - 1]

    def check_open(self) -> None:
        if not self.open:
            raise AttributeError("tapes and graphs are looked at by observe and act alone")

    def advance(self) -> bool:
        """Whether there is another way; the next run takes it."""
        del self.path[self.at :], self.options[self.at :]
        self.at = 0
        while self.path and self.path[-1] + 1 == self.options[-1]:
            self.path.pop()
            self.options.pop()
        if not self.path:
            return False
        self.path[-1] += 1
        return True
