"""Decompiled programs: a proved program's table, printed back as Python that a person can read.

A table says what each program decides after each history. Here each program becomes a function, with conditions on what
it observes, calls of the others and of `act`, and names for numbers where the environment has them.

The functions decide as the table does after every history that can occur, on inputs of every size. After any other
they may do anything: a condition may be simpler than the teacher's, or another that cannot be told from it. They are
short, not the shortest: body.py says how lines and choices are found, formula.py which conditions and arguments are
looked for. Loops and helper functions are not made up.
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
from npi.proof.body import LOOK, PARAMETERS, Body, Code, Do, If, Look, Way
from npi.proof.constants import Constants, importable
from npi.proof.program_table import ProgramTable, TableState

WIDTH = 120


def decompile(compiled: ProgramTable, task: Task) -> str:
    """The source of a module with a function for each program of a table, and the task with these for a teacher."""
    _check(compiled, task)
    return _Module(compiled, task).text()


class _Module:
    def __init__(self, compiled: ProgramTable, task: Task):
        self.task, self.first = task, compiled.first
        self.names = Constants(task.env)
        self.fields = {name: (size, self.names.field(name)) for name, size in task.env.fields().items()}
        self.env = next(iter(inspect.signature(task.main.function).parameters))
        self.constants: dict[str, object] = {}  # for what no formula was found for
        self.calls: dict[str, list[Call]] = {}
        for call in compiled.first:
            self.calls.setdefault(call.program, []).append(call)
        self.takes = {  # how many arguments
            name: max((place + 1 for call in calls for place in range(ARGS) if call.args[place]), default=0)
            for name, calls in self.calls.items()
        }
        taken = {"act", "program", "replace", "seen", "task", self.env, *PARAMETERS, *dir(builtins), *keyword.kwlist}
        self.functions: dict[str, str] = {}
        for name in self.calls:
            function = re.sub(r"\W|^(?=\d)", "_", name.lower())
            while function in taken:
                function += "_"
            taken.add(function)
            self.functions[name] = function

    def text(self) -> str:
        task, env = self.task, self.task.env
        body = "\n\n\n".join(map(self.function, self.order()))
        used = set(re.findall(r"\w+", body))
        imports = [(self.names.homes[name], name) for name in used & set(self.names.values)]
        imports += [(importable(sys.modules[env.__module__]), env.__name__), ("npi", "act"), ("npi", "program")]
        held = self.held()
        lines = [f'"""{task.name}: its programs as they were learned and proved, printed by npi decompile."""', ""]
        if held:
            lines += ["from dataclasses import replace", ""]
        lines += _imports(imports + held[:1])
        for name in [name for name in self.constants if name in used]:
            lines += ["", f"{name} = {pprint.pformat(self.constants[name], width=WIDTH - len(name) - 3, compact=True)}"]
        lines += ["", "", body]
        for _, name in held:
            extra_programs = "".join(f"{self.functions[program.name]}, " for program in task.extra_programs)
            more = (
                f", extra_programs=({extra_programs.rstrip() if extra_programs.count(',') == 1 else extra_programs[:-2]})"
                if extra_programs
                else ""
            )
            lines += ["", "", f"task = replace({name}, main={self.functions[task.main.name]}{more})"]
        return "\n".join(lines) + "\n"

    def held(self) -> list[tuple[str, str]]:
        """Where the task can be imported from, if it can: a module and a name."""
        names = dict.fromkeys((self.task.main.function.__module__, self.task.env.__module__))
        modules = [sys.modules[name] for name in names if name in sys.modules]
        return [(importable(m), name) for m in modules for name, known in vars(m).items() if known is self.task][:1]

    def order(self) -> list[str]:
        """Programs after those that they call, and the main one last."""
        done: dict[str, None] = {}
        begun: set[str] = set()

        def visit(name: str) -> None:
            if name not in begun and name != ACT:
                begun.add(name)
                for call in self.calls[name]:
                    for called in _called(self.first[call]):
                        visit(called)
                done[name] = None

        main = self.task.main.name
        for name in (main, *self.calls):
            visit(name)
        return [*(name for name in done if name != main), main]

    def function(self, name: str) -> str:
        """The source of one program."""
        function, takes = self.functions[name], self.takes[name]
        named = "" if function.upper() == name else f"(name={json.dumps(name)})"
        parameters = "".join(f", {parameter}: int = 0" for parameter in PARAMETERS[:takes])
        ways = [
            Way((call.args[:takes], observation), *answer)
            for call in self.calls[name]
            for observation, answer in self.first[call].items()
        ]

        def constant(what: object) -> str:
            new = f"{function.upper()}_{len(self.constants)}"
            found = next((known for known, other in self.constants.items() if other == what), new)
            self.constants[found] = what
            return found

        code = Body(self.fields, self.line, constant).write(ways)
        head = f"@program{named}\ndef {function}({self.env}: {self.task.env.__name__}{parameters}) -> None:"
        return "\n".join([head, *(_looking(list(_lines(code, "    ")), self.env) or ["    pass"])])

    def line(self, call: Call, varied: int | None, text: str) -> str:
        """A call as text, in which one argument may be a formula."""
        if call.program == ACT:
            function, args = "act", self.names.action(call.args, 1 if varied is None else varied + 1)
        else:
            function, args = self.functions[call.program], [*map(str, call.args[: self.takes[call.program]])]
        if varied is not None:
            args[varied] = text
        return f"{function}({', '.join([self.env, *args])})"


def _called(state: TableState) -> Iterator[str]:
    """The programs called from a state on, the first calls first."""
    todo, known = [state], {id(state)}
    for state in todo:
        for decision, after in state.values():
            if decision is not None:
                yield decision.program
            if after is not None and id(after) not in known:
                known.add(id(after))
                todo.append(after)


def _lines(code: Code, margin: str, word: str = "if") -> Iterator[str]:
    """Code as lines, in which places still stand for what is observed there."""
    for part in code:
        if isinstance(part, Do):
            yield margin + part.text
        elif isinstance(part, Look):
            yield f"{margin}@{part.place} = "
        else:
            holds, fails, yes, no = part
            if not yes or (no and (fails.cost < holds.cost or _choice(yes)) and not _choice(no)):
                holds, yes, no = fails, no, yes
            yield f"{margin}{word} {holds.text}:"
            yield from _lines(yes, margin + "    ")
            if _choice(no):
                yield from _lines(no, margin, "elif")
            elif no:
                yield f"{margin}else:"
                yield from _lines(no, margin + "    ")


def _choice(code: Code) -> bool:
    return len(code) == 1 and isinstance(code[0], If)


def _looking(lines: list[str], env: str) -> list[str]:
    """The lines, with a look only where it is needed, and in the line itself where it is needed only there."""
    counts = Counter(place for line in lines for place in LOOK.findall(line))
    lines = [line for line in lines if not line.endswith(" = ") or counts[LOOK.findall(line)[0]] > 1]
    names: dict[str, str] = {}
    printed: list[str] = []
    for line, then in zip(lines, [*lines, ""][1:], strict=True):
        if line.endswith(" = "):
            (place,) = LOOK.findall(line)
            if counts[place] == 2 and place in LOOK.findall(then):
                names[place] = f"{env}.observe()"
                continue
            others = sum(name.startswith("seen") for name in names.values())
            names[place] = f"seen{others + 1}" if others else "seen"
            line += f"{env}.observe()"
        printed += _wrapped(LOOK.sub(lambda found: names[found[1]], line))
    return printed


def _wrapped(line: str) -> list[str]:
    """A line, or a condition that is too long for one in several."""
    margin, word, rest = line.rpartition("if ")
    if len(line) <= WIDTH or not word:
        return [line]
    indent = re.match(" *", line)[0]  # pyright: ignore[reportOptionalSubscript]  # it always matches
    parts = re.split(" (?=or )" if " or " in rest else " (?=and )", rest.removesuffix(":"))
    return [f"{margin}if (", *(f"{indent}    {part}" for part in parts), f"{indent}):"]


def _imports(names: Iterable[tuple[str, str]]) -> list[str]:
    """One line for each module; constants first, then classes, then the rest."""
    by: dict[str, list[str]] = {}
    for module, name in sorted(
        names, key=lambda found: (found[0], not found[1].isupper(), found[1].islower(), found[1])
    ):
        by.setdefault(module, []).append(name)
    return [f"from {module} import {', '.join(some)}" for module, some in by.items()]


def _check(compiled: ProgramTable, task: Task) -> None:
    """Refuse a table that is not whole, or not of this task as it is now."""

    def refuse(what: str) -> BadInput:
        return BadInput(f"the table {what}: it or {task.name} was changed; make it with npi compile")

    decisions = [decision for state in compiled.states for decision, _ in state.values() if decision is not None]
    for name, args in (*compiled.first, *decisions):
        if not isinstance(name, str) or len(args) != ARGS or not all(type(arg) is int for arg in args):
            raise refuse(f"calls {name!r} with {args}, which is no call")
    sizes, place = list(task.env.fields().values()), {id(state): at for at, state in enumerate(compiled.states)}
    for program in (task.main, *task.extra_programs):
        if Call(program.name) not in compiled.first:
            raise refuse(f"does not say what {program.name} is")
    for at, state in enumerate(compiled.states):
        if not state:
            raise refuse(f"does not say what to do in state {at}")
        for observation, (decision, after) in state.items():
            if len(observation) != len(sizes) or not all(
                v in range(size) for v, size in zip(observation, sizes, strict=True)
            ):
                raise refuse(f"tells of {observation}, which {task.env.__name__} does not show")
            if (decision is None) != (after is None) or (after is not None and place[id(after)] >= at):
                raise refuse(f"goes on wrongly in state {at} after {observation}")
            if decision is not None and decision.program != ACT and decision not in compiled.first:
                raise refuse(f"calls {decision.program} with {decision.args} and does not say what that is")
