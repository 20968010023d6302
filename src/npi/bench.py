"""Measuring: speed, training time and accuracy, each beside its target.

Rates on a shared machine mean little by themselves, so they are given as ratios to what was measured in the same run:
to the bare core (a forward pass of the model on random input) and to a plain implementation (one frame at a time, batch
1, eager, every recorded frame as often as it occurred).
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any

import numpy as np
import torch

from npi import tasks
from npi.checkpoint import load_model
from npi.compiled import compile_histories
from npi.evaluation import Score, evaluate
from npi.interpret import Memo, run, run_all
from npi.lessons import Lessons
from npi.model import NPI
from npi.neural import Neural
from npi.pool import processes
from npi.program import Frame, Limits
from npi.provability import Proof, prove
from npi.proving import Prover
from npi.recipes import FAST
from npi.task import Task
from npi.teachability import Attempt, exercises, random_programs
from npi.train import Training, begin, loss_of, outputs

BATCH = 256
TARGET_SECONDS = {("addition", "loop"): 120, ("addition", "recursive"): 120, ("sorting", "recursive"): 30}
# The sizes at which what was learnt is judged, and on how many problems; a loop need not hold beyond the size wanted.
SIZES = {
    ("addition", "loop"): [(1, 100), (10, 100), (100, 100), (1000, 100), (3000, 100)],
    ("addition", "recursive"): [(1, 100), (10, 100), (100, 100), (1000, 100), (3000, 100)],
    ("sorting", "loop"): [(1, 20), (2, 100), (20, 100), (60, 100), (100, 20)],
    ("sorting", "recursive"): [(1, 20), (2, 100), (20, 100), (60, 100), (200, 10)],
}
WANTED = {("sorting", "loop"): 60}


@dataclass(frozen=True)
class Row:
    """One line of the table. `met` is None where there is no target."""

    what: str
    measured: str
    target: str = ""
    met: bool | None = None


def measure(
    parts: Sequence[str], names: Sequence[str], teachers: Sequence[str], seeds: int, workers: int, device: str
) -> Iterator[Row | Trial]:
    """The rows of the table, part by part; each training run is also given as it was. Teachability is apart."""
    if "startup" in parts:
        yield from startup()
    if "rates" in parts:
        yield from rates()
    if "training" in parts or "accuracy" in parts:
        yield from learning(names, teachers, seeds, "accuracy" in parts, workers, device)


def teachability(model: NPI, count: int, seed: int) -> Iterator[Row | Attempt]:
    """How many programs never seen can be taught by rows of memory alone, and how long each takes."""
    for name in model.tasks:
        task = tasks.find(name, model.tasks[name])
        attempts: list[Attempt] = []
        for attempt in random_programs(model, task, count, seed):
            attempts.append(attempt)
            yield attempt
        held, learnt = sum(a.held for a in attempts), sum(not a.wrong for a in attempts)
        share = 0.8 if task.env.shows_picture() else 0.95
        what = f"random programs on {attempts[0].env}: right on other inputs"
        yield Row(what, f"{held} of {count}", f"at least {math.ceil(share * count)}", held >= share * count)
        each = f"{learnt} of {count}, {attempts[0].seconds:.1f} s"
        yield Row("  right on the inputs taught with; seconds each", each)
    for attempt in exercises(model, seed=seed):
        yield attempt
        missed = f"{attempt.wrong} of {attempt.frames} frames wrong" if attempt.wrong else "wrong on some"
        how = "right" if attempt.held else missed
        target = 30.0 if attempt.program == "MAX" else None
        met = attempt.held and (target is None or attempt.seconds < target)
        what = f"{attempt.program} ({attempt.env}): on other inputs"
        yield Row(what, f"{how}, {attempt.seconds:.1f} s", f"under {target:.0f} s" if target else "", met)


def compiled() -> Iterator[Row]:
    """Proved programs as tables: how long long problems take, and how they compare with the teacher's own Python."""

    def numbers(rng: Random, count: int) -> tuple[str, ...]:
        return tuple("".join(rng.choices("0123456789", k=count)) for _ in range(2))

    def integers(rng: Random, count: int) -> tuple[int, ...]:
        return tuple(rng.randint(-(10**9), 10**9) for _ in range(count))

    for name, model, sample, size, what in (
        ("addition", load_model(), numbers, 10**6, "digits"),
        ("quicksort", None, integers, 10**5, "integers"),
    ):
        task = tasks.find(name)
        if model is None:
            training = begin([task])
            for _ in training.run():
                pass
            model = training.average
        prover = Prover([task])
        for _ in prover.explore():
            pass
        if not prover.compare(model)[name].proved:
            yield Row(f"{name}: proved", "no", "yes", False)
            continue
        table = compile_histories(task, prover.explorations[name].histories, {})
        problem = sample(Random(0), size)
        env = task.env.of(problem)
        took = _seconds(lambda env=env, task=task, table=table: table.run(env, task.call))
        right = task.result(env) == task.answer(problem)
        yield Row(f"compiled {name}, {size:,} {what}: right", f"{'yes' if right else 'no'}, {took:.1f} s", "yes", right)
        problems = [sample(Random(seed), 100) for seed in range(1, 51)]  # short ones: Python does not recurse deeply
        plain = _fastest(task.main, task, problems)
        ratio = plain / _fastest(lambda env, run=table.run, call=task.call: run(env, call), task, problems)
        yield Row(
            f"compiled {name}, to its teacher in plain Python", f"{ratio:.2f} of its speed", "at least 1", ratio >= 1
        )


def _fastest(job: Callable, task: Task, problems: list) -> float:
    """The least time of seven in which a job is done on all problems."""

    def all_of_them() -> None:
        for problem in problems:
            job(task.env.of(problem))

    return min(_seconds(all_of_them) for _ in range(7))


def proofs(
    names: Sequence[str], seeds: int, workers: int, device: str, examples: int | None = None
) -> Iterator[Row | Proof]:
    """How many training runs on few traces end proved, with and without learning from failures."""
    made: list[Proof] = []
    for proof in _map(
        _proof, [(workers, name, seed, device, examples) for name in names for seed in range(seeds)], workers
    ):
        made.append(proof)
        yield proof
        after = f"after {proof.rounds} round{'s' * (proof.rounds > 1)}"
        how = "at once" if proof.at_once else after if proof.proved else "not proved"
        failing = "not learnt" if proof.failing is None else f"{proof.failing} failing at first"
        what = f"{proof.task}, {proof.traces} traces, seed {proof.seed}: {failing}"
        yield Row(what, f"{how}, {proof.seconds:.0f} s")
        if len(made) % seeds == 0:
            yield from _proved(made[-seeds:])


def _proof(workers: int, *job: Any) -> Proof:
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // workers))
    return prove(*job)


def _proved(made: Sequence[Proof]) -> Iterator[Row]:
    """All runs of one task together."""
    seconds = median(proof.seconds for proof in made)
    rounds = max((proof.rounds for proof in made if proof.proved), default=0)
    proved, at_once = sum(proof.proved for proof in made), sum(proof.at_once for proof in made)
    what = f"{made[0].task}, {made[0].traces} traces: proved, of {len(made)} runs; rounds"
    yield Row(what, f"{proved}, after {rounds} at most", f"{len(made)}", proved == len(made))
    yield Row("  without learning from failed proofs; median time", f"{at_once}; {seconds:.0f} s")


def startup() -> Iterator[Row]:
    """The commands a person waits for, each in a process of its own; the median of five."""
    npi = [sys.executable, "-m", "npi.cli"]
    for what, command, target in (
        ("import npi, without torch", [sys.executable, "-c", "import npi"], 0.3),
        ("npi --help", [*npi, "--help"], 0.5),
        ("npi run addition 96 125", [*npi, "run", "addition", "96", "125"], 3.0),
    ):
        took = median(
            _seconds(lambda command=command: subprocess.run(command, check=True, capture_output=True)) for _ in range(5)
        )
        yield Row(what, f"{took:.2f} s", f"under {target} s", took < target)


def rates() -> Iterator[Row]:
    """Steps per second of running and training, on an untrained model: the work is that of a trained one."""
    task = tasks.find("addition", "recursive")
    training = begin([task], seed=0)
    model = training.model
    bare = _bare(model)
    yield Row(f"bare core, batch {BATCH}", f"{bare:,.0f} steps/s")
    follows = [task.sample(Random(seed), 40) for seed in range(BATCH)]
    recorded = {problem: task.demonstrate(problem)[0] for problem in follows}
    neural = _Led(Neural(model, task.env), [frame for frames in recorded.values() for frame in frames])
    steps, took = _run(task, follows, neural)
    yield _ratio(f"neural running, {BATCH} at once, to the bare core", steps / took, bare, 0.5)
    steps, took = _run(task, follows[:1], neural)
    plain_running = steps / took
    yield Row("neural running, one at a time (plain)", f"{plain_running:,.0f} steps/s")
    yield from _memo(task, plain_running)
    yield from _training_rates(training, recorded)


class _Led:
    """The network does all of its work at every step, but the decision taken is the teacher's."""

    def __init__(self, neural: Neural, frames: list[Frame]):
        self.neural, self.teacher = neural, Memo.of(frames)

    def recall(self, seen, call, state):
        return None

    def decide(self, questions):
        inner = [(seen, call, state and state[0]) for seen, call, state in questions]
        answers = []
        for (seen, call, state), (_, after) in zip(questions, self.neural.decide(inner), strict=True):
            known = self.teacher.recall(seen, call, state and state[1])
            assert known is not None
            answers.append((known[0], (after, known[1])))
        return answers


def _memo(task: Task, plain: float) -> Iterator[Row]:
    """Memoised running once warm by 256 additions of 1,000 digits, and a very long one, by the shipped model."""
    memo = Memo(Neural(load_model(), task.env))
    run_all([task.env.of(task.sample(Random(seed), 1000)) for seed in range(BATCH)], task.call, memo)
    rates = []
    for seed in range(5):
        env = task.env.of(task.sample(Random(100 + seed), 10_000))
        trace, took = _timed(lambda env=env: run(env, task.call, memo))
        rates.append(len(trace.decisions) / took)
    rate = median(rates)
    yield Row("memoised running, warm, one core", f"{rate:,.0f} steps/s", "500,000", rate >= 500_000)
    yield Row("  to neural running one at a time", f"{rate / plain:,.0f} x")
    problem = task.sample(Random(7), 100_000)
    env = task.env.of(problem)
    _, took = _timed(lambda: run(env, task.call, memo))
    right = task.result(env) == task.answer(problem)
    met = right and took < 5
    yield Row(
        "100,000-digit addition, answer checked", f"{took:.1f} s, {'right' if right else 'WRONG'}", "under 5 s", met
    )


def _training_rates(training: Training, recorded: dict) -> Iterator[Row]:
    frames = [frame for frames in recorded.values() for frame in frames]
    env = training.lessons.envs[0]
    everything = Lessons([(env, frame) for frame in frames], training.lessons.programs)
    optimizer = torch.optim.Adam(training.model.parameters(), 1e-4)

    def see(env: str, which: torch.Tensor) -> torch.Tensor:
        raise AssertionError(f"{env} shows no pictures")

    def plain(frame: int) -> int:
        batch = everything.batch(np.array([frame]))
        optimizer.zero_grad()
        loss_of(outputs(training.model, everything, batch, see), batch).mean().backward()
        optimizer.step()
        return len(batch.stop)

    (steps, took) = _timed_sum(plain, range(200))
    plain_rate = steps / took
    yield Row("training one frame at a time (plain)", f"{plain_rate:,.0f} steps/s")
    lengths: list[int] = []
    draw = training.draw

    def counted() -> np.ndarray:
        chosen = draw()
        lengths.append(int(training.lessons.length[chosen].sum()))
        return chosen

    training.draw = counted
    _, took = _timed(lambda: [training.update() for _ in range(30)])
    rate = sum(lengths) / took
    yield Row("training in batches, to plain", f"{rate:,.0f} steps/s, {rate / plain_rate:.1f} x")
    distinct = len(set(frames))
    yield Row("frames stored once", f"{len(frames):,} -> {distinct:,}, {len(frames) / distinct:.1f} x")


@dataclass(frozen=True)
class Trial:
    """One training run, and how its model did on sizes never shown."""

    task: str
    teacher: str
    seed: int
    frames: int
    recording: float  # seconds
    seconds: float | None  # until every distinct frame was right for the first time; None: never
    updates: int
    scores: tuple[Score, ...]

    def row(self) -> Row:
        target = TARGET_SECONDS.get((self.task, self.teacher))
        took = f"{self.seconds:.0f} s" if self.seconds is not None else "not learnt"
        met = self.seconds is not None and (target is None or self.seconds < target)
        what = f"{self.task}, {self.teacher}, seed {self.seed}: to 100 % of {self.frames:,} frames"
        return Row(what, f"{took}, {self.updates:,} updates", f"under {target} s" if target else "", met)


def learning(
    names: Sequence[str], teachers: Sequence[str], seeds: int, judged: bool, workers: int, device: str
) -> Iterator[Row | Trial]:
    """Train each task with each teacher and every seed, in several processes, and judge what was learnt."""
    kinds = [(name, teacher) for name in names for teacher in teachers]
    jobs = [(*kind, seed, judged, device, workers) for kind in kinds for seed in range(seeds)]
    trials: list[Trial] = []
    for trial in _map(_trial, jobs, workers):
        trials.append(trial)
        yield trial
        yield trial.row()
        if len(trials) % seeds == 0:
            yield from _summary(trials[-seeds:])


def _map(function: Callable, jobs: list[tuple], workers: int) -> Iterator:
    if workers == 1:
        yield from (function(*job) for job in jobs)
        return
    with processes(workers) as pool:
        yield from pool.map(function, *zip(*jobs, strict=True))


def _trial(name: str, teacher: str, seed: int, judged: bool, device: str, workers: int) -> Trial:
    if workers > 1:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // workers))
    task = tasks.find(name, teacher)
    training, recording = _timed(lambda: begin([task], FAST, seed, device))
    took = _seconds_to_learn(training)
    scores: list[Score] = []
    if judged:
        decider = Memo(Neural(training.average, task.env))
        for size, problems in SIZES[name, teacher]:
            scores += evaluate(task, decider, [size], problems)
    return Trial(name, teacher, seed, len(training.lessons), recording, took, training.updates, tuple(scores))


def _seconds_to_learn(training: Training) -> float | None:
    """Train to the end; when was every distinct frame right for the first time?"""
    began, first = time.perf_counter(), None
    for metrics in training.run():
        if metrics.learnt and first is None:
            first = time.perf_counter() - began
    return first


def _summary(trials: list[Trial]) -> Iterator[Row]:
    """All seeds of one task and teacher together."""
    kind = (trials[0].task, trials[0].teacher)
    missed = [trial.seed for trial in trials if trial.seconds is None]
    yield Row(f"{', '.join(kind)}: seeds with every frame right", _all_but(trials, missed), "all", not missed)
    slowest = max(trial.seconds or math.inf for trial in trials)
    middle = median(trial.seconds or math.inf for trial in trials)
    yield Row("  seconds to it: median, slowest; to record", f"{middle:.0f}, {slowest:.0f}; {trials[0].recording:.0f}")
    for scores in zip(*(trial.scores for trial in trials), strict=True):
        missed = [
            trial.seed
            for trial, score in zip(trials, scores, strict=True)
            if min(score.answers, score.traces) < score.problems
        ]
        size, problems = scores[0].size, sum(score.problems for score in scores)
        wanted = size <= WANTED.get(kind, size)
        yield Row(
            f"  size {size}: seeds with every answer and trace right",
            f"{_all_but(trials, missed)}; {sum(score.answers for score in scores):,} of {problems:,} answers",
            "all" if wanted else "",
            not missed if wanted else None,
        )


def _all_but(trials: list[Trial], missed: list[int]) -> str:
    but = f" (not {', '.join(map(str, missed))})" if missed else ""
    return f"{len(trials) - len(missed)} of {len(trials)}{but}"


def _bare(model: NPI) -> float:
    """Steps per second of the model's forward pass alone, on random input."""
    env, fields = next(iter(model.config.encoders.items()))
    seen = torch.stack([torch.randint(size, (BATCH,)) for size in fields.values()], 1)
    args = torch.zeros(BATCH, len(model.config.arguments), dtype=torch.long)
    programs = torch.randint(len(model.programs), (BATCH,))
    zero = torch.zeros(model.config.layers, BATCH, model.config.hidden)

    @torch.inference_mode()
    def passes(count: int) -> None:
        state = (zero, zero)
        for _ in range(count):
            _, state = model.step(env, seen, args, programs, state)

    passes(10)
    return median(BATCH * 40 / _seconds(lambda: passes(40)) for _ in range(3))


def _run(task: Task, problems: list, decider: _Led) -> tuple[int, float]:
    envs = [task.env.of(problem) for problem in problems]
    traces, took = _timed(lambda: run_all(envs, task.call, decider, Limits()))
    return sum(len(trace.decisions) for trace in traces), took


def _ratio(what: str, rate: float, to: float, target: float) -> Row:
    ratio = rate / to
    return Row(what, f"{rate:,.0f} steps/s, {ratio:.2f}", f"at least {target}", ratio >= target)


def _seconds(job: Callable[[], object]) -> float:
    return _timed(job)[1]


def _timed(job: Callable) -> tuple:
    began = time.perf_counter()
    result = job()
    return result, time.perf_counter() - began


def _timed_sum(job: Callable[[int], int], over: Sequence[int]) -> tuple[int, float]:
    return _timed(lambda: sum(job(index) for index in over))
