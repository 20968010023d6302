"""Environments: the worlds that programs observe and act on.

An environment declares its value ranges once, in its annotations:

    class Observation(NamedTuple):
        digit: Annotated[int, range(11)]

    class Pad(Env):
        def observe(self) -> Observation: ...
        def act(self, op: Annotated[int, range(2)], row: ..., value: ...) -> None: ...
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, get_type_hints

from npi.language.graph import GraphKind
from npi.language.image import Image
from npi.language.program import ACT, ARGS, Observation
from npi.language.tape import TapeKind


class Env(ABC):
    """The world that a program observes and acts on.

    A model has one encoder for each environment, stored under the name of the class: a renamed class is a new one.

    >>> from typing import Annotated, NamedTuple
    >>> from npi import Env, Tape, TapeKind
    >>> CELLS = TapeKind(symbols=2)
    >>> class Lamp(NamedTuple):
    ...     on: Annotated[int, range(2)]
    >>> class Lamps(Env):
    ...     def __init__(self, cells: Tape):
    ...         self.cells = cells
    ...     @classmethod
    ...     def of(cls, problem):
    ...         return cls(CELLS.tape(problem))
    ...     @classmethod
    ...     def tapes(cls):
    ...         return (CELLS,)
    ...     def observe(self) -> Lamp:
    ...         return Lamp(self.cells.read())
    ...     def act(self, write: Annotated[int, range(2)], symbol: Annotated[int, range(2)],
    ...             unused: Annotated[int, range(1)]) -> None:
    ...         self.cells.write(symbol) if write else self.cells.move(symbol)
    >>> Lamps.of([1, 0]).observe()
    Lamp(on=1)
    """

    # An environment changes, so nothing may be remembered by it: a cache would answer for a state that is gone.
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"  # without the object's address: nothing may be decided by it

    @classmethod
    @abstractmethod
    def of(cls, problem: Any) -> Env:
        """The environment at the start of a problem."""

    @abstractmethod
    def observe(self) -> Observation:
        """All that a program sees: a named tuple of `Annotated[int, range(n)]`; the last field may be an Image."""

    @abstractmethod
    def act(self, first: int, second: int, third: int, /) -> None:
        """Perform one action. It must be total: an impossible or meaningless action changes nothing."""

    @classmethod
    def tapes(cls) -> tuple[TapeKind | GraphKind, ...]:
        """The tapes and graphs that hold all state of the environment, in the order of the constructor's arguments.

        Programs can be proved only on environments that declare them: a proof runs the same code on abstract tapes.
        """
        return ()

    @classmethod
    def describe(cls, args: tuple[int, ...]) -> str:
        """An action as text, for call trees; by default ACT and the three arguments."""
        return " ".join([ACT, *map(str, args)])

    @classmethod
    def fields(cls) -> dict[str, int]:
        """The name of each field of the observation, except an image, and its number of values."""
        hints = cls._field_hints()
        return _ranges(cls, "observe", {name: hint for name, hint in hints.items() if hint is not Image})

    @classmethod
    def shows_image(cls) -> bool:
        """Whether the last field of the observation is an image."""
        hints = list(cls._field_hints().values())
        images = [index for index, hint in enumerate(hints) if hint is Image]
        if images and images != [len(hints) - 1]:
            raise TypeError(f"{cls.__name__}.observe: there can be one image, as the last field")
        return bool(images)

    @classmethod
    def label_sizes(cls) -> tuple[int, ...]:
        """The number of classes of each auxiliary label of its images, if they have labels."""
        return ()

    @classmethod
    def _field_hints(cls) -> dict[str, Any]:
        """The annotation of each field of the observation."""
        observation = get_type_hints(cls.observe, include_extras=True).get("return")
        return get_type_hints(observation, include_extras=True) if observation is not None else {}

    @classmethod
    def argument_sizes(cls) -> tuple[int, ...]:
        """The number of values of each of the three arguments of `act`."""
        hints = get_type_hints(cls.act, include_extras=True)
        names = [name for name in inspect.signature(cls.act).parameters if name != "self"]
        if len(names) != ARGS:
            raise TypeError(f"{cls.__name__}.act takes {len(names)} arguments, but must take {ARGS}")
        return tuple(_ranges(cls, "act", {name: hints.get(name) for name in names}).values())


def _ranges(cls: type, method: str, hints: dict[str, Any]) -> dict[str, int]:
    """The number of values that each annotation declares; `cls` and `method` are for the error."""
    sizes: dict[str, int] = {}
    for name, hint in hints.items():
        found = [m for m in getattr(hint, "__metadata__", ()) if isinstance(m, range)]
        if not found or found[0] != range(len(found[0])) or not len(found[0]):
            raise TypeError(
                f"{cls.__name__}.{method}: {name} needs a range from 0, as in Annotated[int, range(10)]; it has {hint}"
            )
        sizes[name] = len(found[0])
    if not sizes:
        raise TypeError(f"{cls.__name__}.{method} declares nothing: annotate what it returns with a NamedTuple")
    return sizes
