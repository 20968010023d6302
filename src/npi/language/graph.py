"""Graphs: vertices and their children, searched depth first, as the memory of an environment.

An environment opens vertices, closes them and moves to others. It sees colours only: WHITE is a vertex that was not
opened yet, GRAY an open one, BLACK a closed one, and NONE means that there is no vertex. It never sees which vertex
that is, nor how many there are. So the same environment code also runs on an abstract graph, which stands for graphs of
every size: that is how programs are proved.

A search may begin at any vertex. The start vertex is the one that it begins at now: initially the first vertex
listed, then the others in their order. The open vertices form a stack, with the start vertex at the bottom; each of
them keeps the place of its next child. So the start vertex is gray while any vertex is open, and in a graph without
cycles no child is gray.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

NONE, WHITE, GRAY, BLACK = COLOURS = range(4)
CYCLE_ENDS = 10  # an error names so many vertices at the start of a cycle, and so many at its end


@dataclass(frozen=True)
class GraphKind:
    """What is known of a graph before any colour is observed: it has a vertex, and no cycle.

    counted  for a proof: how many open vertices an abstract graph counts; above that it knows "perhaps more" only. A
             larger number is never wrong, but a proof then has more abstract states to explore

    >>> from npi import GraphKind
    >>> graph = GraphKind().graph([("shirt", ["tie"]), ("tie", [])])
    >>> graph.empty()
    True
    """

    counted: int = 2

    def __post_init__(self) -> None:
        if type(self.counted) is not int or self.counted < 1:
            raise ValueError(
                f"counted is {self.counted!r}, but must be a whole number of at least 1: programs see if any vertex is "
                f"open"
            )

    def graph(self, vertices: Iterable[tuple[Hashable, Iterable[Hashable]]]) -> Graph:
        """A graph of this kind: every vertex with its children, in the order in which they are visited."""
        return Graph(vertices)


class Graph:
    """A concrete graph. An action that is impossible, such as opening a vertex that is not white, changes nothing.

    >>> from npi import Graph
    >>> graph = Graph([("shirt", ["tie"]), ("tie", [])])
    >>> graph.open_start(); graph.open_child(); graph.close(); graph.close()
    >>> graph.order()
    ['shirt', 'tie']
    """

    # Names with two leading underscores, and no methods that an abstract graph could not have: see the comment in Tape.
    __slots__ = ("__children", "__closed", "__colours", "__open", "__start", "__vertices")
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # see the comment in Env

    def __init__(self, vertices: Iterable[tuple[Hashable, Iterable[Hashable]]]):
        listed = [(vertex, tuple(children)) for vertex, children in vertices]
        self.__children = dict(listed)
        if not listed:
            raise ValueError("a graph needs at least one vertex")
        if len(listed) > len(self.__children):
            raise ValueError("a vertex is listed twice")
        for vertex, children in listed:
            for child in children:
                if child not in self.__children:
                    raise ValueError(f"{child}, a child of {vertex}, is not among the vertices")
        try:
            TopologicalSorter(self.__children).prepare()
        except CycleError as error:
            raise ValueError(f"{_arrows(error.args[1][::-1])} is a cycle") from error
        self.__vertices = list(self.__children)
        self.__colours = dict.fromkeys(self.__vertices, WHITE)
        self.__start = 0
        self.__open: list[tuple[Hashable, int]] = []  # each with the place of its next child
        self.__closed: list[Hashable] = []

    def start(self) -> int:
        """The colour of the start vertex, or NONE past the last."""
        return self.__colour(self.__vertices, self.__start)

    def child(self) -> int:
        """The colour of the next child of the vertex opened last, or NONE past the last; NONE if no vertex is open."""
        if not self.__open:
            return NONE
        vertex, place = self.__open[-1]
        return self.__colour(self.__children[vertex], place)

    def __colour(self, among: list[Hashable] | tuple[Hashable, ...], place: int) -> int:
        return self.__colours[among[place]] if place < len(among) else NONE

    def empty(self) -> bool:
        """Whether no vertex is open."""
        return not self.__open

    def open_start(self) -> None:
        """Open the start vertex, if it is white; no other vertex is open then."""
        if self.start() == WHITE:
            self.__push(self.__vertices[self.__start])

    def open_child(self) -> None:
        """Open the next child, if it is white."""
        if self.child() == WHITE:
            vertex, place = self.__open[-1]
            self.__push(self.__children[vertex][place])

    def __push(self, vertex: Hashable) -> None:
        self.__colours[vertex] = GRAY
        self.__open.append((vertex, 0))

    def next_start(self) -> None:
        """Move to the next start vertex, if no vertex is open."""
        if self.start() != NONE and not self.__open:
            self.__start += 1

    def next_child(self) -> None:
        """Move to the next child of the vertex opened last."""
        if self.child() != NONE:
            vertex, place = self.__open[-1]
            self.__open[-1] = (vertex, place + 1)

    def close(self) -> None:
        """Close the vertex opened last, and put it in front of all vertices closed before."""
        if self.__open:
            vertex, _ = self.__open.pop()
            self.__colours[vertex] = BLACK
            self.__closed.append(vertex)

    def start_fault(self, kind: GraphKind) -> str:
        """How this graph, at the start of a problem, differs from a graph of a kind; empty if it does not."""
        fresh = self.__start == 0 and all(colour == WHITE for colour in self.__colours.values())
        return "" if fresh else "is a graph whose search has begun already"

    def order(self) -> list[Hashable]:
        """The closed vertices, the one closed last in front: for reading a result, never for `observe` or `act`."""
        return self.__closed[::-1]


def _arrows(cycle: list[Hashable]) -> str:
    """A cycle as text. Of a long one, only the first and last vertices."""
    words = [str(vertex) for vertex in cycle]
    if len(words) > 2 * CYCLE_ENDS:
        words[CYCLE_ENDS:-CYCLE_ENDS] = [f"... ({len(words) - 2 * CYCLE_ENDS:,} more) ..."]
    return " -> ".join(words)
