"""Shared by the experiments: train NPI on traces and baselines on answers, and score both by length."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import torch

from npi import tasks
from npi.evaluation.baselines import BASELINES, Baseline, FitConfig, Network, correct, fit
from npi.evaluation.score import score_problems
from npi.language.memo import Memo
from npi.language.task import Task
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.network.pretrained import DEFAULT_MODEL
from npi.proof.compare import Comparison
from npi.proof.repair import Verifier, train_until_verified
from npi.tasks.sorting import DIGITS
from npi.training.config import FAST, TrainConfig
from npi.training.metrics import matches_teacher
from npi.training.trainer import make_trainer

VALIDATION_PROBLEMS = 256  # a baseline keeps the weights that are best on these
EVALUATIONS = 20  # of a baseline on the validation problems, while it trains
GIVE_UP_AFTER = 2  # lengths in a row without a correct answer: longer problems count as wrong
BASELINE_CONFIG = {
    "batch_size": FitConfig.batch_size,
    "grad_clip": FitConfig.grad_clip,
    "validation_problems": VALIDATION_PROBLEMS,
}
# From how many traces others have published a proof of the same program. By task: sizes, and traces of each size.
PUBLISHED_TRACES = {
    "addition": ((1, 2, 3), 66),
    "sorting": ((2,), 100),
    "bubblesort": ((3,), 3),
    "quicksort": ((5,), 4),
    "toposort": ((6,), 6),
}


def npi_task(name: str, teacher: str, sizes: Sequence[int], examples: int) -> Task:
    """A built-in task with other training sizes and number of examples of each."""
    return replace(tasks.find(name, teacher), sizes=tuple(sizes), examples=examples)


def learn_npi(task: Task, seed: int, config: TrainConfig = FAST) -> tuple[NPI, dict[str, Any]]:
    """Train NPI on a task's traces until every frame is right. Returns the model, and numbers about its training."""
    trainer = make_trainer([task], config, seed)
    learned_at = None
    for metrics in trainer.run():
        if metrics.learned and learned_at is None:
            learned_at = metrics.update
    numbers = {"learned": trainer.learned, "updates_to_learn": learned_at, "frames": len(trainer.dataset)}
    return trainer.ema_model, numbers


def learn_until_proved(task: Task, seed: int) -> tuple[NPI, list[Comparison]]:
    """Train NPI on a task's traces, then with repair rounds until it is proved.

    Returns the model and the outcome of every attempt at a proof. There is none if the traces are not learned.
    """
    verifier = Verifier([task])
    trainer = make_trainer([task], seed=seed)
    attempts = [event[task.name] for event in train_until_verified(trainer, verifier) if isinstance(event, dict)]
    return trainer.ema_model, attempts


def shipped() -> dict[str, Any]:
    """The hash of the shipped model, as part of an experiment's config: its runs do not hold for another model."""
    return {"model": hashlib.sha256((DEFAULT_MODEL / "model.safetensors").read_bytes()).hexdigest()}


def any_digits(rng: Random, size: int) -> tuple[int, ...]:
    """A random array of any digits.

    Half of the arrays that `npi train` uses have few distinct digits. With only a few training arrays, these would
    leave out most pairs of digits.
    """
    return tuple(rng.choices(DIGITS, k=size))


def problems_of(task: Task, size: int, count: int) -> list[Any]:
    """Random test problems, the same for every learner. Of the smallest sizes, some may be in the training set."""
    rng = Random(f"judged {task.name} {size}")
    return [task.sample(rng, size) for _ in range(count)]


def score_npi(
    model: NPI, task: Task, lengths: Sequence[int], count: int, run_up_to: int | None = None
) -> Iterator[dict[str, int]]:
    """How many problems of each length NPI solves.

    Problems longer than `run_up_to` are not run. Instead, the model decides every step of the teacher's run in one
    batch, and the problem counts as correct if all decisions equal the teacher's. This can only undercount: a different
    trace may give the correct answer too.
    """
    decider = Memo(NeuralDecider(model, task.env))
    for length in lengths:
        problems = problems_of(task, length, count)
        if run_up_to is not None and length > run_up_to:
            solved = sum(matches_teacher(model, task, problem) for problem in problems)
        else:
            solved = score_problems(task, decider, problems).answers
        yield {"length": length, "problems": count, "correct": solved}


def settings_of(baseline: str) -> dict[str, float]:
    """The hyperparameters of a baseline, as settings of its runs."""
    known = BASELINES[baseline]
    return {"learning_rate": known.learning_rate, "weight_decay": known.weight_decay}


def learn_baseline(
    name: str, task: Task, seed: int, device: str, updates: int, learning_rate: float, weight_decay: float
) -> tuple[Network, Baseline, float]:
    """Train a baseline on problems and answers. Also returns its accuracy on validation problems."""
    baseline = BASELINES[name]
    examples = [baseline.layout(problem) for problem in task.training_problems(seed)]
    rng = Random(f"held back {task.name} {seed}")
    validation = [baseline.layout(task.sample(rng, rng.choice(task.sizes))) for _ in range(VALIDATION_PROBLEMS)]
    torch.manual_seed(seed)
    network = baseline.network().to(device)
    eval_every = max(1, updates // EVALUATIONS)
    config = FitConfig(updates, learning_rate, weight_decay=weight_decay, eval_every=eval_every)
    accuracy = 0.0
    for progress in fit(network, examples, validation, config, seed):
        accuracy = progress.validation_accuracy
    return network, baseline, accuracy


def score_baseline(
    network: Network, baseline: Baseline, task: Task, lengths: Sequence[int], count: int, at_once: int = 256
) -> Iterator[dict[str, int]]:
    """How many problems of each length a baseline solves; after GIVE_UP_AFTER lengths without one, it stops."""
    failed = 0
    for length in lengths:
        examples = [baseline.layout(problem) for problem in problems_of(task, length, count)]
        solved = sum(correct(network, examples, at_once))
        yield {"length": length, "problems": count, "correct": solved}
        failed = 0 if solved else failed + 1
        if failed == GIVE_UP_AFTER:
            return
