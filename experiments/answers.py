"""Are the answers right? All small problems of the proved tasks, and how much of each proof they reach.

A proof says that the network runs as its teacher, not that the teacher is right. These runs check the teacher's answers
on every problem up to a size, and count which reachable histories and which transitions of the proof's table occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any

from _tables import by, table

from npi import tasks
from npi.evaluation.experiment import Claim, Experiment
from npi.evaluation.results import Run
from npi.language.record import record
from npi.proof.explore import Exploration

# What a size is, and the largest of which all problems are run.
LARGEST = {
    "addition": ("digits in the longer number", 3),
    "sorting": ("digits", 5),
    "bubblesort": ("elements", 6),
    "quicksort": ("elements", 7),
    "toposort": ("vertices", 4),
}


def runs(quick: bool) -> list[dict[str, Any]]:
    return [
        {"task": task, "largest": min(largest, 2) if quick else largest, "seed": 0}
        for task, (_, largest) in LARGEST.items()
        if not quick or task != "addition"
    ]


def problems_of(task: str, size: int) -> Iterator[Any]:
    """Every problem of a size. Of arrays that only comparisons distinguish, one for each order of their elements."""
    if task == "addition":
        numbers = [str(number) for number in range(10**size)]
        yield from (pair for pair in product(numbers, repeat=2) if max(map(len, pair)) == size)
    elif task == "sorting":
        yield from product(range(10), repeat=size)
    elif task == "toposort":
        yield from graphs_of(size)
    else:
        yield from (array for array in product(range(size), repeat=size) if {*array} == {*range(max(array) + 1)})


def graphs_of(size: int) -> Iterator[tuple[tuple[str, tuple[str, ...]], ...]]:
    """Every graph without cycles whose edges lead from one vertex to a later one, listed in every order."""
    names = [str(number) for number in range(size)]
    edges = list(combinations(names, 2))
    for chosen in product((False, True), repeat=len(edges)):
        children = {
            name: [b for (a, b), there in zip(edges, chosen, strict=True) if there and a == name] for name in names
        }
        for order in permutations(names):
            for turned in (False, True):
                yield tuple((name, tuple(children[name][:: -1 if turned else 1])) for name in order)


def measure(device: str, task: str, largest: int, seed: int) -> dict[str, Any]:
    found = tasks.find(task)
    exploration = Exploration(found)
    for _ in exploration.run():
        pass
    histories, states = exploration.histories, exploration.table.entry_states
    reached: set[int | None] = set()
    transitions: set[tuple[int, Any]] = set()
    seen = set()
    sizes = []
    for size in range(1, largest + 1):
        count, wrong = 0, 0
        for problem in problems_of(task, size):
            env = found.env.of(problem)
            frames = {*record(env, found.main)} - seen
            count, wrong = count + 1, wrong + (found.result(env) != found.answer(problem))
            for extra in found.extra_programs:
                frames |= {*record(env, extra)} - seen
            seen |= frames
            for frame in frames:
                reached |= {*histories.nodes_of(frame)}
                state: Any = states[frame.call]
                for step in frame.steps:
                    transitions.add((id(state), step.observation))
                    state = state[step.observation][1]
        sizes.append(
            {
                "size": size,
                "problems": count,
                "wrong": wrong,
                "histories": len(reached),
                "transitions": len(transitions),
            }
        )
    return {
        "sizes": sizes,
        "histories": len(histories),
        "transitions": sum(len(state) for state in exploration.table.states),
        "outside": None in reached,
    }


def report(made: Sequence[Run]) -> str:
    rows = []
    for run in made:
        for at in run.result["sizes"]:
            what, _ = LARGEST[run.settings["task"]]
            rows.append(
                [
                    run.settings["task"],
                    f"{what}: {at['size']}",
                    f"{at['problems']:,}",
                    at["wrong"],
                    f"{at['histories']:,} of {run.result['histories']:,}",
                    f"{at['transitions']:,} of {run.result['transitions']:,}",
                ]
            )
    head = [
        "",
        "size",
        "problems, all of this size",
        "wrong answers",
        "histories reached so far",
        "transitions reached so far",
    ]
    return (
        "The teacher runs every problem of a size, and plain Python checks its answer. *Histories* are the reachable "
        "histories of the proof. *Transitions* are the entries of its table, where histories with the same future "
        "share a state. Some histories and transitions may belong to no problem at all: abstract states allow more "
        f"than problems do.\n\n{table(head, rows)}"
    )


def answers(made: Sequence[Run]) -> list[str]:
    lines = []
    for task, (run, *_) in by(made, lambda run: run.settings["task"]).items():
        sizes = run.result["sizes"]
        problems, wrong = (sum(at[key] for at in sizes) for key in ("problems", "wrong"))
        share = sizes[-1]["transitions"] / run.result["transitions"]
        lines.append(f"{task}: {wrong} of {problems:,} answers wrong; {100 * share:.1f} % of the transitions reached")
    return lines


EXPERIMENT = Experiment(
    "Answers of the proved programs",
    [
        Claim(
            "answers",
            "On all problems up to a size the teachers' answers are right.",
            answers,
        )
    ],
    runs,
    measure,
    report,
    page="benchmarks",
)
