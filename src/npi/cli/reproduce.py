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

from npi.cli.named import Device, device_named, positive
from npi.task import BadInput

if TYPE_CHECKING:
    from typing import TypeAlias

    from npi.experiment import Claim, Experiment, Failure, Results, Run, Settings

    # each experiment by its name, what was made of it, and what is wanted
    Made: TypeAlias = Mapping[str, tuple[Experiment, Results, Sequence[Settings]]]

INTRODUCTION = """# Results

What the paper says and what this project gets. `npi reproduce` writes this page from the files in
`{folder}`, which hold every run: its settings and seed, what was measured, how long it took, and on which
machine. In figures, lines that lie on each other are drawn side by side, and bands go from the least to the greatest of
the seeds.
"""


@dataclass(frozen=True)
class Place:
    """Where scripts are, and where what they find is written."""

    scripts: Path
    results: Path
    figures: Path
    page: Path

    @classmethod
    def of(cls, scripts: Path, quick: bool) -> Place:
        if quick:
            out = scripts / "quick"
            return cls(scripts, out, out, out / "results.md")
        docs = scripts.absolute().parent / "docs"
        return cls(scripts, scripts / "results", docs / "figures", docs / "results.md")

    def file(self, name: str) -> Path:
        return self.results / f"{name}.json"

    def figure(self, name: str) -> Path:
        return self.figures / f"{name}.png"


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
    from npi import experiment
    from npi.disk import check_place

    positive(workers=workers)
    known = experiment.names(folder)
    named = [name for name in dict.fromkeys(names) if name != "all"]
    if not names:
        raise BadInput(f"say which experiment, or all: there are {', '.join(known)}")
    found = {name: experiment.find(folder, name) for name in dict.fromkeys([*named, *known])}
    chosen = known if "all" in names else named
    place, where = Place.of(folder, quick), device_named(device).type
    check_place(place.results)
    results = {name: experiment.Results(place.file(name), found[name], fresh) for name in chosen}
    for name in known:
        if name not in chosen:
            try:
                results[name] = experiment.Results(place.file(name), found[name])
            except BadInput as error:
                print(f"npi: left out of {place.page}: {error}", file=sys.stderr)
    failures = [
        (name, failure)
        for name in chosen
        for failure in _make_all(folder, name, results[name], found[name].runs(quick), workers, where)
    ]
    for name, failure in failures:
        print(f"npi: {name} {failure.settings} failed: {failure.error}", file=sys.stderr)
    _write_page(
        place, {name: (found[name], results[name], found[name].runs(quick)) for name in known if name in results}
    )
    print(f"wrote {place.page}")
    return int(bool(failures))


def _make_all(folder: Path, name: str, results: Results, wanted: Sequence, workers: int, device: str) -> list[Failure]:
    """Make the runs that are missing, with a bar, or a line for each where there is no terminal."""
    from npi.experiment import Failure, perform
    from npi.progress import counted

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


def _write_page(place: Place, made: Made) -> None:
    """What all experiments found, each with its figure, drawn anew from the results."""
    from npi.disk import write

    for name, (one, results, wanted) in made.items():
        runs = results.of(wanted)
        if one.figure is not None and runs:
            place.figures.mkdir(parents=True, exist_ok=True)
            try:
                one.figure(runs, place.figure(name))
            except ModuleNotFoundError as error:
                raise BadInput(
                    f"figures are drawn by {error.name}, which is not installed; the runs are kept. Install it with: "
                    f"pip install 'npi[experiments]'"
                ) from error
    write(place.page, page(place, made).encode())


def page(place: Place, made: Made) -> str:
    """The text of the page of results."""
    parts = [INTRODUCTION.format(folder=place.results.relative_to(place.scripts.parent))]
    parts.append(_overview({name: (one, results.of(wanted)) for name, (one, results, wanted) in made.items()}))
    for name, (one, results, wanted) in sorted(made.items(), key=lambda item: _place(item[1][0].claims[0].name)):
        runs = results.of(wanted)
        claims = "\n".join(_said(claim) for claim in one.claims)
        parts.append(f"## {one.title}\n\n{claims}\n")
        if not runs:
            parts.append(f"Not made yet: `npi reproduce {name}`.\n")
            continue
        parts.append(f"{one.report(runs).strip()}\n")
        if one.figure is not None:
            parts.append(f"![{one.title}]({place.figure(name).relative_to(place.page.parent)})\n")
        missing = len(wanted) - len(runs)
        rest = f" **{missing} runs are still to be made.**" if missing else ""
        parts.append(f"`npi reproduce {name}`: {len(runs)} runs, {_work(runs)}, on {_machines(runs)}.{rest}\n")
    return "\n".join(parts)


def _said(claim: Claim) -> str:
    otherwise = f" *Otherwise here:* {claim.otherwise}" if claim.otherwise else ""
    return f"- **{claim.name}**: {claim.says}{otherwise}"


def _overview(made: dict[str, tuple[Experiment, Sequence[Run]]]) -> str:
    """Every claim, what was found, and by which command; those of the paper first, in their order."""
    rows = [
        (claim.name, claim.says, _lines(claim.found(runs) if runs else []), f"`npi reproduce {name}`")
        for name, (one, runs) in made.items()
        for claim in one.claims
    ]
    rows.sort(key=lambda row: _place(row[0]))
    head = ("claim", "as claimed", "found here", "by")
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows)) + "\n"


def _lines(found: Sequence[str]) -> str:
    return "<br>".join(found) or "not made yet"


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
