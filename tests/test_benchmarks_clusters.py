"""The benchmark of the backends, and the cost model: its constants are recovered, its counts are those of the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.array")
pytest.importorskip("pyarrow")

from benchmarks import clusters, cost_model
from benchmarks.cost_model import LARGE, Run
from benchmarks.simulated import Simulated


@pytest.mark.filterwarnings(
    "ignore:The inplace keyword in DataFrame",  # of pandas, in Dask
    "ignore:Dask currently has limited support for converting pandas extension dtypes",
)
@pytest.mark.parametrize("classes", [False, True])
def test_tools_start_from_the_same_files_and_agree(
    classes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "ROWS_PER_FILE", 150)
    X, y = Simulated(400, 8, 3)()
    table = clusters.Table(clusters.write(tmp_path, X, np.where(y > 0, "a", "b") if classes else y), "y", 3, classes)
    assert len(table.files) == 3
    lines = list(clusters.compared(table, ["files", "memory", "dask-frame", "dask-array"], 1))
    assert [(line[0], line[-1]) for line in lines] == [
        (f"`{tool}`", "yes") for tool in ("files", "memory", "dask-frame", "dask-array")
    ]
    if classes:
        assert next(clusters.compared(table, ["h2o-upload"], 1))[-1] == "regression only"


@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_the_fit_recovers_constants(shape: Any) -> None:
    rng = np.random.default_rng(0)
    known = np.array([2e-10, 5e-11 if shape == "tall" else 0.0, 1e-9, 1e-5, 0.05])
    sizes = rng.integers([100, 100, 2, 1], [5000, 5000, 60, 9], size=(12, 4)).tolist()
    runs = [Run(shape, n, p, chunks, passes=passes) for n, p, chunks, passes in sizes]
    found = cost_model.fitted([(run, run.counts @ known) for run in runs])
    np.testing.assert_allclose(found, known, rtol=1e-6, atol=1e-18)


def test_counts_of_the_large_tables() -> None:
    read, flops, moved, handled, _ = LARGE["tall"].counts
    assert read == 8e10  # 80 TB on 1,000 workers
    assert flops == pytest.approx(1e14, rel=1e-3)
    assert LARGE["tall"].levels == 6  # 8^6 is the first power above 80,000
    assert moved == 6 * 7 * 8e8
    assert handled == 80 * 1e4
    assert LARGE["tall"].worker_memory == 1e9 + 9 * 8e8
    read, flops, moved, handled, _ = LARGE["wide"].counts
    assert (read, flops, handled) == (8e9, 2 * 16 * 1e9, 8)
    assert moved == 8 * 16 * (1e5 + 1e7)
    assert LARGE["wide"].driver_memory == 8e7 * 26
