"""A Griffe extension: the docstrings of this package as Markdown.

Docstrings are written to be read in a terminal. Two of their forms would run together on a page:

    name    an aligned list of fields or parameters     becomes a list
    >>>     an example                                  becomes a block of code
"""

from __future__ import annotations

import re
from typing import Any

import griffe

# A name, or several with commas between, then at least two spaces and what it is
FIELD = re.compile(r"(?P<names>[A-Za-z_*][\w.*]*(?:, [A-Za-z_*][\w.*]*)*) {2,}(?P<text>\S.*)")


def to_markdown(docstring: str) -> str:
    """A docstring, its aligned lists as Markdown lists and its examples as code."""
    blocks = re.split(r"\n{2,}", docstring)
    out: list[str] = []
    for block in blocks:
        lines = block.split("\n")
        if lines[0].startswith(">>>"):
            out.append("\n".join(("```pycon", *lines, "```")))
        elif FIELD.fullmatch(lines[0]) and all(FIELD.fullmatch(line) or line.startswith("  ") for line in lines):
            out.append("\n".join(map(_item, lines)))
        else:
            out.append(block)
    return "\n\n".join(out)


def _item(line: str) -> str:
    field = FIELD.fullmatch(line)
    if not field:  # the text goes on
        return f"    {line.strip()}"
    names = ", ".join(f"`{name}`" for name in field["names"].split(", "))
    return f"- {names}: {field['text']}"


class DocstringMarkdown(griffe.Extension):
    """Rewrite every docstring once it is loaded."""

    def on_object(self, *, obj: griffe.Object, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)
