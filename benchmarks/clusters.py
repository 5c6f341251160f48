"""Two tables through every backend, and through the model selection of H2O, in one run.

    python -m benchmarks.clusters [--rows 200000] [--features 200] [--without h2o spark ...] [--publish]

The tables, KDD Cup 1999 (10 %) and a simulated regression, are written to one Parquet file per 50,000 rows, and every
tool starts from these files: "load" is what brings the rows to the tool (parsing or upload, for H2O), "search" is the
selection. Clusters are local, with two workers, and are started before the clock is. dropstep reads the files in every
pass, so that it has no time of its own for loading.
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

from benchmarks.data import ROOT, read
from benchmarks.measure import clock
from benchmarks.publish import markdown, write_block
from benchmarks.simulated import Simulated
from dropstep import select

ROWS_PER_FILE = 50_000
PORT = 54_399  # of H2O, on the loopback address
PAGE = ROOT / "docs" / "clusters.md"


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

    @property
    def total(self) -> float:
        return self.load + self.search


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
        frame = dd.read_parquet(list(table.files)).persist()  # otherwise Dask joins files where it reads y alone
        X, y = frame.drop(columns=[table.target]), frame[table.target]
        return select(X.to_dask_array(), y.to_dask_array(), **table.parameters)

    return selected(*clock(run))


def spark(table: Table) -> Result:
    session = spark_session()
    return selected(*clock(lambda: select(session.read.parquet(*table.files), table.target, **table.parameters)))


def h2o(table: Table) -> Result:
    """Sequential replacement with the sweep operator; regression only."""
    if table.classes:
        raise NotImplementedError("regression only")
    import h2o as server
    from h2o.estimators import H2OModelSelectionEstimator

    frame, load = clock(lambda: server.import_file(os.path.dirname(table.files[0]), pattern=".*parquet"))
    names = [name for name in frame.columns if name != table.target]
    model = H2OModelSelectionEstimator(mode="maxrsweep", max_predictor_number=table.k, build_glm_model=False)
    _, search = clock(lambda: model.train(x=names, y=table.target, training_frame=frame))
    return Result(load, search, tuple(model.get_best_model_predictors()[-1]))


def h2o_upload(table: Table) -> Result:
    """The same, with the rows sent from Python, as a user of a pandas frame does."""
    if table.classes:
        raise NotImplementedError("regression only")
    import h2o as server

    rows = pq.read_table(list(table.files)).to_pandas()
    frame, load = clock(lambda: server.H2OFrame(rows))
    server.remove(frame)
    done = h2o(table)
    return Result(load, done.search, done.selected)


TOOLS: dict[str, Run] = {
    "files": files,
    "memory": memory,
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


def tables(folder: Path, rows: int, features: int, k: int) -> Iterator[tuple[str, Table]]:
    """KDD Cup 1999 if it is installed, and a simulated regression."""
    for name in ("kdd", "tall"):
        (folder / name).mkdir()
    try:
        X, y = read("kdd")
        files = write(folder / "kdd", X, np.asarray(y).astype(str))
        yield f"KDD Cup 1999 (10 %), {len(X):,} x {X.shape[1]}, 15 features", Table(files, "y", 15, True)
    except FileNotFoundError as error:
        print(error)
    X, y = Simulated(rows, features, k)()
    yield f"simulated, {rows:,} x {features}, {k} features", Table(write(folder / "tall", X, y), "y", k, False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--select", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3, help="runs of dropstep; H2O runs once")
    parser.add_argument("--without", nargs="*", default=[], choices=tuple(TOOLS))
    parser.add_argument("--publish", action="store_true", help="write the table of docs/clusters.md")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    tools = [tool for tool in TOOLS if tool not in args.without]
    lines: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as name, clusters(tools):
        for what, table in tables(Path(name), args.rows, args.features, args.select):
            lines += ([what, *line] for line in compared(table, tools, args.repeats))
    page = markdown(["table", "tool", "load", "search", "total", "ratio", "the same set"], lines)
    print(page)
    if args.publish:
        write_block(PAGE, "clusters", page)


def compared(table: Table, tools: list[str], repeats: int) -> Iterator[list[str]]:
    """A line per tool: the best of several runs, its ratio to dropstep from files, and whether the set is the same."""
    reference: Result | None = None
    for tool in tools:
        try:
            runs = [TOOLS[tool](table) for _ in range(1 if tool.startswith("h2o") else repeats)]
        except NotImplementedError as error:
            yield [f"`{tool}`", "", "", "", "", str(error)]
            continue
        best = min(runs, key=lambda run: run.total)
        reference = best if tool == "files" else reference
        ratio = "" if reference is None else f"{best.total / reference.total:.1f}"
        same = "" if reference is None else "yes" if set(best.selected) == set(reference.selected) else "no"
        yield [f"`{tool}`", f"{best.load:.1f} s", f"{best.search:.1f} s", f"{best.total:.1f} s", ratio, same]
        print(tool, best.load, best.search, same, flush=True)


if __name__ == "__main__":
    main()
