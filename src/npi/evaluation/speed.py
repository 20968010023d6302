"""Speed: how long commands, running, training, proofs, teaching and compiled programs take, each beside its target.

A rate depends on the machine and on its other load, so rates are also given as ratios to two references measured in
the same run. The bare core is the model's forward pass on random input. The plain implementation runs one problem at a
time, and trains on one recorded frame at a time, repeated frames included. The targets are for two CPU cores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any

import numpy as np
import torch

from npi import tasks
from npi.language.interpreter import FrameState, Query, Reply, run_batch, run_program
from npi.language.memo import Memo
from npi.language.program import Call, Frame, Observation
from npi.language.task import Task
from npi.network.checkpoint import load_model
from npi.network.model import NPI
from npi.network.neural_decider import NeuralDecider
from npi.network.pretrained import DEFAULT_MODEL
from npi.proof.compile import compile
from npi.proof.program_table import ProgramTable
from npi.training.dataset import FrameDataset
from npi.training.loss import decision_loss
from npi.training.metrics import batch_logits
from npi.training.teach import teach_task
from npi.training.trainer import Trainer, make_trainer

BATCH = 256  # problems that run at once, and observations in a forward pass of the bare core
RUN_DIGITS = 40  # of the additions that measure running and training
REPEATS = 5  # of a measurement whose median is reported
PROOFS = 3  # of a command that proves, whose median is reported
FASTEST_OF = 7  # repeats of a measurement of which the fastest is reported, since noise only slows down
PLAIN_FRAMES, BATCHED_UPDATES = 200, 30  # updates in the two measurements of training: a few seconds each
CORE_WARMUP, CORE_PASSES = 10, 40  # forward passes of the bare core


@dataclass(frozen=True)
class Measurement:
    """A measured number, beside its target.

    what      what was measured
    value     the number, in `unit`: s, steps/s, or x for a ratio
    target    a bound on the value, if there is one
    at_least  whether the target is a lower bound, not an upper one
    """

    what: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the value meets its target; None without a target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value < self.target

    @property
    def value_text(self) -> str:
        return f"{number(self.value)} {self.unit}"

    @property
    def target_text(self) -> str:
        if self.target is None:
            return ""
        return f"{'at least' if self.at_least else 'under'} {number(self.target)} {self.unit}"


def number(value: float) -> str:
    """A number as text, with two decimals below 10, one below 100, and none from there on."""
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"


class WrongAnswer(AssertionError):
    """A program whose speed is measured gives a wrong answer, so its speed is meaningless."""


def startup() -> Iterator[Measurement]:
    """Commands that a person waits for, each in a new process."""
    npi = [sys.executable, "-m", "npi.cli"]
    for what, command, target in (
        ("`import npi`, without torch", [sys.executable, "-c", "import npi"], 0.3),
        ("`npi --help`", [*npi, "--help"], 0.5),
        ("`npi run addition 96 125`", [*npi, "run", "addition", "96", "125"], 3.0),
    ):

        def start(command: list[str] = command) -> None:
            subprocess.run(command, check=True, capture_output=True)

        yield Measurement(what, median(seconds(start) for _ in range(REPEATS)), "s", target)


def rates() -> Iterator[Measurement]:
    """Steps per second of running and training, with an untrained model: it does the same work as a trained one."""
    task = tasks.find("addition")
    trainer = make_trainer([task], seed=0)
    core = core_rate(trainer.model)
    yield Measurement(f"bare core, batch of {BATCH}", core, "steps/s")
    problems = [task.sample(Random(seed), RUN_DIGITS) for seed in range(BATCH)]
    recorded = {problem: task.demonstrate(problem)[0] for problem in problems}
    frames = [frame for recording in recorded.values() for frame in recording]
    decider = TeacherForced(NeuralDecider(trainer.model, task.env), frames)
    running = running_rate(task, problems, decider)
    yield Measurement(f"neural running, {BATCH} problems at once", running, "steps/s")
    yield Measurement("- to the bare core", running / core, "x", 0.5, at_least=True)
    plain = running_rate(task, problems[:1], decider)
    yield Measurement("neural running, one problem (plain)", plain, "steps/s")
    yield from memo_rates(task, plain)
    yield from training_rates(trainer, frames)


class TeacherForced:
    """A decider that computes the network's decision at every step, and returns the teacher's."""

    def __init__(self, neural: NeuralDecider, frames: Sequence[Frame]):
        self.neural, self.teacher = neural, Memo.of(frames)

    def cached(self, observation: Observation, call: Call, state: FrameState) -> Reply | None:
        return None

    def decide(self, queries: list[Query]) -> list[Reply]:
        inner = [(observation, call, state and state[0]) for observation, call, state in queries]
        answers = []
        for (observation, call, state), (_, after) in zip(queries, self.neural.decide(inner), strict=True):
            known = self.teacher.cached(observation, call, state and state[1])
            assert known is not None
            answers.append((known[0], (after, known[1])))
        return answers


def memo_rates(task: Task, plain: float) -> Iterator[Measurement]:
    """Memoised running of the shipped model, after BATCH additions of 1,000 digits have filled the memo."""
    memo = Memo(NeuralDecider(load_model(), task.env))
    run_batch([task.env.of(task.sample(Random(seed), 1000)) for seed in range(BATCH)], task.call, memo)
    measured = []
    for seed in range(REPEATS):
        env = task.env.of(task.sample(Random(100 + seed), 10_000))
        trace, took = timed(lambda env=env: run_program(env, task.call, memo))
        measured.append(len(trace.decisions) / took)
    rate = median(measured)
    yield Measurement("memoised running, memo filled, one core", rate, "steps/s", 500_000, at_least=True)
    yield Measurement("- to neural running of one problem", rate / plain, "x")
    problem = task.sample(Random(7), 100_000)
    env = task.env.of(problem)
    took = seconds(lambda: run_program(env, task.call, memo))
    check_answer(task, env, problem)
    yield Measurement("addition of 100,000 digits, memoised", took, "s", 5)


def training_rates(trainer: Trainer, frames: Sequence[Frame]) -> Iterator[Measurement]:
    """Training on batches, and on one recorded frame at a time."""
    plain = plain_training_rate(trainer, frames)
    yield Measurement("training, one frame at a time (plain)", plain, "steps/s")
    lengths: list[int] = []
    sample = trainer.curriculum.sample

    def counted(*args: Any, **kwargs: Any) -> np.ndarray:
        chosen = sample(*args, **kwargs)
        lengths.append(int(trainer.dataset.length[chosen].sum()))
        return chosen

    trainer.curriculum.sample = counted
    took = seconds(lambda: [trainer.update() for _ in range(BATCHED_UPDATES)])
    batched = sum(lengths) / took
    yield Measurement("training in batches", batched, "steps/s")
    yield Measurement("- to one frame at a time", batched / plain, "x")
    yield Measurement("recorded frames to distinct frames, stored once", len(frames) / len(set(frames)), "x")


def plain_training_rate(trainer: Trainer, frames: Sequence[Frame]) -> float:
    """Steps per second of training on one recorded frame at a time, repeated frames included."""
    env = trainer.dataset.envs[0]
    everything = FrameDataset([(env, frame) for frame in frames], trainer.dataset.programs)
    optimizer = torch.optim.Adam(trainer.model.parameters(), 1e-4)

    def encode_images(env: str, images: torch.Tensor) -> torch.Tensor:
        raise AssertionError(f"{env} shows no images")

    def update(frame: int) -> int:
        batch = everything.batch(np.array([frame]))
        optimizer.zero_grad()
        decision_loss(batch_logits(trainer.model, everything, batch, encode_images), batch).mean().backward()
        optimizer.step()
        return len(batch.stop)

    steps, took = timed(lambda: sum(update(frame) for frame in range(PLAIN_FRAMES)))
    return steps / took


def core_rate(model: NPI) -> float:
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

    passes(CORE_WARMUP)
    return median(BATCH * CORE_PASSES / seconds(lambda: passes(CORE_PASSES)) for _ in range(REPEATS))


def running_rate(task: Task, problems: Sequence[Any], decider: TeacherForced) -> float:
    """Steps per second of running some problems at once."""
    envs = [task.env.of(problem) for problem in problems]
    traces, took = timed(lambda: run_batch(envs, task.call, decider))
    return sum(len(trace.decisions) for trace in traces) / took


# Targets of `learning`, by task and teacher.
TARGET_SECONDS = {("addition", "loop"): 120, ("addition", "recursive"): 120, ("sorting", "recursive"): 30}


def learning(task: str, teacher: str) -> Iterator[Measurement]:
    """Training from scratch, seed 0, until every distinct frame is right, and before it, recording the teacher."""
    trainer, recording = timed(lambda: make_trainer([tasks.find(task, teacher)], seed=0))
    yield Measurement(f"{task}, {teacher}: recording the teacher", recording, "s")

    def learn() -> None:
        if not any(metrics.learned for metrics in trainer.run()):
            raise WrongAnswer(f"{task} ({teacher}) was not learned")

    what = f"{task}, {teacher}: learning all {len(trainer.dataset):,} distinct frames"
    yield Measurement(what, seconds(learn), "s", TARGET_SECONDS.get((task, teacher)))


def proofs() -> Iterator[Measurement]:
    """Proving that the shipped model runs a task as its teacher does: whole commands, each in a new process."""
    for task, target in (("addition", 8), ("sorting", 3)):
        command = [sys.executable, "-m", "npi.cli", "verify", task, "--json"]
        found, took = zip(*(timed(lambda command=command: proved(command)) for _ in range(PROOFS)), strict=True)
        yield Measurement(f"`npi verify {task}`: {found[0]['histories']:,} histories", median(took), "s", target)
        for stage in ("exploring", "checking", "sampling", "comparing"):
            yield Measurement(f"- of these, {stage}", median(one["seconds"][stage] for one in found), "s")
        check = [*command, "--check", str(DEFAULT_MODEL / f"{task}.certificate.json")]
        took = [seconds(lambda check=check: proved(check)) for _ in range(PROOFS)]
        yield Measurement(f"`npi verify {task} --check`", median(took), "s")


def proved(command: Sequence[str]) -> dict[str, Any]:
    """What `npi verify --json` prints. An exit status other than 0 means that the proof failed, and is an error."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def teaching() -> Iterator[Measurement]:
    """Teaching the shipped model two programs, MAX and RJMP."""
    model, task = load_model(), tasks.find("maximum")
    result, took = timed(lambda: teach_task(model, task))
    if not result.learned:
        raise WrongAnswer("MAX was not learned")
    yield Measurement(f"`npi teach maximum`: {result.updates:,} updates", took, "s", 30)


def compiled() -> Iterator[Measurement]:
    """Proved programs as tables, on long problems and compared with their teachers in plain Python."""

    def two_numbers(rng: Random, digits: int) -> tuple[str, ...]:
        return tuple("".join(rng.choices("0123456789", k=digits)) for _ in range(2))

    def integers(rng: Random, count: int) -> tuple[int, ...]:
        return tuple(rng.randint(-(10**9), 10**9) for _ in range(count))

    for name, sample, size, unit in (
        ("addition", two_numbers, 10**6, "digits"),
        ("quicksort", integers, 10**5, "integers"),
    ):
        task = tasks.find(name)
        table = proved_table(task)
        problem = sample(Random(0), size)
        env = task.env.of(problem)
        took = seconds(lambda env=env, table=table, call=task.call: table.run(env, call))
        check_answer(task, env, problem)
        yield Measurement(f"compiled {name}, {size:,} {unit}", took, "s")
        problems = [sample(Random(seed), 100) for seed in range(1, 51)]  # short, as Python's recursion is limited
        plain = fastest(task.main, task, problems)
        ratio = plain / fastest(lambda env, table=table, call=task.call: table.run(env, call), task, problems)
        yield Measurement(f"compiled {name}, speed to its teacher in plain Python", ratio, "x", 1, at_least=True)


def proved_table(task: Task) -> ProgramTable:
    """The compiled program of a task: of the shipped model if it knows the task, else of one trained here."""
    model = load_model()
    if task.name not in model.tasks:
        trainer = make_trainer([task])
        for _ in trainer.run():
            pass
        model = trainer.ema_model
    return compile(task, model, device="cpu")


def check_answer(task: Task, env: Any, problem: Any) -> None:
    if task.result(env) != task.answer(problem):
        raise WrongAnswer(f"the answer to a long problem of {task.name} is wrong")


def fastest(job: Callable[[Any], object], task: Task, problems: Sequence[Any]) -> float:
    """The seconds that a job takes on all problems together, in the fastest repeat."""

    def all_of_them() -> None:
        for problem in problems:
            job(task.env.of(problem))

    return min(seconds(all_of_them) for _ in range(FASTEST_OF))


def seconds(job: Callable[[], object]) -> float:
    """How long a job takes."""
    return timed(job)[1]


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a job, and how many seconds it takes."""
    began = time.perf_counter()
    result = job()
    return result, time.perf_counter() - began


# Each part of the speed experiment is one run.
PARTS: Mapping[str, Callable[..., Iterator[Measurement]]] = {
    "startup": startup,
    "rates": rates,
    "learning": learning,
    "proofs": proofs,
    "teaching": teaching,
    "compiled": compiled,
}
