"""Lazy graphs: one abstract graph stands for graphs of every size, with the methods of a concrete graph.

An environment sees two vertices of a graph: the start vertex and the next child. An abstract graph holds the colour of
each, or leaves it undetermined until an operation needs it; then an oracle chooses. It counts open vertices up to a
limit, and notes whether there may be more. An undetermined colour is never gray: gray vertices are the open ones, the
next child is never open where there are no cycles, and the start vertex is known to be gray while any vertex is open.
`docs/proof.md` argues why this covers every graph without cycles.
"""

from __future__ import annotations

from typing import NamedTuple, Never

from npi.language.graph import BLACK, COLOURS, GRAY, NONE, WHITE, Graph, GraphKind
from npi.proof.oracle import CONCRETE_ONLY, Oracle

POSSIBLE_COLOURS = (NONE, WHITE, BLACK)  # of a vertex whose colour is undetermined


class AbstractGraph(NamedTuple):
    """The abstract state of a lazy graph. While a vertex is open, `start` is GRAY; while none is, `child` is NONE."""

    start: int | None  # colour of the start vertex; None: any of POSSIBLE_COLOURS
    child: int | None  # colour of the next child; None: any of POSSIBLE_COLOURS
    open_vertices: int = 0  # how many vertices are certainly open
    maybe_more: bool = False  # whether more may be open

    def fits(self, kind: GraphKind) -> bool:
        """Whether this is an abstract graph of a kind, with values of the right types: tables are read from files."""
        colours = (self.start, self.child)
        return (
            all(colour is None or (type(colour) is int and colour in COLOURS) for colour in colours)
            and type(self.open_vertices) is int
            and 0 <= self.open_vertices <= kind.counted
            and type(self.maybe_more) is bool
        )


class LazyGraph:
    """A graph that stands for many. It has the methods of `Graph` that an environment may use, and no others."""

    __slots__ = ("__child", "__counted", "__maybe_more", "__open", "__oracle", "__start")
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # see the comment in Env

    def __init__(self, kind: GraphKind, oracle: Oracle, state: AbstractGraph):
        self.__counted, self.__oracle = kind.counted, oracle
        self.load_abstract(state)

    def __getattr__(self, name: str) -> Never:
        if name.startswith("__") and name.endswith("__"):  # Python itself asks for these
            raise AttributeError(name)
        self.__oracle.refuse(CONCRETE_ONLY.format(f"no abstract graph has {name!r}"))

    @property  # so that `isinstance` cannot tell it from a concrete one
    def __class__(self) -> type:  # pyright: ignore
        return Graph

    def __repr__(self) -> Never:
        self.__oracle.refuse(CONCRETE_ONLY.format("no abstract graph can be shown as text"))

    def __dir__(self) -> Never:
        self.__oracle.refuse(CONCRETE_ONLY.format("no abstract graph lists its names"))

    def __copy__(self) -> Never:
        self.__oracle.refuse_copy()

    def __deepcopy__(self, memo: object) -> Never:
        self.__oracle.refuse_copy()

    def __reduce_ex__(self, protocol: object) -> Never:
        self.__oracle.refuse_copy()

    @staticmethod
    def abstract_start(kind: GraphKind, oracle: Oracle, lengths: dict[int, int], measure: int) -> AbstractGraph:
        """The abstract graph of every problem: there is a start vertex, all vertices are white, and none is open."""
        return AbstractGraph(WHITE, NONE)

    def load_abstract(self, state: AbstractGraph) -> None:
        self.__start, self.__child, self.__open, self.__maybe_more = state

    def abstract_state(self) -> AbstractGraph:
        """The abstract state: all that is known now."""
        return AbstractGraph(self.__start, self.__child, self.__open, self.__maybe_more)

    def abstract_remembered(self) -> AbstractGraph:
        """The abstract state that a proof keeps: nothing is forgotten, since there are few abstract graphs."""
        return self.abstract_state()

    def start(self) -> int:
        self.__oracle.check_enabled()
        if self.__start is None:
            self.__start = POSSIBLE_COLOURS[self.__oracle.choose(len(POSSIBLE_COLOURS))]
        return self.__start

    def child(self) -> int:
        self.__oracle.check_enabled()
        if self.__child is None:
            self.__child = POSSIBLE_COLOURS[self.__oracle.choose(len(POSSIBLE_COLOURS))]
        return self.__child

    def empty(self) -> bool:
        self.__oracle.check_enabled()
        return not self.__open

    def open_start(self) -> None:
        self.__oracle.check_acting()
        if self.start() == WHITE:
            self.__start = GRAY
            self.__push()

    def open_child(self) -> None:
        self.__oracle.check_acting()
        if self.child() == WHITE:
            self.__push()

    def __push(self) -> None:
        self.__child = None
        self.__maybe_more = self.__maybe_more or self.__open == self.__counted
        self.__open = min(self.__open + 1, self.__counted)

    def next_start(self) -> None:
        self.__oracle.check_acting()
        if self.__start != NONE and not self.__open:
            self.__start = None

    def next_child(self) -> None:
        self.__oracle.check_acting()
        if self.__child != NONE:
            self.__child = None

    def close(self) -> None:
        self.__oracle.check_acting()
        if not self.__open:
            return
        self.__open -= 1
        if not self.__open and self.__maybe_more:
            self.__open = self.__oracle.choose(2)  # whether another vertex is still open
            self.__maybe_more = bool(self.__open)
        if self.__open:
            self.__child = BLACK  # the closed vertex is the next child of its parent, which is now the last open one
        else:
            self.__start, self.__child = BLACK, NONE  # the closed vertex is the start vertex


LazyGraph.__name__ = Graph.__name__  # Python's own errors name the type
