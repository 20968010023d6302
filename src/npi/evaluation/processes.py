"""Work in several processes side by side."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from threading import Thread


@contextmanager
def processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes, which end when this is left, or when this process ends; what they were doing then is lost."""
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in active_children():
            worker.terminate()


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
