"""Dask and Spark, on local clusters of two workers, give the result of the table in memory."""

from __future__ import annotations

import importlib
import os
import pickle
import shutil
import signal
import subprocess
import sys
import venv
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from dropstep import SelectionPath, select
from sources import TARGETS, arrow, check, table, with_gaps

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pyspark = pytest.importorskip("pyspark")

import dropstep.backends.dask  # noqa: E402
from dropstep.data.source import Source  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:Running on a single-machine scheduler:UserWarning",  # what some tests do on purpose
    "ignore:The inplace keyword in DataFrame.reset_index is deprecated",  # Dask uses it
    "ignore::ResourceWarning",  # sockets that Spark leaves to the garbage collector
)
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed")

FEW: dict[str, Any] = {"strategy": "forward", "max_features": 1}  # a pass of Spark takes half a second
CASES: dict[str, tuple[int, str | list[str], dict[str, Any]]] = {
    "regression": (0, "y", {}),
    "several targets": (0, ["y", "y2"], {}),
    "whole numbers as classes": (0, "code", {}),
    "classes": (1, "label", {}),
    "weights": (1, "label", {"sample_weight": "weight", "criterion": "wilks"}),
    "weights of numbers": (1, "y", {"sample_weight": "weight", "strategy": "stepwise"}),
    "groups": (1, "y", {"groups": [["a", "b"]], "include": ["size"], "exclude": ["whole"], "strategy": "stepwise"}),
    "gaps": (2, "y", {"missing": "drop"}),
    "a level for gaps": (3, "y", {"missing": "level"}),
    "logistic": (3, "two", {"model": "logistic", **FEW}),
    "poisson": (3, "whole", {"model": "poisson", **FEW}),
}


def frame_of(case: str) -> tuple[pd.DataFrame, Any, dict[str, Any]]:
    """The table of a case, its target, and the parameters."""
    seed, y, parameters = CASES[case][0], CASES[case][1], dict(CASES[case][2])
    frame = table(seed)
    frame["two"] = np.where(frame["label"] == "low", "no", "yes")
    used = [y] if isinstance(y, str) else y
    frame = frame.drop(columns=[name for name in (*TARGETS, "two") if name not in used])
    if case == "gaps":
        return with_gaps(frame), y, parameters
    if case == "a level for gaps":
        return with_gaps(frame).dropna(subset=["b", "y"]).reset_index(drop=True), y, parameters
    return frame, y, parameters


def agrees(path: SelectionPath, case: str) -> None:
    """A path of a case is that of the table in memory, and of its rows in blocks."""
    frame, y, parameters = frame_of(case)
    check(path, select(frame, y, **parameters), None if case == "gaps" else frame)
    blocks = arrow(frame).to_batches(max_chunksize=200)
    assert path.n_passes == select(blocks, y, **parameters).n_passes
    assert path.n_passes in (2, 3) or "model" in parameters  # moments, and tests in the tails


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
    agrees(select(dd.from_pandas(frame, npartitions=7), y, **parameters), case)


@pytest.mark.parametrize("model", ["logistic", "poisson"])
def test_dask_reads_the_rows_once_per_newton_step(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every partition is computed `n_passes` times: for the summary, per scan, and per step of all fits together."""
    frame, y, _ = frame_of(model)
    passes, read = Counter[str](), Counter[int]()
    original = Source.total

    def total(source: Source, partial: Any, columns: Any) -> Any:
        passes[type(partial).__name__] += 1
        return original(source, partial, columns)

    def count(part: pd.DataFrame, partition_info: Any = None) -> pd.DataFrame:
        if partition_info is not None:
            read[partition_info["number"]] += 1
        return part

    monkeypatch.setattr(Source, "total", total)
    given = dd.from_pandas(frame, npartitions=3)
    with dask.config.set(scheduler="synchronous"):
        path = select(given.map_partitions(count, meta=given._meta), y, model=model)
    assert path.n_passes == sum(passes.values())
    assert read == dict.fromkeys(range(3), path.n_passes)
    assert passes["Summarise"] == passes["Constants"] == 1
    assert 0 < passes["Score"] <= 2 * len(path.steps) + 1  # a scan per step, and one that ends each phase
    assert passes["Evaluate"] <= 12 * (passes["Score"] + 1)  # Newton's method converges in a few steps
    assert passes["Along"] == len([step for step in path.steps if step.action == "add"])  # one test in the tails each
    assert set(passes) == {"Summarise", "Constants", "Score", "Evaluate", "Along"}
    assert path.n_fits > passes["Evaluate"] / 12


def test_dask_adds_partial_results_in_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """No task adds more than a few results, and the client receives their sum alone."""
    frame, y, _ = frame_of("regression")
    sizes: list[int] = []
    original = dropstep.backends.dask.added
    compute, received = dask.compute, list[int]()

    def added(parts: Any) -> Any:
        sizes.append(len(parts))
        return original(parts)

    def computed(*args: Any, **options: Any) -> Any:
        received.append(len(args))
        return compute(*args, **options)

    monkeypatch.setattr(dropstep.backends.dask, "_added", dask.delayed(added, pure=False))
    monkeypatch.setattr(dask, "compute", computed)
    with dask.config.set(scheduler="synchronous"):
        path = select(dd.from_pandas(frame, npartitions=150), y)
    check(path, select(frame, y), frame)
    assert sorted(sizes) == sorted(2 * [3, 3, 6, *[8] * 20])  # 150 partitions -> 19 -> 3 -> 1, in each of two passes
    assert received == [1, 1]


def test_chunks_of_columns_become_small_chunks_of_rows() -> None:
    """A tall array whose chunks hold all rows of a few columns fits into no worker if these are joined."""
    read = dropstep.backends.dask._in_rows
    tall = da.zeros((1_000_000, 800), chunks=(-1, 100))
    assert read(tall).chunks[1] == (800,)
    assert max(read(tall).chunks[0]) * 800 * 8 <= 2**27
    assert read(da.zeros((1000, 8), chunks=(100, 2))).chunks == ((100,) * 10, (8,))
    rows = da.zeros((1000, 8), chunks=(300, 8))
    assert read(rows).chunks == rows.chunks
    unknown = tall[:, :8][da.ones(1_000_000, chunks=1_000_000) > 0]
    assert read(unknown).numblocks == (1, 1)


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
def test_wide_dask_arrays_use_the_configured_scheduler_despite_a_client(client: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 1100))
    y = X[:, 5] + rng.normal(size=60)
    with dask.config.set(scheduler="synchronous"):
        path = select(da.from_array(X, chunks=(-1, 500)), da.from_array(y))
    assert path.selected == select(X, y).selected


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
    frame, y, _ = frame_of("classes")
    X, names = table()[list("abcde")].to_numpy(), frame[y].to_numpy().astype(str)
    used: list[str] = []

    def scheduler(graph: Any, keys: Any, **options: Any) -> Any:
        used.append(type(graph).__name__)
        return dask.get(graph, keys, **options)

    with dask.config.set(scheduler=scheduler):
        check(select(dd.from_pandas(frame, npartitions=3), y), select(frame, y), frame)
        assert len(used) == 2
        check(select(da.from_array(X, chunks=(300, 2)), da.from_array(names)), select(X, names))
        assert len(used) == 3  # nothing is selected, so that the tails are not read


def hive(written: Any, folder: Path) -> str:
    """A table as Parquet files of several row groups, in one folder per value of `part`."""
    import pyarrow.dataset

    pyarrow.dataset.write_dataset(
        written,
        folder / "hive",
        format="parquet",
        partitioning=["part"],
        partitioning_flavor="hive",
        min_rows_per_group=64,
        max_rows_per_group=64,
    )
    return str(folder / "hive")


def in_parts() -> pd.DataFrame:
    """A table with text, booleans, decimals, and a column for the folders of a dataset."""
    frame = table()[["a", "b", "c", "colour", "size", "flag", "whole", "y"]]
    decimals = frame["c"].map(lambda value: Decimal(f"{value:.3f}"))
    return frame.assign(c=decimals, part=np.where(frame["whole"] % 2, "odd", "even"))


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split_row_groups": False},
        {"split_row_groups": True},
        {"split_row_groups": 3},
        {"dtype_backend": "numpy_nullable"},
        {"dtype_backend": "pyarrow"},
    ],
    ids=str,
)
def test_dask_reads_text_and_folders_of_several_row_groups(options: dict[str, Any], gaps: bool, tmp_path: Path) -> None:
    """Text of several row groups has several chunks, and the column of the folders has one."""
    frame = in_parts()
    if gaps:
        frame = with_gaps(frame).astype({"flag": "boolean"})
        frame.loc[::50, "flag"] = None
    given = dd.read_parquet(hive(arrow(frame), tmp_path), **options)
    with dask.config.set(scheduler="synchronous"):
        for X in (given, given.repartition(npartitions=1)):
            path = select(X, "y", missing="drop")
            check(path, select(frame, "y", missing="drop"), None if gaps else frame)
    assert {"c", "colour", "flag"} <= set(path.selected_names)


@pytest.mark.parametrize("options", [{}, {"split_row_groups": True}, {"categories": ["colour"]}], ids=str)
def test_dask_reads_categories_that_are_not_known_before_they_are_computed(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """Dask has no categories of a Parquet file that pandas did not write, and a name for unknown ones otherwise."""
    frame = in_parts()
    stored = arrow(frame.astype({"colour": "category"}))
    for number, written in enumerate((stored, stored.replace_schema_metadata(None))):
        given = dd.read_parquet(hive(written, tmp_path / str(number)), **options)
        with dask.config.set(scheduler="synchronous"):
            path = select(given, "y")
        check(path, select(frame, "y"), frame)
        assert "colour" in path.selected_names


def test_messages_of_dask() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40.0)
    with pytest.raises(TypeError, match=r"y must be a Dask array, as X is; got ndarray: pass da.from_array\(y\)"):
        select(da.from_array(X), y)
    with pytest.raises(ValueError, match="X has 40 rows, but y has 39"):
        select(da.from_array(X), da.from_array(y[1:]))
    with pytest.raises(ValueError, match="2D array"):
        select(da.from_array(y), da.from_array(y))
    X[35, 1] = np.nan
    with pytest.raises(ValueError, match=r"chunk 3, row 6: X contains NaN or infinity in column 1"):
        select(da.from_array(X, chunks=(10, 3)), da.from_array(y))
    known = da.from_array(X, chunks=(10, 3))
    with pytest.raises(ValueError, match="unknown numbers of rows; call compute_chunk_sizes"):
        select(known[known[:, 0] > 0], da.from_array(y, chunks=20))
    with pytest.raises(ValueError, match=r"y must have one or two dimensions; its shape is \(40, 1, 1\)"):
        select(da.from_array(X), da.from_array(y.reshape(-1, 1, 1)))
    with pytest.raises(ValueError, match=r"no feature remains: .* dates or lists: column 0"):
        select(da.from_array(X * 1j), da.from_array(y))


def test_messages_of_dask_dataframes() -> None:
    frame = table()[["a", "b", "y"]]
    numbered = dd.from_pandas(frame.rename(columns={"a": 1}), npartitions=2)
    with pytest.raises(TypeError, match=r"column names of X must be strings; 1 is not: use X.rename\(columns=str\)"):
        select(numbered, "y")
    given = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(ValueError, match=r"y must be the name of a column, .* got Series"):
        select(given.drop(columns="y"), given["y"])
    with pytest.raises(ValueError, match="criterion 'cv' needs all rows in memory"):
        select(given, "y", criterion="cv")
    with pytest.raises(ValueError, match="an estimator needs all rows in memory"):
        select(given, "y", model=LinearRegression())
    with pytest.raises(ValueError, match="the Dask dataframe has no rows"):
        select(given[given["a"] > 1e9], "y")
    several = frame.assign(b=[1 if i % 2 else "text" for i in range(len(frame))])
    objects = frame.assign(b=pd.Series([{"key": 1}] * len(frame), dtype=object))
    with dask.config.set({"dataframe.convert-string": False}):
        with pytest.raises(ValueError, match=r"partition \d: a column has values of several types .*column b"):
            select(dd.from_pandas(several, npartitions=2), "y")
        with pytest.raises(ValueError, match="X contains lists or other objects"):
            select(dd.from_pandas(objects, npartitions=2), "y")


# --- Spark -----------------------------------------------------------------------------------------------------------


QUICK = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false",
    "spark.locality.wait": "0s",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "4",
}


def run_with_spark(program: str, *arguments: str, folder: Path, environment: dict[str, str]) -> str:
    """Standard output of a program in a process of its own, whose sessions are quick to start."""
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in QUICK.items()))
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env={**environment, "SPARK_CONF_DIR": str(folder)},
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    options = QUICK | {
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
@pytest.mark.parametrize("case", CASES)
def test_spark_dataframes(session: Any, case: str, tmp_path: Path) -> None:
    frame, y, parameters = frame_of(case)
    agrees(select(in_spark(session, frame, tmp_path, partitions=3), y, **parameters), case)


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
    unnamed = assembled.selectExpr("y", "v as w").rdd.toDF()
    path = select(unnamed, "y")
    assert path.selected_names == tuple(f"w[{j}]" for j in expected.selected)
    assert vector_slicer(path, "w").getIndices() == list(expected.selected)
    mixed = VectorAssembler(inputCols=list("bcde"), outputCol="v").transform(given).select("a", "v", "y")
    path = select(mixed, "y")
    assert path.selected_names == expected.selected_names
    with pytest.raises(pyspark.errors.IllegalArgumentException, match="no feature with name a"):
        vector_slicer(path, "v").transform(mixed).first()
    with pytest.raises(ValueError, match="path has no selected feature, and a VectorSlicer needs one"):
        vector_slicer(select(frame[["a", "y"]], "y", enter=1e9), "v")
    path = select(frame[["a", "c", "y"]].rename(columns={"a": "v[0]"}), "y")
    with pytest.raises(ValueError, match=r"'c' is selected, but is not an element of 'v'; use a column list"):
        vector_slicer(path, "v")


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
    with pytest.raises(ValueError, match=r"partition 0, row \d+: X contains NaN or infinity in 'b' \(1 row in total\)"):
        select(given, "y")
    with pytest.raises(ValueError, match="'z'"):
        select(given, "z")


WHAT_TO_SET = (
    f"set the environment variable PYSPARK_PYTHON to {sys.executable} before the session is created, or, on other "
    f"machines, to a Python {sys.version_info.major}.{sys.version_info.minor} with dropstep[spark]"
)
WITHOUT_DROPSTEP = f"the Spark workers run a Python that has no module 'dropstep'; {WHAT_TO_SET}"


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A Python that has only the standard library."""
    venv.create(tmp_path / "python", symlinks=True)
    python = tmp_path / "python" / "bin" / "python3"
    if not python.exists():
        pytest.skip("a virtual environment has no bin/python3 on this system")
    return python


@needs_java
@pytest.mark.xdist_group("spark")
def test_spark_workers_without_dropstep(session: Any, bare_python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = session.range(0, 100, 1, 1).selectExpr("id % 7 as a", "id % 11 as y")
    monkeypatch.setattr(session.sparkContext, "pythonExec", str(bare_python))
    with pytest.raises(ValueError, match="Spark workers") as caught:
        select(given, "y")
    assert str(caught.value) == WITHOUT_DROPSTEP


UNSET = """
import warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from dropstep import select
session = SparkSession.builder.remote("local[1]").getOrCreate()
given = session.range(0, 100, 1, 1).selectExpr("id % 7 as a", "id % 11 as y")
try:
    select(given, "y")
except ValueError as error:
    print(error)
session.stop()
"""


@needs_java
@pytest.mark.xdist_group("spark")
def test_without_pyspark_python_workers_run_the_first_python_of_the_path(bare_python: Path, tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    unset = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment["PATH"] = f"{bare_python.parent}{os.pathsep}{environment['PATH']}"
    assert run_with_spark(UNSET, folder=tmp_path, environment=environment).strip() == WITHOUT_DROPSTEP


@needs_java
@pytest.mark.xdist_group("spark")
def test_spark_workers_with_another_python(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = session.range(0, 100, 1, 1).selectExpr("id % 7 as a", "id % 11 as y")
    monkeypatch.setattr(session.sparkContext, "pythonVer", "3.0")  # what workers compare their own version with
    with pytest.raises(ValueError, match="Spark workers") as caught:
        select(given, "y")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert str(caught.value) == f"the Spark workers run Python {version}, but the driver runs Python 3.0; {WHAT_TO_SET}"


@needs_java
@pytest.mark.xdist_group("spark")
def test_other_errors_of_spark_workers_are_raised_as_they_are(session: Any) -> None:
    given = session.range(0, 100, 1, 1).selectExpr("id % 7 as a", "id % 11 as y")

    def fail(batches: Any) -> Any:
        importlib.import_module("absent")
        yield from batches

    with pytest.raises(pyspark.errors.PythonException, match="No module named 'absent'"):
        select(given.mapInArrow(fail, given.schema), "y")


CONNECT = """
import pickle, sys, warnings
warnings.simplefilter("ignore")
from pyspark.ml.functions import array_to_vector
from pyspark.sql import SparkSession
from pyspark.sql.functions import array
from dropstep import select
session = SparkSession.builder.remote("local[2]").getOrCreate()
given = session.read.parquet(sys.argv[1]).repartition(3)
paths = [select(given, y, **parameters) for y, parameters in pickle.load(open(sys.argv[2], "rb"))]
vectors = given.select(array_to_vector(array("a", "b", "c")).alias("v"), "y")
paths.append(select(vectors, "y"))
pickle.dump(paths, open(sys.argv[3], "wb"))
session.stop()
"""


@needs_java
@pytest.mark.xdist_group("spark")
def test_spark_connect(tmp_path: Path) -> None:
    """Numbers, text and booleans, weights, groups, and vectors; one process for all of them."""
    pytest.importorskip("grpc")
    frame = table().drop(columns=["y2", "code"])
    requests: list[tuple[str, dict[str, Any]]] = [
        ("y", {"exclude": ["label"]}),
        ("label", {"sample_weight": "weight", "exclude": ["y"]}),
        ("y", {"groups": [["a", "b"]], "include": ["size"], "exclude": ["whole", "label"], "strategy": "stepwise"}),
    ]
    frame.to_parquet(tmp_path / "table.parquet")
    (tmp_path / "requests").write_bytes(pickle.dumps(requests))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    run_with_spark(CONNECT, "table.parquet", "requests", "paths", folder=tmp_path, environment=environment)
    *paths, of_vectors = pickle.loads((tmp_path / "paths").read_bytes())
    for path, (y, parameters) in zip(paths, requests, strict=True):
        check(path, select(frame, y, **parameters), frame)
        assert path.n_passes in (2, 3)  # moments, and tests in the tails
    check(of_vectors, select(frame[["a", "b", "c", "y"]], "y"))
    assert of_vectors.selected_names == tuple(f"v[{j}]" for j in of_vectors.selected)
