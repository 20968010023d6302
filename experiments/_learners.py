"""What several experiments do: teach NPI from traces, a baseline from answers, and judge both by length."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import torch

from npi import tasks
from npi.evaluation.baselines import BASELINES, Baseline, FitConfig, Network, fit, right
from npi.evaluation.judge import judge
from npi.language.memo import Memo
from npi.language.task import Task
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.network.pretrained import DEFAULT_MODEL
from npi.tasks.sorting import DIGITS
from npi.training.config import FAST, TrainConfig
from npi.training.metrics import matches_teacher
from npi.training.trainer import make_trainer

HELD_BACK = 256  # problems by which the best weights of a baseline are chosen
# what is common to all of their runs
BASELINE_CONFIG = {"batch": FitConfig.batch_size, "clip": FitConfig.grad_clip, "held_back": HELD_BACK}


def npi_task(name: str, teacher: str, sizes: Sequence[int], examples: int) -> Task:
    return replace(tasks.find(name, teacher), sizes=tuple(sizes), examples=examples)


def learn_npi(task: Task, seed: int, config: TrainConfig = FAST) -> tuple[NPI, dict[str, Any]]:
    """Train NPI on a task's traces until every frame is right; also how that went."""
    training = make_trainer([task], config, seed)
    first = None
    for metrics in training.run():
        if metrics.learned and first is None:
            first = metrics.update
    return training.ema_model, {"learned": training.learned, "updates_to_learn": first, "frames": len(training.dataset)}


def shipped() -> dict[str, Any]:
    """Which model comes with npi: what is measured of it is not true of another."""
    return {"model": hashlib.sha256((DEFAULT_MODEL / "model.safetensors").read_bytes()).hexdigest()}


def any_digits(rng: Random, size: int) -> tuple[int, ...]:
    """Arrays to sort. Half of those of `npi train` have few kinds of digits, and a few such arrays show little."""
    return tuple(rng.choices(DIGITS, k=size))


def problems_of(task: Task, size: int, count: int) -> list[Any]:
    """Random problems to judge by, the same for whoever is judged; of the smallest sizes some may have been taught."""
    rng = Random(f"judged {task.name} {size}")
    return [task.sample(rng, size) for _ in range(count)]


def judge_npi(
    model: NPI, task: Task, lengths: Sequence[int], count: int, run_up_to: int | None = None
) -> Iterator[dict[str, int]]:
    """How many problems of each length are answered rightly.

    What is longer than `run_up_to` is not run: the model is asked about all frames of the teacher's run at once. Such a
    problem counts as right if the trace is the teacher's, which makes the answer right; without it the answer might be,
    too.
    """
    decider = Memo(NeuralDecider(model, task.env))
    for length in lengths:
        problems = problems_of(task, length, count)
        if run_up_to is not None and length > run_up_to:
            answers = sum(matches_teacher(model, task, problem) for problem in problems)
        else:
            answers = judge(task, decider, problems).answers
        yield {"length": length, "problems": count, "right": answers}


def settings_of(baseline: str) -> dict[str, float]:
    """How a baseline is trained: settings of its runs."""
    return {"rate": BASELINES[baseline].rate, "decay": BASELINES[baseline].decay}


def learn_baseline(
    name: str, task: Task, seed: int, device: str, updates: int, rate: float, decay: float
) -> tuple[Network, Baseline, float]:
    """Train a baseline on the answers of a task's examples; also how it did on others of the same lengths."""
    baseline = BASELINES[name]
    examples = [baseline.layout(problem) for problem in task.training_problems(seed)]
    rng = Random(f"held back {task.name} {seed}")
    held_back = [baseline.layout(task.sample(rng, rng.choice(task.sizes))) for _ in range(HELD_BACK)]
    torch.manual_seed(seed)
    network = baseline.network().to(device)
    config = FitConfig(updates=updates, learning_rate=rate, weight_decay=decay, judge_every=max(1, updates // 20))
    share = 0.0
    for progress in fit(network, examples, held_back, config, seed):
        share = progress.held_back
    return network, baseline, share


def judge_baseline(
    network: Network, baseline: Baseline, task: Task, lengths: Sequence[int], count: int, at_once: int = 256
) -> Iterator[dict[str, int]]:
    """The same for a baseline; where two lengths running have no right answer, longer ones are not tried."""
    none = 0
    for length in lengths:
        examples = [baseline.layout(problem) for problem in problems_of(task, length, count)]
        answers = sum(right(network, examples, at_once))
        yield {"length": length, "problems": count, "right": answers}
        none = none + 1 if not answers else 0
        if none == 2:
            return
