"""Work in several processes side by side."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context


@contextmanager
def processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes, which an interrupt ends at once; work not begun when this is left is not done."""
    pool = ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_DFL))
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
