"""npi reproduce"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from npi.cli.arguments import Device, positive
from npi.errors import BadInput

if TYPE_CHECKING:
    from npi.evaluation.experiment import Experiment, Failure
    from npi.evaluation.results_page import Layout, Section


def reproduce(
    names: Annotated[Positional[tuple[str, ...]], arg(metavar="NAME|all")],
    *,
    quick: bool = False,
    workers: int = 1,
    device: Device = "auto",
    fresh: bool = False,
    folder: Annotated[Path, arg(metavar="DIR")] = Path("experiments"),
) -> int:
    """Repeat the experiments, and write the pages of results and benchmarks.

    Existing runs are reused; an interrupted experiment resumes.

    Args:
        names: Which experiments, or all of them.
        quick: Make a few small runs of each, to see that everything works, and write them to DIR/quick.
        workers: How many runs to make in parallel, each in its own process; they divide the cores among them.
        device: Where baselines and cars are trained and new programs are taught. Small networks are trained on the CPU.
        fresh: Ignore existing runs and start over.
        folder: The folder of the experiments.
    """
    from npi.evaluation.experiment import experiment_names, find_experiment
    from npi.evaluation.results_page import Layout, draw_figures, write_pages
    from npi.files import check_writable
    from npi.network.checkpoint import resolve_device

    positive(workers=workers)
    known = experiment_names(folder)
    named = [name for name in dict.fromkeys(names) if name != "all"]
    if not names:
        raise BadInput(f"name an experiment, or all: there are {', '.join(known)}")
    found = {name: find_experiment(folder, name) for name in dict.fromkeys([*named, *known])}
    chosen = known if "all" in names else named
    layout, where = Layout.of(folder, quick), resolve_device(device).type
    check_writable(layout.results)
    sections = _sections(layout, {name: found[name] for name in known}, chosen, fresh)
    again = "the same command without --fresh" if fresh else "the same command"
    failures = []
    for name in chosen:
        try:
            failed = _make_missing(folder, name, sections[name], workers, where)
        except KeyboardInterrupt:
            print(f"npi: finished runs are stored; {again} makes the others", file=sys.stderr)
            raise
        failures += [(name, failure) for failure in failed]
    for name, failure in failures:
        print(
            f"npi: {name} {failure.settings} failed: {failure.error}; {again} repeats it, and no run that succeeded",
            file=sys.stderr,
        )
    written = write_pages(layout, sections)
    try:
        draw_figures(layout, sections)
    except ModuleNotFoundError as error:
        print(
            f"npi: no figures were drawn: {error.name} is not installed. Install it with pip install "
            f"'npi[experiments]'; then {again} draws them, and repeats no run",
            file=sys.stderr,
        )
    print(f"wrote {' and '.join(map(str, written))}")
    return int(bool(failures))


def _sections(
    layout: Layout, found: Mapping[str, Experiment], chosen: Sequence[str], fresh: bool
) -> dict[str, Section]:
    """The sections of the pages. Results that cannot be used are left out, unless their experiment was chosen."""
    from npi.evaluation.results_page import Section, check_reportable

    sections = {}
    for name, experiment in found.items():
        try:
            results = experiment.results(layout.results_file(name), fresh and name in chosen)
            section = Section(experiment, results, experiment.runs(layout.quick))
            check_reportable(section)
        except (BadInput, OSError) as error:
            if name in chosen:
                raise
            print(f"npi: left out of {layout.page(experiment.page)}: {error}", file=sys.stderr)
        else:
            sections[name] = section
    return sections


def _make_missing(folder: Path, name: str, section: Section, workers: int, device: str) -> list[Failure]:
    """Make the missing runs, with a progress bar, or with one line per run where there is no terminal."""
    from npi.cli.progress import show_counts
    from npi.evaluation.experiment import Failure, make_runs

    failures: list[Failure] = []
    wanted = section.wanted
    missing = section.results.missing(wanted)
    before = len(wanted) - len(missing)
    if missing and section.experiment.prepare is not None:
        show_counts(section.experiment.prepare(missing), f"preparing {name}")

    def making() -> Iterator[tuple[int, int]]:
        yield before, len(wanted)
        began = time.monotonic()
        for done, run in enumerate(make_runs(folder, name, section.results, wanted, workers, device), before + 1):
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
        show_counts(making(), name)
    return failures
