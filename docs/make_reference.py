"""A MkDocs hook: the pages of the site that are derived from the repository, and links between the two.

    index.md and others   files at the root of the repository, such as the README
    reference/index.md    the public API: every name in `npi.__all__`
    reference/ROOM.md     every module of one room

Pages link to files of the repository with relative paths, so that the links work where the repository is browsed. On
the site such a link leads to the page made from the file or, if there is none, to a copy of the file.
"""

from __future__ import annotations

import ast
import os.path
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "npi"
# The rooms in the order in which they build on each other, each with a page; "shared" holds the modules outside them.
ROOMS = ("language", "cars", "tasks", "network", "training", "proof", "evaluation", "cli")
SHARED = "shared"
# Pages made from files outside docs/
PAGES = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "model-card.md": "src/npi/network/pretrained/default/MODEL_CARD.md",
}
LINK = re.compile(r"""(?P<before>\]\(|\b(?:src|srcset|href)=")(?P<target>[^)"\s#]+)""")


def public_names() -> list[str]:
    """The names in `npi.__all__`."""
    for node in ast.parse((PACKAGE / "__init__.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    raise ValueError("npi/__init__.py has no __all__")


def modules() -> dict[str, list[str]]:
    """The modules on each page of the reference: all that are not empty, with `npi` itself on the page of the API."""
    pages: dict[str, list[str]] = {room: [] for room in (*ROOMS, SHARED)}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(("npi", *(part for part in parts if part != "__init__")))
        if path.stat().st_size and name != "npi":
            pages.setdefault(parts[0] if len(parts) > 1 else SHARED, []).append(name)
    return pages


def reference_pages() -> dict[str, str]:
    """The Markdown of each page of the reference."""
    names = public_names()
    functions = [name for name in names if name[0].islower()]
    others = [name for name in names if not name[0].islower()]
    api = ["# Public API", "::: npi\n    options:\n      show_root_heading: false\n      members: false"]
    for title, group in (("Functions", functions), ("Classes and constants", others)):
        api += [f"## {title}", *(f"::: npi.{name}\n    options:\n      heading_level: 3" for name in group)]
    pages = {"reference/index.md": api}
    for room, found in modules().items():
        # The parser of the command line takes its help from "Args:" sections, as Google writes them.
        style = "\n    options:\n      docstring_style: google" if room == "cli" else ""
        pages[f"reference/{room}.md"] = [f"# {room}", *(f"::: {name}{style}" for name in found)]
    return {name: "\n\n".join(parts) + "\n" for name, parts in pages.items()}


def site_link(source: str, target: str) -> tuple[str, str | None]:
    """Where a link of a page leads on the site, and the file of the repository that must be copied for it, if any.

    `source` is the page's file in the repository. A link to nothing in the repository stays as it is.
    """
    file = os.path.normpath(os.path.join(os.path.dirname(source), target)).replace(os.sep, "/")
    if re.match(r"[a-z]+:|/", target) or file.startswith("..") or not (ROOT / file).is_file():
        return target, None
    made = {path: page for page, path in PAGES.items()}
    here = next((page for page, path in PAGES.items() if path == source), source.removeprefix("docs/"))
    there = made.get(file, file.removeprefix("docs/"))
    copied = None if file in made or file.startswith("docs/") else file
    return os.path.relpath(there, os.path.dirname(here) or ".").replace(os.sep, "/"), copied


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each folder in the navigation by its pages."""
    docs = Path(config.docs_dir)
    pages = {
        "reference/": [f"reference/{page}.md" for page in ("index", *ROOMS, SHARED)],
        "how-to/": sorted(path.relative_to(docs).as_posix() for path in docs.glob("how-to/*.md")),
    }
    nav: list[dict[str, Any]] = config.nav or []
    for item in nav:
        item |= {title: pages[entry] for title, entry in item.items() if isinstance(entry, str) and entry in pages}
    config.nav = [item for item in nav if all(item.values())]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the derived pages."""
    from mkdocs.structure.files import File

    for name, path in PAGES.items():
        if (ROOT / path).is_file():
            files.append(File.generated(config, name, content=(ROOT / path).read_text("utf-8")))
    for name, text in reference_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links to files of the repository lead to their pages or copies on the site."""
    from mkdocs.structure.files import File

    name = page.file.src_uri
    source = PAGES.get(name, f"docs/{name}")

    def follow(match: re.Match[str]) -> str:
        link, copied = site_link(source, match["target"])
        if copied and not files.get_file_from_path(copied):
            files.append(File.generated(config, copied, abs_src_path=str(ROOT / copied)))
        return match["before"] + link

    return LINK.sub(follow, markdown)
