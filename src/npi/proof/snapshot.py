"""A snapshot of names and values: has anything changed since?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from npi.errors import NotProvable

REMEDY = "a proof cannot see it: keep all of the state on tapes and graphs"
MUTABLE = (list, dict, set, bytearray, deque)
CONTAINERS = (*MUTABLE, tuple, frozenset, MappingProxyType)


class Snapshot:
    """What some names are bound to, and what some containers and classes hold.

    owner     whose code would change it, as messages call it
    bound     where each value is bound, its name there, the value, and how messages call it
    contents  each value that can be changed in place, its content, and how messages call it
    classes   each class, with the names of its attributes
    """

    def __init__(self, owner: str):
        self.owner = owner
        self.bound: list[tuple[Mapping[str, Any] | Any, str, Any, str]] = []
        self.contents: list[tuple[Any, tuple[Any, ...], str]] = []
        self.classes: dict[type, frozenset[str]] = {}

    def check(self, bindings: bool = True) -> None:
        """Raise NotProvable if anything has changed. `bindings`: also check that names refer to the same values."""
        for value, content, what in self.contents:
            now = tuple(content_of(value))
            if len(now) != len(content) or any(a is not b for a, b in zip(now, content, strict=True)):
                raise NotProvable(f"{self.owner} changes {what}, where {REMEDY}")
        if not bindings:  # the rules for code allow no change; other code would have to make it
            return
        for cls, names in self.classes.items():
            if vars(cls).keys() != names:
                changed = [name for name in vars(cls).keys() ^ names if not name.startswith("__")]
                if changed:
                    raise NotProvable(f"{self.owner} changes {cls.__name__}.{min(changed)}, where {REMEDY}")
        for place, name, value, what in self.bound:
            if (place.get(name) if isinstance(place, Mapping) else getattr(place, name, None)) is not value:
                raise NotProvable(f"{self.owner} changes {what}, where {REMEDY}")


def content_of(value: Any) -> Iterable[Any]:
    """The parts of a list, a dictionary, a set or a tuple, without calling code of a derived class."""
    if isinstance(value, dict | MappingProxyType):
        kind: Any = dict if isinstance(value, dict) else MappingProxyType
        return (*kind.keys(value), *kind.values(value))
    kinds: tuple[Any, ...] = (list, tuple, bytearray, set, frozenset, deque)
    return next(kind.__iter__(value) for kind in kinds if isinstance(value, kind))
