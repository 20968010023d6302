"""Shapes are types, checked in the test run: in every module that declares one."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch
from jaxtyping import TypeCheckError

import npi
from npi.network.decision import Logits, decide

SOURCE = Path(npi.__file__).parent


def modules_with_shapes() -> list[str]:
    """Every module that imports jaxtyping."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        if any(isinstance(node, ast.ImportFrom) and node.module == "jaxtyping" for node in nodes):
            found.append(".".join(("npi", *path.relative_to(SOURCE).with_suffix("").parts)))
    return found


def is_checked(module: str) -> bool:
    """Whether jaxtyping's import hook has loaded a module: see --jaxtyping-packages in pyproject.toml."""
    import_module(module)
    return type(sys.modules[module].__loader__).__module__.startswith("jaxtyping")


def test_every_module_with_shapes_is_checked():
    assert len(modules_with_shapes()) >= 10
    assert [module for module in modules_with_shapes() if not is_checked(module)] == []


def test_other_modules_are_not():
    assert not is_checked("npi.language.tape")


def test_a_wrong_shape_is_found():
    def logits(steps: int) -> Logits:
        return Logits(torch.zeros(steps), torch.zeros(2, 5), (torch.zeros(2, 3),))

    assert decide(logits(2)).stop.shape == (2,)
    with pytest.raises(TypeCheckError):
        logits(3)
