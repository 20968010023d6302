"""The documentation: its examples run and print what it shows, its commands exist, its numbers are measured.

How a Markdown file is run, in an empty folder that also holds `examples/`:

    ```python                     run, all in one namespace; a ```text block right behind it is what it prints
    ```python title="FILE.py"     appended to that file
    ```console                    lines that begin with `$ npi` are run; the lines below are what the command prints
    <!-- slow -->                 the next block runs only in the slow test, with all others of its file

In shown output "..." stands for anything, with the spaces before it, and on a line of its own for any lines.
Durations may differ.
"""

import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
RUN = (README, TUTORIAL, *sorted((ROOT / "docs" / "how-to").glob("*.md")))
PAGES = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.md"))
# The log and the changes name commands as they were at the time.
HISTORY = (ROOT / "docs" / "LOG.md", ROOT / "CHANGELOG.md")
MAX_LINES, MAX_WORDS = 150, 900  # of the README

BLOCK = re.compile(r"^(?P<slow><!-- slow -->\n)?```(?P<kind>\w+)(?P<title>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"(?:^ *(?:\$ )?|`|&& )npi (?P<words>[a-z][^`\n#]*)", re.M)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
SECONDS = re.compile(r"\d[\d,.]* s\b")


@dataclass(frozen=True)
class Block:
    kind: str
    title: str
    text: str
    slow: bool


def blocks(path: Path) -> list[Block]:
    return [
        Block(found["kind"], found["title"].strip(), found["text"], found["slow"] is not None)
        for found in BLOCK.finditer(path.read_text("utf-8"))
    ]


def matches(shown: str, printed: str) -> bool:
    """Whether something printed is what the documentation shows."""
    pattern = ""
    for line in shown.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            masked = SECONDS.sub("\0", line.rstrip())
            pattern += re.sub(r"(?:\\ )*\\\.\\\.\\\.", ".*", re.escape(masked)).replace("\0", r"[\d,.]+ s") + r"[ ]*\n"
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown below it."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].strip(), ""))
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def run_blocks(path: Path, slow: bool, folder: Path, npi, capsys) -> int:
    """Run the blocks of a Markdown file; return how many ran."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    names: dict[str, object] = {"__name__": "docs"}
    before, printed, count = Block("", "", "", False), "", 0
    for block in blocks(path):
        if block.slow and not slow:
            before = block
            continue
        if block.kind == "python" and block.title:
            (file,) = re.findall(r'title="([\w./]+\.py)"', block.title)
            with (folder / file).open("a") as out:
                out.write(block.text)
        elif block.kind == "python":
            exec(compile(block.text, f"{path.name}: {block.text[:40]}", "exec"), names)
            printed = capsys.readouterr().out
            count += 1
        elif block.kind == "text" and before.kind == "python" and not before.title and (slow or not before.slow):
            assert matches(block.text, printed), f"{path.name} shows:\n{block.text}\nprinted is:\n{printed}"
        elif block.kind == "console":
            for command, shown in commands(block.text):
                program, *words = shlex.split(command, comments=True)
                if program != "npi":
                    continue
                code, out, err = npi(*words)
                assert code == 0, f"{path.name}: {command} exits with {code}: {out}{err}"
                assert not shown or matches(shown, out), f"{path.name}: {command} shows:\n{shown}\nprinted is:\n{out}"
                count += 1
        before = block
    return count


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_the_fast_examples_run_and_print_what_is_shown(path, tmp_path, monkeypatch, npi, capsys):
    monkeypatch.chdir(tmp_path)
    run_blocks(path, False, tmp_path, npi, capsys)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in RUN if any(block.slow for block in blocks(path))], ids=lambda path: path.stem
)
def test_all_examples_run_and_print_what_is_shown(path, tmp_path, monkeypatch, npi, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_blocks(path, True, tmp_path, npi, capsys)


def test_examples_are_found():
    found = [block for path in RUN for block in blocks(path)]
    for those, python, console in ((found, 20, 20), ([block for block in found if not block.slow], 10, 10)):
        assert sum(block.kind == "python" for block in those) > python
        assert sum(len(commands(block.text)) for block in those if block.kind == "console") > console


def test_a_wrong_output_is_found(tmp_path, monkeypatch, npi, capsys):
    page = tmp_path / "page.md"
    monkeypatch.chdir(tmp_path)
    page.write_text("```console\n$ npi run addition 1 2\n4\n```\n")
    with pytest.raises(AssertionError, match="printed is"):
        run_blocks(page, False, tmp_path, npi, capsys)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n...\nc\n", "a\nb\nd\n", False),
        ("explored in 0.3 s; margin ...\n", "explored in 12.0 s; margin 4.2\n", True),
        ("100 %      ...\n", "100 %     12.5\n", True),
        ("8 frames\n", "9 frames\n", False),
    ],
)
def test_outputs_match_up_to_dots_and_durations(shown, printed, same):
    assert matches(shown, printed) == same


def test_every_command_in_the_docs_exists_with_its_options(npi):
    helps: dict[tuple[str, ...], str] = {}
    count = 0
    for path in PAGES:
        if path in HISTORY:
            continue
        for found in COMMAND.finditer(path.read_text("utf-8")):
            words = re.split(r"&&|[|>;]", found["words"])[0].split()
            name = tuple(words[:2] if words[0] == "cars" else words[:1])
            if name not in helps:
                code, out, _ = npi(*name, "--help")
                assert code == 0, f"{path.name}: there is no command npi {' '.join(name)}"
                helps[name] = out
            for option in re.findall(r"(?<![\w-])--[a-z-]+", " ".join(words)):
                assert re.search(rf"{option}(?![\w-])", helps[name]), f"{path.name}: npi {found['words']}: no {option}"
            count += 1
    assert count > 50


def test_the_readme_is_short():
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert len(text.split()) <= MAX_WORDS


def claims_of(page: str, claim: str) -> str:
    """All that a page of results writes about a claim: its row in the table, and its statement with the deviation."""
    lines = (ROOT / page).read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith((f"| {claim} |", f"- **{claim}**")))


def numbers(text: str) -> set[str]:
    return {number.replace(",", "").removesuffix(".0") for number in NUMBER.findall(text)}


def test_every_number_of_the_readmes_table_is_on_the_page_it_cites():
    section = README.read_text("utf-8").split("\n## Results\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| [")]
    assert len(rows) >= 5
    for row in rows:
        claim, page = re.findall(r"\[([^\]]+)\]\(([^)#]+)", row)[0]
        cited = claims_of(page, claim)
        assert cited, f"{page} has no claim {claim}"
        missing = numbers(row.split(")", 1)[1]) - numbers(cited)
        assert not missing, f"{claim}: {', '.join(sorted(missing))} is not on {page}"


def test_the_tutorial_counts_its_lines():
    files: dict[str, str] = {}
    for block in blocks(TUTORIAL):
        if block.title:
            (file,) = re.findall(r'title="([\w.]+)"', block.title)
            files[file] = files.get(file, "") + block.text
    counted = re.findall(r"`([\w.]+)` has (\d+) lines", TUTORIAL.read_text("utf-8"))
    assert counted
    for file, lines in counted:
        assert len(files[file].splitlines()) == int(lines), file
