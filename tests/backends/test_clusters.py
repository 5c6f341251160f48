"""Dask and Spark, on local clusters of two workers, give the result of the table in memory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dropstep import select
from sources import TARGETS, arrow, check, table, with_gaps

dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pyspark = pytest.importorskip("pyspark")

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore::ResourceWarning",  # sockets that Spark leaves to the garbage collector
)
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed")

CASES: dict[str, tuple[int, str | list[str], dict[str, Any]]] = {
    "regression": (0, "y", {}),
    "several targets": (0, ["y", "y2"], {}),
    "whole numbers as classes": (0, "code", {}),
    "classes": (1, "label", {}),
    "weights": (1, "label", {"sample_weight": "weight", "criterion": "wilks"}),
    "groups": (1, "y", {"groups": [["a", "b"]], "include": ["size"], "exclude": ["whole"], "strategy": "stepwise"}),
    "gaps": (2, "y", {"missing": "drop"}),
    "logistic": (3, "two", {"model": "logistic"}),
    "poisson": (3, "whole", {"model": "poisson"}),
}


def frame_of(case: str) -> tuple[pd.DataFrame, Any, dict[str, Any]]:
    """The table of a case, its target, and the parameters."""
    seed, y, parameters = CASES[case][0], CASES[case][1], dict(CASES[case][2])
    frame = table(seed)
    frame["two"] = np.where(frame["label"] == "low", "no", "yes")
    used = [y] if isinstance(y, str) else y
    frame = frame.drop(columns=[name for name in (*TARGETS, "two") if name not in used])
    return (with_gaps(frame) if case == "gaps" else frame), y, parameters


# --- Dask ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("case", CASES)
def test_dask_dataframes(client: Any, case: str) -> None:
    frame, y, parameters = frame_of(case)
    path = select(dd.from_pandas(frame, npartitions=7), y, **parameters)
    check(path, select(frame, y, **parameters), None if case == "gaps" else frame)
    assert path.n_passes == 1 or "model" in parameters


@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("y", ["y", ["y", "y2"], "code"], ids=str)
@pytest.mark.parametrize("chunks", [(200, -1), (101, 3)], ids=str)
def test_dask_arrays(client: Any, y: Any, chunks: Any) -> None:
    frame = table().select_dtypes("number")
    X, values, weights = frame.iloc[:, :6].to_numpy(), frame[y].to_numpy(), frame["weight"].to_numpy()
    path = select(da.from_array(X, chunks=chunks), da.from_array(values, chunks=300))
    check(path, select(X, values))
    path = select(
        da.from_array(X, chunks=chunks), da.from_array(values, chunks=300), sample_weight=da.from_array(weights)
    )
    check(path, select(X, values, sample_weight=weights))


@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("model", ["linear", "discriminant", "logistic"])
def test_wide_dask_arrays_multiply_where_the_chunks_are(client: Any, model: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1500)).astype(dtype)
    X[:, 7] += 1000
    signal = X[:, [7, 300, 1400]].astype(float) @ [2.0, -2.0, 2.0]
    y = signal + rng.normal(size=120)
    y = y if model == "linear" else np.where(y > np.median(y), "b", "a")
    path = select(da.from_array(X, chunks=(50, 400)), da.from_array(y, chunks=50), model=model)
    expected = select(X, y, model=model)
    assert path.selected == expected.selected
    assert path.solver == "columns"
    np.testing.assert_allclose(path.score, expected.score, rtol=1e-9 if dtype == "float64" else 1e-5)


@pytest.mark.xdist_group("dask")
def test_a_worker_that_is_killed_changes_nothing(client: Any, tmp_path: Path) -> None:
    frame, y, _ = frame_of("regression")
    killed = tmp_path / "killed"

    def die_once(part: pd.DataFrame, marker: str) -> pd.DataFrame:
        if len(part) and not os.path.exists(marker):
            Path(marker).touch()
            os.kill(os.getpid(), 9)
        return part

    given = dd.from_pandas(frame, npartitions=6)
    path = select(given.map_partitions(die_once, str(killed), meta=given._meta), y)
    assert killed.exists()
    check(path, select(frame, y), frame)


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler:UserWarning")  # of the fixture, if it is open
def test_dask_without_a_client_uses_the_configured_scheduler() -> None:
    import dask

    frame, y, _ = frame_of("classes")
    with dask.config.set(scheduler="synchronous"):
        check(select(dd.from_pandas(frame, npartitions=3), y), select(frame, y), frame)


def test_messages_of_dask() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40.0)
    with pytest.raises(TypeError, match=r"y must be a Dask array, as X is; got ndarray: pass da.from_array\(y\)"):
        select(da.from_array(X), y)
    with pytest.raises(ValueError, match="X has 40 rows, but y has 39"):
        select(da.from_array(X), da.from_array(y[1:]))
    with pytest.raises(ValueError, match="2D array"):
        select(da.from_array(y), da.from_array(y))
    X[35, 1] = np.nan
    with pytest.raises(ValueError, match=r"chunk 3, row 6: X contains NaN or infinity in 'x1'"):
        select(da.from_array(X, chunks=(10, 3)), da.from_array(y))
    known = da.from_array(X, chunks=(10, 3))
    with pytest.raises(ValueError, match="unknown numbers of rows; call compute_chunk_sizes"):
        select(known[known[:, 0] > 0], da.from_array(y, chunks=20))


# --- Spark -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "150",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.worker.dir": str(tmp_path_factory.mktemp("work")),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    handler = signal.getsignal(signal.SIGINT)
    session = builder.getOrCreate()
    signal.signal(signal.SIGINT, handler)  # Spark has put its own in the place
    yield session
    session.stop()


def in_spark(session: Any, frame: pd.DataFrame, folder: Path, partitions: int = 5) -> Any:
    """A table as a DataFrame of Spark."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(arrow(frame), str(folder / "table.parquet"))
    return session.read.parquet(str(folder / "table.parquet")).repartition(partitions)


@needs_java
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("case", ["regression", "weights", "gaps", "logistic"])
def test_spark_dataframes(session: Any, case: str, tmp_path: Path) -> None:
    frame, y, parameters = frame_of(case)
    parameters |= {"max_features": 1} if "model" in parameters else {}  # a pass takes about a second
    path = select(in_spark(session, frame, tmp_path, partitions=3), y, **parameters)
    check(path, select(frame, y, **parameters), None if case == "gaps" else frame)


@needs_java
@pytest.mark.xdist_group("spark")
def test_vectors_of_spark_ml_are_features_by_name(session: Any, tmp_path: Path) -> None:
    from pyspark.ml.feature import VectorAssembler

    from dropstep.backends.spark import vector_slicer

    frame = table()[["a", "b", "c", "d", "e", "y"]]
    given = in_spark(session, frame, tmp_path)
    assembled = VectorAssembler(inputCols=list("abcde"), outputCol="v").transform(given).select("v", "y")
    path, expected = select(assembled, "y"), select(frame, "y")
    check(path, expected)
    assert path.selected_names == expected.selected_names
    chosen = vector_slicer(path, "v").transform(assembled)
    row = chosen.select("v", "selected").first()
    np.testing.assert_array_equal(row["selected"].toArray(), row["v"].toArray()[list(path.selected)])
    unnamed = assembled.selectExpr("v as w", "y").rdd.toDF()
    assert select(unnamed, "y").selected_names == tuple(f"w[{j}]" for j in expected.selected)


@needs_java
@pytest.mark.xdist_group("spark")
def test_a_task_that_fails_once_changes_nothing(session: Any, tmp_path: Path) -> None:
    frame, y, _ = frame_of("regression")
    given, failed = in_spark(session, frame, tmp_path), tmp_path / "failed"

    def fail_once(batches: Any) -> Any:
        if not failed.exists():
            failed.touch()
            raise RuntimeError("a task that fails once")
        yield from batches

    path = select(given.mapInArrow(fail_once, given.schema), y)
    assert failed.exists()
    check(path, select(frame, y), frame)


@needs_java
@pytest.mark.xdist_group("spark")
def test_messages_of_spark(session: Any, tmp_path: Path) -> None:
    frame = table()[["a", "b", "y"]].copy()
    frame.loc[500, "b"] = np.inf
    given = in_spark(session, frame, tmp_path, partitions=1)
    with pytest.raises(ValueError, match=r"partition 0, row \d+: X contains NaN or infinity in 'b'; missing='drop'"):
        select(given, "y")
    with pytest.raises(ValueError, match="'z'"):
        select(given, "z")


CONNECT = """
import sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from dropstep import select
session = SparkSession.builder.remote("local[2]").getOrCreate()
path = select(session.read.parquet(sys.argv[1]).repartition(5), "y")
print(*path.selected_names, repr(path.score))
session.stop()
"""


@needs_java
@pytest.mark.xdist_group("spark")
def test_spark_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    frame, y, _ = frame_of("regression")
    file = tmp_path / "table.parquet"
    frame.to_parquet(file)
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, str(file)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *names, score = done.stdout.split()
    expected = select(frame, y)
    assert tuple(names) == expected.selected_names
    np.testing.assert_allclose(float(score), expected.score, rtol=1e-9)
