"""Lazy graphs: one sketch that stands for graphs of every size, with the methods of a concrete graph.

A sketch knows the colours of the two vertices that can be seen, or leaves them open until they are looked at, when an
oracle chooses. Of the open vertices it knows that there are so many, and whether below these there may be more. What is
never chosen cannot be: only open vertices are gray, so a child is not, nor is the start vertex while nothing is open.
`docs/proof.md` argues why this covers every graph without cycles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from npi.language.graph import BLACK, GRAY, NONE, WHITE, GraphKind
from npi.proof.oracle import Oracle

NOT_OPEN = (NONE, WHITE, BLACK)  # what a vertex that was not looked at may be


class AbstractGraph(NamedTuple):
    """A lazy graph. While anything is open, the start vertex is gray; while nothing is, there is no child."""

    start: int | None  # its colour; None: any of NOT_OPEN
    child: int | None
    open: int = 0  # how many vertices are known to be open
    more: bool = False  # whether there may be more


class LazyGraph:
    """A graph that stands for many. It has the methods of `Graph` that an environment may use, and no others."""

    __slots__ = ("__child", "__counted", "__more", "__open", "__oracle", "__start")

    def __init__(self, kind: GraphKind, oracle: Oracle, sketch: AbstractGraph):
        self.__counted, self.__oracle = kind.counted, oracle
        self.load(sketch)

    @staticmethod
    def first(kind: GraphKind, oracle: Oracle, chosen: dict[Any, int]) -> AbstractGraph:
        """Every graph at first: it has a vertex, none is open, all are white."""
        return AbstractGraph(WHITE, NONE)

    def load(self, sketch: AbstractGraph) -> None:
        self.__start, self.__child, self.__open, self.__more = sketch

    def sketch(self) -> AbstractGraph:
        return AbstractGraph(self.__start, self.__child, self.__open, self.__more)

    def start(self) -> int:
        self.__oracle.check_open()
        if self.__start is None:
            self.__start = NOT_OPEN[self.__oracle.choose(len(NOT_OPEN))]
        return self.__start

    def child(self) -> int:
        self.__oracle.check_open()
        if self.__child is None:
            self.__child = NOT_OPEN[self.__oracle.choose(len(NOT_OPEN))]
        return self.__child

    def empty(self) -> bool:
        self.__oracle.check_open()
        return not self.__open

    def open_start(self) -> None:
        if self.start() == WHITE:
            self.__start = GRAY
            self.__push()

    def open_child(self) -> None:
        if self.child() == WHITE:
            self.__push()

    def __push(self) -> None:
        self.__child = None
        self.__more = self.__more or self.__open == self.__counted
        self.__open = min(self.__open + 1, self.__counted)

    def next_start(self) -> None:
        self.__oracle.check_open()
        if self.__start != NONE and not self.__open:
            self.__start = None

    def next_child(self) -> None:
        self.__oracle.check_open()
        if self.__child != NONE:
            self.__child = None

    def close(self) -> None:
        self.__oracle.check_open()
        if not self.__open:
            return
        self.__open -= 1
        if not self.__open and self.__more:
            self.__open = self.__oracle.choose(2)  # was it the last?
            self.__more = bool(self.__open)
        if self.__open:
            self.__child = BLACK  # the one below was opened before its child that is now closed
        else:
            self.__start, self.__child = BLACK, NONE  # the last one open is the start vertex
