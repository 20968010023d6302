"""The documentation agrees with the code: links, the reference, commands. test_docs_examples.py runs its examples."""

import contextlib
import functools
import json
import pkgutil
import re
import shlex
import tomllib
from pathlib import Path

import docstring_markdown
import make_reference
import pytest
import tyro
from test_architecture import ROOMS, SHARED

import npi
import npi.cli

ROOT = Path(__file__).parents[1]
GUIDES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / path for path in make_reference.PAGES.values() if (ROOT / path).is_file()),
]
LINK = re.compile(r"""(?:\]\(|\b(?:src|srcset|href)=")([^)"\s]+)""")
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^ *(?:\$ )?(npi .*?)(?: +#.*)?$", re.MULTILINE)  # up to a comment


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.+?) *$", outside, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    """The links of a page within the repository that lead nowhere."""
    broken = []
    for link in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


def test_broken_links_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One thing\n`x[0](1)` [a](#one-thing) [b](#another) [c](gone.md) ![d](page.md) [e](https://example.org)\n"
    )
    assert broken_links(page) == ["#another", "gone.md"]


def test_the_reference_lists_every_module_in_its_room():
    pages = make_reference.modules()
    assert tuple(pages) == (*ROOMS, make_reference.SHARED)
    assert set(pages[make_reference.SHARED]) == {f"npi.{name}" for name in SHARED}
    listed = [name for found in pages.values() for name in found]
    there = {module.name for module in pkgutil.walk_packages(npi.__path__, "npi.")}
    empty = {name for name in there if not (source_of(name)).stat().st_size}
    assert sorted(listed) == sorted(there - empty)
    assert all(name.endswith(tuple(ROOMS)) for name in empty)  # nothing but a room's own __init__ is empty


def source_of(module: str) -> Path:
    path = Path(npi.__path__[0]).joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_the_reference_lists_the_public_api():
    assert make_reference.public_names() == npi.__all__
    page = make_reference.reference_pages()["reference/index.md"]
    assert set(re.findall(r"^::: npi\.(\w+)$", page, re.MULTILINE)) == set(npi.__all__)


@pytest.mark.parametrize(
    ("source", "target", "link", "copied"),
    [
        ("README.md", "docs/results.md", "results.md", None),
        ("README.md", "docs/cars.png", "cars.png", None),
        ("README.md", "CHANGELOG.md", "changelog.md", None),
        ("docs/results.md", "figures/memory.png", "figures/memory.png", None),
        ("docs/tutorial.md", "../README.md", "index.md", None),
        ("docs/tutorial.md", "../examples/shelf.py", "examples/shelf.py", "examples/shelf.py"),
        ("docs/how-to/prove.md", "../proof.md", "../proof.md", None),
        ("docs/how-to/prove.md", "../../examples/shelf.py", "../examples/shelf.py", "examples/shelf.py"),
        ("README.md", "https://arxiv.org/abs/1511.06279", "https://arxiv.org/abs/1511.06279", None),
        ("README.md", "gone.md", "gone.md", None),
    ],
)
def test_links_of_the_repository_lead_to_the_site(source, target, link, copied):
    assert make_reference.site_link(source, target) == (link, copied)


def test_docstrings_become_markdown():
    docstring = """What it is.

tasks, n  the tasks,
          and how many
out       a folder

Two words  in a sentence are no list,
as the second line shows.

>>> 1 + 1
2"""
    assert docstring_markdown.to_markdown(docstring).split("\n\n") == [
        "What it is.",
        "- `tasks`, `n`: the tasks,\n    and how many\n- `out`: a folder",
        "Two words  in a sentence are no list,\nas the second line shows.",
        "```pycon\n>>> 1 + 1\n2\n```",
    ]


@pytest.fixture(scope="module")
def parse():
    """Parse a command of the command line without running it; returns what the parser complains of."""
    app = tyro.extras.SubcommandApp()
    for command in npi.cli.COMMANDS:
        app.command(functools.wraps(command)(lambda *args, **options: None))

    def complaint(line: str) -> str:
        words = shlex.split(line.split(" | ")[0].split(" > ")[0])[1:]
        if words == ["--version"]:
            return ""
        with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
            try:
                app.cli(prog="npi", args=words, config=(tyro.conf.FlagCreatePairsOff,))
            except SystemExit as exit:
                return "" if exit.code in (0, None) else line
        return ""

    return complaint


def commands(text: str) -> list[str]:
    """The commands of a page that start with `npi`: in blocks, fenced or indented."""
    blocks = "\n".join(code for language, code in BLOCK.findall(text) if language in ("console", "bash", "sh"))
    indented = "\n".join(line for line in text.splitlines() if line.startswith("    npi "))
    return [line.strip() for line in COMMAND.findall(f"{blocks}\n{indented}")]


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_commands_in_the_guides_can_be_parsed(page, parse):
    assert [line for line in commands(page.read_text("utf-8")) if parse(line)] == []


def test_the_page_on_proofs_gives_the_measured_rate_of_mutants():
    report = json.loads((ROOT / "tests" / "mutation.json").read_text())
    explained = tomllib.loads((ROOT / "tests" / "mutation_survivors.toml").read_text())
    every, killed = (sum(found[key] for found in report.values()) for key in ("mutants", "killed"))
    page = " ".join((ROOT / "docs" / "proof.md").read_text().split())
    assert f"{killed:,} of {every:,} changes ({killed / every:.1%}".replace("%", " %") in page
    for file, found in report.items():
        assert set(found["survived"]) <= set(explained.get(file, {})), file


def test_wrong_commands_are_found(parse):
    block = "```console\n$ npi run sorting 9 2 5 --trace  # fast\n2 5 9\n$ npi fly away\n```\n"
    text = f"{block}    npi train addition --haste\n"
    assert commands(text) == ["npi run sorting 9 2 5 --trace", "npi fly away", "npi train addition --haste"]
    assert [bool(parse(line)) for line in commands(text)] == [False, True, True]
