"""The kept runs of the real experiments can be reported and drawn, and the pages show what they hold."""

import copy
import json
from pathlib import Path
from typing import get_args

import pytest
from PIL import Image

from npi.evaluation.experiment import Experiment, PaperClaim, Verdict, experiment_names, find_experiment
from npi.evaluation.results import Run
from npi.evaluation.results_page import INTRODUCTIONS, Layout, Section, page_text

REAL = Path(__file__).parents[2] / "experiments"


@pytest.mark.parametrize("name", experiment_names(REAL))
def test_what_is_kept_of_the_real_ones_can_be_read_and_reported(name):
    one = find_experiment(REAL, name)
    assert isinstance(one, Experiment)
    settings = one.runs(False)
    assert len({json.dumps(run, sort_keys=True) for run in settings}) == len(settings)
    path = REAL / "results" / f"{name}.json"
    if path.exists():
        runs = one.results(path).of(settings)
        assert runs
        for made in range(1, len(runs) + 1):  # a page can be written at any time
            for some in (runs[:made], runs[-made:]):
                assert one.report(some)
                for claim in one.claims:
                    assert isinstance(claim.evidence(some), list)
                    if isinstance(claim, PaperClaim) and claim.verdict is not None:
                        assert claim.verdict(some) in (*get_args(Verdict), None)
        assert all(claim.evidence(runs) for claim in one.claims)


@pytest.mark.parametrize("page", INTRODUCTIONS)
def test_a_page_shows_what_its_results_files_hold(page):
    """Whoever adds runs or changes a report writes the pages again: any `npi reproduce NAME` does."""
    known = {name: find_experiment(REAL, name) for name in experiment_names(REAL)}
    layout = Layout.of(REAL, quick=False)
    sections = {
        name: Section(one, one.results(layout.results_file(name)), one.runs(False)) for name, one in known.items()
    }
    assert page_text(layout, page, sections) == layout.page(page).read_text()
    assert all(layout.figure(name).exists() for name in WITH_FIGURES if layout.results_file(name).exists())


WITH_FIGURES = [name for name in experiment_names(REAL) if find_experiment(REAL, name).figure]


@pytest.mark.parametrize("name", [name for name in WITH_FIGURES if (REAL / "results" / f"{name}.json").exists()])
def test_figures_are_drawn_from_what_is_kept(name, tmp_path):
    one = find_experiment(REAL, name)
    runs = one.results(REAL / "results" / f"{name}.json").of(one.runs(False))
    assert one.figure is not None
    one.figure(runs, tmp_path / "figure.png")
    width, height = Image.open(tmp_path / "figure.png").size
    assert width >= 800
    assert height >= 400


def run_of(seed, **right):
    """A run that was right on so many of ten problems of some lengths, of which 9 was wanted too."""
    lengths = [1, 2, 9]
    scores = [{"length": int(name[2:]), "problems": 10, "correct": count} for name, count in right.items()]
    return Run({"seed": seed, "lengths": lengths}, {"scores": scores}, 1.0, {})


def test_what_was_not_tried_counts_as_wrong():
    find_experiment(REAL, "memory")  # scripts share _tables
    from _tables import accuracies, by_length, over_seeds, percent, solved  # pyright: ignore[reportMissingImports]

    runs = [run_of(0, at1=10, at2=5, at9=10), run_of(1, at1=10, at2=0)]
    assert accuracies(runs) == {1: [1.0, 1.0], 2: [0.5, 0.0], 9: [1.0, 0.0]}
    found = accuracies(runs)
    assert over_seeds("NPI", {"at 1": found[1], "at 2": found[2]}) == "NPI: 100 % at 1, 25 % (0 to 50) at 2; 2 seeds"
    assert solved(9999, 10_000) == "99.99 % of 10,000"  # not 100
    assert solved(1, 100_000) == "0.001 % of 100,000"
    assert percent([0.999, 0.123]) == "56.1 % (12.3 to 99.9)"
    assert by_length({"one": runs}).splitlines()[2] == "| one | 2 | 100 % | 25 % (0 to 50) | 50 % (0 to 100) |"


def judged(name, claim, change=lambda result: None):
    """The verdict on a claim of an experiment from its kept runs, after a change of each."""
    one = find_experiment(REAL, name)
    runs = copy.deepcopy(one.results(REAL / "results" / f"{name}.json").of(one.runs(False)))
    for run in runs:
        change(run.result)
    (found,) = (other for other in one.claims if other.name == claim and getattr(other, "verdict", None))
    assert isinstance(found, PaperClaim)
    assert found.verdict is not None
    return found.verdict(runs)


def nothing_solved(result):
    for score in result["scores"]:
        score.update({key: 0 for key in ("correct", "answers", "traces") if key in score})


def everything_solved(result):
    for score in result["scores"]:
        score["correct"] = score["problems"]


def no_tables_solved(result):
    for name, score in result["scores"].items():
        for by_car in score.values() if name == "cars" else ():
            by_car.update({car: [0, 0, count] for car, (_, _, count) in by_car.items()})
        if name != "cars":
            score[:2] = [0, 0]


def max_solved(result):
    for arm in result.get("max", {}).values():
        arm["scores"]["maximum"] = [1000, 1000, 1000]


def equal_bytes(result):
    result["bytes"] = 1000


def a_call_left_out(result):
    for tree in result["trees"].values():
        tree["lines"].pop(3)


def fails_when_long(result):
    for score in result["scores"]:
        if score["length"] >= 20:
            score["correct"] = 0


@pytest.mark.parametrize(
    ("name", "claim", "before", "change", "after"),
    [
        ("accuracy", "C1", "reproduced", nothing_solved, "not reproduced"),
        ("long_carries", "C1", "reproduced", nothing_solved, "not reproduced"),
        ("addition_lengths", "C2", "not reproduced", fails_when_long, "reproduced"),
        ("sorting_lengths", "C3", "better", nothing_solved, "not reproduced"),
        ("sample_complexity", "C4", "reproduced", nothing_solved, "not reproduced"),
        ("paper_table1", "C5", "reproduced", no_tables_solved, "not reproduced"),
        ("paper_table1", "C6", "not reproduced", max_solved, "reproduced"),
        ("paper_table1", "C7", "reproduced", no_tables_solved, "not reproduced"),
        ("call_trees", "C9", "reproduced", a_call_left_out, "not reproduced"),
        ("memory", "C10", "reproduced", equal_bytes, "not reproduced"),
        ("recursion", "Cai et al. 2017", "not reproduced", everything_solved, "reproduced"),
    ],
)
def test_a_verdict_depends_on_the_runs(name, claim, before, change, after):
    assert judged(name, claim) == before
    assert judged(name, claim, change) == after
