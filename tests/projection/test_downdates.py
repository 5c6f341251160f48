"""Many features of a Gram matrix at once equal the same features one by one, and the textbook."""

from __future__ import annotations

import numpy as np
import pytest

from dropstep import Moments, select
from dropstep.data.columns import Columns
from dropstep.data.matrices.dense import Dense
from dropstep.models.least_squares.problem import from_moments
from dropstep.projection import downdates, projection
from dropstep.projection import equations as normal_equations
from dropstep.projection.projection import Projection

P = 40


def equations(seed, noise=0.3, pairs=4, q=2):
    """Correlated features with pairs that differ by `noise`, a constant one, and one in the span of two others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, P)) @ (np.eye(P) + 0.2 * rng.normal(size=(P, P)))
    for a, b in rng.choice(P - 2, (pairs, 2), replace=False):
        X[:, a] = X[:, b] + noise * rng.normal(size=150)
    X[:, P - 2], X[:, P - 1] = 3.0, X[:, 0] - X[:, 5]
    Y = X[:, :q] + rng.normal(size=(150, q))
    return from_moments(Moments.of(X * 10.0 ** rng.integers(-3, 4, P), Y)).equations


def check_residuals(projection):
    """W, Z and the residuals are those of the textbook."""
    e, A = projection.equations, projection.independent
    projection.update(np.arange(P))
    S, scale = e.scatter, np.sqrt(np.where(e.diagonal > 0, e.diagonal, 1.0))
    unit = scale[:, None] * scale
    solved = np.linalg.solve(S[np.ix_(A, A)] / unit[np.ix_(A, A)], (S / unit)[A])
    explained = np.einsum("ij,ij->j", (S / unit)[A], solved)
    others = [j for j in range(P) if j not in A and j not in projection.dependent and e.diagonal[j] > 0]
    expected = np.diagonal(S / unit) - explained
    np.testing.assert_allclose(projection.residual_ss[others] / scale[others] ** 2, expected[others], atol=1e-9)
    cross = e.cross / scale[:, None]
    size = np.abs(cross).max()
    np.testing.assert_allclose(
        projection.residual_cross[others] / scale[others, None] / size,
        (cross - solved.T @ cross[A])[others] / size,
        atol=1e-8,
    )
    np.testing.assert_allclose(projection.explained, projection.Z.T @ projection.Z)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("noise", [0.3, 3e-3])
def test_a_block_is_its_features_one_by_one(seed, noise, monkeypatch):
    e = equations(seed, noise)
    order = np.random.default_rng(seed).permutation(P).tolist()
    together, one_by_one = Projection(e), Projection(e)
    together.add(order[:3])
    together.add(order[3 : 30 + seed])
    monkeypatch.setattr(projection, "FACTORISE_TOGETHER_FROM", np.inf)
    for j in order[: 30 + seed]:
        one_by_one.add([j])
    assert together.independent == one_by_one.independent
    assert sorted(together.dependent) == sorted(one_by_one.dependent)
    assert together.doubtful == one_by_one.doubtful
    check_residuals(together)
    check_residuals(one_by_one)
    others = sorted(set(range(P)) - {P - 2} - set(together.independent))
    np.testing.assert_allclose(together.precision.least[others], one_by_one.precision.least[others], rtol=1e-6)


def test_the_first_feature_that_depends_on_others_ends_a_block():
    S = np.diag([1.0, 2.0, 3.0, 4.0])
    S[2] = S[:, 2] = [1.0, 2.0, 3.0, 0.0]  # the sum of the first two
    R, noise = downdates.leading_factor(S, np.diagonal(S).copy(), 1e-8)
    np.testing.assert_allclose(R, np.diag(np.sqrt([1.0, 2.0])))
    np.testing.assert_allclose(noise, [1.0, 2.0])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("noise", "pairs"), [(0.3, 4), (1e-3, 1)])
def test_removals_are_those_of_the_inverse(seed, noise, pairs):
    """After every removal, also of nearly collinear features, whose elements of the inverse lose digits."""
    e = equations(seed, noise, pairs)
    rng = np.random.default_rng(seed)
    projection = Projection(e)
    projection.add([j for j in range(P - 2) if j != 11])
    assert not projection.dependent
    for n in range(P - 6):
        A = projection.independent
        scale = np.sqrt(e.diagonal[A])
        N = np.linalg.inv(e.scatter[np.ix_(A, A)] / np.outer(scale, scale))
        C = e.cross[A] / scale[:, None]
        cross, d = projection.removal_vectors(np.arange(len(A)))
        np.testing.assert_allclose(d * scale**2, np.diagonal(N), rtol=1e-7)
        np.testing.assert_allclose(cross * scale[:, None], N @ C, rtol=1e-6, atol=1e-6 * np.abs(N @ C).max())
        np.testing.assert_allclose(projection.explained, C.T @ N @ C, rtol=1e-7, atol=1e-9 * np.abs(C.T @ N @ C).max())
        projection.remove([A[int(rng.integers(len(A)))]])
        if n in (1, 12):
            check_residuals(projection)
    check_residuals(projection)


def test_backward_from_moments_factorises_three_times(monkeypatch):
    """One factorisation to find what is independent, one to start, one for the features that remain."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 120))
    calls = []
    original = downdates.leading_factor
    monkeypatch.setattr(projection, "leading_factor", lambda *args: calls.append(len(args[0])) or original(*args))
    monkeypatch.setattr(Projection, "_remove_one", None)
    path = select(Moments.of(X, X[:, :20] @ np.ones(20) + rng.normal(size=500)), strategy="backward", criterion="bic")
    assert calls == [120, 120, len(path.selected)]
    assert set(range(20)) <= set(path.selected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("largest_mean", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("shape", [(6, 4), (7, 3), (30, 1), (15, 2), (6, 5), (2, 15), (1, 30)])
def test_scatter_within_units_is_that_of_centred_columns(monkeypatch, shape, largest_mean, order, dtype):
    """Units of some features out of order, and of all features in order; small and large ones; a constant feature."""
    monkeypatch.setattr(normal_equations, "ROW_BLOCK", 500)
    monkeypatch.setattr(normal_equations, "ROWS_PER_PRODUCT", 70)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 30)) + largest_mean * 10.0 ** -rng.integers(0, 4, 30)
    X[:, 11] = largest_mean
    X = np.asarray(X, dtype=dtype, order=order)
    means = X.mean(axis=0)[None]  # of a float32 X in float32, with their rounding errors
    features = np.arange(30) if np.prod(shape) == 30 else rng.permutation(30)[: np.prod(shape)]
    units = features.reshape(shape)
    centred = X - X.mean(axis=0, dtype=np.float64)
    columns = Columns(Dense(X), means.astype(np.float64), None, None)
    diagonal = (centred**2).sum(axis=0)
    noise = np.where(np.arange(30) == 11, np.inf, diagonal)
    found = normal_equations.NormalEquations(columns, diagonal, np.ones((30, 1)), noise).blocks(units)
    expected = np.stack([centred[:, unit].T @ centred[:, unit] for unit in units])
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-8)
    assert columns.X.reads.n_passes == 1
