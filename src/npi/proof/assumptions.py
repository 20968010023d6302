"""What a proof assumes and does not check. Certificates list it; docs/proof.md says why each is needed."""

from __future__ import annotations

from collections.abc import Iterable

# By name; docs/proof.md has the same names.
ASSUMPTIONS = {
    "problems": "`of` builds every problem as `tapes` declares, as it does the sampled ones",
    "no hidden state": "the code of the task remembers nothing beside tapes and graphs in places that no check sees, "
    "and `of`, `sample` and the like leave nothing behind for a step",
    "no peeking": "the code of the task does not ask whether a tape is concrete in a way that no check sees",
    "determinism": "the code of the task does the same whenever it is given the same: nothing depends on addresses of "
    "objects shown as text, or on the order of a set of texts",
    "limits": "no limit on steps, depth or memory ends a run",
    "arithmetic": "float64 arithmetic follows IEEE 754, and torch's sigmoid, tanh and square root are as exact as "
    "rounding.py says",
    "run time": "the logits of a run differ from the exact network's by less than half of margin_needed",
    "trusted code": "Python, and this package's interpreter, tapes, lazy tapes, replays and checker are correct",
}


CONSTANT = "constant"  # the name of the assumption that a value which nobody can watch does not change


def assumptions(unseen: Iterable[str] = ()) -> list[str]:
    """The assumptions of a proof. `unseen` are values that the task refers to and that no check watches."""
    return [f"{name}: {text}" for name, text in ASSUMPTIONS.items()] + [f"{CONSTANT}: {what}" for what in unseen]


def name_of(assumption: str) -> str:
    """How an assumption is named in one line: a value that nobody can watch by itself."""
    name, _, text = assumption.partition(": ")
    return f"{name} {text}" if name == CONSTANT else name
