"""As many threads are used as BLAS would use, and the result does not depend on their number."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dropstep import select
from dropstep.data import threads
from dropstep.data.threads import in_threads, n_threads


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with eight cores and no limits."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    monkeypatch.setattr(threads, "_blas", lambda: Blas(8))


class Blas:
    def __init__(self, *limits: int | None) -> None:
        self.limits = limits

    def info(self) -> list[dict[str, Any]]:
        return [{"num_threads": limit} for limit in self.limits]


def used(n: int = 800) -> int:
    """How many threads compute at the same time: each waits until as many as are expected have started."""
    expected = n_threads()
    gate = threading.Barrier(expected)
    seen: set[int] = set()

    def part(rows: slice) -> Any:
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            gate.wait(timeout=30)
        return np.ones(1)

    assert in_threads(part, n) == threads.N_PARTS
    return len(seen)


@pytest.mark.usefixtures("eight_cores")
def test_without_limits_every_core_is_used() -> None:
    assert used() == 8


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize(
    ("text", "count"), [("1", 1), ("3", 3), ("2,4", 2), (" 5 ", 5), ("16", 8), ("", 8), ("many", 8), ("0", 1)]
)
def test_omp_num_threads(text: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert used() == count


@pytest.mark.usefixtures("eight_cores")
def test_cores_and_blas_are_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joblib, "cpu_count", lambda: 3)
    assert used() == 3
    monkeypatch.setattr(threads, "_blas", lambda: Blas(2, 8, None))
    assert used() == 2


def test_limits_at_the_time_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    for limit in (2, 1):
        with threadpool_limits(limit):
            assert used() == limit


def limited() -> int:
    return n_threads()


def test_one_thread_in_workers_that_limit_inner_threads() -> None:
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        assert joblib.Parallel()(joblib.delayed(limited)() for _ in range(2)) == [1, 1]


def test_one_thread_starts_no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("a pool was started")

    monkeypatch.setattr(threads, "ThreadPoolExecutor", fail)
    X = np.random.default_rng(0).normal(size=(700, 500))
    with threadpool_limits(1):
        assert select(X, X[:, 3] + X[:, 5], solver="columns").selected == (3, 5)


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize("n", [3, 8, 1001])
def test_the_sum_does_not_depend_on_the_number_of_threads(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(n, 40)) * 10.0 ** np.arange(-20, 20)

    def part(rows: slice) -> Any:
        return np.einsum("ij,ij->j", X[rows], X[rows])

    sums = []
    for count in range(1, 9):
        monkeypatch.setenv("OMP_NUM_THREADS", str(count))
        sums.append(in_threads(part, n))
    for other in sums[1:]:
        np.testing.assert_array_equal(other, sums[0])
    np.testing.assert_allclose(sums[0], (X**2).sum(axis=0))


OVERLAPPING = """
import threading
from dropstep.data.threads import _blas, one_thread
limits = lambda: [library["num_threads"] for library in _blas().info()]
before, first_is_in, second_is_in, first_is_out = limits(), *(threading.Event() for _ in range(3))
def first():
    with one_thread(), one_thread():
        assert set(limits()) == {1}
        first_is_in.set()
        second_is_in.wait(30)
    first_is_out.set()
def second():
    first_is_in.wait(30)
    with one_thread():
        second_is_in.set()
        first_is_out.wait(30)
threads = [threading.Thread(target=function) for function in (first, second)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(before, limits())
"""


def test_overlapping_limits_restore_the_number_of_threads() -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    ran = subprocess.run([sys.executable, "-c", OVERLAPPING], capture_output=True, text=True, env=environment)
    assert ran.stderr == ""
    before, after = ran.stdout.strip().split("] [")
    assert f"{before}]" == f"[{after}"
    assert "2" in before or joblib.cpu_count() == 1
