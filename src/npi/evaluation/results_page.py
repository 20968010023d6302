"""The pages of measurements: every claim, what we measured, and the command that measures it again.

Claims of the paper are on the results page, claims of this project beyond it on the benchmarks page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from npi.errors import BadInput
from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Results, Run, Settings
from npi.files import write

RESULTS = """# Results

What the paper claims and what this project measures. `npi reproduce` writes this page from the files in
`{folder}`. They hold every run reported here: its settings and seed, its measurements, its duration, and the machine.
Existing runs are reused; `--fresh` repeats them. Runs that used a GPU take much longer without one.

In the first table, brackets are 95 % Wilson intervals over the problems of all seeds, treated as independent samples;
all seeds of an experiment are tested on the same problems. Further down, brackets and shaded bands run from the lowest
to the highest seed unless stated otherwise. Lines that would overlap in a figure are drawn side by side.
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
        _machines(runs)
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
    parts = [introduction, _overview(layout, on_page)]
    for name, section in on_page.items():
        experiment, runs = section.experiment, section.runs
        claims = "\n".join(_describe(claim, layout.quick) for claim in experiment.claims)
        parts.append(f"## {experiment.title}\n\n{claims}\n")
        if not runs:
            parts.append(f"No runs yet: {layout.command(name)}.\n")
            continue
        parts.append(f"{experiment.report(runs).strip()}\n")
        if experiment.figure is not None:
            parts.append(f"![{experiment.title}]({layout.figure(name).relative_to(layout.pages)})\n")
        missing = len(section.wanted) - len(runs)
        incomplete = f" **{missing} runs are missing.**" if missing else ""
        count = f"{len(runs)} run{'s' * (len(runs) > 1)}"
        made = f"{count}, {_duration(runs)}, on {_machines(runs)}; {_versions(runs)}"
        parts.append(f"{layout.command(name)}: {made}.{incomplete}\n")
    return "\n".join(parts)


def _describe(claim: Claim, quick: bool) -> str:
    deviation = f" *Deviation:* {claim.deviation}" if claim.deviation and not quick else ""
    return f"- **{claim.name}**: {claim.statement}{deviation}"


def _overview(layout: Layout, sections: Mapping[str, Section]) -> str:
    """A table of every claim: those of the paper first, in the paper's order."""
    rows = [
        (claim.name, claim.statement, _evidence(claim, section.runs, layout.quick), layout.command(name))
        for name, section in sections.items()
        for claim in section.experiment.claims
    ]
    rows.sort(key=lambda row: _order(row[0]))
    head = ("claim", "statement", "measured here", "command")
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows)) + "\n"


def _evidence(claim: Claim, runs: Sequence[Run], quick: bool) -> str:
    nothing = "quick runs do not test it" if quick and runs else "no runs yet"
    return "<br>".join(claim.evidence(runs) if runs else []) or nothing


def _order(claim: str) -> tuple[int, str]:
    """The sort key of a claim: C2 before C10, and the paper's claims before all others."""
    return (int(claim[1:]), "") if claim[1:].isdigit() else (AFTER_THE_PAPER, claim)


def _duration(runs: Sequence[Run]) -> str:
    minutes = sum(run.seconds for run in runs) / 60
    return f"{minutes / 60:.1f} hours in all" if minutes >= 90 else f"{minutes:.1f} minutes in all"


def _machines(runs: Sequence[Run]) -> str:
    """The machines the runs were made on, the most frequent first."""
    counts: Counter[str] = Counter()
    for run in runs:
        machine = run.machine
        gpu = f" and {machine['gpu']}" if machine["gpu"] else ""
        cores = f"{machine['threads']} of {machine['cores']} cores a run"
        counts[f"{machine['processor']} ({cores}){gpu}, torch {machine['torch']}"] += 1
    return "; ".join(f"{name}: {count}" if len(counts) > 1 else name for name, count in counts.most_common())


def _versions(runs: Sequence[Run]) -> str:
    """The versions of npi and the commits that the runs were made with."""
    versions = sorted({run.machine["npi"] for run in runs})
    commits = sorted({run.machine["commit"] or "not recorded" for run in runs})
    return f"npi {', '.join(versions)}, commit{'s' * (len(commits) > 1)} {', '.join(commits)}"
