"""One table through every backend, and through the model selection of H2O, in one run.

    python -m benchmarks.clusters [--table kdd|tall] [--rows 200000] [--features 200] [--without h2o spark ...]

The table is written to one Parquet file per 50,000 rows, and every tool starts from these files: "load" is what brings
the rows to the tool (upload, for H2O), "search" is the selection. Clusters are local, with two workers, and are started
before the clock is. dropstep reads the files in every pass, so that it has no time of its own for loading.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.data import read
from benchmarks.measure import clock
from benchmarks.simulated import Simulated
from dropstep import select

ROWS_PER_FILE = 50_000
PORT = 54_399  # of H2O, on the loopback address


@dataclass(frozen=True)
class Table:
    """Files, the target, the number of features that are selected, and whether the target is a class."""

    files: tuple[str, ...]
    target: str
    k: int
    classes: bool

    @property
    def parameters(self) -> dict[str, Any]:
        return {"strategy": "forward", "criterion": "trace" if self.classes else "rss", "max_features": self.k}


@dataclass(frozen=True)
class Result:
    """Seconds to load the rows and to select, and the selected features."""

    load: float
    search: float
    selected: tuple[str, ...]


Run = Callable[[Table], Result]


def write(folder: Path, X: NDArray[Any], y: NDArray[Any]) -> tuple[str, ...]:
    """Parquet files of a table, with columns x0, x1, ... and y."""
    files = []
    for start in range(0, len(X), ROWS_PER_FILE):
        rows = slice(start, start + ROWS_PER_FILE)
        columns: dict[str, Any] = {f"x{j}": X[rows, j] for j in range(X.shape[1])} | {"y": y[rows]}
        file = folder / f"part-{start // ROWS_PER_FILE:05d}.parquet"
        pq.write_table(pa.table(columns), file)
        files.append(str(file))
    return tuple(files)


# --- tools -----------------------------------------------------------------------------------------------------------


def selected(path: Any, seconds: float, load: float = 0.0) -> Result:
    return Result(load, seconds, tuple(path.selected_names))


def memory(table: Table) -> Result:
    """One array, read by pyarrow."""
    frame, load = clock(lambda: pq.read_table(list(table.files)).to_pandas())
    y = frame.pop(table.target)
    return selected(*clock(lambda: select(frame, y, **table.parameters)), load)


def files(table: Table) -> Result:
    return selected(*clock(lambda: select(list(table.files), table.target, **table.parameters)))


def dask_frame(table: Table) -> Result:
    import dask.dataframe as dd

    return selected(*clock(lambda: select(dd.read_parquet(list(table.files)), table.target, **table.parameters)))


def dask_array(table: Table) -> Result:
    import dask.dataframe as dd

    def run() -> Any:
        frame = dd.read_parquet(list(table.files))
        y = frame[table.target]
        X = frame.drop(columns=[table.target])
        return select(X.to_dask_array(), y.to_dask_array(), **table.parameters)

    return selected(*clock(run))


def spark(table: Table) -> Result:
    session = spark_session()
    return selected(*clock(lambda: select(session.read.parquet(*table.files), table.target, **table.parameters)))


def h2o(table: Table) -> Result:
    """Sequential replacement with the sweep operator; regression only."""
    import h2o as server
    from h2o.estimators import H2OModelSelectionEstimator

    if table.classes:
        raise ValueError("regression only")
    frame, load = clock(lambda: server.import_file(os.path.dirname(table.files[0]), pattern=".*parquet"))
    names = [name for name in frame.columns if name != table.target]
    model = H2OModelSelectionEstimator(mode="maxrsweep", max_predictor_number=table.k, build_glm_model=False)
    _, search = clock(lambda: model.train(x=names, y=table.target, training_frame=frame))
    return Result(load, search, tuple(model.get_best_model_predictors()[-1]))


def h2o_upload(table: Table) -> Result:
    """The same, with the rows sent from Python, as a user of a pandas frame does."""
    import h2o as server

    rows = pq.read_table(list(table.files)).to_pandas()
    frame, load = clock(lambda: server.H2OFrame(rows))
    server.remove(frame)
    done = h2o(table)
    return Result(load, done.search, done.selected)


TOOLS: dict[str, Run] = {
    "memory": memory,
    "files": files,
    "dask-frame": dask_frame,
    "dask-array": dask_array,
    "spark": spark,
    "h2o": h2o,
    "h2o-upload": h2o_upload,
}


# --- clusters --------------------------------------------------------------------------------------------------------


def spark_session() -> Any:
    """A local cluster of two workers, each a process of its own."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local-cluster[2,1,2048]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "2g",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@contextmanager
def clusters(tools: list[str]) -> Iterator[None]:
    """The clusters that tools need, started before any of them is timed."""
    client = session = None
    if any(tool.startswith("dask") for tool in tools):
        from distributed import Client, LocalCluster

        client = Client(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0"))
    if "spark" in tools:
        session = spark_session()
        session.range(10).mapInArrow(lambda batches: batches, "id long").collect()  # starts the Python workers
    if any(tool.startswith("h2o") for tool in tools):
        import h2o as server

        server.init(nthreads=2, max_mem_size="4g", bind_to_localhost=True, port=PORT, name="benchmark", verbose=False)
        server.no_progress()
    try:
        yield
    finally:
        if client is not None:
            client.close()
            client.cluster.close()
        if session is not None:
            session.stop()
        if any(tool.startswith("h2o") for tool in tools):
            server.cluster().shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", choices=("kdd", "tall"), default="tall")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--select", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--without", nargs="*", default=[], choices=tuple(TOOLS))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    tools = [tool for tool in TOOLS if tool not in args.without]
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as name, clusters(tools):
        if args.table == "kdd":
            X, y = read("kdd")
            table = Table(write(Path(name), X, np.asarray(y).astype(str)), "y", min(args.select, 15), True)
        else:
            X, y = Simulated(args.rows, args.features, args.select)()
            table = Table(write(Path(name), X, y), "y", args.select, False)
        del X, y
        show(table, tools, args.repeats)


def show(table: Table, tools: list[str], repeats: int) -> None:
    """Print a row per tool: the best of several runs."""
    print(f"{'tool':12} {'load':>8} {'search':>8} {'total':>8}  the same set")
    first: set[str] = set()
    for tool in tools:
        try:
            runs = [TOOLS[tool](table) for _ in range(repeats)]
        except ValueError as error:
            print(f"{tool:12} {error}")
            continue
        best = min(runs, key=lambda run: run.load + run.search)
        first = first or set(best.selected)
        same = "yes" if set(best.selected) == first else "no"
        print(f"{tool:12} {best.load:8.2f} {best.search:8.2f} {best.load + best.search:8.2f}  {same}", flush=True)


if __name__ == "__main__":
    main()
