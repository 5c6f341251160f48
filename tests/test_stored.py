"""Sparse tables and tables on disk: the selection of the same values as an array, for every model and both solvers."""

from __future__ import annotations

import mmap
import subprocess
import sys
import tracemalloc
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from dropstep import Estimator, Moments, SelectionPath, Selector, select
from dropstep.data.matrices import on_disk
from dropstep.data.matrices.on_disk import OnDisk
from dropstep.data.matrices.sparse import Sparse, is_sparse
from dropstep.models.glm import design
from dropstep.models.least_squares.problem import solver_of
from problems import AMBIGUOUS, by_library, by_reference, problem

MODELS = ["linear", "several targets", "discriminant", "logistic", "multinomial", "poisson", "gamma", "cox"]
STORED = ["csr", "csc", "on disk", "on disk, Fortran order"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every memory map is read in blocks, of a few rows or columns, also by likelihoods."""
    monkeypatch.setattr(on_disk, "MIN_BYTES", 0)
    monkeypatch.setattr(on_disk, "BLOCK_BYTES", 2**12)
    monkeypatch.setattr(design, "COPY_UP_TO", 0)


def stored(X: NDArray[Any], kind: str, folder: Path) -> Any:
    """X as a sparse matrix, or as a memory map."""
    if not kind.startswith("on disk"):
        return (sparse.csr_array if kind == "csr" else sparse.csc_matrix)(X)
    np.save(folder / "X.npy", np.asarray(X, order="F" if "Fortran" in kind else "C"))
    return np.load(folder / "X.npy", mmap_mode="r")


def table(rng: np.random.Generator) -> NDArray[np.float64]:
    """Empty, constant and all-ones columns, a single value, copies and sums, large means, nearly full columns."""
    n, p = int(rng.integers(40, 90)), int(rng.integers(16, 50))
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < rng.choice([0.05, 0.2, 0.5, 0.9], size=p))
    X[:, 0] = X[:, 1] = 0.0
    X[rng.integers(n), 1] = -2.5
    X[:, 2], X[:, 3], X[:, 4] = X[:, 5], 3.25, 1.0
    X[:, 6], X[:, 7] = float(rng.choice([1e2, 1e5])) + rng.normal(size=n), -1e3 + rng.normal(size=n)
    X[0, 7] = 0.0
    X[:, 8], X[:, 11] = X[:, 9] - 2 * X[:, 10], rng.random(n) < 0.97
    X[rng.integers(n), 12] = 1e2
    return X


def target(rng: np.random.Generator, X: NDArray[np.float64], kind: str) -> Any:
    n, sd = len(X), X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(sd > 1e-9, sd, 1.0)
    eta = Z[:, rng.choice(X.shape[1], 4, replace=False)] @ rng.normal(size=4)
    noisy, mild = eta + 2 * rng.normal(size=n), np.clip(eta / 2, -3, 2)
    if kind == "linear":
        return noisy
    if kind == "several targets":
        return np.c_[noisy, rng.normal(size=n)]
    if kind in ("discriminant", "multinomial"):
        return np.digitize(noisy, np.quantile(noisy, [0.3, 0.7]))
    if kind == "logistic":
        return (noisy > 0).astype(int)
    if kind == "cox":
        return np.c_[np.round(rng.exponential(np.exp(-mild)), 1) + 0.1, rng.random(n) < 0.7]
    return rng.poisson(np.exp(mild)) if kind == "poisson" else rng.gamma(2.0, np.exp(mild))


def path_or_message(X: Any, y: Any, **parameters: Any) -> SelectionPath | str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return select(X, y, **parameters)
        except ValueError as error:
            return str(error)


def same(found: SelectionPath | str, wanted: SelectionPath | str) -> None:
    """The same steps, and scores to 1e-9; the same message, where the input is refused."""
    if isinstance(wanted, str) or isinstance(found, str):
        assert found == wanted
        return
    assert [(s.action, s.features) for s in found.steps] == [(s.action, s.features) for s in wanted.steps]
    assert found.selected == wanted.selected
    scale = max([abs(wanted.start), *(abs(s.score) for s in wanted.steps)])
    np.testing.assert_allclose(found.score, wanted.score, rtol=1e-9, atol=1e-12 * scale)  # of an exact fit: 0
    np.testing.assert_allclose(
        [s.score for s in found.steps], [s.score for s in wanted.steps], rtol=1e-9, atol=1e-9 * scale
    )


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", range(6))
def test_same_selection_as_of_an_array(kind: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([MODELS.index(kind), seed])
    X = table(rng)
    y = target(rng, X, kind)
    model = {"several targets": "linear", "multinomial": "logistic"}.get(kind, kind)
    parameters: dict[str, Any] = {
        "model": model,
        "strategy": str(rng.choice(["forward", "dropping", "stepwise", "floating"])),
        "max_features": int(rng.integers(2, 8)),
    }
    if rng.random() < 0.4:
        parameters["sample_weight"] = rng.integers(0, 4, size=len(X)).astype(float)
    if kind == "cox" and rng.random() < 0.5:
        parameters["strata"] = rng.integers(0, 3, size=len(X))
    if rng.random() < 0.3:
        parameters["groups"] = [j // 3 for j in range(X.shape[1])]
    solvers = ("gram", "columns") if model in ("linear", "discriminant") else ("auto",)
    for solver in solvers:
        wanted = path_or_message(X, y, solver=solver, **parameters)
        for stored_as in STORED:
            same(path_or_message(stored(X, stored_as, tmp_path), y, solver=solver, **parameters), wanted)


@pytest.mark.parametrize("seed", range(25))
def test_degenerate_problems_with_every_strategy_criterion_and_rule(seed: int, tmp_path: Path) -> None:
    """The problems on which the library is compared with the reference: see `problems`."""
    given = problem(seed)
    wanted = by_library(given)
    for stored_as in STORED:
        found = by_library(replace(given, X=stored(given.X, stored_as, tmp_path)))
        if isinstance(wanted, str) or by_reference(given, wanted.solver).margin > AMBIGUOUS:
            same(found, wanted)


@pytest.mark.parametrize("solver", ["gram", "columns"])
@pytest.mark.parametrize("kind", ["linear", "discriminant", "poisson", "cox"])
@pytest.mark.parametrize("stored_as", STORED)
def test_columns_of_extreme_scale(kind: str, solver: str, stored_as: str, tmp_path: Path) -> None:
    if kind in ("poisson", "cox") and solver == "gram":
        return
    rng = np.random.default_rng(5)
    X = table(rng)
    y = target(rng, X, kind)
    scaled = X * 10.0 ** rng.integers(-200, 200, size=X.shape[1]) * np.where(np.arange(X.shape[1]) % 2, 1.0, 1e-100)
    parameters: dict[str, Any] = {
        "model": kind, "solver": "auto" if kind in ("poisson", "cox") else solver, "max_features": 4,
        "sample_weight": (np.arange(len(X)) > 1).astype(float),
    }  # fmt: skip
    wanted = path_or_message(scaled, y, **parameters)
    same(path_or_message(stored(scaled, stored_as, tmp_path), y, **parameters), wanted)


@pytest.mark.parametrize("stored_as", STORED)
def test_moments(stored_as: str, tmp_path: Path) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = table(rng)
        w = None if seed % 2 else rng.uniform(0, 2, size=len(X))
        for kind in ("linear", "several targets", "discriminant"):
            y = target(rng, X, kind)
            found, wanted = (Moments.of(A, y, sample_weight=w) for A in (stored(X, stored_as, tmp_path), X))
            sd = np.sqrt(np.diagonal(wanted.scatter))
            np.testing.assert_allclose(found.means, wanted.means, rtol=1e-12, atol=1e-12)
            assert np.all(np.abs(found.scatter - wanted.scatter) <= 1e-9 * np.outer(sd, sd) + 1e-12)


@pytest.mark.parametrize("stored_as", STORED)
def test_missing_values(stored_as: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 5))
    y = X[:, 1] + rng.normal(size=60)
    gaps = X.copy()
    gaps[7, 2], gaps[9, 2], gaps[9, 4] = np.nan, np.inf, np.nan
    A = stored(gaps, stored_as, tmp_path)
    for model in ("linear", "gamma"):
        values = np.exp(y) if model == "gamma" else y
        with pytest.raises(ValueError, match=r"X contains NaN or infinity in column 2, column 4 \(2 rows in total\)"):
            select(A, values, model=model)
        with pytest.raises(ValueError, match=r"X contains NaN or infinity in column 2 \(2 rows in total\)"):
            select(A, values, model=model, exclude=[4])
        same(select(A, values, model=model, exclude=[2, 4]), select(X, values, model=model, exclude=[2, 4]))
        path = select(A, values, model=model, missing="drop")
        same(path, select(gaps, values, model=model, missing="drop"))
        assert "ignored 2 of 60 rows" in path.notes[0]
    with pytest.raises(ValueError, match="X contains NaN or infinity in column 2, column 4"):
        Moments.of(A, y)


@pytest.mark.parametrize("stored_as", STORED)
def test_notes_and_predictions(stored_as: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    X = np.where(rng.random((80, 6)) < 0.5, rng.normal(size=(80, 6)), 0.0)
    y = 2 * X[:, 3] + 1
    path, wanted = select(stored(X, stored_as, tmp_path), y), select(X, y)
    assert path.notes == wanted.notes
    assert "column 3 determines the target exactly" in path.notes[0]
    np.testing.assert_allclose(path.predict(stored(X, stored_as, tmp_path)), wanted.predict(X))
    with pytest.raises(ValueError, match="X has shape \\(80, 5\\)"):
        path.predict(stored(X[:, :5], stored_as, tmp_path))


def test_a_sparse_frame_has_names_and_notes() -> None:
    rng = np.random.default_rng(2)
    X = np.where(rng.random((80, 6)) < 0.5, rng.normal(size=(80, 6)), 0.0)
    X[:, 5] = np.arange(80)
    frame = pd.DataFrame(X, columns=[*"abcde", "row_id"])
    y = X[:, 1] + rng.normal(size=80)
    path = select(frame.astype(pd.SparseDtype(float, 0)), y)
    assert path.notes == select(frame, y).notes
    assert "probable identifier: 'row_id'" in path.notes[0]
    selector = Selector(max_features=2).fit(frame.astype(pd.SparseDtype(float, 0)), y)
    assert selector.transform(frame.astype(pd.SparseDtype(float, 0))).dtypes.iloc[0].fill_value == 0


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_the_transformer_keeps_sparse_tables_sparse(container: Any) -> None:
    rng = np.random.default_rng(4)
    X = rng.poisson(0.5, size=(120, 8)).astype(float)
    y = (X[:, 2] + X[:, 5] + rng.normal(size=120) > 1).astype(int)
    selector = Selector(max_features=3).fit(container(X), y)
    same(selector.path_, select(X, y, max_features=3))
    assert selector.selected_.tolist() == [5, 2]
    reduced: Any = selector.transform(container(X))
    assert is_sparse(reduced)
    np.testing.assert_array_equal(reduced.toarray(), X[:, selector.support_])
    np.testing.assert_array_equal(selector.inverse_transform(reduced).toarray(), X * selector.support_)
    pipeline = make_pipeline(Selector(model="logistic"), LogisticRegression()).fit(container(X), y)
    assert pipeline.score(container(X), y) > 0.6


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_estimators_get_the_sparse_table(container: Any) -> None:
    rng = np.random.default_rng(4)
    X = rng.poisson(0.5, size=(120, 5)).astype(float)
    y = (X[:, 2] + X[:, 4] + rng.normal(size=120) > 1).astype(int)
    for model in (MultinomialNB(), Estimator(LogisticRegression(), racing=False)):
        same(select(container(X), y, model=model, max_features=2), select(X, y, model=model, max_features=2))


def test_the_solver_of_a_sparse_table() -> None:
    """A Gram matrix must be small compared with the values stored."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, (60_000, 2_000), size=(500_000, 2)).T
    X = Sparse.of(sparse.coo_array((np.ones(500_000), places), shape=(60_000, 2_000)))
    assert solver_of(X) == "columns"
    assert solver_of(X.subset(np.arange(200))) == "gram"
    assert solver_of(Sparse.of(sparse.csr_array(rng.normal(size=(500, 400))))) == "columns"


# --- passes and memory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored_as", STORED)
def test_no_more_passes_than_in_memory(stored_as: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefetching and freezing work as in memory; pages of a few columns count as what is read."""
    monkeypatch.setattr(on_disk, "BLOCK_BYTES", 2**16)
    monkeypatch.setattr(mmap, "PAGESIZE", 64)  # as many pages per row as a table that is large
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3_000)).astype(np.float32)
    y = X[:, :25].sum(axis=1) + 0.5 * rng.standard_normal(400)
    wanted = select(X, y, strategy="dropping", max_features=20)
    found = select(stored(X, stored_as, tmp_path), y, strategy="dropping", max_features=20)
    assert (found.solver, len(found.selected)) == ("columns", 20)
    same(found, wanted)
    assert wanted.n_passes is not None
    assert found.n_passes is not None
    assert 2 <= found.n_passes <= 1.5 * wanted.n_passes < 20


def test_passes_of_other_inputs() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    y = X[:, 0] + rng.normal(size=50)
    assert select(Moments.of(X, y)).n_passes is None
    assert select(X, y, solver="gram").n_passes in (2, 3, 4)
    assert select(X, np.exp(y), model="gamma").n_passes > 1


def test_a_sparse_table_is_never_dense() -> None:
    """As an array it would take 3.2 GB; the selection takes less than a tenth."""
    rng = np.random.default_rng(0)
    n = p = 20_000
    X = sparse.coo_array((rng.exponential(size=400_000), rng.integers(0, n, (2, 400_000))), shape=(n, p)).tocsr()
    y = X @ np.where(np.arange(p) < 8, 5.0, 0.0) + 0.1 * rng.standard_normal(n)
    for model in ("linear", "discriminant", "poisson", "cox"):
        z = {"discriminant": (y > 1).astype(int), "poisson": rng.poisson(np.exp(np.clip(y / 8, -3, 3))),
             "cox": np.c_[rng.exponential(size=n), np.ones(n)]}.get(model, y)  # fmt: skip
        tracemalloc.start()
        path = select(X, z, model=model, max_features=3, strategy="dropping")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert path.n_evaluations >= p
        assert peak < n * p * 8 / 10


PROGRAM = """
import sys
import numpy as np
from dropstep import select
from dropstep.data.matrices import on_disk
on_disk.BLOCK_BYTES = 2**23

def resident(what):
    return int(open("/proc/self/status").read().split(what + ":")[1].split()[0]) * 1024

y = np.load(sys.argv[1] + "/y.npy")
select(np.random.default_rng(0).normal(size=(50, 5)), y[:50])
before = resident("VmRSS")
for order in "CF":
    X = np.load(sys.argv[1] + f"/{order}.npy", mmap_mode="r")
    path = select(X, y, max_features=5)
    print(resident("VmHWM") - before, X.nbytes, *path.selected)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
def test_pages_of_a_table_on_disk_do_not_stay_resident(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000, 20_000), dtype=np.float32)
    np.save(tmp_path / "C.npy", X)
    np.save(tmp_path / "F.npy", np.asfortranarray(X))
    np.save(tmp_path / "y.npy", X[:, :3].sum(axis=1) + rng.standard_normal(1_000))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in ran.stdout.splitlines():
        grown, size, *selected = map(int, line.split())
        assert sorted(selected) == [0, 1, 2]
        assert grown < size / 2


def test_memory_maps_are_read_in_blocks(tmp_path: Path) -> None:
    from dropstep.data.frame import read

    X = stored(np.random.default_rng(0).normal(size=(30, 4)), "on disk", tmp_path)
    assert isinstance(read(X).matrix, OnDisk)


def test_risk_sets_span_the_blocks_of_a_large_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are sorted already are not copied; blocks still have all of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12))
    y = np.c_[np.sort(rng.exponential(np.exp(-X[:, 3])))[::-1], np.ones(80)]
    monkeypatch.setattr(design, "COPY_UP_TO", 2**24)
    wanted = select(X, y, model="cox", max_features=3, criterion="aic")
    monkeypatch.setattr(design, "COPY_UP_TO", 0)
    monkeypatch.setattr(design, "BLOCK_SIZE", 100)
    same(select(X, y, model="cox", max_features=3, criterion="aic"), wanted)
