"""How the package hangs together: which room may import which, what needs no torch, and which names are public."""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import npi

SOURCE = Path(npi.__file__).parent
# Each room imports only from those before it, and from the modules that belong to no room.
ROOMS = ("language", "cars", "tasks", "network", "training", "proof", "evaluation", "cli")
SHARED = ("errors", "files", "progress")  # importable from every room; they import nothing but each other
NO_TORCH = ("language", "cars", "tasks")
LAZY_TORCH = ("cli",)  # imports torch inside functions only, so that `npi --help` starts at once


def modules(source: Path) -> dict[str, Path]:
    """Every module of a package, by its dotted name."""
    found = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(("npi", *(part for part in parts if part != "__init__")))] = path
    return found


def imports(path: Path, known: dict[str, Path], everywhere: bool = True) -> set[str]:
    """The modules of the package that one of them imports; at the top only, unless `everywhere`."""
    tree = ast.parse(path.read_text())
    found = set()
    for node in ast.walk(tree) if everywhere else top_level(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & known.keys()) or {node.module}
    return found


def top_level(tree: ast.Module):
    """The statements that run on import: not those of functions, nor those for type checkers."""
    for node in tree.body:
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from [node] if isinstance(node, ast.FunctionDef | ast.ClassDef) else ast.walk(node)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def faults(source: Path) -> list[str]:
    """Every module without a room, import against the order of the rooms, and import cycle."""
    known, found = modules(source), []
    graph = {}
    for name, path in known.items():
        here = room(name)
        if here and here not in (*ROOMS, *SHARED):
            found.append(f"{name} belongs to no room")
            continue
        graph[name] = imports(path, known, everywhere=False) - {name}
        if not here:  # the public API imports from every room
            continue
        allowed = ROOMS[: ROOMS.index(here) + 1] if here in ROOMS else ()
        upwards = [used for used in imports(path, known) if used != "npi" and room(used) not in (*allowed, *SHARED)]
        found += [f"{name} imports {used}" for used in upwards]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append(f"import cycle: {' -> '.join(error.args[1])}")
    return found


def test_every_module_is_in_a_room_and_imports_only_from_rooms_above():
    assert faults(SOURCE) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"stray.py": ""}, "npi.stray belongs to no room"),
        ({"attic/thing.py": ""}, "npi.attic.thing belongs to no room"),
        (
            {"language/low.py": "from npi.network.high import x", "network/high.py": ""},
            "npi.language.low imports npi.network.high",
        ),
        (
            {"language/low.py": "def f():\n    from npi.cli import x", "cli/__init__.py": ""},
            "npi.language.low imports npi.cli",
        ),
        (
            {"proof/one.py": "from npi.proof.two import a", "proof/two.py": "import npi.proof.one"},
            "import cycle: npi.proof.",
        ),
    ],
)
def test_faults_of_the_architecture_are_found(tmp_path, files, expected):
    for name, text in {"__init__.py": "", **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert any(fault.startswith(expected) for fault in faults(tmp_path))


def loads_torch(names: list[str]) -> bool:
    code = f"import sys, {', '.join(names)}; sys.exit('torch' in sys.modules)"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 1


def test_torch_is_not_imported_where_it_is_not_needed():
    free = [name for name in modules(SOURCE) if room(name) in ("", *NO_TORCH, *LAZY_TORCH)]
    assert len(free) > 30
    assert not loads_torch(free)


def test_the_check_for_torch_can_fail():
    assert loads_torch(["npi.network.model"])


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
