"""Bodies of functions: all histories of one program, written as lines and choices.

All histories are followed at once. As long as they decide alike, that is a line, and nothing is observed; where they
part, a condition on what was observed is looked for (formula.py), and both sides are followed. They are joined again
where the same lines follow on both up to the end, or up to another choice, if one choice for both is shorter than two.

place   a point between two lines, at which a function may look at the environment; place 0 is its arguments
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from npi.language.program import ARGS, Call, Decision
from npi.proof.formula import Column, Formula, conditions, lookup, value
from npi.proof.program_table import TableState

PARAMETERS = ("first", "second", "third")
LOOK = re.compile(r"@(\d+)")  # in a line: what was observed in a place
JOINS = 10  # tried in one function: for each, all that follows is written once more


class Look(NamedTuple):
    place: int


class Do(NamedTuple):
    text: str


class If(NamedTuple):
    holds: Formula
    fails: Formula
    yes: Code
    no: Code


Code: TypeAlias = "tuple[Look | Do | If, ...]"
Field: TypeAlias = tuple[int, Callable[[int], str]]  # how many values it has, and what they are called


class Way(NamedTuple):
    """A history: what was observed in each place so far, what is decided then, and the state after that."""

    observation: tuple[tuple[int, ...], ...]
    decision: Decision
    after: TableState | None


class Front(NamedTuple):
    """How far ways have come together."""

    ways: list[Way]
    places: tuple[int, ...]  # that they came through
    used: frozenset[int]  # those of them that a line or a choice before this has looked at


Group: TypeAlias = tuple[str | None, list[Way]]  # a line, or None to return, and the ways that go on by it


class Blind(Exception):
    """What was observed does not tell apart ways that part."""


class Body:
    """Writes one function."""

    def __init__(
        self,
        fields: Mapping[str, Field],
        line: Callable[[Call, int | None, str], str],  # a call as text, in which one argument may be a formula
        constant: Callable[[object], str],  # the name of a constant
    ):
        self.fields, self.line, self.constant = fields, line, constant
        self.last, self.joins = 1, 0

    def write(self, ways: list[Way]) -> Code:
        """The code of ways that have their arguments and a first observation."""
        return (Look(1), *self.block(Front(ways, (0, 1), frozenset([0]))))

    def block(self, front: Front) -> Code:
        steps, front, groups = self.straight(front)
        return (*_code(steps), *self.branch(front, groups))

    def place(self) -> int:
        self.last += 1
        return self.last

    def straight(self, front: Front) -> tuple[list[tuple[str, int]], Front, list[Group]]:
        """The lines until the ways part or return, each with the place after it; and the groups in which they part."""
        steps: list[tuple[str, int]] = []
        while True:
            groups = self.groups(front)
            if len(groups) > 1:
                return steps, front, groups
            ((text, ways),) = groups
            if text is None:
                return steps, front, []
            steps.append((text, self.place()))
            ways = [
                Way((*way.observation, observation), *answer)
                for way in ways
                for observation, answer in (way.after or {}).items()
            ]
            front = Front(ways, (*front.places, self.last), front.used | looks(text))

    def groups(self, front: Front) -> list[Group]:
        """The ways by what they do next; calls that differ in one argument are alike if a formula says which it is."""
        by: dict[Decision, list[Way]] = {}
        for way in front.ways:
            by.setdefault(way.decision, []).append(way)
        groups: list[Group] = []
        for varied in range(ARGS) if len(by) > 1 else ():
            families: dict[tuple[Any, ...], list[Call]] = {}
            for call in by:
                if call is not None:
                    families.setdefault((call.program, call.args[:varied], call.args[varied + 1 :]), []).append(call)
            for family in families.values():
                ways = [way for call in family for way in by[call]]
                text = self.argument(front._replace(ways=ways), varied, len(family)) if len(family) > 1 else None
                if text is not None:
                    groups.append((self.line(family[0], varied, text), ways))
                    by = {decision: some for decision, some in by.items() if decision not in family}
        return groups + [(None if call is None else self.line(call, None, ""), some) for call, some in by.items()]

    def argument(self, front: Front, varied: int, calls: int) -> str | None:
        """A formula for an argument that varies, where it is easier to read than choices between so many calls."""
        tables = list(self.tables(front, [way.decision.args[varied] for way in front.ways if way.decision]))
        for columns, wanted in tables:
            found = value(columns, wanted)
            if found is not None and (calls > 2 or found.cost <= 2):
                return found.text
        if calls > 3 and tables:
            key, table = lookup(*tables[0])
            return f"{self.constant(table)}[{key.text}]"
        return None

    def tables(self, front: Front, wanted: Sequence[Any]) -> Iterator[tuple[list[Column], list[Any]]]:
        """What was observed and what is wanted then, where the one follows from the other.

        Looked at are the places used before; with them, the last one; and all, only if it must be.
        """
        ways, places, used = front
        last, every = used | {places[-1]}, frozenset(places)
        found = False
        for shown in dict.fromkeys((used & every, last & every, every)):
            if found and shown not in (used & every, last & every):
                return
            indices = [index for index, place in enumerate(places) if place in shown]
            rows: dict[tuple[tuple[int, ...], ...], Any] = {}
            if all(
                rows.setdefault(tuple([way.observation[index] for index in indices]), want) == want
                for way, want in zip(ways, wanted, strict=True)
            ):
                found = True
                observation = zip(indices, zip(*rows, strict=True), strict=True)
                columns = [column for index, values in observation for column in self.columns(places[index], values)]
                yield columns, list(rows.values())

    def columns(self, place: int, observation: Iterable[tuple[int, ...]]) -> Iterator[Column]:
        columns = list(zip(*observation, strict=True))
        if place == 0:
            for name, values in zip(PARAMETERS, columns, strict=False):
                yield Column(name, values, max(3, 1 + max(values)))
        else:
            for (name, (size, called)), values in zip(self.fields.items(), columns, strict=True):
                yield Column(f"@{place}.{name}", values, size, called)

    def branch(self, front: Front, groups: list[Group]) -> Code:
        """A choice between groups, and all that follows it."""
        if not groups:
            return ()
        among = range(len(groups) if len(groups) > 2 else 1)
        choices = {which: self.choice(front, groups, which) for which in among}
        which = min(choices, key=lambda which: choices[which][0].cost)
        holds, fails = choices[which]
        front = front._replace(used=front.used | looks(holds.text))
        no = [way for other, (_, ways) in enumerate(groups) if other != which for way in ways]
        steps, there, parting = self.straight(front._replace(ways=groups[which][1]))
        others, elsewhere, splitting = self.straight(front._replace(ways=no))
        same = _common([text for text, _ in steps], [text for text, _ in others])
        apart = If(holds, fails, _code(steps[: len(steps) - same]), _code(others[: len(others) - same]))
        joined = _code(steps[len(steps) - same :])
        if apart.yes or apart.no:
            joined = (apart, *joined)
        if not parting and not splitting:
            return joined
        yes = (*_code(steps), *self.branch(there, parting))
        separate = If(holds, fails, yes, (*_code(others), *self.branch(elsewhere, splitting)))
        if parting and splitting and self.joins < JOINS:
            self.joins += 1
            try:
                joined = (*joined, *self.both(front, [*there.ways, *elsewhere.ways]))
            except Blind:
                return (separate,)
            if _cost(joined) <= _cost((separate,)):
                return joined
        return (separate,)

    def both(self, front: Front, ways: Iterable[Way]) -> Code:
        """What follows where two sides come together, knowing what was observed before they parted, and now."""
        known = len(front.places)
        short = [Way((*way.observation[:known], way.observation[-1]), way.decision, way.after) for way in ways]
        ways = list({(way.observation, way.decision, id(way.after)): way for way in short}.values())
        place = self.place()
        return (Look(place), *self.block(Front(ways, (*front.places, place), front.used)))

    def choice(self, front: Front, groups: list[Group], which: int) -> tuple[Formula, Formula]:
        """When a group is chosen, and when it is not."""
        ways = [way for _, some in groups for way in some]
        wanted = [place == which for place, (_, some) in enumerate(groups) for _ in some]
        tables = list(self.tables(front._replace(ways=ways), wanted))
        if not tables:
            raise Blind
        found = [pair for pair in (conditions(*table) for table in tables) if pair is not None]
        if found:  # to look once more costs something too
            return min(found, key=lambda pair: pair[0].cost + 2 * len(looks(pair[0].text) - front.used))
        key, table = lookup(*tables[0])
        name = self.constant({row for row, chosen in table.items() if chosen})
        return Formula(f"{key.text} in {name}", key.cost), Formula(f"{key.text} not in {name}", key.cost)


def looks(text: str) -> frozenset[int]:
    """The places that a line looks at."""
    return frozenset(map(int, LOOK.findall(text)))


def _code(steps: Iterable[tuple[str, int]]) -> Code:
    return tuple([part for text, place in steps for part in (Do(text), Look(place))])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at their ends are the same."""
    same = [a == b for a, b in zip(reversed(one), reversed(other), strict=False)]
    return [*same, False].index(False)


def _cost(code: Code) -> float:
    """How much there is to read."""
    cost = 0.0
    for part in code:
        if isinstance(part, If):
            cost += 1 + min(part.holds.cost, part.fails.cost) + _cost(part.yes) + _cost(part.no)
        elif isinstance(part, Do):
            cost += 2
    return cost
