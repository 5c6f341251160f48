"""What a selection costs on many workers: constants fitted to measured runs, a check at twice the size, a prediction.

    python -m benchmarks.cost_model [--quick] [--publish]

The model counts what the busiest worker or link does, for n rows and p features in c chunks on w workers of one core:

    tall    read 8 n p / w bytes, n p (p + 1) / w flops, move 8 p^2 bytes to each addition of the tree (7 per level),
            and handle p c / w columns of chunks
    wide    per pass read 8 n p / w bytes, 2 m n p / w flops for m vectors, move 8 m n bytes to a worker and 8 m p bytes
            to the driver, and handle c / w chunks

Seconds are a sum of these counts, each times a constant (non-negative least squares), plus one constant per run. The
flops of a wide pass are proportional to the bytes it reads, so that one constant covers both. The runs use a local Dask
cluster of two workers, with the table in their memory. The network of a real cluster is slower than the loopback
address, and storage slower than memory, so that both bandwidths are parameters of the prediction.
"""

from __future__ import annotations

import argparse
import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from benchmarks.clusters import PAGE
from benchmarks.measure import clock
from benchmarks.publish import markdown, write_block
from dropstep import select
from dropstep.backends.dask import FAN_IN

WORKERS = 2
SELECTED, PER_PASS = 10, 16  # features that are selected, and vectors of a product, in the wide runs
NETWORK = 1.25e9  # bytes per second of a link that the prediction assumes: 10 Gbit/s
STORAGE = 5e8  # bytes per second at which a worker of the prediction reads its share of the table
COUNTS = ("byte read", "flop", "byte moved", "part handled", "run")


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
        return max(1, math.ceil(math.log(self.chunks, FAN_IN)))

    @property
    def counts(self) -> NDArray[np.float64]:
        """What the busiest worker or link does, in the order of `COUNTS`."""
        n, p, w, c = float(self.n), float(self.p), self.workers, self.chunks
        if self.shape == "tall":
            return np.array([8 * n * p / w, n * p * (p + 1) / w, 8 * p**2 * self.levels * (FAN_IN - 1), p * c / w, 1.0])
        m = PER_PASS * self.passes
        return np.array([8 * n * p * self.passes / w, 2 * m * n * p / w, 8 * m * (n + p), c / w * self.passes, 1.0])

    @property
    def costs(self) -> NDArray[np.float64]:
        """The counts that cost time; the flops of a wide pass are proportional to its bytes, and cost with them."""
        return self.counts * [1, self.shape == "tall", 1, 1, 1]

    @property
    def worker_memory(self) -> float:
        """Bytes: a chunk, and the partial results that wait to be added; of a wide table, its share and the vectors."""
        if self.shape == "tall":
            return 8.0 * self.n * self.p / self.chunks + (FAN_IN + 1) * 8.0 * self.p**2
        return 8.0 * self.n * self.p / self.workers + 8.0 * PER_PASS * self.n

    @property
    def driver_memory(self) -> float:
        """Bytes: the total and its factorisation; of a wide table, the products of all features."""
        return 2 * 8.0 * self.p**2 if self.shape == "tall" else 8.0 * self.p * (SELECTED + PER_PASS)


LARGE = {
    "tall": Run("tall", 10**9, 10**4, 80_000, 1000),
    "wide": Run("wide", 10**5, 10**7, 8_000, 1000),
}


def table(run: Run) -> tuple[Any, Any]:
    """Normal features in chunks of the cluster's memory, ten of which explain y."""
    rng = da.random.default_rng(0)
    chunks = (-(-run.n // run.chunks), run.p) if run.shape == "tall" else (run.n, -(-run.p // run.chunks))
    X = rng.standard_normal((run.n, run.p), chunks=chunks)
    y = X[:, :SELECTED].sum(axis=1) + rng.standard_normal(run.n, chunks=X.chunks[0])
    return dask.persist(X, y.rechunk(-1) if run.shape == "wide" else y)


def measured(run: Run, repeats: int) -> tuple[Run, float]:
    """The run with its passes, and the best of several times after one that is not timed."""
    from distributed import wait

    X, y = table(run)
    wait([X, y])
    parameters: dict[str, Any] = {"strategy": "forward", "criterion": "rss", "max_features": SELECTED}
    results = [clock(lambda: select(X, y, **parameters)) for _ in range(repeats + 1)]
    passes = int(results[0][0].n_passes or 1)
    return replace(run, passes=passes), min(elapsed for _, elapsed in results[1:])


def fitted(runs: list[tuple[Run, float]]) -> NDArray[np.float64]:
    """Seconds per count: relative errors are minimised."""
    A = np.stack([run.costs / seconds for run, seconds in runs])
    scale = np.maximum(A.max(axis=0), np.finfo(float).tiny)
    return np.asarray(nnls(A / scale, np.ones(len(runs)))[0] / scale)


def show(runs: list[Run], check: Run, repeats: int) -> tuple[list[list[str]], NDArray[np.float64], int]:
    """Fit a shape of tables, check it at twice the size, and return the lines of a table, and the constants."""
    done = [measured(run, repeats) for run in runs]
    constants, lines = fitted(done), []
    for run, seconds in [*done, measured(check, repeats)]:
        note = "twice the size, not in the fit" if (run.n, run.p) == (check.n, check.p) else ""
        numbers = [f"{run.n:,}", f"{run.p:,}", str(run.chunks), str(run.passes)]
        lines.append([*numbers, f"{seconds:.2f} s", f"{run.costs @ constants:.2f} s", note])
        print(*lines[-1], flush=True)
    return lines, constants, done[-1][0].passes


def prediction(shape: str, constants: NDArray[np.float64], passes: int) -> list[str]:
    """A column of the table of predictions, for 1,000 workers."""
    large = replace(LARGE[shape], passes=passes)
    read, flops, moved, _, _ = large.counts
    seconds = constants.copy()
    seconds[0], seconds[2] = max(seconds[0], 1 / STORAGE), max(seconds[2], 1 / NETWORK)
    parts = large.costs * seconds
    return [
        f"{large.n:,} x {large.p:,}",
        str(large.passes),
        f"{read * large.workers / 1e12:,.0f} TB; {read / 1e9:,.0f} GB",
        f"{flops * large.workers / 1e15:,.1f}; {flops / 1e15:,.4f} Pflop",
        f"{moved / 1e9:,.1f} GB",
        f"{large.worker_memory / 1e9:,.1f} GB",
        f"{large.driver_memory / 1e9:,.1f} GB",
        f"{parts.sum() / 60:,.1f} min",
        f"{parts[0]:,.0f}, {parts[1]:,.0f}, {parts[2]:,.0f}, {parts[3]:,.0f} s",
    ]


PREDICTED = [
    "rows x columns",
    "passes",
    "read: in total; per worker",
    "computed: in total; per worker",
    "moved through the busiest link",
    "memory of a worker",
    "memory of the driver",
    "time",
    "reading, computing, moving, handling chunks",
]


def page(shapes: dict[str, tuple[list[list[str]], NDArray[np.float64], int]]) -> str:
    """The tables as Markdown."""
    head = ["rows", "columns", "chunks", "passes", "measured", "model", ""]
    blocks = [markdown(head, [line for lines, _, _ in shapes.values() for line in lines])]
    units = [[what, *(f"{constants[i]:.1e} s" for _, constants, _ in shapes.values())] for i, what in enumerate(COUNTS)]
    blocks.append(markdown(["constant, per", *shapes], units))
    columns = [prediction(shape, constants, passes) for shape, (_, constants, passes) in shapes.items()]
    rows = [[what, *values] for what, *values in zip(PREDICTED, *columns, strict=True)]
    blocks.append(markdown(["1,000 workers", *shapes], rows))
    return "\n\n".join(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small tables, to see that it runs")
    parser.add_argument("--publish", action="store_true", help="write the tables of docs/clusters.md")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    from distributed import Client, LocalCluster

    unit, repeats = (1, 1) if args.quick else (10, 5)
    tall = [Run("tall", unit * n, p, c) for n, p, c in [(10_000, 50, 4), (20_000, 100, 8), (10_000, 200, 4)]]
    tall += [Run("tall", unit * n, p, c) for n, p, c in [(5_000, 400, 16), (1_000, 800, 8), (20_000, 200, 32)]]
    tall += [Run("tall", unit * n, p, c) for n, p, c in [(5_000, 800, 4), (10_000, 100, 64)]]
    wide = [Run("wide", n, unit * p, c) for n, p, c in [(500, 2_000, 4), (1_000, 2_000, 8), (500, 8_000, 8)]]
    wide += [Run("wide", n, unit * p, c) for n, p, c in [(2_000, 2_000, 4), (1_000, 5_000, 16), (500, 4_000, 40)]]
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        shapes = {
            "tall": show(tall, Run("tall", unit * 40_000, 200, 32), repeats),
            "wide": show(wide, Run("wide", 1_000, unit * 10_000, 16), repeats),
        }
    print("", page(shapes), sep="\n")
    if args.publish and not args.quick:
        write_block(PAGE, "cost_model", page(shapes))


if __name__ == "__main__":
    main()
