"""Every small edit of a JSON document."""

from collections.abc import Iterator
from typing import Any


def edits(document: Any) -> Iterator[Any]:
    """Copies of a document, in each of which one number or text is another."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from (document | {key: edited} for edited in edits(value))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from ([*document[:index], edited, *document[index + 1 :]] for edited in edits(value))
    elif isinstance(document, str):
        yield document + "x"
    elif document is not None:
        yield document + (1e-9 if isinstance(document, float) else 1)
