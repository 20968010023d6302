"""The paper's Table 1 on its own terms: its loops and sizes, decisions alone, one configuration for every column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from statistics import mean
from typing import Any

from _cars import DECISIONS, learn, render_for, score_cars, share, to_paper_target
from _tables import independent, over_seeds, percent, table

from npi import tasks
from npi.evaluation.experiment import Experiment, PaperClaim, Verdict
from npi.evaluation.results import Run, Settings
from npi.evaluation.score import interval, score_problems
from npi.language.memo import Memo
from npi.language.task import Task
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.training.row_trainer import TeachConfig
from npi.training.teach import teach_task

# Sizes are those of the paper's section 4.4. It does not say how many examples it used: these are the numbers of its
# other experiments, 640 sums and 1,216 arrays.
SIZES = {"addition": 10, "sorting": 5, "maximum": 5}
EXAMPLES = {"addition": 640, "sorting": 1216, "maximum": 1216}
CONFIG = replace(DECISIONS, updates=4000, updates_after_learned=4000, eval_every=200)
TEACHING = {
    "rows alone": (False, False),
    "extra keys": (True, False),
    "extra keys, rehearsed": (True, True),
}


def runs(quick: bool) -> list[dict[str, Any]]:
    if quick:  # without cars: rendering them takes minutes
        return [{"tasks": "sorting", "seed": 0, "cars": 0, "problems": 20, "updates": 30}]
    settings = {"cars": 56, "problems": 1000, "updates": CONFIG.updates}
    return [
        {"tasks": chosen, "seed": seed, **settings}
        for chosen in ("three", "cars", "addition", "sorting")
        for seed in range(5)
    ]


def prepare(missing: Sequence[Settings]) -> Iterator[tuple[int, int]]:
    if any(settings["tasks"] in ("cars", "three") for settings in missing):
        yield from render_for(missing[0]["cars"])


def paper_task(name: str) -> Task:
    """A task with the loops, the sizes and the targets of the paper's table 1."""
    task = tasks.find(name, "loop")
    if name == "cars":
        return to_paper_target(task)
    return replace(task, sizes=[SIZES[name]], examples=EXAMPLES[name])


def measure(device: str, tasks: str, seed: int, cars: int, problems: int, updates: int) -> dict[str, Any]:
    names = ["addition", "sorting", "cars"] if tasks == "three" else [tasks]
    known = [paper_task(name) for name in names]
    trainer = learn(known, replace(CONFIG, updates=updates), seed, device)
    model = trainer.ema_model
    result: dict[str, Any] = {
        "accuracy": trainer.metrics().accuracy,
        "learned": trainer.learned,
        "scores": scores(model, known, cars, problems),
    }
    if tasks == "three":
        result["max"] = {
            name: teach_maximum(model, known if rehearse else [], known, keys, seed, cars, problems)
            for name, (keys, rehearse) in TEACHING.items()
        }
    return result


def teach_maximum(
    core: NPI, rehearse: Sequence[Task], known: Sequence[Task], extra_keys: bool, seed: int, cars: int, problems: int
) -> dict[str, Any]:
    taught = teach_task(core, paper_task("maximum"), rehearse, TeachConfig(extra_keys=extra_keys), seed)
    new = scores(taught.model, [paper_task("maximum")], cars, problems)
    # Without rehearsal, old programs run as before, to the last bit: teaching itself checks that.
    after = scores(taught.model, known, cars, problems) if rehearse else {}
    return {"wrong": taught.wrong, "frames": taught.frames, "updates": taught.updates, "scores": {**new, **after}}


def scores(model: NPI, known: Sequence[Task], cars: int, problems: int) -> dict[str, Any]:
    """By task: right answers, traces as the teacher's, and problems; of cars, by set and car."""
    found: dict[str, Any] = {}
    for task in known:
        if task.name == "cars":
            found["cars"] = score_cars(model, task, cars)
        else:
            decider = Memo(NeuralDecider(model, task.env))
            score = score_problems(task, decider, task.test_problems(SIZES[task.name], problems, 0))
            found[task.name] = [score.answers, score.traces, score.problems]
    return found


def report(made: Sequence[Run]) -> str:
    rows = []
    for row, (what, paper) in ROWS.items():
        line = [what]
        for column, published in zip(COLUMNS, (*paper, None), strict=True):
            found = cell(made, row, column)
            figure = "" if published is None else f" [{published}]"
            line.append(found + figure if found else "")
        rows.append(line)
    settings = made[0].settings
    return (
        "Every network has the same architecture and configuration, whether it learns one task or three: loop "
        "teachers, decisions alone, no practice, no proof. Sums have 10 digits, arrays 5, trajectories at most four "
        f"steps, to azimuth 0 and elevation 15; {EXAMPLES['addition']} sums and {EXAMPLES['sorting']} arrays. At most "
        f"{settings['updates']:,} updates. The configuration was chosen on the selection cars; the unseen cars here "
        "are the test cars. Mean and range over the seeds; the paper's figures in square brackets. *And MAX*: MAX and "
        "RJMP are taught to the networks of three tasks. *By rows alone* trains their keys and embeddings, as the "
        "paper does. *With extra keys*, each old program that they call gets a key that only they see; *rehearsed*, "
        "old frames are trained as well, and nothing is masked.\n\n"
        f"{table(['', *COLUMNS.values()], rows)}\n\n"
        f"Traces equal to the teacher's: {traces(made)}.\n\n"
        f"Test problems that are also training problems: {overlaps(made)}. Cars are tested from poses, or around cars, "
        "that training never shows."
    )


def overlaps(made: Sequence[Run]) -> str:
    """By task, how many test problems are training problems, over the seeds."""
    problems = made[0].settings["problems"]
    seeds = sorted({run.settings["seed"] for run in made})
    parts = []
    for name in ("addition", "sorting"):
        counts = [overlap(name, problems, seed) for seed in seeds]
        parts.append(f"{min(counts)} to {max(counts)} of {problems:,} for {name}")
    return ", ".join(parts)


@cache
def overlap(name: str, problems: int, seed: int) -> int:
    task = paper_task(name)
    training = set(task.training_problems(seed))
    return sum(problem in training for problem in task.test_problems(SIZES[name], problems, 0))


# What each row measures, and the accuracies in the paper's table: one task, three tasks, three tasks and MAX.
ROWS = {
    "addition": ("addition, 10 digits", (100, 97.0, 97.0, None)),
    "sorting": ("sorting, length 5", (100, 100, 100, None)),
    "seen": ("cars seen, poses held out, at most four steps", (89.5, 91.4, 91.4, None)),
    "unseen": ("cars unseen, at most four steps", (88.7, 89.9, 89.9, None)),
    "maximum": ("MAX, length 5", (None, None, 100, None)),
}
COLUMNS = {
    "single": "one task",
    "three": "three tasks",
    "rows alone": "and MAX, by rows alone",
    "extra keys": "and MAX, with extra keys",
    "extra keys, rehearsed": "and MAX, with extra keys, rehearsed",
}


def cells(made: Sequence[Run], row: str, column: str) -> list[float]:
    """The accuracy of each seed in a cell of the table."""
    return [accuracy(found, row) for run in made if (found := scores_of(run, row, column)) is not None]


def scores_of(run: Run, row: str, column: str) -> dict[str, Any] | None:
    """The scores of a run that belong into a cell; None if it has none."""
    task = "cars" if row in ("seen", "unseen") else row
    if column in ("single", "three"):
        found = run.result["scores"] if (run.settings["tasks"] == "three") == (column == "three") else {}
    else:
        arm = run.result.get("max", {}).get(column, {"scores": {}})["scores"]
        # Where nothing is rehearsed, the old programs are the same to the last bit: `teach_task` checks it.
        found = {**run.result["scores"], **arm} if arm else {}
    return found if task in found else None


def accuracy(scores: Mapping[str, Any], row: str) -> float:
    if row in ("seen", "unseen"):
        return share(scores["cars"][f"{row}, at most four steps"])
    right, _, problems = scores[row]
    return right / problems


def cell(made: Sequence[Run], row: str, column: str) -> str:
    """Mean and range over the seeds; for cars, the 95 % interval over cars as well."""
    shares = cells(made, row, column)
    if not shares:
        return ""
    return percent(shares) + (f"; over cars {over_cars(mean(shares), made[0])}" if row in ("seen", "unseen") else "")


def over_cars(fraction: float, run: Run) -> str:
    count = run.settings["cars"]
    low, high = interval(fraction * count, count)
    return f"{100 * low:.1f} to {100 * high:.1f}"


def traces(made: Sequence[Run]) -> str:
    """By task and column, the mean fraction of traces that equal the teacher's."""
    parts = []
    for row in ("addition", "sorting", "unseen"):
        for column in ("single", "three"):
            found = [scores for run in made if (scores := scores_of(run, row, column)) is not None]
            if found:
                parts.append(f"{ROWS[row][0]}, {COLUMNS[column]} {percent([equal(one, row) for one in found])}")
    return "; ".join(parts)


def equal(scores: Mapping[str, Any], row: str) -> float:
    """The fraction of traces that equal the teacher's."""
    if row in ("seen", "unseen"):
        by_car = scores["cars"][f"{row}, at most four steps"].values()
        return sum(one[1] for one in by_car) / sum(one[2] for one in by_car)
    _, same, problems = scores[row]
    return same / problems


def against_paper(made: Sequence[Run]) -> list[str]:
    """Row by row: our figures, one task and three, and the paper's."""
    lines = []
    for row, (what, paper) in ROWS.items():
        ours = [percent(shares) for column in ("single", "three") if (shares := cells(made, row, column))]
        if ours and paper[0] is not None:
            lines.append(f"{what}: {' / '.join(ours)} [{paper[0]} / {paper[1]}]")
    seeds = len({run.settings["seed"] for run in made})
    return [*lines, f"{seeds} seeds"] if lines else []


def accuracy_verdict(made: Sequence[Run]) -> Verdict | None:
    """Better: no cell below the paper's, and one above it. Reproduced: no cell more than a point below."""
    differences = [
        100 * mean(shares) - published
        for row, (_, paper) in ROWS.items()
        for column, published in zip(("single", "three"), paper, strict=False)
        if published is not None and (shares := cells(made, row, column))
    ]
    if not differences:
        return None
    if min(differences) < -1:
        return "not reproduced"
    return "better" if min(differences) >= 0 and max(differences) > 0 else "reproduced"


def maximum_learned(made: Sequence[Run]) -> list[str]:
    """For each kind of teaching: how many seeds solve every problem of MAX, and what got worse."""
    lines = []
    for arm in TEACHING:
        runs = [run for run in made if arm in run.result.get("max", {})]
        if runs:
            perfect = [run for run in runs if accuracy(run.result["max"][arm]["scores"], "maximum") == 1]
            worse = [run for run in runs if fell(run, arm)]
            frames = sum(not run.result["max"][arm]["wrong"] for run in runs)
            lines.append(
                f"{arm}: every frame learned by {frames} of {len(runs)} seeds, every array solved by "
                f"{independent(len(perfect), len(runs))}, mean {percent(cells(runs, 'maximum', arm))}; other tasks "
                f"worse in {len(worse)} seeds"
            )
    return lines


def fell(run: Run, arm: str) -> list[str]:
    """The rows that got worse when MAX was taught."""
    before, after = (scores_of(run, "sorting", column) for column in ("three", arm))
    assert before is not None
    assert after is not None
    return [row for row in ROWS if row != "maximum" and accuracy(after, row) < accuracy(before, row)]


def maximum_verdict(made: Sequence[Run]) -> Verdict | None:
    """Reproduced if, by rows alone, every seed solves every array and no other task gets worse."""
    runs = [run for run in made if "max" in run.result]
    if not runs:
        return None
    solved = all(accuracy(run.result["max"]["rows alone"]["scores"], "maximum") == 1 for run in runs)
    return "reproduced" if solved and not any(fell(run, "rows alone") for run in runs) else "not reproduced"


def unseen_cars(made: Sequence[Run]) -> list[str]:
    found = [run for run in made if run.settings["tasks"] == "cars"]
    if not found:
        return []
    starts = [share(run.result["scores"]["cars"]["unseen"]) for run in found]
    return [
        f"at most four steps: {cell(found, 'unseen', 'single')}; from every start, though training shows only near "
        f"ones: {percent(starts)}; {len(found)} seeds"
    ]


def unseen_verdict(made: Sequence[Run]) -> Verdict | None:
    """Reproduced if nine of ten trajectories around unseen cars end on the target."""
    shares = cells(made, "unseen", "single")
    if not shares:
        return None
    return "reproduced" if mean(shares) >= 0.9 else "not reproduced"


def every_program(made: Sequence[Run]) -> list[str]:
    names = {"addition": "addition", "sorting": "sorting", "seen": "cars seen", "unseen": "cars unseen"}
    found = {f"of {name}": shares for row, name in names.items() if (shares := cells(made, row, "three"))}
    return [over_seeds("three tasks in one network", found)] if found else []


EXPERIMENT = Experiment(
    "Table 1 on the paper's terms",
    [
        PaperClaim(
            "C5",
            "Accuracy with one task / three tasks / three tasks and MAX, as in square brackets.",
            against_paper,
            "the paper does not give its numbers of examples and cars, and its car meshes are not public: ours are "
            "procedural, and may be easier. 31 of the 55 start poses are at most four steps from the target.",
            why="our cars are procedural, and may be easier than the paper's",
            paper="addition 100 / 97.0, sorting 100 / 100, cars seen 89.5 / 91.4, cars unseen 88.7 / 89.9 %",
            verdict=accuracy_verdict,
        ),
        PaperClaim(
            "C6",
            "MAX is learned with everything else frozen, and nothing else gets worse.",
            maximum_learned,
            "with rows alone, RJMP cannot call RSHIFT at its first step: no frame of training does, so no hidden state "
            "of a first step points to its key. With extra keys, every frame of MAX and RJMP is learned by every seed. "
            "What then fails is RSHIFT itself: RJMP calls it with both pointers on one cell, a state that no frame of "
            "training shows, and there the frozen core acts wrongly.",
            why="extra keys let every seed learn every frame of MAX; then RSHIFT fails, in a state it was never "
            "trained in; observation noise mends that, so far on cores of sorting alone",
            paper="MAX 100 %, no other task worse",
            verdict=maximum_verdict,
        ),
        PaperClaim(
            "C7",
            "The camera is moved around unseen cars, step by step, to azimuth 0 and elevation 15.",
            unseen_cars,
            why="the paper shows examples, and gives no number beyond those of C5",
            paper="example trajectories around unseen cars",
            verdict=unseen_verdict,
        ),
        PaperClaim(
            "C8",
            "One network runs all programs of the appendix's table.",
            every_program,
            "each task's main program is tested, and with it every program it calls.",
            why="each task's main program is tested, and with it every program that it calls",
            paper="21 programs in one network",
            verdict=accuracy_verdict,
        ),
    ],
    runs,
    measure,
    report,
    config={"train": asdict(CONFIG), "teaching": asdict(TeachConfig())},
    prepare=prepare,
)
