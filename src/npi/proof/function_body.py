"""The body of one function, synthesised from all histories of one program.

All execution paths are followed at once. While they make the same decision, that is one statement, and nothing needs to
be observed. Where they diverge, a branch begins: formula.py finds a condition on what was observed so far, and both
sides are followed. The sides are merged again where the same statements remain on both. If another branch follows these
statements, the sides are merged only if the code after them, written once for both, does not cost more.

point   an observation point: a position between two statements, at which the function may observe the environment.
        Points are numbered as they are created; point 0 stands for the arguments of the function.
text    Python, in which @3.small stands for the field `small` observed at point 3; decompile.py puts a variable there
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from npi.language.program import ARGS, Call, Decision
from npi.proof.formula import Column, Formula, find_conditions, find_lookup, find_sum
from npi.proof.program_table import TableState

PARAMETERS = ("first", "second", "third")  # of the functions, after the environment, as in Env.act
POINT = re.compile(r"@(\d+)")  # an observation point in a text

# Costs: how much there is to read, in the unit of formula.py.
STATEMENT_COST = 2
BRANCH_COST = 1  # beside its condition and its two sides
OBSERVATION_COST = 2  # for each point that a condition is the first to use

MAX_MERGES = 10  # attempts in one function; each may double the time, because it writes all code that follows again
SHORT_SUM = 2  # the cost of one column: as an argument, easier to read than even one branch
MIN_CALLS_FOR_SUM = 3  # calls that a longer sum must replace: it is easier to read than the two branches between them
MIN_CALLS_FOR_LOOKUP = 4  # calls that a lookup must replace: it is easier to read than three branches
MIN_ARGUMENT_SIZE = 3  # a column of two values is written as a truth value; an argument never is, even if it is 0 or 1


class Observe(NamedTuple):
    """A point at which the environment may be observed."""

    point: int


class Statement(NamedTuple):
    """A call of a program or of `act`."""

    text: str


class Branch(NamedTuple):
    """An `if` with its two sides, and the negation of its condition in case the sides are swapped."""

    condition: Formula
    negation: Formula
    then: Code
    otherwise: Code


Code: TypeAlias = "tuple[Observe | Statement | Branch, ...]"
Field: TypeAlias = tuple[int, Callable[[int], str]]  # how many values a field has, and how each is written


class ExecutionPath(NamedTuple):
    """A history: what was observed up to one point, the decision there, and the program table's state after it."""

    observations: tuple[tuple[int, ...], ...]  # at each point so far; first the arguments, point 0
    decision: Decision
    next_state: TableState | None


class Frontier(NamedTuple):
    """The execution paths that reach one point, cut off at that point."""

    paths: list[ExecutionPath]
    points: tuple[int, ...]  # that all of them passed; the last is the current one
    used: frozenset[int]  # points whose observation the code before this already uses


class Case(NamedTuple):
    """The execution paths that continue with the same statement."""

    statement: str | None  # None: the function returns
    paths: list[ExecutionPath]


class IndistinguishablePaths(Exception):
    """Paths that continue differently have the same observations, so no condition can tell them apart."""


class BodyWriter:
    """Synthesises the body of one function.

    fields       the fields of an observation, by name
    call_source  writes a call; one argument, whose place is given, may be a formula
    constant     gives the name of a constant with this value
    """

    def __init__(
        self,
        fields: Mapping[str, Field],
        call_source: Callable[[Call, int | None, str], str],
        constant: Callable[[object], str],
    ):
        self.fields, self.call_source, self.constant = fields, call_source, constant
        self.last_point, self.merges = 1, 0

    def write(self, paths: list[ExecutionPath]) -> Code:
        """The body of the function. The paths end at point 1: each has the arguments and the first observation."""
        return (Observe(1), *self.code(Frontier(paths, (0, 1), frozenset([0]))))

    def code(self, frontier: Frontier) -> Code:
        """All code from a frontier on."""
        steps, frontier, cases = self.straight_line(frontier)
        return (*_steps_code(steps), *self.branch(frontier, cases))

    def new_point(self) -> int:
        self.last_point += 1
        return self.last_point

    def straight_line(self, frontier: Frontier) -> tuple[list[tuple[str, int]], Frontier, list[Case]]:
        """The code up to the next branch: statements with the point after each, the frontier there, and its cases.

        There are no cases if all paths return.
        """
        steps: list[tuple[str, int]] = []
        while True:
            cases = self.cases(frontier)
            if len(cases) > 1:
                return steps, frontier, cases
            ((statement, paths),) = cases
            if statement is None:
                return steps, frontier, []
            steps.append((statement, self.new_point()))
            paths = [
                ExecutionPath((*path.observations, observation), *outcome)
                for path in paths
                for observation, outcome in (path.next_state or {}).items()
            ]
            frontier = Frontier(paths, (*frontier.points, self.last_point), frontier.used | points_in(statement))

    def cases(self, frontier: Frontier) -> list[Case]:
        """The paths by their next statement.

        Calls that differ in one argument become one statement if a formula gives that argument.
        """
        by_decision: dict[Decision, list[ExecutionPath]] = {}
        for path in frontier.paths:
            by_decision.setdefault(path.decision, []).append(path)
        cases: list[Case] = []
        for place in range(ARGS) if len(by_decision) > 1 else ():
            families: dict[tuple[Any, ...], list[Call]] = {}  # calls that agree in all but this argument
            for call in by_decision:
                if call is not None:
                    families.setdefault((call.program, call.args[:place], call.args[place + 1 :]), []).append(call)
            for family in families.values():
                paths = [path for call in family for path in by_decision[call]]
                text = self.argument(frontier._replace(paths=paths), place, len(family)) if len(family) > 1 else None
                if text is not None:
                    cases.append(Case(self.call_source(family[0], place, text), paths))
                    by_decision = {decision: some for decision, some in by_decision.items() if decision not in family}
        return cases + [
            Case(None if call is None else self.call_source(call, None, ""), paths)
            for call, paths in by_decision.items()
        ]

    def argument(self, frontier: Frontier, place: int, calls: int) -> str | None:
        """A formula for an argument, if it is easier to read than branches between so many calls."""
        targets = [path.decision.args[place] for path in frontier.paths if path.decision]
        tables = list(self.tables(frontier, targets))
        for columns, wanted in tables:
            found = find_sum(columns, wanted)
            if found is not None and (calls >= MIN_CALLS_FOR_SUM or found.cost <= SHORT_SUM):
                return found.text
        if calls >= MIN_CALLS_FOR_LOOKUP and tables:
            key, by_key = find_lookup(*tables[0])
            return f"{self.constant(by_key)}[{key.text}]"
        return None

    def tables(self, frontier: Frontier, targets: Sequence[Any]) -> Iterator[tuple[list[Column], list[Any]]]:
        """Tables for the search of formulas: columns of observations that determine the target of each path.

        The first has the points that are used already, the second the current point too. Only if neither determines
        the targets, one with all points follows.
        """
        paths, points, used = frontier
        every = frozenset(points)
        already = used & every
        current = already | {points[-1]}
        found = False
        for visible in dict.fromkeys((already, current, every)):
            if found and visible not in (already, current):
                return
            indices = [index for index, point in enumerate(points) if point in visible]
            rows: dict[tuple[tuple[int, ...], ...], Any] = {}
            if all(
                rows.setdefault(tuple([path.observations[index] for index in indices]), target) == target
                for path, target in zip(paths, targets, strict=True)
            ):
                found = True
                observations = zip(indices, zip(*rows, strict=True), strict=True)
                columns = [column for index, values in observations for column in self.columns(points[index], values)]
                yield columns, list(rows.values())

    def columns(self, point: int, observations: Iterable[tuple[int, ...]]) -> Iterator[Column]:
        """One column for each field observed at a point, or for each argument of the function."""
        columns = list(zip(*observations, strict=True))
        if point == 0:
            for name, values in zip(PARAMETERS, columns, strict=False):
                yield Column(name, values, max(MIN_ARGUMENT_SIZE, 1 + max(values)))
        else:
            for (name, (size, value_name)), values in zip(self.fields.items(), columns, strict=True):
                yield Column(f"@{point}.{name}", values, size, value_name)

    def branch(self, frontier: Frontier, cases: list[Case]) -> Code:
        """A branch that separates one case from the others, and all code that follows it."""
        if not cases:
            return ()
        # Of two cases, try only the first: the negation of its condition is the condition of the second.
        candidates = range(len(cases) if len(cases) > 2 else 1)
        conditions = {index: self.conditions(frontier, cases, index) for index in candidates}
        chosen = min(conditions, key=lambda index: conditions[index][0].cost)
        condition, negation = conditions[chosen]
        frontier = frontier._replace(used=frontier.used | points_in(condition.text))
        other_paths = [path for index, (_, paths) in enumerate(cases) if index != chosen for path in paths]
        then, then_end, then_cases = self.straight_line(frontier._replace(paths=cases[chosen].paths))
        other, other_end, other_cases = self.straight_line(frontier._replace(paths=other_paths))
        same = _common_end([text for text, _ in then], [text for text, _ in other])
        merged = _steps_code(then[len(then) - same :])
        then_start, other_start = then[: len(then) - same], other[: len(other) - same]
        different = Branch(condition, negation, _steps_code(then_start), _steps_code(other_start))
        if different.then or different.otherwise:
            merged = (different, *merged)
        if not then_cases and not other_cases:  # both sides return
            return merged
        then_code = (*_steps_code(then), *self.branch(then_end, then_cases))
        other_code = (*_steps_code(other), *self.branch(other_end, other_cases))
        separate = (Branch(condition, negation, then_code, other_code),)
        if then_cases and other_cases and self.merges < MAX_MERGES:
            self.merges += 1
            try:
                merged = (*merged, *self.merge(frontier, [*then_end.paths, *other_end.paths]))
            except IndistinguishablePaths:
                return separate
            if _cost(merged) <= _cost(separate):
                return merged
        return separate

    def merge(self, frontier: Frontier, paths: Iterable[ExecutionPath]) -> Code:
        """The code after two sides are merged: it can use the points before their branch, and one new point."""
        known = len(frontier.points)
        shortened = [path._replace(observations=(*path.observations[:known], path.observations[-1])) for path in paths]
        distinct = {(path.observations, path.decision, id(path.next_state)): path for path in shortened}
        point = self.new_point()
        return (Observe(point), *self.code(Frontier([*distinct.values()], (*frontier.points, point), frontier.used)))

    def conditions(self, frontier: Frontier, cases: list[Case], chosen: int) -> tuple[Formula, Formula]:
        """A condition for one case against all others, and its negation."""
        paths = [path for case in cases for path in case.paths]
        targets = [index == chosen for index, case in enumerate(cases) for _ in case.paths]
        tables = list(self.tables(frontier._replace(paths=paths), targets))
        if not tables:
            raise IndistinguishablePaths
        found = [pair for pair in (find_conditions(*table) for table in tables) if pair is not None]
        if found:
            return min(
                found,
                key=lambda pair: pair[0].cost + OBSERVATION_COST * len(points_in(pair[0].text) - frontier.used),
            )
        key, by_key = find_lookup(*tables[0])
        name = self.constant({value for value, target in by_key.items() if target})
        return Formula(f"{key.text} in {name}", key.cost), Formula(f"{key.text} not in {name}", key.cost)


def points_in(text: str) -> frozenset[int]:
    """The observation points that a text uses."""
    return frozenset(map(int, POINT.findall(text)))


def _steps_code(steps: Iterable[tuple[str, int]]) -> Code:
    """The code of statements, each followed by its point."""
    return tuple([part for text, point in steps for part in (Statement(text), Observe(point))])


def _common_end(one: Sequence[str], other: Sequence[str]) -> int:
    """How many statements at the end of both are the same."""
    same = [a == b for a, b in zip(reversed(one), reversed(other), strict=False)]
    return [*same, False].index(False)


def _cost(code: Code) -> float:
    """How much there is to read."""
    cost = 0.0
    for part in code:
        if isinstance(part, Branch):
            condition_cost = min(part.condition.cost, part.negation.cost)
            cost += BRANCH_COST + condition_cost + _cost(part.then) + _cost(part.otherwise)
        elif isinstance(part, Statement):
            cost += STATEMENT_COST
    return cost
