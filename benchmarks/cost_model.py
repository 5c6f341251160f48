"""What a selection costs on many workers: constants fitted to measured runs, a check at twice the size, a prediction.

    python -m benchmarks.cost_model [--quick]

The model counts what every worker does, for n rows, p features and w workers with one core each:

    tall    read 8 n p / w bytes, n p (p + 1) / w flops, and move 8 p^2 bytes per level of the reduction
    wide    per pass read 8 n p / w bytes, 2 m n p / w flops for m vectors, and move 8 m (n + p) bytes to the driver

Seconds are a sum of these counts, each times a constant (non-negative least squares), plus one constant per run. The
runs use a local Dask cluster of two workers; the network of a real cluster is slower than the loopback address, so that
its bandwidth is a parameter of the prediction, not a constant of the fit.
"""

from __future__ import annotations

import argparse
import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from benchmarks.measure import clock
from dropstep import select

WORKERS, FAN_IN = 2, 8
SELECTED, PER_PASS = 10, 16  # features that are selected, and vectors of a product, in the wide runs
NETWORK = 1.25e9  # bytes per second between workers that the prediction assumes: 10 Gbit/s
COUNTS = ("bytes read", "flops", "bytes moved", "runs")


@dataclass(frozen=True)
class Run:
    """A selection of a table in chunks on a number of workers."""

    shape: Literal["tall", "wide"]
    n: int
    p: int
    chunks: int
    workers: int = WORKERS
    passes: int = 1

    @property
    def levels(self) -> int:
        """Levels of the reduction of partial results."""
        return max(1, math.ceil(math.log(max(self.chunks, 2), FAN_IN)))

    @property
    def counts(self) -> NDArray[np.float64]:
        """Bytes read, flops and bytes moved, of the worker or link that has most; and 1."""
        n, p, w = float(self.n), float(self.p), self.workers
        if self.shape == "tall":
            return np.array([8 * n * p / w, n * p * (p + 1) / w, 8 * p**2 * self.levels * FAN_IN, 1.0])
        vectors = PER_PASS * self.passes
        return np.array([8 * n * p * self.passes / w, 2 * vectors * n * p / w, 8 * vectors * (n + p), 1.0])

    @property
    def memory(self) -> float:
        """Bytes of a worker: its share of a block, and two partial results; of the driver, for wide tables."""
        if self.shape == "tall":
            return 2 * 8.0 * self.p**2 + 8.0 * self.n * self.p / self.chunks
        return 8.0 * self.p * (SELECTED + PER_PASS)


def table(run: Run) -> tuple[Any, Any]:
    """Normal features in chunks of the cluster's memory, ten of which explain y."""
    rng = da.random.default_rng(0)
    chunks = (-(-run.n // run.chunks), run.p) if run.shape == "tall" else (run.n, -(-run.p // run.chunks))
    X = rng.standard_normal((run.n, run.p), chunks=chunks)
    y = X[:, :SELECTED].sum(axis=1) + rng.standard_normal(run.n, chunks=X.chunks[0])
    return dask.persist(X, y.rechunk(-1) if run.shape == "wide" else y)


def measured(run: Run, repeats: int) -> tuple[Run, float]:
    """The run with its passes, and the best of several times."""
    from distributed import wait

    X, y = table(run)
    wait([X, y])
    parameters: dict[str, Any] = {"strategy": "forward", "criterion": "rss", "max_features": SELECTED}
    results = [clock(lambda: select(X, y, **parameters)) for _ in range(repeats)]
    passes = int(results[0][0].n_passes or 1)
    seconds = min(elapsed for _, elapsed in results)
    return Run(run.shape, run.n, run.p, run.chunks, run.workers, passes), seconds


def fitted(runs: list[tuple[Run, float]]) -> NDArray[np.float64]:
    """Seconds per count: relative errors are minimised."""
    A = np.stack([run.counts / seconds for run, seconds in runs])
    scale = A.max(axis=0)
    return np.asarray(nnls(A / scale, np.ones(len(runs)))[0] / scale)


def show(name: str, runs: list[Run], check: Run, repeats: int) -> None:
    """Fit a shape of tables, check it at twice the size, and print both."""
    done = [measured(run, repeats) for run in runs]
    constants = fitted(done)
    print(f"\n{name}: " + ", ".join(f"{value:.2e} s per {what}" for what, value in zip(COUNTS, constants, strict=True)))
    print(f"{'rows':>9} {'features':>9} {'chunks':>7} {'passes':>7} {'measured':>9} {'model':>9}")
    for run, seconds in [*done, measured(check, repeats)]:
        note = "  twice the size, not in the fit" if (run.n, run.p) == (check.n, check.p) else ""
        predicted = run.counts @ constants
        print(f"{run.n:9} {run.p:9} {run.chunks:7} {run.passes:7} {seconds:8.2f}s {predicted:8.2f}s{note}", flush=True)
    predict(name, constants, done[-1][0].passes)


def predict(name: str, constants: NDArray[np.float64], passes: int) -> None:
    """The prediction for 1,000 workers."""
    large = {
        "tall": Run("tall", 10**9, 10**4, 8000, 1000),
        "wide": Run("wide", 10**5, 10**7, 8000, 1000, passes),
    }[name]
    read, flops, moved, _ = large.counts
    seconds = constants.copy()
    seconds[2] = max(seconds[2], 1 / NETWORK)
    parts = large.counts * seconds
    print(f"{large.n:,} rows x {large.p:,} features on {large.workers:,} workers:")
    print(f"  per worker: {read / 1e9:,.0f} GB read, {flops / 1e12:,.1f} Tflop; {moved / 1e9:,.1f} GB through one link")
    print(f"  memory {'of a worker' if name == 'tall' else 'of the driver'}: {large.memory / 1e9:,.1f} GB")
    print(
        f"  {parts.sum() / 60:,.1f} minutes: read {parts[0]:,.0f} s, compute {parts[1]:,.0f} s, move {parts[2]:,.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small tables, to see that it runs")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    from distributed import Client, LocalCluster

    unit, repeats = (1, 1) if args.quick else (10, 5)
    tall = [Run("tall", unit * n, p, c) for n, p, c in [(10_000, 50, 4), (20_000, 100, 8), (10_000, 200, 4)]]
    tall += [Run("tall", unit * n, p, c) for n, p, c in [(5_000, 400, 16), (1_000, 800, 8), (20_000, 200, 32)]]
    wide = [Run("wide", n, unit * p, c) for n, p, c in [(500, 2_000, 4), (1_000, 2_000, 8), (500, 8_000, 8)]]
    wide += [Run("wide", n, unit * p, c) for n, p, c in [(2_000, 1_000, 4), (1_000, 5_000, 16)]]
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        show("tall", tall, Run("tall", unit * 40_000, 200, 32), repeats)
        show("wide", wide, Run("wide", 1_000, unit * 10_000, 16), repeats)


if __name__ == "__main__":
    main()
