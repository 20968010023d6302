"""Abstract environments: the environment of a task, run on lazy tapes and graphs.

An abstract state stands for a set of concrete ones. From it, `observe` gives every observation that one of these may
show, and `act` every abstract state to which an action may lead. The environment's own code computes both: it runs once
for each combination of the oracle's choices. `docs/proof.md` argues why this covers every concrete environment.

Abstract states are numbered in the order in which they are found, and each answer is computed once.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeAlias

from npi.errors import NotProvable
from npi.language.env import Env
from npi.language.graph import GraphKind
from npi.language.program import Observation, Program, handle_calls
from npi.language.tape import TapeKind
from npi.proof.hidden_state import Watch
from npi.proof.lazy_graph import AbstractGraph, LazyGraph
from npi.proof.lazy_tape import AbstractTape, LazyTape
from npi.proof.oracle import CONCRETE_ONLY, EXPLORATION_METHODS, Oracle, Refused, Signal
from npi.proof.snapshot import REMEDY

AbstractState: TypeAlias = tuple[AbstractTape | AbstractGraph, ...]  # one for each kind that the environment lists
PROOF = Path(__file__).parent
LAZY_CLASSES: dict[type, Any] = {TapeKind: LazyTape, GraphKind: LazyGraph}


class AbstractEnv:
    """An environment on lazy tapes and graphs.

    parts    every abstract tape and graph found, by number
    states   every abstract state found, by number: the numbers of its tapes and graphs
    initial  the numbers of the abstract states in which problems start
    """

    def __init__(self, env: type[Env]):
        self.env_class, self.oracle = env, Oracle()
        self.kinds: tuple[TapeKind | GraphKind, ...] = self.guarded(env.tapes)
        if not (isinstance(self.kinds, tuple) and all(type(kind) in LAZY_CLASSES for kind in self.kinds)):
            raise NotProvable(
                f"{env.__name__}.tapes() returns {self.kinds!r}, but must return a tuple of TapeKind and GraphKind: "
                f"for one kind, write (KIND,)"
            )
        if not self.kinds:
            raise NotProvable(
                f"{env.__name__} does not declare its tapes, so its programs cannot be proved: keep all of its state "
                f"on tapes and graphs, and list their kinds in a classmethod `tapes` (docs/proof.md)"
            )
        # Environments have many abstract states and few abstract tapes, so a state is a tuple of numbers of tapes.
        self.parts: list[AbstractTape | AbstractGraph] = []
        self.states: list[tuple[int, ...]] = []
        self._part_numbers: dict[AbstractTape | AbstractGraph, int] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._observed: dict[int, list[tuple[Observation, int]]] = {}
        self._acted: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        self._forgotten: dict[int, int] = {}
        self._forms: dict[Observation, tuple[type, ...]] = {}  # the types of each observation and of its fields
        self._forgotten_parts: dict[tuple[int, int], int] = {}  # by place in a state, and number of the part
        try:
            self.fields = env.fields()
        except TypeError as error:
            raise NotProvable(f"{error}") from error
        measures = [self.measure(number) for number in range(len(self.kinds))]

        def start() -> AbstractState:
            lengths: dict[int, int] = {}
            return tuple(
                LAZY_CLASSES[type(kind)].abstract_start(kind, self.oracle, lengths, measure)
                for kind, measure in zip(self.kinds, measures, strict=True)
            )

        self.watch = Watch(env.__name__, env)
        self.watch.add_class(env)
        starts = self.oracle.outcomes(start)
        self.structures = [
            LAZY_CLASSES[type(kind)](kind, self.oracle, part) for kind, part in zip(self.kinds, starts[0], strict=True)
        ]
        make: Any = env
        count, name = len(self.kinds), env.__name__
        try:
            inspect.signature(make).bind(*self.structures)
        except TypeError as error:
            raise NotProvable(
                f"{name}.tapes() lists {count} tapes and graphs, so {name} must take {count} arguments: {error}"
            ) from error
        self.env: Env = self.guarded(lambda: make(*self.structures))
        self.attributes = dict(vars(self.env))
        self._check_attributes()
        self.initial = list(dict.fromkeys(self.forget(self.number(state)) for state in starts))

    def state(self, number: int) -> AbstractState:
        """An abstract state by its number."""
        return tuple(self.parts[part] for part in self.states[number])

    def number(self, state: Iterable[AbstractTape | AbstractGraph]) -> int:
        """The number of an abstract state."""
        return self._number(tuple(map(self._part_number, state)))

    def observe(self, state: int) -> list[tuple[Observation, int]]:
        """Every observation that an abstract state may show, each with what is known of the state afterwards."""
        found = self._observed.get(state)
        if found is None:
            self.oracle.observing = True
            try:
                found = self._observed[state] = self._outcomes(state, self.env.observe)
            finally:
                self.oracle.observing = False
            for shown, _ in found:
                self.check_form(shown)
        return found

    def check_form(self, shown: Observation) -> None:
        """Refuse observations that are equal and not the same, such as 1 and True: a proof takes one for the other."""
        name = self.env_class.__name__
        if not _is_plain_tuple(type(shown)):
            raise NotProvable(
                f"{name}.observe returns a {type(shown).__name__}, but must return a named tuple without methods that "
                f"compare it and without attributes beside its fields"
            )
        form = (type(shown), *map(type, shown))
        with suppress(TypeError):  # of what cannot be a key; it is no number either
            if self._forms.get(shown) == form:
                return
        for (field, size), value in zip(self.fields.items(), shown, strict=False):
            if not is_plain_number(value):
                raise NotProvable(
                    f"{name}.observe returns {field} = {_text(value)}, but must return an int: use int(...)"
                )
            if not 0 <= value < size:
                raise NotProvable(
                    f"{name}.observe returns {field} = {value!r}, outside its declared range 0..{size - 1}, in a state "
                    f"that abstract tapes allow. If no problem reaches it, let observe return a number in the range"
                )
        if len(shown) != len(self.fields):
            raise NotProvable(
                f"{name}.observe returns {len(shown)} fields and declares {len(self.fields)}: annotate every field"
            )
        if self._forms.setdefault(shown, form) == form:
            return
        raise NotProvable(
            f"{name}.observe returns {_form_text(shown, form)} here and {_form_text(shown, self._forms[shown])} there: "
            f"they are equal, but a teacher can tell them apart. Return values of one type"
        )

    def act(self, state: int, args: tuple[int, ...]) -> list[int]:
        """Every abstract state to which an action may lead, without what is then too far from every head."""
        found = self._acted.get((state, args))
        if found is None:
            outcomes = self._outcomes(state, lambda: self.env.act(*args))
            found = self._acted[state, args] = list(dict.fromkeys(self.forget(after) for _, after in outcomes))
        return found

    def forget(self, state: int) -> int:
        """An abstract state without the cells and symbols that are too far from every head."""
        found = self._forgotten.get(state)
        if found is None:
            parts = tuple([self._forget_part(place, part) for place, part in enumerate(self.states[state])])
            found = self._forgotten[state] = self._number(parts)
        return found

    def _forget_part(self, place: int, part: int) -> int:
        found = self._forgotten_parts.get((place, part))
        if found is None:
            structure = self.structures[place]
            structure.load_abstract(self.parts[part])
            found = self._forgotten_parts[place, part] = self._part_number(structure.abstract_remembered())
        return found

    def _outcomes(self, state: int, run: Callable[[], Any]) -> list[tuple[Any, int]]:
        numbers, parts, structures = self.states[state], self.parts, self.structures

        def outcome() -> tuple[Any, int]:
            for structure, number in zip(structures, numbers, strict=True):
                structure.load_abstract(parts[number])
            shown = run()
            if vars(self.env) != self.attributes or type(self.env) is not self.env_class:
                changed = sorted(vars(self.env).keys() ^ self.attributes.keys()) or ["an attribute"]
                raise NotProvable(
                    f"{self.env_class.__name__} changes {', '.join(changed)} beside its tapes, where {REMEDY}"
                )
            after = []
            for structure, number in zip(structures, numbers, strict=True):
                part = structure.abstract_state()
                after.append(number if part is parts[number] else self._part_number(part))
            return shown, self._number(tuple(after))

        with handle_calls(self):
            found = self.guarded(lambda: self.oracle.outcomes(outcome))
        self.watch.check(bindings=False)
        return found

    def call(self, program: Program, args: tuple[int, ...]) -> None:
        """Take a call of a program that `observe` or `act` makes: a run would take it for a decision."""
        raise NotProvable(
            f"{self.env_class.__name__} calls the program {program.name} in observe or act: only programs call programs"
        )

    def _part_number(self, part: AbstractTape | AbstractGraph) -> int:
        number = self._part_numbers.setdefault(part, len(self.parts))
        if number == len(self.parts):
            self.parts.append(part)
        return number

    def _number(self, state: tuple[int, ...]) -> int:
        number = self._numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
        return number

    def measure(self, number: int) -> int:
        """The number of the tape whose length a tape has: its own, unless it is declared to be as long as another."""
        other = getattr(self.kinds[number], "length_of", None)
        if other is None:
            return number
        candidates = [index for index, kind in enumerate(self.kinds) if kind == other]
        if len(candidates) != 1:
            raise NotProvable(
                f"{self.env_class.__name__} declares a tape as long as another kind of tape, of which it declares "
                f"{len(candidates)}: give length_of a kind that exactly one of its tapes has"
            )
        return self.measure(candidates[0])

    def guarded(self, run: Callable[[], Any]) -> Any:
        """Run code of the task; what it cannot do on abstract tapes, and its mistakes, are reasons against a proof."""
        name = self.env_class.__name__
        self.oracle.refusal, place = None, ""
        try:
            result = run()
        except Refused as refused:
            result, place = None, _place_in_task(refused)
        except (NotProvable, Signal, KeyboardInterrupt):
            raise
        except BaseException as error:
            *_, place = traceback.extract_tb(error.__traceback__)
            raise NotProvable(
                f"the code of {name} or of its teacher fails in {place.name} ({place.filename}:{place.lineno}): "
                f"{type(error).__name__}: {error}. This is a mistake, or it happens in a state that no problem reaches "
                f"and abstract tapes cannot exclude; npi check shows the first, and code that never fails avoids the "
                f"second. (Programs cannot be left by an error: each has frames of its own.)"
            ) from error
        finally:
            if self.oracle.refusal:
                why = self.oracle.refusal
                remedy = ""
                if "may use" in why:
                    remedy = ": programs call act(env, ...), never env.act(...), and read nothing that observe hides"
                elif why.startswith(CONCRETE_ONLY[:20]):
                    remedy = f": use {self._structure_methods()} alone"
                raise NotProvable(f"{name}: {why}{place}{remedy}")
        return result

    def _structure_methods(self) -> str:
        """The methods of tapes and graphs that an environment may use."""
        lazy = [LAZY_CLASSES[type(kind)] for kind in self.kinds]
        names = dict.fromkeys(name for one in lazy for name in vars(one) if name not in EXPLORATION_METHODS)
        return ", ".join(name for name in names if not name.startswith("_"))

    def _check_attributes(self) -> None:
        """Refuse an environment that keeps anything but its tapes and graphs in its attributes."""
        name = self.env_class.__name__
        if slots := [c.__name__ for c in self.env_class.__mro__ if vars(c).get("__slots__")]:
            raise NotProvable(
                f"{slots[0]} declares __slots__, where {name} could keep state that a proof cannot see: use attributes"
            )
        if (self.env_class.__basicsize__, self.env_class.__itemsize__) != (Env.__basicsize__, Env.__itemsize__):
            raise NotProvable(
                f"{name} derives from a built-in type, which could keep state that a proof cannot see: derive from Env "
                f"alone"
            )
        for attribute, value in self.attributes.items():
            if isinstance(value, tuple) and not _is_plain_tuple(type(value)):
                raise NotProvable(
                    f"{name} keeps {attribute} in a {type(value).__name__}, a tuple that could keep state of its own: "
                    f"use a plain tuple of tapes"
                )
            if not all(any(part is structure for structure in self.structures) for part in _parts(value)):
                remedy = "tapes may be in attributes of their own and in tuples, constants in the class or its module"
                raise NotProvable(
                    f"{name} keeps {attribute} = {_text(value)} beside its tapes, where {REMEDY}; {remedy}"
                )

    def concrete_structures(self, env: Any) -> list[Any] | None:
        """The tapes and graphs of a concrete environment, in the order of the declared kinds.

        They are found in the attributes in which the abstract environment keeps its own; None: it has other attributes.
        """
        if vars(env).keys() != self.attributes.keys():
            return None
        found: dict[int, Any] = {}
        for name, value in self.attributes.items():
            concrete = vars(env)[name]
            if isinstance(value, tuple) != isinstance(concrete, tuple) or len(_parts(value)) != len(_parts(concrete)):
                return None
            for part, there in zip(_parts(value), _parts(concrete), strict=True):
                number = next(n for n, structure in enumerate(self.structures) if structure is part)
                if found.setdefault(number, there) is not there:
                    return None
        return [found.get(number) for number in range(len(self.structures))]


def _place_in_task(refused: Refused) -> str:
    """The function of a task that did what is refused, and the one in which it was called."""
    lines = [line for line in traceback.extract_tb(refused.__traceback__) if PROOF not in Path(line.filename).parents]
    lines = [line for line in lines if Path(line.filename).parent != PROOF.parent / "language"]
    places = dict.fromkeys(f"{line.name} ({line.filename}:{line.lineno})" for line in reversed(lines))
    return f", in {', called from '.join([*places][:: max(1, len(places) - 1)])}" if places else ""


def _is_plain_tuple(kind: type) -> bool:
    """Whether values of a type are tuples that compare as tuples do and hold nothing else."""
    names = ("__eq__", "__hash__", "__iter__", "__getitem__", "__len__", "__contains__")
    return (
        issubclass(kind, tuple)
        and kind.__dictoffset__ == 0
        and kind.__basicsize__ == tuple.__basicsize__
        and all(getattr(kind, name) is getattr(tuple, name) for name in names)
    )


def is_plain_number(value: Any) -> bool:
    """Whether a value is an integer that compares as integers do and holds nothing else."""
    if type(value) in (int, bool):
        return True
    kind = type(value)
    plain = isinstance(value, IntEnum) and kind.__eq__ is int.__eq__ and kind.__hash__ is int.__hash__
    return plain and value is kind(int(value))  # and not one that only equals the member of the enumeration


def _text(value: Any) -> str:
    """A value as a message shows it, even if it cannot show itself."""
    try:
        return repr(value)
    except (Exception, Signal):
        return f"a {type(value).__name__}"


def _form_text(shown: Observation, form: Sequence[type]) -> str:
    fields = ", ".join(f"{value!r} ({kind.__name__})" for value, kind in zip(shown, form[1:], strict=True))
    return f"{form[0].__name__}({fields})"


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
