"""Speed: how long commands, running, training and compiled programs take, each beside its target.

Rates on a shared machine mean little by themselves, so they are given as ratios to what was measured in the same run:
to the bare core (a forward pass of the model on random input) and to a plain implementation (one frame at a time, batch
1, eager, every recorded frame as often as it occurred).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

import numpy as np
import torch

from npi import tasks
from npi.language.interpreter import run_batch, run_program
from npi.language.memo import Memo
from npi.language.program import Frame
from npi.language.task import Task
from npi.language.trace import Limits
from npi.network.checkpoint import load_model
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.proof.program_table import compile_histories
from npi.proof.repair import Prover
from npi.training.dataset import FrameDataset
from npi.training.loss import decision_loss
from npi.training.metrics import batch_logits
from npi.training.trainer import Trainer, make_trainer

BATCH = 256


@dataclass(frozen=True)
class Row:
    """One line of the table. `met` is None where there is no target."""

    what: str
    measured: str
    target: str = ""
    met: bool | None = None


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
    training = make_trainer([task], seed=0)
    model = training.model
    bare = _bare(model)
    yield Row(f"bare core, batch {BATCH}", f"{bare:,.0f} steps/s")
    matches_teacher = [task.sample(Random(seed), 40) for seed in range(BATCH)]
    recorded = {problem: task.demonstrate(problem)[0] for problem in matches_teacher}
    neural = _Led(NeuralDecider(model, task.env), [frame for frames in recorded.values() for frame in frames])
    steps, took = _run(task, matches_teacher, neural)
    yield _ratio(f"neural running, {BATCH} at once, to the bare core", steps / took, bare, 0.5)
    steps, took = _run(task, matches_teacher[:1], neural)
    plain_running = steps / took
    yield Row("neural running, one at a time (plain)", f"{plain_running:,.0f} steps/s")
    yield from _memo(task, plain_running)
    yield from _training_rates(training, recorded)


class _Led:
    """The network does all of its work at every step, but the decision taken is the teacher's."""

    def __init__(self, neural: NeuralDecider, frames: list[Frame]):
        self.neural, self.teacher = neural, Memo.of(frames)

    def cached(self, observation, call, state):
        return None

    def decide(self, queries):
        inner = [(observation, call, state and state[0]) for observation, call, state in queries]
        answers = []
        for (observation, call, state), (_, after) in zip(queries, self.neural.decide(inner), strict=True):
            known = self.teacher.cached(observation, call, state and state[1])
            assert known is not None
            answers.append((known[0], (after, known[1])))
        return answers


def _memo(task: Task, plain: float) -> Iterator[Row]:
    """Memoised running once warm by 256 additions of 1,000 digits, and a very long one, by the shipped model."""
    memo = Memo(NeuralDecider(load_model(), task.env))
    run_batch([task.env.of(task.sample(Random(seed), 1000)) for seed in range(BATCH)], task.call, memo)
    rates = []
    for seed in range(5):
        env = task.env.of(task.sample(Random(100 + seed), 10_000))
        trace, took = timed(lambda env=env: run_program(env, task.call, memo))
        rates.append(len(trace.decisions) / took)
    rate = median(rates)
    yield Row("memoised running, warm, one core", f"{rate:,.0f} steps/s", "500,000", rate >= 500_000)
    yield Row("  to neural running one at a time", f"{rate / plain:,.0f} x")
    problem = task.sample(Random(7), 100_000)
    env = task.env.of(problem)
    _, took = timed(lambda: run_program(env, task.call, memo))
    right = task.result(env) == task.answer(problem)
    met = right and took < 5
    yield Row(
        "100,000-digit addition, answer checked", f"{took:.1f} s, {'right' if right else 'WRONG'}", "under 5 s", met
    )


def _training_rates(training: Trainer, recorded: dict) -> Iterator[Row]:
    frames = [frame for frames in recorded.values() for frame in frames]
    env = training.dataset.envs[0]
    everything = FrameDataset([(env, frame) for frame in frames], training.dataset.programs)
    optimizer = torch.optim.Adam(training.model.parameters(), 1e-4)

    def see(env: str, which: torch.Tensor) -> torch.Tensor:
        raise AssertionError(f"{env} shows no pictures")

    def plain(frame: int) -> int:
        batch = everything.batch(np.array([frame]))
        optimizer.zero_grad()
        decision_loss(batch_logits(training.model, everything, batch, see), batch).mean().backward()
        optimizer.step()
        return len(batch.stop)

    (steps, took) = _timed_sum(plain, range(200))
    plain_rate = steps / took
    yield Row("training one frame at a time (plain)", f"{plain_rate:,.0f} steps/s")
    lengths: list[int] = []
    draw = training.curriculum.sample

    def counted(*given, **named) -> np.ndarray:
        chosen = draw(*given, **named)
        lengths.append(int(training.dataset.length[chosen].sum()))
        return chosen

    training.curriculum.sample = counted
    _, took = timed(lambda: [training.update() for _ in range(30)])
    rate = sum(lengths) / took
    yield Row("training in batches, to plain", f"{rate:,.0f} steps/s, {rate / plain_rate:.1f} x")
    distinct = len(set(frames))
    yield Row("frames stored once", f"{len(frames):,} -> {distinct:,}, {len(frames) / distinct:.1f} x")


def _bare(model: NPI) -> float:
    """Steps per second of the model's forward pass alone, on random input."""
    env, fields = next(iter(model.config.fields.items()))
    observation = torch.stack([torch.randint(size, (BATCH,)) for size in fields.values()], 1)
    args = torch.zeros(BATCH, len(model.config.argument_sizes), dtype=torch.long)
    programs = torch.randint(len(model.programs), (BATCH,))
    zero = torch.zeros(model.config.lstm_layers, BATCH, model.config.lstm_width)

    @torch.inference_mode()
    def passes(count: int) -> None:
        state = (zero, zero)
        for _ in range(count):
            _, state = model.step(env, observation, args, programs, state)

    passes(10)
    return median(BATCH * 40 / _seconds(lambda: passes(40)) for _ in range(3))


def _run(task: Task, problems: list, decider: _Led) -> tuple[int, float]:
    envs = [task.env.of(problem) for problem in problems]
    traces, took = timed(lambda: run_batch(envs, task.call, decider, Limits()))
    return sum(len(trace.decisions) for trace in traces), took


def _ratio(what: str, rate: float, to: float, target: float) -> Row:
    ratio = rate / to
    return Row(what, f"{rate:,.0f} steps/s, {ratio:.2f}", f"at least {target}", ratio >= target)


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
            training = make_trainer([task])
            for _ in training.run():
                pass
            model = training.ema_model
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


def _seconds(job: Callable[[], object]) -> float:
    return timed(job)[1]


def timed(job: Callable) -> tuple:
    began = time.perf_counter()
    result = job()
    return result, time.perf_counter() - began


def _timed_sum(job: Callable[[int], int], over: Sequence[int]) -> tuple[int, float]:
    return timed(lambda: sum(job(index) for index in over))
