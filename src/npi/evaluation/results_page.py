"""The pages of measurements: every claim, what we measured, and the command that measures it again.

Claims of the paper are on the results page, claims of this project beyond it on the benchmarks page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npi.errors import BadInput
from npi.evaluation.experiment import Claim, Experiment, PaperClaim
from npi.evaluation.results import Results, Run, Settings
from npi.files import write

RESULTS = """# Results

What the paper claims, and what this project measures. `npi reproduce` writes this page from the files in
`{folder}`. They hold every run reported here: its settings and seed, its measurements, its duration, the machine, the
versions and the git commit. Existing runs are reused; `--fresh` repeats them. Runs that used a GPU take much longer
without one.

*On the paper's terms* means its data, its teacher, its supervision and its sizes. *At our best* means our own recipe:
recursive teachers, auxiliary labels, practice programs, repair rounds. A verdict compares the paper with us on its own
terms. Brackets after a mean are its lowest and highest seed. Brackets after a count of seeds, and intervals over cars,
are 95 % Wilson intervals.
"""

BENCHMARKS = """# Benchmarks

What this project claims beyond the paper, and what it measures. `npi reproduce` writes this page from the files in
`{folder}`. They hold every run reported here: its settings and seed, its measurements, its duration, the machine, the
versions and the git commit. Existing runs are reused; `--fresh` repeats them. Claims of the paper are on the
[results page](results.md).

Brackets after a number of seeds, cars or programs are 95 % Wilson intervals over these, which are independent samples;
problems solved by one model are not.
"""

AFTER_THE_PAPER = 1000  # greater than the number of any claim of the paper, such as C10

INTRODUCTIONS = {"results": RESULTS, "benchmarks": BENCHMARKS}

QUICK = """# Quick runs

A few small runs of each experiment, made by `npi reproduce --quick`. They show that every script works. They measure
nothing: for results, see the full runs.
"""


@dataclass(frozen=True)
class Layout:
    """The paths that `npi reproduce` reads and writes."""

    scripts: Path
    results: Path
    figures: Path
    pages: Path
    quick: bool

    @classmethod
    def of(cls, scripts: Path, quick: bool) -> Layout:
        if quick:
            out = scripts / "quick"
            return cls(scripts, out, out, out, quick)
        docs = scripts.absolute().parent / "docs"
        return cls(scripts, scripts / "results", docs / "figures", docs, quick)

    def page(self, name: str) -> Path:
        return self.pages / f"{name}.md"

    def results_file(self, name: str) -> Path:
        return self.results / f"{name}.json"

    def figure(self, name: str) -> Path:
        return self.figures / f"{name}.png"

    def command(self, name: str) -> str:
        return f"`npi reproduce {name}{' --quick' if self.quick else ''}`"


@dataclass(frozen=True)
class Section:
    """One experiment on the page: the experiment, its results, and the settings of all runs wanted."""

    experiment: Experiment
    results: Results
    wanted: Sequence[Settings]

    @property
    def runs(self) -> list[Run]:
        return self.results.of(self.wanted)


def check_reportable(section: Section) -> None:
    """Raise BadInput if the stored runs of an experiment cannot be reported, before any run is added to them."""
    runs = section.runs
    if not runs:
        return
    try:
        section.experiment.report(runs)
        _provenance(runs)
        for claim in section.experiment.claims:
            claim.evidence(runs)
    except Exception as error:
        raise BadInput(
            f"{section.results.path} holds runs that cannot be reported ({type(error).__name__}: {error}): restore it, "
            f"or start over with --fresh"
        ) from error


def write_pages(layout: Layout, sections: Mapping[str, Section]) -> list[Path]:
    """Write every page that an experiment is on, and return their paths."""
    written = []
    for page in INTRODUCTIONS:
        if sections_of(page, sections):
            write(layout.page(page), page_text(layout, page, sections).encode())
            written.append(layout.page(page))
    return written


def draw_figures(layout: Layout, sections: Mapping[str, Section]) -> None:
    """Draw the figures of all experiments. Raises ModuleNotFoundError where matplotlib is missing."""
    for name, section in sections.items():
        if section.experiment.figure is not None and section.runs:
            layout.figures.mkdir(parents=True, exist_ok=True)
            section.experiment.figure(section.runs, layout.figure(name))


def sections_of(page: str, sections: Mapping[str, Section]) -> dict[str, Section]:
    """The sections on a page, in the order of their claims."""
    found = [(name, section) for name, section in sections.items() if section.experiment.page == page]
    return dict(sorted(found, key=lambda item: _order(item[1].experiment.claims[0].name)))


def page_text(layout: Layout, page: str, sections: Mapping[str, Section]) -> str:
    """A page as Markdown."""
    on_page = sections_of(page, sections)
    folder = layout.results.relative_to(layout.scripts.parent)
    introduction = QUICK if layout.quick else INTRODUCTIONS[page].format(folder=folder)
    of_paper = page == "results" and not layout.quick
    overview = _verdicts(on_page) if of_paper else _overview(layout, on_page)
    return "\n".join([introduction, overview, *(_section(layout, name, on_page[name], of_paper) for name in on_page)])


def _section(layout: Layout, name: str, section: Section, fold: bool) -> str:
    """An experiment on a page: its claims, its figure, its report (folded, if asked) and where its runs come from."""
    experiment, runs = section.experiment, section.runs
    claims = "\n".join(_describe(claim, layout.quick) for claim in experiment.claims)
    parts = [f"## {experiment.title}\n\n{claims}\n"]
    if not runs:
        return "\n".join([*parts, f"No runs yet: {layout.command(name)}.\n"])
    if experiment.figure is not None:
        parts.append(f"![{experiment.title}]({layout.figure(name).relative_to(layout.pages)})\n")
    report = experiment.report(runs).strip()
    parts.append(f"{_folded('Details', report) if fold else report}\n")
    missing = len(section.wanted) - len(runs)
    incomplete = f" **{missing} runs are missing.**" if missing else ""
    made = f"{layout.command(name)}: {len(runs)} run{'s' * (len(runs) > 1)}, {_duration(runs)}.{incomplete}"
    return "\n".join([*parts, f"{made}\n", f"{_folded('Machines and versions', _provenance(runs))}\n"])


def _folded(summary: str, text: str) -> str:
    return f'<details markdown="1"><summary>{summary}</summary>\n\n{text}\n\n</details>'


def _describe(claim: Claim, quick: bool) -> str:
    deviation = f" *Deviation:* {claim.deviation}" if claim.deviation and not quick else ""
    return f"- **{claim.name}**: {claim.statement}{deviation}"


def _verdicts(sections: Mapping[str, Section]) -> str:
    """A table of the paper's claims, in its order: its numbers, ours on its terms, ours at our best, the verdict."""
    by_name: dict[str, list[tuple[PaperClaim, Sequence[Run]]]] = {}
    for section in sections.values():
        for claim in section.experiment.claims:
            if isinstance(claim, PaperClaim):
                by_name.setdefault(claim.name, []).append((claim, section.runs))
    rows = []
    for name in sorted(by_name, key=_order):
        judged = [(claim, runs) for claim, runs in by_name[name] if claim.verdict is not None]
        best = [(claim, runs) for claim, runs in by_name[name] if claim.verdict is None]
        claim = next((claim for claim, _ in judged if claim.paper), by_name[name][0][0])
        found = [claim.verdict(runs) for claim, runs in judged if claim.verdict is not None and runs]
        verdicts = [verdict for verdict in found if verdict is not None]
        cells = (_lines(judged), _lines(best), f"**{verdicts[0]}**" if verdicts else "not measured")
        rows.append((name, claim.paper, *cells, claim.why))
    head = ("claim", "the paper", "ours, on the paper's terms", "ours, at our best", "verdict", "why")
    return _table(head, rows)


def _lines(claims: Sequence[tuple[PaperClaim, Sequence[Run]]]) -> str:
    """The evidence of some claims, line by line."""
    return "<br>".join(line for claim, runs in claims if runs for line in claim.evidence(runs)) or "-"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows)) + "\n"


def _overview(layout: Layout, sections: Mapping[str, Section]) -> str:
    """A table of every claim, and the command that measures it."""
    rows = [
        (claim.name, claim.statement, _evidence(claim, section.runs, layout.quick), layout.command(name))
        for name, section in sections.items()
        for claim in section.experiment.claims
    ]
    rows.sort(key=lambda row: _order(row[0]))
    return _table(("claim", "statement", "measured here", "command"), rows)


def _evidence(claim: Claim, runs: Sequence[Run], quick: bool) -> str:
    nothing = "quick runs do not test it" if quick and runs else "no runs yet"
    return "<br>".join(claim.evidence(runs) if runs else []) or nothing


def _order(claim: str) -> tuple[int, str]:
    """The sort key of a claim: C2 before C10, and the paper's claims before all others."""
    return (int(claim[1:]), "") if claim[1:].isdigit() else (AFTER_THE_PAPER, claim)


def _duration(runs: Sequence[Run]) -> str:
    minutes = sum(run.seconds for run in runs) / 60
    return f"{minutes / 60:.1f} hours in all" if minutes >= 90 else f"{minutes:.1f} minutes in all"


def _provenance(runs: Sequence[Run]) -> str:
    """The commits, versions and machines that the runs were made with, the most frequent first."""
    counts = Counter(_origin(run.machine) for run in runs)
    rows = [(str(count), *origin) for origin, count in counts.most_common()]
    return _table(("runs", "commit", "npi", "python", "torch", "machine"), rows).strip()


def _origin(machine: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    gpu = f" and {machine['gpu']}" if machine["gpu"] else ""
    where = f"{machine['processor']} ({machine['threads']} of {machine['cores']} cores a run){gpu}"
    return machine["commit"] or "not recorded", machine["npi"], machine["python"], machine["torch"], where
