"""Threads: sums over rows, on as many threads as BLAS would use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

N_PARTS = 8  # parts into which the rows are divided, and so the maximum number of threads


@cache
def _blas() -> Any:
    """The loaded BLAS libraries. Finding them takes milliseconds, reading their limits microseconds."""
    return ThreadpoolController().select(user_api="blas")


def n_threads() -> int:
    """Number of threads that BLAS would use now, at most N_PARTS.

    `joblib.cpu_count` respects affinity, CPU quotas and LOKY_MAX_CPU_COUNT; the limits of BLAS include those of
    `threadpool_limits` and of joblib's workers.
    """
    limits = [N_PARTS, int(joblib.cpu_count())]
    limits += [library["num_threads"] for library in _blas().info() if library["num_threads"]]
    openmp = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if openmp.isdecimal():
        limits.append(int(openmp))
    return max(1, min(limits))


_LIMITED = threading.Lock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Context in which BLAS uses one thread: products of small blocks take less time than starting another.

    The limit is that of the whole process, so it belongs to one context at a time: of several that overlap, only the
    first sets and restores it.
    """
    if not _LIMITED.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _LIMITED.release()


def in_threads(part: Callable[[slice], NDArray[np.float64]], n: int, threads: int | None = None) -> NDArray[np.float64]:
    """Sum of a function over N_PARTS slices of n rows or columns.

    The slices and the order of summation do not depend on the number of threads, so neither does the result.

    Parameters
    ----------
    part : callable
        Function of a slice of rows or columns that returns an array.
    n : int
        Number of rows or columns.
    threads : int or None, default=None
        Number of threads; None means as many as BLAS would use.

    Returns
    -------
    ndarray
    """
    bounds = np.linspace(0, n, N_PARTS + 1).astype(int)
    parts = [slice(int(a), int(b)) for a, b in pairwise(bounds)]
    threads = n_threads() if threads is None else threads
    if threads == 1:
        return np.asarray(sum(map(part, parts)))
    with ThreadPoolExecutor(threads) as pool:
        return np.asarray(sum(pool.map(part, parts)))
