"""What criteria read of several targets: log determinants and quadratic forms after each move, against the textbook."""

from __future__ import annotations

import numpy as np
import pytest

from dropstep.data.table import Table
from dropstep.data.target import as_target
from dropstep.models.least_squares.criterion_matrix import CriterionMatrix
from dropstep.models.least_squares.moves import BlockUpdate, SingleUpdate
from dropstep.models.least_squares.problem import problem_of


@pytest.mark.parametrize("noise", [1.0, 1e-2])
@pytest.mark.parametrize("q", [2, 5, 10])
def test_gains_of_targets_of_different_scale_that_are_correlated(q: int, noise: float) -> None:
    """Additions and removals of features, and of units of two; the first two candidates are the same."""
    rng = np.random.default_rng([q, 1])
    scale = 10.0 ** rng.integers(-6, 7, q)
    Y = (rng.normal(size=(80, 1)) + noise * rng.normal(size=(80, q))) * scale
    problem = problem_of(Table(rng.normal(size=(80, 4))), as_target(Y, 80, "linear"), None, "columns")
    explained = CriterionMatrix.of(problem.base, problem)
    centred = (Y - Y.mean(axis=0)) / scale
    cross = rng.normal(size=(37, 80)) @ centred * scale
    cross[1] = cross[0]
    length = np.full(37, 800.0)
    single = SingleUpdate(length, cross, length > 0)
    pairs = BlockUpdate(single.vectors[1:, 0].reshape(18, 2, q), np.full(18, 2.0))
    M = centred.T @ centred
    for update in (single, pairs):
        v = update.vectors / scale
        for sign in (1, -1):
            after = np.linalg.slogdet(M + sign * np.einsum("umt,ums->uts", v, v))[1]
            found = explained.log_ratio(update, sign)
            np.testing.assert_allclose(found, after - np.linalg.slogdet(M)[1], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(update.power, np.square(update.vectors).sum(axis=(1, 2)))
    inner = explained.inner(single)
    v = single.vectors[:, 0] / scale
    np.testing.assert_allclose(inner, np.einsum("ut,tu->u", v, np.linalg.solve(M, v.T)), rtol=1e-8)
    assert inner[0] == inner[1]
