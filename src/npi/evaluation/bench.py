"""Measuring: training time, accuracy, proofs and teaching, each beside its target."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from npi import tasks
from npi.evaluation.processes import processes
from npi.evaluation.provability import Proof, prove
from npi.evaluation.score import Score, score_sizes
from npi.evaluation.speed import Row, rates, startup, timed
from npi.evaluation.teachability import Attempt, exercises, random_programs
from npi.language.memo import Memo
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.training.config import FAST
from npi.training.trainer import Trainer, make_trainer

TARGET_SECONDS = {("addition", "loop"): 120, ("addition", "recursive"): 120, ("sorting", "recursive"): 30}
# The sizes at which what was learned is judged, and on how many problems; a loop need not hold beyond the size wanted.
SIZES = {
    ("addition", "loop"): [(1, 100), (10, 100), (100, 100), (1000, 100), (3000, 100)],
    ("addition", "recursive"): [(1, 100), (10, 100), (100, 100), (1000, 100), (3000, 100)],
    ("sorting", "loop"): [(1, 20), (2, 100), (20, 100), (60, 100), (100, 20)],
    ("sorting", "recursive"): [(1, 20), (2, 100), (20, 100), (60, 100), (200, 10)],
}
WANTED = {("sorting", "loop"): 60}


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
        held, learned = sum(a.held for a in attempts), sum(not a.wrong for a in attempts)
        share = 0.8 if task.env.shows_image() else 0.95
        what = f"random programs on {attempts[0].env}: right on other inputs"
        yield Row(what, f"{held} of {count}", f"at least {math.ceil(share * count)}", held >= share * count)
        each = f"{learned} of {count}, {attempts[0].seconds:.1f} s"
        yield Row("  right on the inputs taught with; seconds each", each)
    for attempt in exercises(model, seed=seed):
        yield attempt
        missed = f"{attempt.wrong} of {attempt.frames} frames wrong" if attempt.wrong else "wrong on some"
        how = "right" if attempt.held else missed
        target = 30.0 if attempt.program == "MAX" else None
        met = attempt.held and (target is None or attempt.seconds < target)
        what = f"{attempt.program} ({attempt.env}): on other inputs"
        yield Row(what, f"{how}, {attempt.seconds:.1f} s", f"under {target:.0f} s" if target else "", met)


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
        failing = "not learned" if proof.failing is None else f"{proof.failing} failing at first"
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
        took = f"{self.seconds:.0f} s" if self.seconds is not None else "not learned"
        met = self.seconds is not None and (target is None or self.seconds < target)
        what = f"{self.task}, {self.teacher}, seed {self.seed}: to 100 % of {self.frames:,} frames"
        return Row(what, f"{took}, {self.updates:,} updates", f"under {target} s" if target else "", met)


def learning(
    names: Sequence[str], teachers: Sequence[str], seeds: int, judged: bool, workers: int, device: str
) -> Iterator[Row | Trial]:
    """Train each task with each teacher and every seed, in several processes, and judge what was learned."""
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
    training, recording = timed(lambda: make_trainer([task], FAST, seed, device))
    took = _seconds_to_learn(training)
    scores: list[Score] = []
    if judged:
        decider = Memo(NeuralDecider(training.ema_model, task.env))
        for size, problems in SIZES[name, teacher]:
            scores += score_sizes(task, decider, [size], problems)
    return Trial(name, teacher, seed, len(training.dataset), recording, took, training.updates, tuple(scores))


def _seconds_to_learn(training: Trainer) -> float | None:
    """Train to the end; when was every distinct frame right for the first time?"""
    began, first = time.perf_counter(), None
    for metrics in training.run():
        if metrics.learned and first is None:
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
