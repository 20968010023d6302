"""npi reproduce"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from npi.cli.named import Device, device_named, positive
from npi.task import BadInput

if TYPE_CHECKING:
    from npi.experiment import Experiment, Run


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
    from npi.progress import counted

    positive(workers=workers)
    place = Place.of(folder, quick)
    known = experiment.names(folder)
    chosen = known if names == ("all",) else list(dict.fromkeys(names))
    found = {name: experiment.find(folder, name) for name in chosen}
    where = device_named(device).type
    check_place(place.results)
    if fresh:
        for name in chosen:
            (place.results / f"{name}.json").unlink(missing_ok=True)
    opened = {name: experiment.Results(place.results / f"{name}.json", one) for name, one in found.items()}
    failures: list[tuple[str, experiment.Failure]] = []
    for name, one in found.items():
        results, wanted = opened[name], one.runs(quick)
        missing = len(results.missing(wanted))
        if not missing:
            continue

        def making(name: str = name, results: experiment.Results = results, wanted: Sequence = wanted) -> Iterator:
            done = len(wanted) - len(results.missing(wanted))
            yield done, len(wanted)
            for run in experiment.perform(folder, name, results, wanted, workers, where):
                done += 1
                if isinstance(run, experiment.Failure):
                    failures.append((name, run))
                elif not sys.stderr.isatty():
                    took = f"{run.seconds:.1f} s"
                    print(f"{name}: {done} of {len(wanted)} runs, {run.settings}, {took}", file=sys.stderr, flush=True)
                yield done, len(wanted)

        counted(making(), f"{name}, {missing} of {len(wanted)} runs to make")
    for name, failure in failures:
        print(f"npi: {name} {failure.settings} failed: {failure.error}", file=sys.stderr)
    for name in known:
        one = found.get(name) or experiment.find(folder, name)
        if name not in opened and (place.results / f"{name}.json").exists():
            opened[name] = experiment.Results(place.results / f"{name}.json", one)
        found[name] = one
    write_page(
        place, {name: (found[name], opened[name].of(found[name].runs(quick))) for name in known if name in opened}
    )
    print(f"wrote {place.page}")
    return int(bool(failures))


def write_page(place: Place, made: dict[str, tuple[Experiment, list[Run]]]) -> None:
    """What all experiments found, each with its figure, drawn anew from the results."""
    from npi.disk import write

    parts = [
        "# Results\n\nWhat the paper says and what this project gets, written by `npi reproduce` from the files in "
        "`experiments/results`, which hold every run: its settings and seed, what was measured, how long it took, and "
        "on which machine. Shares are of problems; intervals are 95 % (Wilson's) unless said otherwise.\n"
    ]
    for name, (one, runs) in made.items():
        if not runs:
            continue
        parts.append(f"## {one.title}\n\n{one.paper}\n\n{one.report(runs).strip()}\n")
        if one.figure is not None:
            file = place.figures / f"{name}.png"
            place.figures.mkdir(parents=True, exist_ok=True)
            try:
                one.figure(runs, file)
            except ModuleNotFoundError as error:
                raise BadInput(f"figures are drawn by {error.name}: pip install 'npi[experiments]'") from error
            parts.append(f"![{one.title}]({file.relative_to(place.page.parent)})\n")
        lost = len(one.runs(place.results.name == "quick")) - len(runs)
        rest = f"; {lost} runs are still to be made" if lost else ""
        parts.append(f"`npi reproduce {name}`: {len(runs)} runs, {_hours(runs)} of work, on {_machines(runs)}{rest}.\n")
    write(place.page, "\n".join(parts).encode())


def _hours(runs: Sequence[Run]) -> str:
    minutes = sum(run.seconds for run in runs) / 60
    return f"{minutes / 60:.1f} hours" if minutes >= 90 else f"{minutes:.0f} minutes"


def _machines(runs: Sequence[Run]) -> str:
    """Where the runs were made, in words, the most usual first."""
    counts: dict[str, int] = {}
    for run in runs:
        at = run.where
        gpu = f"{at['gpu']}, " if at["gpu"] else ""
        what = f"{gpu}{at['processor']} ({at['threads']} of {at['cores']} cores a run), torch {at['torch']}"
        counts[what] = counts.get(what, 0) + 1
    ordered = sorted(counts, key=lambda what: -counts[what])
    return "; ".join(what if len(ordered) == 1 else f"{what}: {counts[what]} runs" for what in ordered)
