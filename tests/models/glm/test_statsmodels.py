"""The same log likelihoods, coefficients and standard errors as statsmodels, to 1e-8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from models.glm.problems import RandomProblem, problem

NAMES = [f"x{j}" for j in range(6)]
FAMILIES: dict[str, Any] = {
    "logistic": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(sm.families.links.Log()),
}


def p_of_t(fit: Any) -> Any:
    """p-values by the t distribution, as R's summary; statsmodels refers to the normal distribution."""
    return 2 * stats.t.sf(np.abs(fit.tvalues), fit.df_resid)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", list(FAMILIES))
def test_glm(kind: str, seed: int) -> None:
    plain = problem(kind, seed, n=200, plain=True)
    rng = np.random.default_rng(seed)
    offset, weights = 0.3 * rng.normal(size=200), rng.integers(1, 4, size=200).astype(float)
    X = plain.X * [1, 10, 0.1, 1, 1, 1] + [0, 5, 0, 0, -3, 0]
    given = RandomProblem(kind, X, plain.data, {"offset": offset, "sample_weight": weights})
    model = given.model()
    model.add(range(6))
    found = model.coefficients(range(6), NAMES)
    family, data = FAMILIES[kind], given.data
    theirs = sm.GLM(data.y, sm.add_constant(X), family=family, offset=offset, freq_weights=weights)
    fit = theirs.fit(tol=1e-14, tol_criterion="params", maxiter=300)
    rows = found.rows()
    np.testing.assert_allclose([row.estimate for row in rows], fit.params, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose([row.std_error for row in rows], fit.bse, rtol=1e-7)
    np.testing.assert_allclose(
        [row.p_value for row in rows], fit.pvalues if kind != "gamma" else p_of_t(fit), atol=1e-8
    )
    ratios = found.ratios()
    assert ratios is not None
    if kind != "gamma":
        np.testing.assert_allclose(ratios[:, 1:], np.exp(fit.conf_int()), rtol=1e-7)
    assert model.fit.deviance == pytest.approx(fit.deviance, rel=1e-9)
    # statsmodels takes the dispersion from Pearson's statistic, R and dropstep from the deviance
    scale = fit.deviance / weights.sum() if kind == "gamma" else 1.0
    minus_twice = model.likelihood.minus_twice_loglik(model.fit.deviance)
    assert -minus_twice / 2 == pytest.approx(theirs.loglike(fit.params, scale=scale), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_multinomial(seed: int) -> None:
    given = problem("multinomial", seed, n=200, plain=True)
    model = given.model()
    model.add(range(6))
    found = model.coefficients(range(6), NAMES)
    fit = sm.MNLogit(given.data.y, sm.add_constant(given.X)).fit(method="newton", tol=1e-14, disp=0)
    table = found.to_frame()
    assert list(table.index.get_level_values("target").unique()) == [1, 2]
    np.testing.assert_allclose(table["estimate"].to_numpy().reshape(2, 7).T, fit.params, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(table["std_error"].to_numpy().reshape(2, 7).T, fit.bse, rtol=1e-7)
    assert -model.fit.deviance / 2 == pytest.approx(fit.llf, rel=1e-10)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_cox(ties: str) -> None:
    given = problem("cox" if ties == "efron" else "breslow", 0, n=200, plain=True)
    model = given.model()
    model.add(range(6))
    found = model.coefficients(range(6), NAMES)
    time, event = given.data.y.T
    fit = sm.PHReg(time, given.X, status=event, ties=ties).fit()
    assert found.intercept is None
    np.testing.assert_allclose(found.coef, fit.params, rtol=1e-5, atol=1e-6)  # its optimiser stops early
    assert -model.fit.deviance / 2 == pytest.approx(fit.llf, rel=1e-9)
    assert -model.fit.deviance / 2 >= fit.llf - 1e-10
