"""Camera trajectories around cars that the network has never seen: six given starts, and the failures of a search.

The search runs every trajectory of the selection cars that `npi reproduce cars` scores: from every start pose to the
paper's target, and from every start pose to one random other target. It is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from _figures import WIDTH, pyplot, save, write_note
from _learners import shipped

from npi.cars.car import Car
from npi.cars.poses import PAPER_TARGET, Pose
from npi.cars.procedural import make_car
from npi.cars.render import Renderer
from npi.cars.views import render_all
from npi.evaluation.car_scores import TRAJECTORIES, all_starts
from npi.evaluation.experiment import Experiment, PaperClaim
from npi.evaluation.results import Run, Settings
from npi.language.call_tree import format_call
from npi.language.interpreter import run_batch
from npi.language.program import ACT
from npi.language.trace import Limits, Trace
from npi.network.checkpoint import load_model
from npi.network.learned_task import learned_task
from npi.network.neural_decider import NeuralDecider
from npi.tasks.cars import SELECTION_CARS, CarProblem, CarScene

# (azimuth, elevation) of the first pose of each trajectory; the first is shown around the first unseen car, and so on
STARTS = ((-60, 45), (45, 0), (-30, 60), (75, 15), (30, 30), (-75, 30))
SEARCHES = ("to the paper's target", "to other targets")  # keys of TRAJECTORIES
SEARCHED_CARS = 56  # all selection cars
LIMITS = Limits(steps=1000)  # the longest run of the teacher takes fewer than 100 steps
GAP = 0.2  # between two images, in widths of an image
NOTE = 0.75  # height of the sentences below, in inches
ROW = 2.05  # height of a trajectory, in heights of an image


def runs(quick: bool) -> list[dict[str, Any]]:
    starts = STARTS[:1] if quick else STARTS
    given = [
        {"car": SELECTION_CARS.start + index, "start": list(start), "seed": 0} for index, start in enumerate(starts)
    ]
    return given if quick else given + [{"search": name, "cars": SEARCHED_CARS, "seed": 0} for name in SEARCHES]


def problems_of(settings: Settings) -> list[CarProblem]:
    if "car" in settings:
        return [CarProblem(Car(settings["car"]), Pose(*settings["start"]), PAPER_TARGET)]
    cars = [Car(number) for number in SELECTION_CARS[: settings["cars"]]]
    return TRAJECTORIES[settings["search"]](all_starts(cars))


def prepare(missing: Sequence[Settings]) -> Iterator[tuple[int, int]]:
    """Render the cars."""
    cars = list(dict.fromkeys(problem.car for settings in missing for problem in problems_of(settings)))
    for done in render_all(cars):
        yield done, len(cars)


def measure(device: str, seed: int, **settings: Any) -> dict[str, Any]:
    """The trajectory from a given start; of a search, those that fail."""
    model = load_model(device=device)
    task, problems = learned_task("cars", model), problems_of(settings)
    traces = run_batch(
        [CarScene.of(problem) for problem in problems], task.call, NeuralDecider(model, task.env), LIMITS
    )
    found = [trajectory(problem, trace) for problem, trace in zip(problems, traces, strict=True)]
    shown = found if "car" in settings else [one for one in found if not one["arrived"]]
    return {"tried": len(found), "trajectories": shown}


def trajectory(problem: CarProblem, trace: Trace) -> dict[str, Any]:
    """Every action of a run, with the program that chose it, and the pose after it."""
    scene, callers, moves = CarScene.of(problem), [trace.call.program], []
    for decision in trace.decisions:
        if decision is None:
            callers.pop()
        elif decision.program == ACT:
            scene.act(*decision.args)
            moves.append({"program": callers[-1], "action": format_call(decision, CarScene), "pose": list(scene.pose)})
        else:
            callers.append(decision.program)
    return {
        "car": problem.car.number,
        "start": list(problem.start),
        "target": list(problem.target),
        "moves": moves,
        "arrived": trace.runaway is None and scene.pose == problem.target,
    }


def given(made: Sequence[Run]) -> list[dict[str, Any]]:
    return [one for run in made if "car" in run.settings for one in run.result["trajectories"]]


def failures(made: Sequence[Run]) -> list[dict[str, Any]]:
    """Of each car with failures, the one with the fewest moves."""
    found: dict[int, dict[str, Any]] = {}
    for run in made:
        for one in run.result["trajectories"] if "search" in run.settings else ():
            if one["car"] not in found or len(one["moves"]) < len(found[one["car"]]["moves"]):
                found[one["car"]] = one
    return list(found.values())


def searched(made: Sequence[Run]) -> list[str]:
    """What the searches found, in words."""
    lines = []
    for run in made:
        if "search" in run.settings:
            found = run.result["trajectories"]
            around = f", around {len({one['car'] for one in found})} cars" if found else ""
            lines.append(f"{len(found)} of {run.result['tried']:,} trajectories {run.settings['search']} fail{around}")
    return lines


def report(made: Sequence[Run]) -> str:
    parts = [
        "At each step the network sees only the image and the target. Above each arrow are the program that acts and "
        "its action, below each image azimuth and elevation."
    ]
    if shown := given(made):
        arrived = sum(one["arrived"] for one in shown)
        parts.append(
            f"The first {len(shown)} rows are the first unseen cars, each from a different pose: {arrived} of "
            f"{len(shown)} trajectories end at azimuth 0, elevation 15."
        )
    if found := searched(made):
        parts.append(
            "The failures were found by a search through every start pose around the cars used for model selection: "
            f"{'; '.join(found)} (one random target for each start). Of each car with failures, the figure shows the "
            "one with the fewest moves, and the target's view, which the network does not see."
        )
    return " ".join(parts)


def figure(made: Sequence[Run], path: Path) -> None:
    shown = given(made) + failures(made)
    # A trajectory that fails is followed by the view from the target, after half a column.
    columns = max(len(one["moves"]) + 1 + 1.5 * (not one["arrived"]) for one in shown)
    inches = WIDTH / (columns * (1 + GAP))  # the side of an image
    height = len(shown) * ROW * inches
    whole = height + NOTE
    figure = pyplot().figure(figsize=(WIDTH, whole))
    axes = figure.add_axes((0, NOTE / whole, 1, height / whole))
    axes.set(xlim=(-GAP / 2, columns * (1 + GAP) - GAP / 2), ylim=(-len(shown) * ROW, 0))
    axes.axis("off")
    for row, one in enumerate(shown):
        draw_trajectory(axes, one, -row * ROW)
    write_note(figure, note(made))
    save(figure, path, renderings=True)


def draw_trajectory(axes: Any, one: dict[str, Any], top: float) -> None:
    """A row of images with an arrow for each action."""
    renderer = Renderer(make_car(one["car"]))
    poses = [one["start"], *(move["pose"] for move in one["moves"])]
    bottom = top - ROW + 0.27

    def show(column: float, pose: Sequence[int], caption: str, **frame: Any) -> None:
        left = column * (1 + GAP)
        axes.imshow(
            renderer.view(pose[0], pose[1])[..., :3], extent=(left, left + 1, bottom, bottom + 1), aspect="auto"
        )
        axes.text(left + 0.5, bottom - 0.03, caption, ha="center", va="top", fontsize=8)
        axes.plot([left, left + 1, left + 1, left, left], [bottom, bottom, bottom + 1, bottom + 1, bottom], **frame)

    for column, pose in enumerate(poses):
        show(column, pose, "{}, {}".format(*pose), color="0.4", linewidth=0.6)
    for column, move in enumerate(one["moves"]):
        middle = (column + 1) * (1 + GAP) - GAP / 2
        ends = {"xy": (middle + 0.55 * GAP, bottom + 1.08), "xytext": (middle - 0.55 * GAP, bottom + 1.08)}
        axes.annotate("", **ends, arrowprops={"arrowstyle": "->", "linewidth": 1, "shrinkA": 0, "shrinkB": 0})
        axes.text(middle, bottom + 1.13, move["action"], ha="center", va="bottom", fontsize=8, weight="bold")
        axes.text(middle, bottom + 1.31, move["program"], ha="center", va="bottom", fontsize=8)
    end = "ends on the target" if one["arrived"] else "FAILS: ends {}, {}".format(*poses[-1])
    title = f"car {one['car']:,}, target {one['target'][0]}, {one['target'][1]}: {end}"
    axes.text(0, bottom + 1.5, title, va="bottom", fontsize=8.5)
    if not one["arrived"]:
        show(len(poses) + 0.5, one["target"], "target", color="black", linewidth=1.5, linestyle="--")


def note(made: Sequence[Run]) -> str:
    found = searched(made)
    below = "Below each image: azimuth, elevation. Above each arrow: program and action."
    parts = [below, *(f"Search around the {len(SELECTION_CARS)} selection cars: {one}." for one in found)]
    if failures(made):
        parts.append("Shown is the failure with the fewest moves of each car that has one.")
    return "\n".join(parts)


def at_target(made: Sequence[Run]) -> list[str]:
    shown = given(made)
    arrived = sum(one["arrived"] for one in shown)
    lines = (
        [f"{arrived} of the {len(shown)} given trajectories in the figure reach the target (more: C5)"] if shown else []
    )
    return lines + [f"search: {found}" for found in searched(made)]


EXPERIMENT = Experiment(
    "Canonicalisation of unseen cars",
    [
        PaperClaim(
            "C7",
            "The camera is moved around unseen cars, step by step, to azimuth 0 and elevation 15.",
            at_target,
            "the shipped model, which was trained with the pose as an auxiliary label.",
        ),
    ],
    runs,
    measure,
    report,
    figure,
    config=shipped(),
    revision=2,
    prepare=prepare,
)
