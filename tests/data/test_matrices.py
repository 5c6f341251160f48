"""Design matrices: sparse, and on disk in both orders, against NumPy on the same values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from dropstep.data.frame import read
from dropstep.data.matrices import on_disk
from dropstep.data.matrices.dense import Dense
from dropstep.data.matrices.matrix import Matrix
from dropstep.data.matrices.on_disk import OnDisk
from dropstep.data.matrices.sparse import MAX_MEAN_SHARE, Sparse, is_sparse, large_means

N, P = 37, 23
rng = np.random.default_rng(3)
VALUES = np.round(rng.normal(size=(N, P)), 2) * (rng.random((N, P)) < 0.4)
VALUES[:, 3] = 0.0


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every memory map is read in blocks, of a few rows or columns."""
    monkeypatch.setattr(on_disk, "MIN_BYTES", 0)
    monkeypatch.setattr(on_disk, "BLOCK_BYTES", 8 * 200)


def mapped(values: NDArray[Any], folder: Path, order: Any = "C") -> Any:
    """A read-only memory map of values."""
    np.save(folder / "values.npy", np.asarray(values, order=order))
    return np.load(folder / "values.npy", mmap_mode="r")


STORED: dict[str, Callable[[Path], Any]] = {
    "dense": lambda folder: VALUES,
    "Fortran order": lambda folder: np.asfortranarray(VALUES),
    "csr": lambda folder: sparse.csr_array(VALUES),
    "csc": lambda folder: sparse.csc_matrix(VALUES),
    "on disk": lambda folder: mapped(VALUES, folder),
    "on disk, Fortran order": lambda folder: mapped(VALUES, folder, "F"),
    "on disk, some columns": lambda folder: mapped(np.c_[VALUES, VALUES], folder)[:, :P],
    "on disk, every other row": lambda folder: mapped(np.repeat(VALUES, 2, axis=0), folder)[::2],
    "on disk, reversed": lambda folder: mapped(VALUES[::-1, ::-1], folder)[::-1, ::-1],
}


@pytest.fixture(params=STORED)
def matrix(request: pytest.FixtureRequest, tmp_path: Path) -> Matrix:
    stored = read(STORED[request.param](tmp_path)).matrix
    kind = OnDisk if "disk" in request.param else Sparse if request.param.startswith("cs") else Dense
    assert isinstance(stored, kind)
    return stored


def dense(X: Matrix) -> NDArray[np.float64]:
    return np.asarray(X.take(np.arange(X.shape[1])), dtype=np.float64)


def test_products_and_sums(matrix: Matrix) -> None:
    V, w = rng.normal(size=(4, N)), rng.uniform(0, 2, size=N)
    out = np.full((4, P), np.nan)
    assert matrix.multiply(V, out) is out
    for product in (out, matrix.multiply(V, in_double=True)):
        np.testing.assert_allclose(product, V @ VALUES, rtol=1e-12, atol=1e-13)
    for weights in (None, w):
        product, squares = matrix.sums(V[:2], weights)
        np.testing.assert_allclose(product, V[:2] @ VALUES, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(squares, (np.ones(N) if weights is None else w) @ VALUES**2, rtol=1e-12)


def test_columns_and_rows(matrix: Matrix) -> None:
    at, rows = np.array([20, 0, 3, 7]), np.array([30, 2, 2, 11, 5])
    assert (matrix.shape, matrix.size) == ((N, P), N * P)
    np.testing.assert_array_equal(matrix.take(at), VALUES[:, at])
    np.testing.assert_array_equal(matrix.take(at[:0]), VALUES[:, at[:0]])
    np.testing.assert_array_equal(dense(matrix.subset(at)), VALUES[:, at])
    some = matrix.at(rows)
    np.testing.assert_array_equal(dense(some), VALUES[rows])
    np.testing.assert_array_equal(dense(some.at(np.array([True, False, True, True, False]))), VALUES[[30, 2, 11]])
    np.testing.assert_allclose(some.multiply(np.ones((1, 5))), VALUES[rows].sum(axis=0)[None, :], atol=1e-13)
    native: Any = some.native()
    np.testing.assert_array_equal(native.toarray() if is_sparse(native) else native, VALUES[rows])


def test_largest_values_and_gaps(matrix: Matrix) -> None:
    at, rows = np.array([3, 0, 22]), np.arange(N) < 20
    np.testing.assert_array_equal(matrix.largest(at, None), np.abs(VALUES[:, at]).max(axis=0))
    np.testing.assert_array_equal(matrix.largest(at, rows), np.abs(VALUES[rows][:, at]).max(axis=0))
    assert not any(mask.any() for mask in matrix.gaps())


@pytest.mark.parametrize("kind", ["dense", "csc", "on disk", "on disk, Fortran order"])
def test_where_gaps_are(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = VALUES.copy()
    values[4, 2], values[9, 2], values[4, 8] = np.nan, np.inf, -np.inf
    monkeypatch.setitem(globals(), "VALUES", values)
    matrix = read(STORED[kind](tmp_path)).matrix
    for features in (None, np.array([8, 1, 2])):
        gaps = matrix.gaps(features)
        assert np.flatnonzero(gaps.absent).tolist() == [4]
        assert np.flatnonzero(gaps.infinite).tolist() == [4, 9]
        assert np.flatnonzero(gaps.columns).tolist() == ([2, 8] if features is None else [0, 2])
    zeroed = matrix.zeroed(np.array([2, 8]))
    assert not zeroed.gaps().columns.any()
    np.testing.assert_array_equal(dense(zeroed)[:, [1, 2, 8]], np.c_[values[:, 1], np.zeros((N, 2))])


def test_rescaled(matrix: Matrix) -> None:
    exponents = np.zeros(P, dtype=np.intc)
    exponents[[1, 5]] = -3, 7
    w = np.ones(N)
    w[4] = 0
    wanted = np.ldexp(VALUES, -exponents)
    np.testing.assert_array_equal(dense(matrix.rescaled(exponents, None)), wanted)
    wanted[4] = 0
    rescaled = matrix.rescaled(exponents, w)
    np.testing.assert_array_equal(dense(rescaled), wanted)
    np.testing.assert_allclose(rescaled.multiply(np.ones((1, N)))[0], wanted.sum(axis=0), atol=1e-13)
    np.testing.assert_array_equal(dense(rescaled.at(np.arange(3, 6))), wanted[3:6])


@pytest.mark.parametrize("all_rows", [False, True])
@pytest.mark.parametrize("features", [None, np.array([4, 1, 19, 22])])
def test_blocks(matrix: Matrix, features: Any, all_rows: bool) -> None:
    if not isinstance(matrix, Dense | OnDisk):
        return
    chosen = VALUES if features is None else VALUES[:, features]
    copy, seen = np.full(chosen.shape, np.nan), 0
    for rows, at, block in matrix.parts(features, 100, all_rows=all_rows):
        copy[rows, at] = block
        seen += block.size
        assert not all_rows or len(block) == N
    np.testing.assert_array_equal(copy, chosen)
    assert seen == chosen.size
    np.testing.assert_array_equal(np.concatenate([block.copy() for _, block in matrix.row_parts(5)]), VALUES)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32, np.float64, np.longdouble])
def test_number_types_and_forms_of_sparse_arrays(dtype: Any) -> None:
    """Duplicates are summed as SciPy sums them; the caller's arrays stay as they are."""
    values = (10 * VALUES).astype(dtype)
    rows, columns = np.nonzero(values)
    order = rng.permutation(len(rows))
    X = sparse.coo_array((values[rows, columns][order], (rows[order], columns[order])), shape=values.shape)
    twice = sparse.coo_array((np.r_[X.data, X.data], (np.r_[X.row, X.row], np.r_[X.col, X.col])), shape=values.shape)
    zeros = sparse.csr_array(values)
    zeros.data[::3] = 0
    unsorted = sparse.csc_array((values[:, 0][[5, 1, 9]], [5, 1, 9], [0, 3]), shape=(N, 1))
    long = X.tocsr()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for given in (X, twice, twice.tocsr(), twice.tocsc(), zeros, unsorted, long, X.tolil(), X.todok(), X.tobsr()):
        before = given.copy()
        found = Sparse.of(given)
        np.testing.assert_array_equal(found.values.toarray(), given.toarray().astype(np.float64))
        assert found.values.has_canonical_format
        assert (given.format, given.dtype) == (before.format, before.dtype)
        if hasattr(given, "indices"):
            np.testing.assert_array_equal(given.indices, before.indices)
    canonical = sparse.csc_array(VALUES)
    assert np.shares_memory(Sparse.of(canonical).values.data, canonical.data)


def test_only_nearly_full_columns_are_shifted() -> None:
    """n mean^2 <= k / (n - k) scatter, for k stored values: columns of large means have nearly all of them."""
    codes, wide = rng.integers(0, 3, size=N), VALUES.copy()
    wide[:, 5], wide[:, 6] = 1e6 + rng.normal(size=N), 3.0
    wide[:, 7] = np.where(codes == 1, 1e3 + rng.normal(size=N), 0.0)
    wide[2, 6] = 0.0
    for classes in (np.zeros(N, dtype=np.intp), codes):
        counts = np.bincount(classes).astype(float)
        member = (np.arange(len(counts))[:, None] == classes).astype(float)
        means = member @ wide / counts[:, None]
        scatter = ((wide - means[classes]) ** 2).sum(axis=0)
        shift = large_means(means, counts, scatter)
        assert shift[:, 5].all()
        X = Sparse.of(sparse.csr_array(wide))
        moved = X.shifted(shift, classes)
        np.testing.assert_allclose(dense(moved), wide - shift[classes], rtol=1e-12)
        share = X.n_stored / moved.n_stored
        assert share > 1 - 2 / MAX_MEAN_SHARE
        implicit = member @ dense(moved) / counts[:, None]
        assert np.all(counts[:, None] * implicit**2 <= MAX_MEAN_SHARE * scatter + 1e-20)


def test_float32_is_multiplied_in_float32_unless_in_double(tmp_path: Path) -> None:
    short = VALUES.astype(np.float32)
    V = rng.normal(size=(5, N))
    for order in "CF":
        X = read(mapped(short, tmp_path, order)).matrix
        assert X.dtype == np.float32
        np.testing.assert_allclose(X.multiply(V), V @ VALUES, rtol=1e-4, atol=1e-5)
        assert np.abs(X.multiply(V) - V @ short.astype(float)).max() > 1e-9
        np.testing.assert_allclose(X.multiply(V, in_double=True), V @ short.astype(float), rtol=1e-12, atol=1e-13)


def test_what_is_read_is_counted(matrix: Matrix) -> None:
    assert matrix.reads.n_passes == 0
    matrix.multiply(np.ones((1, N)))
    matrix.multiply(np.ones((1, N)))
    assert matrix.reads.n_passes == 2
    matrix.take(np.array([0]))
    assert matrix.reads.n_passes == 3


def test_which_memory_maps_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = mapped(VALUES, tmp_path)
    assert isinstance(read(X).matrix, OnDisk)
    changed = np.load(tmp_path / "values.npy", mmap_mode="c")
    changed[0, 0] = 7.0  # in memory only: its pages must stay
    for other in (changed, mapped(VALUES.astype(">f8"), tmp_path), VALUES):
        assert isinstance(read(other).matrix, Dense)
    monkeypatch.setattr(on_disk, "MIN_BYTES", X.nbytes)
    assert isinstance(read(X).matrix, Dense)


def test_pages_are_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are released as soon as they are read, in both orders and for a few columns, wherever they are."""
    released = []
    release = OnDisk._release
    monkeypatch.setattr(OnDisk, "_release", lambda self: released.append(release(self)))
    for order in "CF":
        X = read(mapped(VALUES, tmp_path, order)).matrix
        released.clear()
        X.multiply(np.ones((1, N)))
        assert len(released) >= N * P // 200
        np.testing.assert_array_equal(X.take(np.arange(P)), VALUES)
