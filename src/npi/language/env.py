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
    """The world a program acts on. The class name is the identity of its encoder in a model."""

    @classmethod
    @abstractmethod
    def of(cls, problem: Any) -> Env:
        """The environment as it is before a problem is worked on."""

    @abstractmethod
    def observe(self) -> Observation:
        """All that a program may see: a named tuple of `Annotated[int, range(n)]`, and perhaps a Picture at the end."""

    @abstractmethod
    def act(self, first: int, second: int, third: int, /) -> None:
        """Do one thing. Total: what cannot be done, or means nothing, changes nothing and raises nothing."""

    @classmethod
    def tapes(cls) -> tuple[TapeKind | GraphKind, ...]:
        """The tapes and graphs it is made of, in the order in which its constructor takes them, if it keeps nothing
        elsewhere.

        Only then can its programs be proved: the same code runs on tapes that stand for every tape at once.
        """
        return ()

    @classmethod
    def describe(cls, args: tuple[int, ...]) -> str:
        """One action in a reader's words, as the paper's traces show it."""
        return " ".join([ACT, *map(str, args)])

    @classmethod
    def fields(cls) -> dict[str, int]:
        """The name and number of values of each field of the observation, but for a picture."""
        hints = cls._seen()
        return _ranges(cls, "observe", {name: hint for name, hint in hints.items() if hint is not Image})

    @classmethod
    def shows_image(cls) -> bool:
        """Whether the last field of the observation is a picture."""
        pictures = [index for index, hint in enumerate(cls._seen().values()) if hint is Image]
        if pictures and pictures != [len(cls._seen()) - 1]:
            raise TypeError(f"{cls.__name__}.observe: there can be one picture, as the last field")
        return bool(pictures)

    @classmethod
    def label_sizes(cls) -> tuple[int, ...]:
        """How many values each number of its pictures' captions has, where they have any."""
        return ()

    @classmethod
    def _seen(cls) -> dict[str, Any]:
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
    sizes = {}
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
