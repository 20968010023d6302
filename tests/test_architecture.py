"""How the package hangs together, tested as anything else."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import npi
import npi.tasks

SOURCE = Path(npi.__file__).parent
NO_TORCH = [
    "npi",
    "npi.program",
    "npi.tape",
    "npi.graph",
    "npi.picture",
    "npi.task",
    "npi.disk",
    "npi.interpret",
    "npi.view",
    "npi.cli",
    "npi.evaluation",
    "npi.practice",
]
NO_TORCH += [f"npi.tasks.{name}" for name in npi.tasks.names()]


def imports(path):
    """The npi modules that a module imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("npi"))
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("npi"):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("module", NO_TORCH)
def test_these_do_not_import_torch(module):
    slow = {"torch"} if module == "npi.tasks.cars" else {"torch", "numpy"}
    code = f"import sys, {module}; sys.exit(bool({slow} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_check_for_torch_can_fail():
    code = "import sys, npi.model; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 1


BELOW = {  # what a module may import from the package, as in the order of the pipeline
    "program": set(),
    "tape": set(),
    "graph": set(),
    "picture": set(),
    "task": {"graph", "picture", "program", "tape"},
    "lazy": {"tape"},
    "lazygraph": {"graph", "lazy"},
    "disk": {"task"},
    "interpret": {"program", "task"},
    "view": {"program", "task"},
    "evaluation": {"program", "task", "interpret"},
    "encoders": set(),
    "vary": set(),
    "model": {"checkpoint", "encoders", "picture", "task"},  # the first when asked to load or save
    "lessons": {"picture", "program", "task"},
    "practice": {"picture", "program", "task", "tasks"},
    "invention": {"model", "practice"},
    "drill": {"invention", "lessons", "model", "practice"},
    "recipes": set(),
    "train": {"drill", "encoders", "lessons", "model", "practice", "program", "recipes", "task", "vary"},
    "teaching": {"encoders", "lessons", "model", "program", "task", "train"},
    "histories": {"program", "task"},
    "verify": {"graph", "histories", "lazy", "lazygraph", "model", "neural", "program", "tape", "task"},
    "constants": {"task"},
    "formula": set(),
    "body": {"compiled", "formula", "program"},
    "decompile": {"body", "compiled", "constants", "program", "task"},
    "compiled": {"disk", "histories", "interpret", "program", "task"},  # the second for its types alone
    "proving": {"histories", "model", "program", "task", "train", "verify"},
    "neural": {"encoders", "picture", "program", "task", "interpret", "model"},
    "checkpoint": {"disk", "model", "models", "recipes", "task", "train"},
    "progress": {"train"},
}


@pytest.mark.parametrize("module", BELOW)
def test_dependencies_point_one_way(module):
    used = {name.split(".")[1] for name in imports(SOURCE / f"{module}.py") if "." in name}
    assert used <= BELOW[module]


def test_tasks_stand_on_programs_tapes_graphs_and_tasks_alone():
    for path in (SOURCE / "tasks").glob("*.py"):
        used = {name.split(".")[1] for name in imports(path) if "." in name}
        more = {"cars", "picture"} if path.stem == "cars" else set()
        assert used <= {"graph", "program", "tape", "task", "tasks"} | more


def test_cars_know_nothing_of_tasks_and_networks():
    for path in (SOURCE / "cars").glob("*.py"):
        for name in imports(path):
            assert (
                name.startswith(("npi.cars", "npi.disk", "npi.picture", "npi.task.BadInput")) or name == "npi.task"
            ), (path, name)


def test_nothing_imports_the_command_line():
    for path in SOURCE.rglob("*.py"):
        if path.parent.name != "cli":
            assert not any(name.startswith("npi.cli") for name in imports(path)), path


def test_public_names_are_listed_and_there():
    for name in npi.__all__:
        assert getattr(npi, name) is not None
    assert len(set(npi.__all__)) == len(npi.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = npi.nothing


def test_the_paper_map_quotes_lines_that_exist():
    table = (SOURCE.parents[1] / "docs" / "paper-map.md").read_text()
    quoted = 0
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 5 or not cells[2].startswith("`"):
            continue
        code, file = cells[2].strip("`"), cells[3].strip("`")
        assert code in (SOURCE / file).read_text(), f"{file} does not contain: {code}"
        quoted += 1
    assert quoted >= 12
