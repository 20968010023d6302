"""Acyclic graphs for tests."""

from graphlib import CycleError, TopologicalSorter
from itertools import compress, permutations, product

from hypothesis import strategies as st

from npi import GraphKind

OPERATIONS = ["open_start", "open_child", "next_start", "next_child", "close"]


def acyclic(pairs):
    """A graph of five vertices whose edges are these pairs, each from the smaller to the larger."""
    children = {vertex: [] for vertex in (3, 0, 4, 1, 2)}  # in an order that is not that of the edges
    for one, other in pairs:
        if one != other:
            children[min(one, other)].append(max(one, other))
    return GraphKind().graph(children.items())


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12)


def graphs(most):
    """Every graph without cycles of so many vertices or fewer, with children in the order listed and against it."""
    for size in range(1, most + 1):
        names = "abcdef"[:size]
        pairs = list(permutations(names, 2))
        for chosen in product((False, True), repeat=len(pairs)):
            edges = list(compress(pairs, chosen))
            children = {name: tuple(after for before, after in edges if before == name) for name in names}
            try:
                TopologicalSorter(children).prepare()
            except CycleError:
                continue
            yield tuple(children.items())
            yield tuple((name, found[::-1]) for name, found in children.items())
