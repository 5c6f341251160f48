"""Cox's partial likelihood far from its centre: separated risk sets, and features that order the events."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dropstep import StopReason, select
from models.glm.problems import problem, without_zero_weights
from reference.glm import fits


@pytest.mark.parametrize("spread", [1.0, 400.0, 3000.0])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["cox", "breslow"])
def test_the_partial_likelihood_keeps_its_digits_however_far_eta_spreads(kind: str, seed: int, spread: float) -> None:
    given = problem(kind, seed, n=24, p=3)
    slow, like = without_zero_weights(given), given.model().likelihood
    rng = np.random.default_rng([31, seed])
    eta = spread * rng.normal(size=len(slow.X))
    order = np.lexsort((-slow.data.y[:, 0], slow.data.strata))
    first = {s: slow.data.y[(slow.data.strata == s) & (slow.data.y[:, 1] == 1), 0].min(initial=math.inf)
             for s in set(slow.data.strata)}  # fmt: skip
    order = np.array([i for i in order if slow.data.y[i, 0] >= first[slow.data.strata[i]]])
    local = like.local((eta + slow.data.offset)[order][:, None], np.empty(0))
    assert local.deviance == pytest.approx(-2 * fits.partial_loglik(slow.data, eta), rel=1e-11)
    gradient, information = fits.cox_derivatives(slow.data, slow.X, eta)
    Z = np.asfortranarray(slow.X[order])
    scale = np.abs(slow.X).max(axis=0)
    np.testing.assert_allclose(Z.T @ local.residual[:, 0] / scale, gradient / scale, rtol=1e-9, atol=1e-9)
    outer = np.outer(scale, scale)
    np.testing.assert_allclose(local.gram(Z) / outer, information / outer, rtol=1e-9, atol=1e-9)
    weighted = np.einsum("ij,iakb->jk", Z, local.weighted(Z))
    np.testing.assert_allclose(weighted / outer, information / outer, rtol=1e-9, atol=1e-9)
    squares = local.squares(Z, slice(None))[:, 0, 0]
    np.testing.assert_allclose(squares / scale**2, np.diagonal(information) / scale**2, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [30, 300])
def test_a_feature_that_orders_the_events_is_an_exact_fit(n: int) -> None:
    """A leak: the deviance has infimum 0, however close two of the times are."""
    rng = np.random.default_rng([32, n])
    X, time, event = rng.normal(size=(n, 5)), rng.exponential(size=n), rng.uniform(size=n) < 0.7
    X[:, 2] = -np.log(time)
    path = select(X, np.column_stack([time, event]), model="cox")
    assert path.selected == (2,)
    assert path.stop is StopReason.EXACT
    assert path.score == pytest.approx(0.0, abs=1e-4)
    assert any("separate" in note for note in path.notes)
