"""The traces that the paper prints, compared with the runs of learned programs, call by call.

The source of the paper has captions, text and the table of programs, but no figures. What figures 3b and 8 print is
from text recognised in the published PDF: figure 3b whole, of figure 8 the ends of lines of its first column. Figures 2
and 4b are only images there. The text keeps no indentation, so the order of calls is compared, not their depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher
from itertools import product
from typing import Any, NamedTuple

from _learners import learn_npi, npi_task, shipped
from _tables import table

from npi import tasks
from npi.evaluation.experiment import Experiment, PaperClaim, Verdict
from npi.evaluation.results import Run
from npi.language.call_tree import format_tree
from npi.language.interpreter import Decider, run_batch
from npi.language.memo import Memo
from npi.language.program import ACT, Call
from npi.language.record import record
from npi.language.tape import LEFT
from npi.language.trace import Limits, Trace
from npi.network.checkpoint import load_model
from npi.network.neural_decider import NeuralDecider
from npi.tasks.addition import BLANK, CARRIES, CARRY, EMPTY, OUT, ROW, AdditionPad, add1
from npi.training.config import FAST

SIZES, EXAMPLES = range(1, 6), 64  # enough to learn the problems of the figures
LIMITS = Limits(steps=1000)  # a badly learned program ends too; the longest run takes 80 decisions
SHOWN = 3  # differences at most, in one line of evidence


class Example(NamedTuple):
    """A run to compare: a program of a task on a problem."""

    title: str
    task: str
    program: str
    words: str


RUNS = {
    "ADD1 9 5": Example("A single digit: ADD1 alone on 9 + 5 (figure 2)", "addition", "ADD1", "9 5"),
    "ADD 9 5": Example("A single digit: ADD on 9 + 5", "addition", "ADD", "9 5"),
    "ADD 96 125": Example("96 + 125 (figure 3)", "addition", "ADD", "96 125"),
    "BUBBLESORT 9 2 5": Example("Sorting 9 2 5 (figure 8)", "sorting", "BUBBLESORT", "9 2 5"),
    "BUBBLESORT 2 9 5": Example("Sorting 2 9 5 (Cai et al., figure 2)", "sorting", "BUBBLESORT", "2 9 5"),
}


class Printed(NamedTuple):
    """A printed trace.

    figure, learner, run  where it is printed, and the run that it is compared with
    lines                 one for each call, in order
    whole                 whether it is printed to its end
    first                 only ends of lines are legible, "" for none; they belong to the run's lines from this index on
    """

    figure: str
    learner: str
    run: str
    lines: list[str]
    whole: bool = False
    first: int | None = None


def _lines(*parts: str) -> list[str]:
    return [line for part in parts for line in part.split("/")]


WITH_CARRY = "CARRY/PTR CARRY LEFT/WRITE CARRY 1/PTR CARRY RIGHT"
NEXT_COLUMN = "LSHIFT/PTR INP1 LEFT/PTR INP2 LEFT/PTR CARRY LEFT/PTR OUT LEFT"
FIRST_COLUMN = ("ADD/ADD1/WRITE OUT 1", WITH_CARRY, NEXT_COLUMN)
SECOND_AND_THIRD = ("ADD1/WRITE OUT 2", WITH_CARRY, NEXT_COLUMN, "ADD1/WRITE OUT 2", NEXT_COLUMN)
STEP_RIGHT, STEP_LEFT = "RSHIFT/PTR 1 RIGHT/PTR 2 RIGHT", "LSHIFT/PTR 1 LEFT/PTR 2 LEFT"
FIRST_SWEEP = ("BUBBLESORT/BUBBLE/PTR 2 RIGHT/BSTEP/COMPSWAP", STEP_RIGHT, "BSTEP/COMPSWAP/SWAP 1 2", STEP_RIGHT)
FIGURE_8 = ("RIGHT//SWAP//FT/R 1 RIGHT/R 2 RIGHT//SWAP//FT/R 1 RIGHT/R 2 RIGHT///1 LEFT/2 LEFT//1 LEFT/2 LEFT/RIGHT",)
PRINTED = [
    Printed("figure 3b, first ADD1, 4 for 1", "loop", "ADD1 9 5", _lines("ADD1/WRITE OUT 4", WITH_CARRY), whole=True),
    Printed("figure 3b", "loop", "ADD 96 125", _lines(*FIRST_COLUMN, *SECOND_AND_THIRD), whole=True),
    Printed("figure 8", "loop", "BUBBLESORT 9 2 5", _lines(*FIGURE_8), first=2),
    # Cai, Shin and Song (2017) print the beginnings of traces of the same programs, with loops and recursive. They do
    # not say which array is sorted: its first pair is in order, its second is not.
    Printed("Cai et al., figure 1", "loop", "ADD 96 125", _lines(*FIRST_COLUMN, "ADD1")),
    Printed("Cai et al., figure 1", "recursive", "ADD 96 125", _lines(*FIRST_COLUMN, "ADD")),
    Printed(
        "Cai et al., figure 2",
        "loop",
        "BUBBLESORT 2 9 5",
        _lines(*FIRST_SWEEP, "RESET", STEP_LEFT, STEP_LEFT, "PTR 3 RIGHT/BUBBLE"),
    ),
    Printed(
        "Cai et al., figure 2",
        "recursive",
        "BUBBLESORT 2 9 5",
        _lines(*FIRST_SWEEP, "BSTEP/RESET", STEP_LEFT, STEP_LEFT, "LSHIFT/PTR 3 RIGHT/BUBBLESORT/BUBBLE"),
    ),
]
# The table of programs in the paper's appendix (table 2): what each program of these two tasks calls.
CALLS = {
    "ADD": {"ADD1", "LSHIFT"},
    "ADD1": {ACT, "CARRY"},
    "CARRY": {ACT},
    "LSHIFT": {ACT},
    "BUBBLESORT": {"BUBBLE", "RESET"},
    "BUBBLE": {ACT, "BSTEP"},
    "RESET": {"LSHIFT"},
    "BSTEP": {"COMPSWAP", "RSHIFT"},
    "COMPSWAP": {ACT},
    "RSHIFT": {ACT},
}
ADDITION_LOOP = {"task": "addition", "learner": "loop", "seed": 0}
ACTIONS = ("PTR", "WRITE", "SWAP")  # lines that begin with these words stand for ACT, as in the paper's figures


def runs(quick: bool) -> list[dict[str, Any]]:
    learners = ("recursive",) if quick else ("loop", "recursive")
    return [{"task": task, "learner": learner, "seed": 0} for task in ("addition", "sorting") for learner in learners]


def measure(device: str, task: str, learner: str, seed: int) -> dict[str, Any]:
    if learner == "recursive":
        model = load_model()  # the shipped model was trained on the recursive teachers
    else:
        model, _ = learn_npi(npi_task(task, learner, SIZES, EXAMPLES), seed)
    decider = Memo(NeuralDecider(model, tasks.find(task).env))
    result: dict[str, Any] = {
        "trees": {name: tree(decider, example, learner) for name, example in RUNS.items() if example.task == task}
    }
    if task == "addition":
        result["single_digits"] = single_digits(decider)
    return result


def tree(decider: Decider, example: Example, learner: str) -> dict[str, Any]:
    """A run of a learned program, and whether its teacher's is the same."""
    task = tasks.find(example.task, learner)
    problem, program = task.parse(example.words.split()), add1 if example.program == "ADD1" else task.main
    env = task.env.of(problem)
    [trace] = run_batch([env], Call(program.name), decider, LIMITS)
    if isinstance(env, AdditionPad) and program is add1:
        digit, carry = written(env)
        answer = f"writes {digit}, {'no carry' if carry == BLANK else f'carry {carry}'}"
    else:
        answer = task.show(task.result(env))
    return {
        "lines": list(format_tree(trace, task.env)),
        "answer": answer,
        "equals_teacher": trace == Trace.of(record(task.env.of(problem), program)),
    }


def single_digits(decider: Decider) -> list[int]:
    """For how many pairs of digits, with and without a carry, ADD1 writes the right output and carry; and of how many.

    Figure 2's caption: the numbers are at the pointers in rows 1 and 2; the carry and the output are updated.
    """
    given = list(product(range(10), range(10), (BLANK, 1)))
    pads = [
        AdditionPad(ROW.tape([first]), ROW.tape([second]), CARRIES.tape([carry]), EMPTY.tape([]))
        for first, second, carry in given
    ]
    traces = run_batch(pads, Call("ADD1"), decider, LIMITS)
    totals = [first + second + (carry == 1) for first, second, carry in given]
    right = [
        not trace.runaway and written(pad) == (total % 10, 1 if total > 9 else BLANK)
        for pad, trace, total in zip(pads, traces, totals, strict=True)
    ]
    return [sum(right), len(right)]


def written(pad: AdditionPad) -> tuple[int, int]:
    """After ADD1: the output at the pointer, and the carry to the left of the pointer."""
    pad.rows[CARRY].move(LEFT)
    return pad.rows[OUT].read(), pad.rows[CARRY].read()


def compare(printed: Printed, lines: Sequence[str]) -> list[str]:
    """The differences between a printed trace and a run, in words."""
    made = [line.strip() for line in lines]
    if printed.first is not None:
        rows = enumerate(printed.lines, printed.first)
        return [
            f"line {index + 1} is {made[index] if index < len(made) else 'missing'}, printed is ...{end}"
            for index, end in rows
            if end and not (index < len(made) and made[index].endswith(end))
        ]
    return list(_edits(printed, made))


def _edits(printed: Printed, made: Sequence[str]) -> Iterator[str]:
    for kind, start, end, made_start, made_end in SequenceMatcher(None, printed.lines, made, False).get_opcodes():
        missing, extra = ", ".join(printed.lines[start:end]), ", ".join(made[made_start:made_end])
        if kind == "delete":
            yield f"leaves out {missing} (line {start + 1})"
        elif kind == "replace":
            yield f"has {extra} in place of {missing} (line {start + 1})"
        elif kind == "insert" and (printed.whole or start < len(printed.lines)):  # an excerpt stops before the run does
            yield f"adds {extra} (before line {start + 1})"


def calls_of(lines: Sequence[str]) -> dict[str, set[str]]:
    """What each program in a tree calls."""
    found: dict[str, set[str]] = {}
    stack: list[str] = []
    for line in lines:
        word = line.split()[0]
        name = ACT if word in ACTIONS else word
        depth = (len(line) - len(line.lstrip())) // 2
        del stack[depth:]
        if stack:
            found[stack[-1]].add(name)
        if name != ACT:
            found.setdefault(name, set())
            stack.append(name)
    return found


def compare_calls(lines: Sequence[str]) -> list[str]:
    """Where the calls of a tree differ from the table of programs in the paper's appendix."""
    found = []
    for program, calls in calls_of(lines).items():
        listed = CALLS.get(program, set())
        found += [f"{program} also calls {other}" for other in sorted(calls - listed)]
        found += [f"{program} never calls {other}" for other in sorted(listed - calls)]
    return found


def counts_sweeps(lines: Sequence[str]) -> bool:
    """The paper's text on sorting 9 2 5: pointer 3 counts the calls of BUBBLE, and moves once after every RESET."""
    made = [line.strip() for line in lines]
    return made.count("PTR 3 RIGHT") == made.count("RESET") == made.count("BUBBLE") == 2


def verdict(differences: Sequence[str], agreed: str) -> str:
    """What agrees, or what differs."""
    if not differences:
        return agreed
    more = f" and {len(differences) - SHOWN} more" if len(differences) > SHOWN else ""
    return f"**differs**: {'; '.join(differences[:SHOWN])}{more}"


def trees(made: Sequence[Run]) -> dict[tuple[str, str], dict[str, Any]]:
    """By learner and run, in the order of RUNS."""
    found = {(run.settings["learner"], name): one for run in made for name, one in run.result["trees"].items()}
    return {(learner, name): one for name in RUNS for (learner, other), one in found.items() if name == other}


def printed_traces(made: Sequence[Run]) -> Iterator[tuple[str, str, str]]:
    """The figure, the run, and how they compare, for every printed trace of which there is a run."""
    found = trees(made)
    for printed in PRINTED:
        if one := found.get((printed.learner, printed.run)):
            legible = sum(map(bool, printed.lines))
            if printed.first is not None:
                agreed = f"all {legible} legible ends of lines, in the printed order"
            else:
                agreed = f"{'all' if printed.whole else 'the first'} {legible} calls, in the printed order"
            yield printed.figure, f"{printed.run}, {printed.learner}", verdict(compare(printed, one["lines"]), agreed)


def text_and_table(made: Sequence[Run]) -> Iterator[tuple[str, str, str]]:
    """What caption, text and table of programs say, the run, and how they compare."""
    found = trees(made)
    for right, pairs in (run.result["single_digits"] for run in made if run.settings == ADDITION_LOOP):
        yield "figure 2, caption", "ADD1, loop", f"output and carry right for {right} of {pairs} single-digit sums"
    if one := found.get(("loop", "BUBBLESORT 9 2 5")):
        differences = [] if counts_sweeps(one["lines"]) else ["pointer 3 does not count the two calls of BUBBLE"]
        yield "figure 8, text", "BUBBLESORT 9 2 5, loop", verdict(differences, "pointer 3 counts the calls of BUBBLE")
    if loops := {name: one for (learner, name), one in found.items() if learner == "loop"}:
        differences = [difference for one in loops.values() for difference in compare_calls(one["lines"])]
        agreed = "every program calls what is listed, and nothing else"
        yield "table 2", f"all {len(loops)} runs, loop", verdict(list(dict.fromkeys(differences)), agreed)


def compared(made: Sequence[Run]) -> list[tuple[str, str, str]]:
    return sorted([*printed_traces(made), *text_and_table(made)], key=lambda row: (row[0][0].isupper(), row[0]))


def report(made: Sequence[Run]) -> str:
    rows = compared(made)
    parts = [
        "Traces as the paper prints them, and the runs of learned programs. The source of the paper that we have lacks "
        "the figures. Figure 3b and the line ends of figure 8's first column are from text recognised in the published "
        "PDF (three misreadings corrected), without indentation, so the order of the calls is compared and not "
        "their depth. Figures 2 and 4b (an excerpt of sorting) are images there, too: figure 2 is compared with its "
        "caption, figure 4b with nothing. Cai et al. (2017) print beginnings of the same programs' traces, with loops "
        "and recursive; the array is not printed, and 2 9 5 fits.",
        table(["printed", "run", "comparison"], rows),
        "RESET moves pointer 3. Table 2 does not list that, but the text says that the pointer advances after every "
        "RESET, and in figure 8 the line after RESET's two LSHIFTs ends in RIGHT. LSHIFT moves all pointers, as in "
        'figure 3b; table 2 says "a specified pointer".',
        "Each tree equals its teacher's call tree unless marked.",
    ]
    for (learner, name), one in trees(made).items():
        other = "" if one["equals_teacher"] else " - **differs from its teacher**"
        what = f"{RUNS[name].title}, {learner}: {one['answer']}{other}"
        lines = "\n".join(one["lines"])
        parts.append(f"<details><summary>{what}</summary>\n\n```\n{lines}\n```\n\n</details>")
    return "\n\n".join(parts)


def evidence(made: Sequence[Run]) -> list[str]:
    of_the_paper = [f"{where}: {what}" for where, _, what in compared(made) if not where.startswith("Cai")]
    equal = [one["equals_teacher"] for one in trees(made).values()]
    return [*of_the_paper, f"{sum(equal)} of {len(equal)} trees equal their teachers'"]


def same_traces(made: Sequence[Run]) -> Verdict | None:
    """Reproduced if the runs agree with every legible line of the paper, and ADD1 is right for all pairs of digits."""
    found = [what for where, _, what in printed_traces(made) if not where.startswith("Cai")]
    digits = [run.result["single_digits"] for run in made if run.settings == ADDITION_LOOP]
    if len(found) < 3 or not digits:
        return None
    same = not any("differs" in what for what in found) and all(right == pairs for right, pairs in digits)
    return "reproduced" if same else "not reproduced"


EXPERIMENT = Experiment(
    "Call trees",
    [
        PaperClaim(
            "C9",
            "The traces of a single-digit addition, of 96 + 125, and of sorting 9 2 5.",
            evidence,
            "figures 2 and 4b are images in every source we have, and figure 8 is legible only in part. RESET moves "
            "pointer 3, as the text and figure 8 have it; table 2 lists LSHIFT alone.",
            why="all that is legible agrees; table 2 omits that RESET moves pointer 3",
            paper="traces of 96 + 125 and of 9 2 5, a single-digit addition",
            verdict=same_traces,
        ),
    ],
    runs,
    measure,
    report,
    config={**shipped(), "npi": asdict(FAST)},
    revision=2,
)
