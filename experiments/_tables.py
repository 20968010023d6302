"""Results as Markdown tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from statistics import mean
from typing import Any, TypeVar

from npi.evaluation.results import Run
from npi.evaluation.score import interval

Kind = TypeVar("Kind", bound=Hashable)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def by(runs: Iterable[Run], kind: Callable[[Run], Kind]) -> dict[Kind, list[Run]]:
    """Runs in groups of the same kind."""
    groups: dict[Kind, list[Run]] = defaultdict(list)
    for run in runs:
        groups[kind(run)].append(run)
    return groups


def accuracies(runs: Sequence[Run]) -> dict[int, list[float]]:
    """By length, the accuracy of each run; 0 at lengths that a run did not try because it failed at shorter ones."""
    found: dict[int, list[float]] = defaultdict(list)
    for run in runs:
        tried = {score["length"]: score["correct"] / score["problems"] for score in run.result["scores"]}
        for length in run.settings.get("lengths", tried):
            found[length].append(tried.get(length, 0.0))
    return dict(sorted(found.items()))


def percent(values: Sequence[float]) -> str:
    """The mean of some fractions, with the lowest and highest where they differ."""
    low, high = min(values), max(values)
    spread = "" if low == high else f" ({_short(low)} to {_short(high)})"
    return f"{_short(mean(values))} %{spread}"


def _short(fraction: float) -> str:
    """A fraction in percent, with as few decimals as tell it from 0 and 100, and at most one otherwise."""
    decimals = 1
    while (text := f"{100 * fraction:.{decimals}f}") and 0 < fraction < 1 and float(text) in (0, 100):
        decimals += 1
    return text.removesuffix(".0")


def solved(right: int, problems: int) -> str:
    """What one network solves. No interval: the problems of one network are not independent."""
    return f"{_short(right / problems)} % of {problems:,}"


def independent(successes: int, trials: int) -> str:
    """A count of independent units, such as seeds, with the 95 % interval of the fraction."""
    low, high = interval(successes, trials)
    return f"{successes} of {trials} ({100 * low:.1f} to {100 * high:.1f} %)"


def over_seeds(name: str, found: Mapping[str, Sequence[float]]) -> str:
    """In one line: what a learner reaches, such as its accuracy at some lengths, mean and range over the seeds."""
    seeds = max(map(len, found.values()))
    parts = ", ".join(f"{percent(values)} {at}" for at, values in found.items())
    return f"{name}: {parts}; {seeds} seed{'s' * (seeds > 1)}"


def test_counts(runs: Sequence[Run]) -> str:
    """On how many problems of each length NPI and the baselines were tested."""
    counts = {run.settings["learner"] in ("loop", "recursive"): run.settings["problems"] for run in runs}
    parts = [
        f"{counts[is_npi]} of each length for {learner}"
        for is_npi, learner in ((True, "NPI"), (False, "baselines"))
        if is_npi in counts
    ]
    return ", ".join(parts)


def by_length(groups: Mapping[str, Sequence[Run]]) -> str:
    """A row for each learner, a column for each length: the mean over seeds, and the range."""
    found = {name: accuracies(runs) for name, runs in groups.items()}
    lengths = sorted({length for scores in found.values() for length in scores})
    rows = [
        [name, len(groups[name]), *(percent(scores[length]) if length in scores else "" for length in lengths)]
        for name, scores in found.items()
    ]
    return table(["length", "seeds", *map(str, lengths)], rows)


def with_seeds(count: int, kinds: Iterable[dict[str, Any]], first: int = 0) -> list[dict[str, Any]]:
    """Every kind of run with every seed: the settings of all runs, ordered by seed. `first` is the first seed."""
    kinds = list(kinds)
    return [{**kind, "seed": seed} for seed in range(first, first + count) for kind in kinds]
