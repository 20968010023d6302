"""npi reproduce"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from npi.cli.arguments import Device, device_named, positive
from npi.errors import BadInput

if TYPE_CHECKING:
    from typing import TypeAlias

    from npi.evaluation.experiment import Claim, Experiment, Failure, Results, Run, Settings

    # each experiment by its name, what was made of it, and what is wanted
    Made: TypeAlias = Mapping[str, tuple[Experiment, Results, Sequence[Settings]]]

INTRODUCTION = """# Results

What the paper says and what this project gets. `npi reproduce` writes this page from the files in
`{folder}`, which hold every run reported: its settings and seed, what was measured, how long it took, and on which
machine. Runs that are there are not made again; with `--fresh` they are, and where a GPU was used, one is needed to do
it in like time.

In the first table, brackets are 95 % intervals (Wilson's) of the problems of all seeds together, as if they had been
drawn apart; the seeds of an experiment are judged on the same problems. Further down, brackets and the bands of figures
go from the least to the greatest of the seeds, unless something else is said. In figures, lines that lie on each other
are drawn side by side.
"""

QUICK = """# Quick runs

A few small runs of each experiment, by `npi reproduce --quick`. They show that everything works, and nothing else: the
results are those of the full runs.
"""


@dataclass(frozen=True)
class Place:
    """Where scripts are, and where what they find is written."""

    scripts: Path
    results: Path
    figures: Path
    page: Path
    quick: bool

    @classmethod
    def of(cls, scripts: Path, quick: bool) -> Place:
        if quick:
            out = scripts / "quick"
            return cls(scripts, out, out, out / "results.md", quick)
        docs = scripts.absolute().parent / "docs"
        return cls(scripts, scripts / "results", docs / "figures", docs / "results.md", quick)

    def file(self, name: str) -> Path:
        return self.results / f"{name}.json"

    def figure(self, name: str) -> Path:
        return self.figures / f"{name}.png"

    def command(self, name: str) -> str:
        return f"`npi reproduce {name}{' --quick' if self.quick else ''}`"


def reproduce(
    names: Annotated[Positional[tuple[str, ...]], arg(metavar="NAME|all")],
    *,
    quick: bool = False,
    workers: int = 1,
    device: Device = "auto",
    fresh: bool = False,
    folder: Annotated[Path, arg(metavar="DIR")] = Path("experiments"),
) -> int:
    """Make the experiments of the paper again, and write what was found beside what the paper says.

    Runs that are in the results already are not made again; an interrupted experiment goes on where it was.

    Args:
        names: Which experiments, or all of them.
        quick: A few small runs of each, to see that everything works; they are written to DIR/quick.
        workers: How many runs go on side by side, each in a process with its share of the cores.
        device: Where baselines and cars are trained; what is small is trained on the CPU.
        fresh: Forget the results that are there, and begin anew.
        folder: The folder of the experiments.
    """
    from npi.evaluation import experiment
    from npi.files import check_writable

    positive(workers=workers)
    known = experiment.names(folder)
    named = [name for name in dict.fromkeys(names) if name != "all"]
    if not names:
        raise BadInput(f"say which experiment, or all: there are {', '.join(known)}")
    found = {name: experiment.find(folder, name) for name in dict.fromkeys([*named, *known])}
    chosen = known if "all" in names else named
    place, where = Place.of(folder, quick), device_named(device).type
    check_writable(place.results)
    results = _kept(place, {name: found[name] for name in known}, chosen, fresh)
    again = "the same command without --fresh" if fresh else "the same command"
    failures = []
    for name in chosen:
        try:
            made = _make_all(folder, name, results[name], found[name].runs(quick), workers, where)
        except KeyboardInterrupt:
            print(f"npi: runs that were made are kept; {again} goes on with the others", file=sys.stderr)
            raise
        failures += [(name, failure) for failure in made]
    for name, failure in failures:
        print(
            f"npi: {name} {failure.settings} failed: {failure.error}; {again} tries it again, and no other",
            file=sys.stderr,
        )
    _write_page(
        place, {name: (found[name], results[name], found[name].runs(quick)) for name in known if name in results}, again
    )
    print(f"wrote {place.page}")
    return int(bool(failures))


def _kept(place: Place, found: Mapping[str, Experiment], chosen: Sequence[str], fresh: bool) -> dict[str, Results]:
    """What was made before; what cannot be used is left out, unless it was chosen."""
    from npi.evaluation.experiment import Results

    kept = {}
    for name, one in found.items():
        try:
            results = Results(place.file(name), one, fresh and name in chosen)
            _check(results, one, place.quick)
        except (BadInput, OSError) as error:
            if name in chosen:
                raise
            print(f"npi: left out of {place.page}: {error}", file=sys.stderr)
        else:
            kept[name] = results
    return kept


def _check(results: Results, one: Experiment, quick: bool) -> None:
    """Whether what is kept can be reported, before anything is added to it."""
    runs = results.of(one.runs(quick))
    if not runs:
        return
    try:
        one.report(runs)
        _machines(runs)
        for claim in one.claims:
            claim.found(runs)
    except Exception as error:
        raise BadInput(
            f"{results.path} holds runs that cannot be reported ({type(error).__name__}: {error}): put it back as it "
            f"was, or begin anew with --fresh"
        ) from error


def _make_all(folder: Path, name: str, results: Results, wanted: Sequence, workers: int, device: str) -> list[Failure]:
    """Make the runs that are missing, with a bar, or a line for each where there is no terminal."""
    from npi.cli.progress import counted
    from npi.evaluation.experiment import Failure, perform

    failures: list[Failure] = []
    before = len(wanted) - len(results.missing(wanted))

    def making() -> Iterator[tuple[int, int]]:
        yield before, len(wanted)
        began = time.monotonic()
        for done, run in enumerate(perform(folder, name, results, wanted, workers, device), before + 1):
            if isinstance(run, Failure):
                failures.append(run)
            elif not sys.stderr.isatty():
                left = (time.monotonic() - began) / (done - before) * (len(wanted) - done)
                print(
                    f"{name}: {done} of {len(wanted)} runs, about {timedelta(seconds=round(left))} left; "
                    f"{run.seconds:.1f} s for {run.settings}",
                    file=sys.stderr,
                    flush=True,
                )
            yield done, len(wanted)

    if before < len(wanted):
        counted(making(), name)
    return failures


def _write_page(place: Place, made: Made, again: str) -> None:
    """What all experiments found, each with its figure, drawn anew from the results; `again` is how to go on."""
    from npi.files import write

    write(place.page, page(place, made).encode())
    for name, (one, results, wanted) in made.items():
        runs = results.of(wanted)
        if one.figure is not None and runs:
            place.figures.mkdir(parents=True, exist_ok=True)
            try:
                one.figure(runs, place.figure(name))
            except ModuleNotFoundError as error:
                print(
                    f"npi: no figures were drawn: {error.name} is not installed. Install it with pip install "
                    f"'npi[experiments]'; then {again} draws them, and makes no run twice",
                    file=sys.stderr,
                )
                return


def page(place: Place, made: Made) -> str:
    """The text of the page of results."""
    parts = [QUICK if place.quick else INTRODUCTION.format(folder=place.results.relative_to(place.scripts.parent))]
    parts.append(_overview(place, {name: (one, results.of(wanted)) for name, (one, results, wanted) in made.items()}))
    for name, (one, results, wanted) in sorted(made.items(), key=lambda item: _place(item[1][0].claims[0].name)):
        runs = results.of(wanted)
        claims = "\n".join(_said(claim, place.quick) for claim in one.claims)
        parts.append(f"## {one.title}\n\n{claims}\n")
        if not runs:
            parts.append(f"Not made yet: {place.command(name)}.\n")
            continue
        parts.append(f"{one.report(runs).strip()}\n")
        if one.figure is not None:
            parts.append(f"![{one.title}]({place.figure(name).relative_to(place.page.parent)})\n")
        missing = len(wanted) - len(runs)
        rest = f" **{missing} runs are still to be made.**" if missing else ""
        count = f"{len(runs)} run{'s' * (len(runs) > 1)}"
        parts.append(f"{place.command(name)}: {count}, {_work(runs)}, on {_machines(runs)}.{rest}\n")
    return "\n".join(parts)


def _said(claim: Claim, quick: bool) -> str:
    """What is claimed, and where it is otherwise, which is never seen by quick runs."""
    otherwise = f" *Otherwise here:* {claim.otherwise}" if claim.otherwise and not quick else ""
    return f"- **{claim.name}**: {claim.says}{otherwise}"


def _overview(place: Place, made: dict[str, tuple[Experiment, Sequence[Run]]]) -> str:
    """Every claim, what was found, and by which command; those of the paper first, in their order."""
    rows = [
        (claim.name, claim.says, _found(claim, runs, place.quick), place.command(name))
        for name, (one, runs) in made.items()
        for claim in one.claims
    ]
    rows.sort(key=lambda row: _place(row[0]))
    head = ("claim", "as claimed", "found here", "by")
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows)) + "\n"


def _found(claim: Claim, runs: Sequence[Run], quick: bool) -> str:
    none = "nothing by quick runs" if quick and runs else "not made yet"
    return "<br>".join(claim.found(runs) if runs else []) or none


def _place(claim: str) -> tuple[int, str]:
    """Where a claim stands: C2 before C10, and these before what others say."""
    return (int(claim[1:]), "") if claim[1:].isdigit() else (1000, claim)


def _work(runs: Sequence[Run]) -> str:
    minutes = sum(run.seconds for run in runs) / 60
    return f"{minutes / 60:.1f} hours in all" if minutes >= 90 else f"{minutes:.1f} minutes in all"


def _machines(runs: Sequence[Run]) -> str:
    """Where runs were made, the most usual machine first."""
    counts: Counter[str] = Counter()
    for run in runs:
        at = run.where
        gpu = f" and {at['gpu']}" if at["gpu"] else ""
        cores = f"{at['threads']} of {at['cores']} cores a run"
        counts[f"{at['processor']} ({cores}){gpu}, torch {at['torch']}"] += 1
    return "; ".join(f"{what}: {count}" if len(counts) > 1 else what for what, count in counts.most_common())
