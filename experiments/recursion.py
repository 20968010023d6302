"""Recursive and loop traces by length, from as few traces as Cai et al. (2017) used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean
from typing import Any

from _figures import (
    WIDTH,
    Line,
    plot_lines,
    plot_points,
    pyplot,
    save,
    set_length_axis,
    set_percent_axis,
    shade_training,
    tested,
    write_note,
)
from _learners import PUBLISHED_TRACES, any_digits, learn_npi, learn_until_proved, npi_task, problems_of, score_npi
from _tables import accuracies, by, by_length, percent, with_seeds

from npi.evaluation.experiment import Experiment, PaperClaim, Verdict
from npi.evaluation.results import Run
from npi.language.task import Task
from npi.training.config import FAST

LENGTHS = {  # of test problems; the last is the longest published
    "addition": (3, 4, 5, 10, 100, 1000, 5000),
    "sorting": (2, 3, 4, 8, 20, 60, 90),
    "bubblesort": (3, 4, 5, 8, 20, 70),
    "quicksort": (5, 7, 11, 15, 20, 30, 70),
    "toposort": (6, 8, 10, 20, 60, 120),
}
PUBLISHED_RESULTS = {
    "addition": "recursive, from 200 traces of at most 3 digits: 100 % to 5000 digits",
    "sorting": "recursive, from 100 traces of length 2: 100 % to 90; loop: 6.7 % at 3, 0 % at 8",
    "bubblesort": "recursive, from 3 traces: 100 % to 70",
    "quicksort": "recursive, from 4 traces of length 5: 100 % to 70; loop: 73 % at 11, 3 % at 30",
    "toposort": "recursive, from 6 graphs: right to 120 vertices",
}
# The same by length, in percent, where the publication states one; the graphs are "right to 120 vertices".
PUBLISHED_POINTS = {
    "recursive": {"addition": {5000: 100}, "sorting": {90: 100}, "bubblesort": {70: 100}, "quicksort": {70: 100}},
    "loop": {"sorting": {3: 6.7, 8: 0}, "quicksort": {11: 73, 30: 3}},
}
PUBLISHED_MARKS = {"recursive": ("*", 13), "loop": ("X", 8)}  # marker and size
RIGHT_TO = {"toposort": 120}
SORTS = ("sorting", "bubblesort", "quicksort")
LEARNERS = {"loop": "loop", "recursive": "recursive", "proved": "recursive, until proved"}


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:
        return [{"task": "quicksort", "learner": "proved", "lengths": [5, 7], "problems": 5, "seed": 0}]
    kinds = [(task, learner) for task in LENGTHS for learner in LEARNERS]
    return with_seeds(
        3,
        ({"task": task, "learner": learner, "lengths": list(LENGTHS[task]), "problems": 30} for task, learner in kinds),
    )


def measure(device: str, task: str, learner: str, lengths: list[int], problems: int, seed: int) -> dict[str, Any]:
    sizes, examples = PUBLISHED_TRACES[task]
    known = npi_task(task, "loop" if learner == "loop" else "recursive", sizes, examples)
    if task == "sorting":
        known = replace(known, sample=any_digits)
    numbers: dict[str, Any] = {
        "traces": len(sizes) * examples,
        "sorted_before": sorted_before(known, lengths, problems),
    }
    if learner == "proved":
        model, attempts = learn_until_proved(known, seed)
        numbers |= {
            "proved": bool(attempts) and attempts[-1].proved,
            "rounds": max(0, len(attempts) - 1),
            "histories": attempts[0].histories if attempts else 0,
            "failing": [len(attempt.wrong_nodes) + len(attempt.unsure_nodes) for attempt in attempts],
        }
    else:
        model, training = learn_npi(known, seed)
        numbers |= training
    return {"scores": list(score_npi(model, known, lengths, problems)), **numbers}


def sorted_before(task: Task, lengths: Sequence[int], count: int) -> list[int]:
    """How many test arrays of each length are sorted before the program starts; empty for other tasks."""
    if task.name not in SORTS:
        return []
    problems = (problems_of(task, length, count) for length in lengths)
    return [sum(list(problem) == sorted(problem) for problem in at_length) for at_length in problems]


def report(made: Sequence[Run]) -> str:
    parts = [
        "Trained on the published number of traces, or slightly fewer. Correct answers on random problems, "
        f"{made[0].settings['problems']} of each length, mean and range over the seeds. *Until proved* adds repair "
        "rounds: it trains on the counterexamples of a failed proof, which the traces did not contain, and tries again "
        "(`npi train --until-verified`). A proved program is correct at every length."
    ]
    for task, group in by(made, lambda run: run.settings["task"]).items():
        learners = by(group, lambda run: run.settings["learner"])
        named = {name: learners[learner] for learner, name in LEARNERS.items() if learner in learners}
        ends = [run.result["proved"] for run in learners.get("proved", [])]
        traces = group[0].result["traces"]
        ended = f"; {sum(ends)} of {len(ends)} proved, {rounds_of(learners['proved'])}" if ends else ""
        published = f"Published: {PUBLISHED_RESULTS[task]}.{already_sorted(group[0])}"
        parts.append(f"**{task}**, from {traces} traces{ended}. {published}\n\n{by_length(named)}")
    return "\n\n".join(parts)


def already_sorted(run: Run) -> str:
    """How many test arrays are sorted before the program starts: the score of a program that does nothing."""
    found = zip(run.settings["lengths"], run.result["sorted_before"], strict=False)
    counts = [f"{count} of length {length}" for length, count in found if count]
    return f" Already sorted: {', '.join(counts)}." if counts else ""


def rounds_of(proved: Sequence[Run]) -> str:
    """How many repair rounds the proofs needed, and how many histories failed before the first, in words."""
    rounds = max(run.result["rounds"] for run in proved)
    first = sorted(run.result["failing"][0] for run in proved if run.result["failing"])
    if not first:
        return "because the traces were not learned"
    if not rounds:
        return "without repair"
    return (
        f"after at most {rounds} repair rounds ({first[0]:,} to {first[-1]:,} of {proved[0].result['histories']:,} "
        "histories failed at first)"
    )


def figure(made: Sequence[Run], path: Path) -> None:
    """A panel for each task: accuracy by length of the three learners, and the published values."""
    found = by(made, lambda run: run.settings["task"])
    rows = len(found) // 2 + 1  # two panels in a row; the last place is that of the legend
    figure, grid = pyplot().subplots(rows, 2, figsize=(WIDTH, 2.3 * rows), layout="constrained", squeeze=False)
    places = list(grid.flat)
    handles = []
    for axes, (task, group) in zip(places, found.items(), strict=False):
        learners = by(group, lambda run: run.settings["learner"])
        lines = [
            Line(name, tested(learners[learner]), style)
            for style, (learner, name) in enumerate(LEARNERS.items())
            if learner in learners
        ]
        entries = plot_lines(axes, lines)
        set_length_axis(axes, group[0].settings["lengths"])
        set_percent_axis(axes)
        sizes = PUBLISHED_TRACES[task][0]
        entries += shade_training(axes, sizes[-1], "lengths of the traces, up to the longest")
        for learner, (marker, size) in PUBLISHED_MARKS.items():
            points = PUBLISHED_POINTS[learner].get(task, {}).items()
            entries += plot_points(axes, points, f"published, {LEARNERS[learner]}: a percentage", marker, size)
        if task in RIGHT_TO:
            entries += plot_points(axes, [(RIGHT_TO[task], 100)], "published, recursive: right to here", "|", 10, 2.5)
        axes.set_title(f"{task}, {group[0].result['traces']} traces")
        axes.set_xlabel("vertices" if task == "toposort" else "digits" if task == "addition" else "elements")
        handles += [entry for entry in entries if entry.get_label() not in {one.get_label() for one in handles}]
    for axes in places[len(found) :]:
        axes.axis("off")
    places[len(found)].legend(handles=handles, loc="upper left", borderaxespad=0, handlelength=3)
    seeds, problems = len({run.settings["seed"] for run in made}), made[0].settings["problems"]
    write_note(
        figure,
        f"Means of {seeds} seeds, on {problems} problems of each length; bands run from the lowest to the highest "
        "seed.\nPublished values: Cai et al. 2017.",
    )
    save(figure, path)


def every_length(made: Sequence[Run]) -> list[str]:
    """For each kind of trace, the accuracy at the greatest length of each task; and how many runs were proved."""
    lines = []
    for learner in ("loop", "recursive"):
        tasks_of = by([run for run in made if run.settings["learner"] == learner], lambda run: run.settings["task"])
        parts = []
        for task, group in tasks_of.items():
            longest = group[0].settings["lengths"][-1]
            parts.append(f"{task} {percent(accuracies(group)[longest])} at {longest:,}")
        if parts:
            lines.append(f"{LEARNERS[learner]}: {', '.join(parts)}")
    ends = [run.result["proved"] for run in made if run.settings["learner"] == "proved"]
    return [*lines, *([f"{LEARNERS['proved']}: {sum(ends)} of {len(ends)} runs"] if ends else [])]


def recursion_verdict(made: Sequence[Run]) -> Verdict:
    """Reproduced if, for every task, recursive traces alone are enough for the greatest length."""
    by_task = by([run for run in made if run.settings["learner"] == "recursive"], lambda run: run.settings["task"])
    right = [mean(accuracies(group)[group[0].settings["lengths"][-1]]) >= 0.99 for group in by_task.values()]
    return "reproduced" if right and all(right) else "not reproduced"


EXPERIMENT = Experiment(
    "Recursion",
    [
        PaperClaim(
            "Cai et al. 2017",
            "If the traces call recursively instead of looping, a few short traces are enough for every length.",
            every_length,
            "addition and sorting of digits need repair rounds as well. The published number of random traces misses "
            "a few combinations of digits and carry, and in arrays of two, a pointer is always at the start or the "
            "end, which our environment observes. The publication does not say how its traces were chosen.",
            why="three of five tasks; addition and sorting of digits need repair rounds as well",
            paper="recursive: right to 5,000 digits, arrays of 90 and 70, graphs of 120 vertices",
            verdict=recursion_verdict,
        ),
    ],
    runs,
    measure,
    report,
    figure,
    config={"npi": asdict(FAST)},
    revision=2,
)
