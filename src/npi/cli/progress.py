"""Showing a training run while it goes on, and being interrupted in good order."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from npi.training.trainer import Metrics, Trainer


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """Collect interrupts instead of being torn out of an update; a second one ends at once."""
    received: list[int] = []

    def receive(number: int, frame: Any) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def json_progress(training: Trainer) -> Iterator[Callable[[Metrics], None]]:
    def progress(metrics: Metrics) -> None:
        if metrics.update % training.config.eval_every == 0:
            print(json.dumps(asdict(metrics)), flush=True)

    yield progress


@contextmanager
def bar_progress(training: Trainer) -> Iterator[Callable[[Metrics], None]]:
    """A bar with loss, accuracy by program and the most time that can be left; lines where there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("update {task.completed:.0f}"),
        BarColumn(20),
        TimeElapsedColumn(),
        TextColumn("at most"),
        TimeRemainingColumn(),
        TextColumn("left"),
        TextColumn("loss {task.fields[loss]:.4f}  {task.fields[programs]}"),
        console=console,
    )
    row = bar.add_task("", total=training.config.updates, completed=training.updates, loss=0.0, programs="")

    def progress(metrics: Metrics) -> None:
        estimated = metrics.update % training.config.eval_every == 0
        if console.is_terminal:
            bar.update(row, completed=metrics.update, loss=metrics.loss, programs=accuracies(metrics))
        elif estimated and metrics.update % (4 * training.config.eval_every) == 0:
            print(
                f"update {metrics.update}  loss {metrics.loss:.4f}  {accuracies(metrics)}", file=sys.stderr, flush=True
            )

    if console.is_terminal:
        with bar:
            yield progress
    else:
        yield progress


def counted(counts: Iterable[tuple[int, int]], what: str) -> None:
    """Do some counted work, with a bar and the time left where there is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        speed_estimate_period=86_400,  # seconds: one of the things counted may take an hour
    ) as bar:
        row = bar.add_task("", total=None)
        for done, total in counts:
            bar.update(row, completed=done, total=total)


def accuracies(metrics: Metrics) -> str:
    """The programs that are not yet right, worst first."""
    wrong = sorted((share, name) for name, share in metrics.accuracy.items() if share < 1)
    right = len(metrics.accuracy) - len(wrong)
    shown = [f"{name} {100 * share:.1f} %" for share, name in wrong[:4]]
    return "  ".join([*shown, f"{right} of {len(metrics.accuracy)} programs right"])
