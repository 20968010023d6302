"""Decompiler: turns the table of a proved program into Python that a person can read.

Each program becomes a function, with conditions on what it observes, and with calls of `act` and of other programs.
Numbers get the names that the environment gives them (constants.py).

After every history that can occur, in problems of every size, a function makes the decision of the table. After any
other history it may decide anything, so its conditions can be simpler than the teacher's, or differ from them.
function_body.py finds the statements and branches, formula.py the conditions and arguments. The result is short but not
always the shortest: no loops and no helper functions are introduced.
"""

from __future__ import annotations

import builtins
import inspect
import json
import keyword
import pprint
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from npi.errors import BadInput
from npi.language.program import ACT, ARGS, Call
from npi.language.task import Task
from npi.proof.constants import ConstantNames, import_name
from npi.proof.function_body import PARAMETERS, POINT, BodyWriter, Branch, Code, ExecutionPath, Observe, Statement
from npi.proof.program_table import ProgramTable, TableState

MAX_LINE = 120  # characters; a longer line is broken if possible


def decompile(table: ProgramTable, task: Task) -> str:
    """The source of a module with a function for each program of a table, and a task that has these as its teacher.

    >>> from npi import tasks
    >>> from npi.proof.explore import Exploration
    >>> task = tasks.find("toposort")
    >>> exploration = Exploration(task)
    >>> for counts in exploration.run():
    ...     pass
    >>> source = decompile(exploration.table, task)
    >>> for line in source.splitlines()[-9:-3]:
    ...     print(line)
    @program
    def toposort(pad: GraphPad) -> None:
        if pad.observe().start != NONE:
            visit(pad)
            act(pad, NEXT, START)
            toposort(pad)
    """
    _check(table, task)
    return _ModuleWriter(table, task).source()


class _ModuleWriter:
    def __init__(self, table: ProgramTable, task: Task):
        self.task, self.entry_states = task, table.entry_states
        self.constant_names = ConstantNames(task.env)
        self.fields = {name: (size, self.constant_names.field(name)) for name, size in task.env.fields().items()}
        self.env = next(iter(inspect.signature(task.main.function).parameters))  # the teacher's name for it
        self.lookups: dict[str, object] = {}  # by name: constants to look up what has no formula
        self.calls: dict[str, list[Call]] = {}  # of each program
        for call in table.entry_states:
            self.calls.setdefault(call.program, []).append(call)
        self.arity = {
            name: max((place + 1 for call in calls for place in range(ARGS) if call.args[place]), default=0)
            for name, calls in self.calls.items()
        }
        reserved = {"act", "program", "replace", "seen", "task", self.env, *PARAMETERS, *dir(builtins), *keyword.kwlist}
        self.functions: dict[str, str] = {}  # the name of each program's function
        for name in self.calls:
            function = re.sub(r"\W|^(?=\d)", "_", name.lower())
            while function in reserved:
                function += "_"
            reserved.add(function)
            self.functions[name] = function

    def source(self) -> str:
        task, env, names = self.task, self.task.env, self.constant_names
        functions = "\n\n\n".join(map(self.function, self.callees_first()))
        used = set(re.findall(r"\w+", functions))
        imports = [(names.modules[name], name) for name in used & set(names.values)]
        imports += [(import_name(sys.modules[env.__module__]), env.__name__), ("npi", "act"), ("npi", "program")]
        original = self.imported_task()
        lines = [f'"""The programs of {task.name} as they were learned and proved, printed by npi decompile."""', ""]
        if original:
            lines += ["from dataclasses import replace", ""]
        lines += _imports(imports + original)
        for name in [name for name in self.lookups if name in used]:
            width = MAX_LINE - len(f"{name} = ")
            lines += ["", f"{name} = {pprint.pformat(self.lookups[name], width=width, compact=True)}"]
        lines += ["", "", functions]
        for _, name in original:
            changes = [f"main={self.functions[task.main.name]}"]
            extra = [self.functions[program.name] for program in task.extra_programs]
            if extra:
                changes.append(f"extra_programs=({', '.join(extra)}{',' if len(extra) == 1 else ''})")
            lines += ["", "", f"task = replace({name}, {', '.join(changes)})"]
        return "\n".join(lines) + "\n"

    def imported_task(self) -> list[tuple[str, str]]:
        """The module and the name to import the original task by; empty if no module holds it."""
        names = dict.fromkeys((self.task.main.function.__module__, self.task.env.__module__))
        modules = [sys.modules[name] for name in names if name in sys.modules]
        found = [(module, name) for module in modules for name, value in vars(module).items() if value is self.task]
        return [(import_name(module), name) for module, name in found[:1]]

    def callees_first(self) -> list[str]:
        """The programs, each after those it calls, and the main program last."""
        finished: dict[str, None] = {}
        visited: set[str] = set()

        def visit(name: str) -> None:
            if name not in visited and name != ACT:
                visited.add(name)
                for call in self.calls[name]:
                    for callee in _callees(self.entry_states[call]):
                        visit(callee)
                finished[name] = None

        main = self.task.main.name
        for name in (main, *self.calls):
            visit(name)
        return [*(name for name in finished if name != main), main]

    def function(self, name: str) -> str:
        """The source of one program."""
        function, arity = self.functions[name], self.arity[name]
        decorator = "@program" if function.upper() == name else f"@program(name={json.dumps(name)})"
        parameters = "".join(f", {parameter}: int = 0" for parameter in PARAMETERS[:arity])
        paths = [
            ExecutionPath((call.args[:arity], observation), *outcome)
            for call in self.calls[name]
            for observation, outcome in self.entry_states[call].items()
        ]

        def constant(value: object) -> str:
            new = f"{function.upper()}_{len(self.lookups)}"
            found = next((known for known, other in self.lookups.items() if other == value), new)
            self.lookups[found] = value
            return found

        code = BodyWriter(self.fields, self.call_source, constant).write(paths)
        head = f"{decorator}\ndef {function}({self.env}: {self.task.env.__name__}{parameters}) -> None:"
        return "\n".join([head, *(_insert_observations(list(_lines(code, "    ")), self.env) or ["    pass"])])

    def call_source(self, call: Call, place: int | None, formula: str) -> str:
        """The source of a call; the argument in this place, if any, is a formula."""
        if call.program == ACT:
            function, args = "act", self.constant_names.action(call.args, 1 if place is None else place + 1)
        else:
            function, args = self.functions[call.program], [*map(str, call.args[: self.arity[call.program]])]
        if place is not None:
            args[place] = formula
        return f"{function}({', '.join([self.env, *args])})"


def _callees(entry: TableState) -> Iterator[str]:
    """The programs that are called from this state or a later one, breadth first."""
    queue, known = [entry], {id(entry)}
    for state in queue:  # it grows meanwhile
        for decision, next_state in state.values():
            if decision is not None:
                yield decision.program
            if next_state is not None and id(next_state) not in known:
                known.add(id(next_state))
                queue.append(next_state)


def _lines(code: Code, margin: str, word: str = "if") -> Iterator[str]:
    """The lines of code. In them @3 stands for the observation at point 3; the line `@3 = ` is the point itself."""
    for part in code:
        if isinstance(part, Statement):
            yield margin + part.text
        elif isinstance(part, Observe):
            yield f"{margin}@{part.point} = "
        else:
            condition, negation, then, otherwise = part
            # Swap the sides if the first is empty, or if that makes the condition easier or the second side an `elif`;
            # but a second side that is an `elif` already stays one.
            easier = negation.cost < condition.cost or _is_branch(then)
            if not then or (otherwise and easier and not _is_branch(otherwise)):
                condition, then, otherwise = negation, otherwise, then
            yield f"{margin}{word} {condition.text}:"
            yield from _lines(then, margin + "    ")
            if _is_branch(otherwise):
                yield from _lines(otherwise, margin, "elif")
            elif otherwise:
                yield f"{margin}else:"
                yield from _lines(otherwise, margin + "    ")


def _is_branch(code: Code) -> bool:
    return len(code) == 1 and isinstance(code[0], Branch)


def _insert_observations(lines: list[str], env: str) -> list[str]:
    """The lines with calls of `observe` instead of points, and none at a point whose observation is not used.

    An observation used once, in the line after its point, is made in that line. Any other gets a variable.
    """
    counts = Counter(point for line in lines for point in POINT.findall(line))  # 1 for `@3 = `, 1 for each use
    lines = [line for line in lines if not line.endswith(" = ") or counts[POINT.findall(line)[0]] > 1]
    names: dict[str, str] = {}
    printed: list[str] = []
    for line, following in zip(lines, [*lines, ""][1:], strict=True):
        if line.endswith(" = "):
            (point,) = POINT.findall(line)
            if counts[point] == 2 and point in POINT.findall(following):
                names[point] = f"{env}.observe()"
                continue
            others = sum(name.startswith("seen") for name in names.values())
            names[point] = f"seen{others + 1}" if others else "seen"
            line += f"{env}.observe()"
        printed += _wrap(POINT.sub(lambda found: names[found[1]], line))
    return printed


def _wrap(line: str) -> list[str]:
    """A line as a list; a condition that is too long is broken before each `or`, or else before each `and`."""
    margin, word, rest = line.rpartition("if ")
    if len(line) <= MAX_LINE or not word:
        return [line]
    indent = re.match(" *", line)[0]  # pyright: ignore[reportOptionalSubscript]  # the pattern always matches
    parts = re.split(" (?=or )" if " or " in rest else " (?=and )", rest.removesuffix(":"))
    return [f"{margin}if (", *(f"{indent}    {part}" for part in parts), f"{indent}):"]


def _imports(names: Iterable[tuple[str, str]]) -> list[str]:
    """One line for each module; in each, constants first, then classes, then the rest."""
    by_module: dict[str, list[str]] = {}
    for module, name in sorted(names, key=lambda name: (name[0], not name[1].isupper(), name[1].islower(), name[1])):
        by_module.setdefault(module, []).append(name)
    return [f"from {module} import {', '.join(some)}" for module, some in by_module.items()]


def _check(table: ProgramTable, task: Task) -> None:
    """Refuse a table that is incomplete, or that does not fit this version of its task."""

    def refuse(problem: str) -> BadInput:
        return BadInput(
            f"the table {problem}: it or {task.name} was changed since npi compile; make the table again with npi "
            f"compile {task.name} --out FILE"
        )

    decisions = [decision for state in table.states for decision, _ in state.values() if decision is not None]
    for name, args in (*table.entry_states, *decisions):
        if not isinstance(name, str) or len(args) != ARGS or not all(type(arg) is int for arg in args):
            raise refuse(f"calls {name!r} with {args}, which is not a call")
    sizes, index = list(task.env.fields().values()), {id(state): number for number, state in enumerate(table.states)}
    for program in (task.main, *task.extra_programs):
        if Call(program.name) not in table.entry_states:
            raise refuse(f"has no program {program.name}")
    for number, state in enumerate(table.states):
        if not state:
            raise refuse(f"has no decision in state {number}")
        for observation, (decision, next_state) in state.items():
            if len(observation) != len(sizes) or not all(
                value in range(size) for value, size in zip(observation, sizes, strict=True)
            ):
                raise refuse(f"has the observation {observation}, which {task.env.__name__} cannot make")
            if (decision is None) != (next_state is None) or (
                next_state is not None and index[id(next_state)] >= number
            ):
                raise refuse(f"has a wrong next state after {observation} in state {number}")
            if decision is not None and decision.program != ACT and decision not in table.entry_states:
                raise refuse(f"calls {decision.program} with {decision.args}, but does not contain that call")
