"""Constants: what the numbers of an environment are called in the module that defines it.

A number has a name if its declared range is one whose values are named, there or in a module it is imported from:

    MOVE, WRITE = OPS = range(2)
    def act(self, op: Annotated[int, OPS], ...)

or if `describe` calls the action by the name of another constant that has the argument's value (PTR CARRY LEFT). So has
a number that is observed, if an argument is declared as its field is, and the constant is of the module itself (WRITE
OUT BLANK). Any other number stays a number: what is named here is said by the environment, not guessed.
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


class Constants:
    def __init__(self, env: type[Env]):
        self.env = env
        module = sys.modules[env.act.__module__]
        source = _parsed(module)
        self.values = {name: value for name, value in vars(module).items() if name.isupper() and type(value) is int}
        self.homes = dict.fromkeys(self.values, importable(module))  # the modules to import them from
        self.own = {name for node, name in _assigned(source) if isinstance(node.value, ast.Constant)} & set(self.values)
        self.aliases = {name: node.value for node, name in _assigned(source)}
        self.groups = _groups(source)  # of a range: what its values are called
        for node in source.body:
            if isinstance(node, ast.ImportFrom) and node.module in sys.modules:
                self.homes |= {alias.name: node.module for alias in node.names if alias.name in self.values}
                if any(isinstance(vars(module).get(alias.name), range) for alias in node.names):
                    for name, group in _groups(_parsed(sys.modules[node.module])).items():
                        self.groups[name] = group
                        self.values |= {member: value for value, member in enumerate(group)}
                        self.homes |= dict.fromkeys(group, node.module)
        self.loose = set(self.values) - {name for group in self.groups.values() for name in group}
        declared = next((node for node in ast.walk(_parsed(env.act)) if isinstance(node, ast.FunctionDef)), None)
        self.arguments = (
            [a.annotation for a in (*declared.args.posonlyargs, *declared.args.args)][1:] if declared else []
        )

    def action(self, args: tuple[int, ...], needed: int = 1) -> list[str]:
        """The arguments of an action; of zeros at the end, only as many as are needed or spoken of."""
        words, texts = self.words(args), []
        for place, value in enumerate(args):
            said = [name for name in self.loose & words if self.values[name] == value]
            group = self.group(self.arguments[place]) if place < len(self.arguments) else []
            texts.append(group[value] if 0 <= value < len(group) else min(said, default=str(value)))
            if value or texts[-1] in words:
                needed = max(needed, place + 1)
        return texts[:needed]

    def field(self, name: str) -> Callable[[int], str]:
        """What the values of a field of the observation are called."""
        observation: Any = get_type_hints(self.env.observe).get("return")
        fields = [node for node in ast.walk(_parsed(observation)) if isinstance(node, ast.AnnAssign)]
        declared = next((node.annotation for node in fields if ast.unparse(node.target) == name), None)
        names = dict(enumerate(self.group(declared)))
        for place, argument in enumerate(self.arguments):
            if declared and argument and ast.dump(argument) == ast.dump(declared):
                for args in islice(product(*map(range, self.env.argument_sizes())), 5000):
                    for word in sorted(self.own & self.loose & self.words(args)):
                        if self.values[word] == args[place]:
                            names.setdefault(args[place], word)
        return lambda value: names.get(value, str(value))

    def group(self, declared: ast.expr | None) -> list[str]:
        """The names of the values of a range, as it is declared."""
        if isinstance(declared, ast.Name):
            declared = self.aliases.get(declared.id)
        names = [node.id for node in ast.walk(declared) if isinstance(node, ast.Name)] if declared else []
        return next((self.groups[name] for name in names if name in self.groups), [])

    def words(self, args: tuple[int, ...]) -> set[str]:
        with suppress(Exception):  # there may be no words for what means nothing
            return set(re.findall(r"\w+", self.env.describe(args)))
        return set()


def importable(module: ModuleType) -> str:
    """The name to import a module by: that of its file, if it was loaded from one under another name."""
    stem = Path(getattr(module, "__file__", None) or module.__name__).stem
    return module.__name__ if module.__name__.rpartition(".")[2] == stem or stem == "__init__" else stem


def _assigned(source: ast.Module) -> Iterator[tuple[ast.Assign, str]]:
    for node in source.body:
        if isinstance(node, ast.Assign):
            yield from ((node, target.id) for target in node.targets if isinstance(target, ast.Name))


def _groups(source: ast.Module) -> dict[str, list[str]]:
    """The ranges of a module whose values are named, as in MOVE, WRITE = OPS = range(2)."""
    groups = {}
    for node, name in _assigned(source):
        tuples = [target for target in node.targets if isinstance(target, ast.Tuple)]
        if tuples and ast.unparse(node.value) == f"range({len(tuples[0].elts)})":
            groups[name] = [ast.unparse(element) for element in tuples[0].elts]
    return groups


def _parsed(what: Any) -> ast.Module:
    """The source of something, or nothing, if it cannot be had."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(what)))
    except (OSError, TypeError, SyntaxError):
        return ast.Module([], [])
