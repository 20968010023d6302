"""Constants: the names that the module of an environment gives to numbers.

A number has a name in one of these cases; any other number is printed as a number.

- An argument or a field is declared with a range whose values have names, in this module or in one it is imported from:

      MOVE, WRITE = OPS = range(2)
      def act(self, op: Annotated[int, OPS], ...)

- An action has an argument equal to a constant that `describe` mentions: "PTR CARRY LEFT" mentions CARRY and LEFT.
- A field is declared with the same annotation as such an argument, and this module itself defines the constant: if
  `describe` writes "WRITE OUT BLANK", then BLANK also names the value of a field that holds a symbol.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from npi.language.env import Env

MAX_ACTIONS = 5000  # at most so many are described to find the names of a field's values; more would take seconds


class ConstantNames:
    """The names that one environment gives to numbers.

    values   the value of each constant
    modules  the module to import each constant from
    """

    def __init__(self, env: type[Env]):
        self.env = env
        module = sys.modules[env.act.__module__]
        source = _parse(module)
        self.values = {name: value for name, value in vars(module).items() if name.isupper() and type(value) is int}
        self.modules = dict.fromkeys(self.values, import_name(module))
        literals = {name for node, name in _assignments(source) if isinstance(node.value, ast.Constant)}
        self._own = literals & set(self.values)  # constants that the module itself defines
        self._assigned = {name: node.value for node, name in _assignments(source)}
        self._ranges = _named_ranges(source)
        for node in source.body:
            if isinstance(node, ast.ImportFrom) and node.module in sys.modules:
                self.modules |= {alias.name: node.module for alias in node.names if alias.name in self.values}
                if any(isinstance(vars(module).get(alias.name), range) for alias in node.names):
                    for name, members in _named_ranges(_parse(sys.modules[node.module])).items():
                        self._ranges[name] = members
                        self.values |= {member: value for value, member in enumerate(members)}
                        self.modules |= dict.fromkeys(members, node.module)
        in_ranges = {name for members in self._ranges.values() for name in members}
        self._single = set(self.values) - in_ranges  # constants that belong to no range with names
        method = next((node for node in ast.walk(_parse(env.act)) if isinstance(node, ast.FunctionDef)), None)
        parameters = [*method.args.posonlyargs, *method.args.args] if method else []
        self._argument_hints = [parameter.annotation for parameter in parameters][1:]  # without self

    def action(self, args: tuple[int, ...], needed: int = 1) -> list[str]:
        """The arguments of an action as texts.

        Zeros at the end are left out, except for the first `needed` arguments and those that `describe` mentions.
        """
        words, texts = self._words(args), []
        for place, value in enumerate(args):
            mentioned = [name for name in self._single & words if self.values[name] == value]
            members = self._members(self._argument_hints[place]) if place < len(self._argument_hints) else []
            texts.append(members[value] if 0 <= value < len(members) else min(mentioned, default=str(value)))
            if value or texts[-1] in words:
                needed = max(needed, place + 1)
        return texts[:needed]

    def field(self, name: str) -> Callable[[int], str]:
        """A function from a value of a field of the observation to its text: its name, or else the number."""
        observation: Any = get_type_hints(self.env.observe).get("return")
        annotations = [node for node in ast.walk(_parse(observation)) if isinstance(node, ast.AnnAssign)]
        hint = next((node.annotation for node in annotations if ast.unparse(node.target) == name), None)
        names = dict(enumerate(self._members(hint)))
        for place, argument_hint in enumerate(self._argument_hints):
            if hint and argument_hint and ast.dump(argument_hint) == ast.dump(hint):
                for args in islice(product(*map(range, self.env.argument_sizes())), MAX_ACTIONS):
                    for word in sorted(self._own & self._single & self._words(args)):
                        if self.values[word] == args[place]:
                            names.setdefault(args[place], word)
        return lambda value: names.get(value, str(value))

    def _members(self, hint: ast.expr | None) -> list[str]:
        """The names of the values of an annotation; empty if its range has none."""
        if isinstance(hint, ast.Name):
            hint = self._assigned.get(hint.id)
        names = [node.id for node in ast.walk(hint) if isinstance(node, ast.Name)] if hint else []
        return next((self._ranges[name] for name in names if name in self._ranges), [])

    def _words(self, args: tuple[int, ...]) -> set[str]:
        """The words with which the environment describes an action."""
        with suppress(Exception):  # `describe` may fail if the arguments are not a sensible action
            return set(re.findall(r"\w+", self.env.describe(args)))
        return set()


def import_name(module: ModuleType) -> str:
    """The name to import a module by: that of its file, if it was loaded from a file under another name."""
    stem = Path(getattr(module, "__file__", None) or module.__name__).stem
    return module.__name__ if module.__name__.rpartition(".")[2] == stem or stem == "__init__" else stem


def _assignments(source: ast.Module) -> Iterator[tuple[ast.Assign, str]]:
    """Each assignment of a module with each name it assigns to."""
    for node in source.body:
        if isinstance(node, ast.Assign):
            yield from ((node, target.id) for target in node.targets if isinstance(target, ast.Name))


def _named_ranges(source: ast.Module) -> dict[str, list[str]]:
    """The ranges whose values have names, as in MOVE, WRITE = OPS = range(2), and these names."""
    ranges = {}
    for node, name in _assignments(source):
        tuples = [target for target in node.targets if isinstance(target, ast.Tuple)]
        if tuples and ast.unparse(node.value) == f"range({len(tuples[0].elts)})":
            ranges[name] = [ast.unparse(element) for element in tuples[0].elts]
    return ranges


def _parse(thing: Any) -> ast.Module:
    """The syntax tree of a module, class or function; empty if its source is not available."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(thing)))
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])
