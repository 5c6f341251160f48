"""The design of a sparse matrix against that of the same values as an array: columns, products, information."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dropstep.data.matrices.dense import Dense
from dropstep.data.matrices.sparse import Sparse
from dropstep.data.table import Table
from dropstep.models.glm.cox import CoxRegression
from dropstep.models.glm.design import Design, design_of
from dropstep.models.glm.gamma import GammaTimes
from dropstep.models.glm.logistic import Bernoulli, Multinomial
from dropstep.models.glm.poisson import PoissonCounts
from dropstep.models.glm.sparse_design import BLOCK_SIZE, SparseDesign

LIKELIHOODS = ["bernoulli", "poisson", "gamma", "multinomial", "cox, efron", "cox, breslow"]


def case(kind: str, seed: int) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
    """A likelihood, values, weights and strata: empty, full and constant columns, large means, extreme scales."""
    rng = np.random.default_rng([LIKELIHOODS.index(kind), seed])
    n = int(rng.integers(12, 60))
    X = rng.normal(size=(n, 14)) * (rng.random((n, 14)) < 0.3)
    X[:, 0], X[:, 1], X[:, 2] = 0.0, 4.0, 1e4 + rng.normal(size=n)
    X[:, 3], X[:, 4], X[:, 5] = 0.0, 1e-200 * X[:, 4], 1e200 * X[:, 5]
    X[n // 2, 3] = -1.5
    X[:, 6] = rng.random(n) < 0.95
    w, offset = rng.integers(1, 4, size=n).astype(float), 0.1 * rng.normal(size=n)
    if kind == "bernoulli":
        return Bernoulli((rng.random(n) < 0.5).astype(float), w, offset), X, w, None
    if kind == "multinomial":
        return Multinomial(np.arange(n) % 3, 3, w, offset), X, w, None
    if kind == "poisson":
        return PoissonCounts(rng.poisson(2.0, size=n).astype(float), w, offset), X, w, None
    if kind == "gamma":
        return GammaTimes(rng.exponential(size=n) + 0.1, w, offset), X, w, None
    stratum = np.sort(rng.integers(0, 3, size=n))
    stratum = np.unique(stratum, return_inverse=True)[1].astype(np.intp)
    time, event = np.round(rng.exponential(size=n), 1), rng.random(n) < 0.7
    order = np.lexsort((-time, stratum))
    time, event = time[order], event[order]
    last = np.r_[stratum[1:] != stratum[:-1], True]
    event[last] = True  # rows after the last event of a stratum are never at risk, and removed before
    return CoxRegression(time, event, stratum, w, offset, kind.split(", ")[1]), X, w, stratum


def designs(X: np.ndarray, w: np.ndarray, stratum: np.ndarray | None) -> tuple[Design, Design]:
    table = Table(X)
    return design_of(Sparse.of(sparse.csr_array(X)), table, w, stratum), design_of(Dense(X), table, w, stratum)


@pytest.mark.parametrize("kind", LIKELIHOODS)
@pytest.mark.parametrize("seed", range(8))
def test_columns_and_score_tests_are_those_of_the_array(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood, X, w, stratum = case(kind, seed)
    found, wanted = designs(X, w, stratum)
    assert isinstance(found, SparseDesign)
    assert BLOCK_SIZE > 20
    monkeypatch.setattr("dropstep.models.glm.sparse_design.BLOCK_SIZE", 20)
    np.testing.assert_array_equal(found.varying, wanted.varying)
    np.testing.assert_allclose(found.scale, wanted.scale, rtol=1e-9)
    np.testing.assert_allclose(found.centre / wanted.scale, wanted.centre / wanted.scale, rtol=1e-9, atol=1e-9)
    everything = np.arange(X.shape[1])
    np.testing.assert_allclose(found.columns(everything), wanted.columns(everything), rtol=1e-8, atol=1e-9)
    rng = np.random.default_rng(seed)
    local = likelihood.local(likelihood.offset + 0.5 * rng.normal(size=likelihood.offset.shape), np.empty(0))
    V = rng.normal(size=(len(X), 3))
    for columns in (everything, np.array([2, 5, 9]), np.array([0])):
        for a, b in zip(found.products(columns, V, local), wanted.products(columns, V, local), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * len(X))
