"""Predictions by coefficients: those of statsmodels and of the estimators of scikit-learn that hold them; factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from sklearn.linear_model import LogisticRegression
from statsmodels.genmod.families import Binomial

from dropstep import select
from models.glm.problems import problem


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c"])
    frame["site"] = pd.Categorical(rng.choice(["east", "north", "south"], n))
    eta = frame["a"] + 1.5 * (frame["site"] == "south") - 0.5
    return frame.assign(ill=np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no"))


def test_factors_are_those_of_statsmodels() -> None:
    frame = table()
    path = select(frame, "ill", model="logistic")
    assert set(path.selected_names) == {"a", "site"}
    fit = path.coefficients
    assert fit is not None
    assert fit.classes == ("no", "yes")
    coded = frame.assign(ill=(frame["ill"] == "yes").astype(float))
    theirs = smf.glm("ill ~ a + site", coded, family=Binomial()).fit(tol=1e-14)
    found = fit.to_frame()
    for name in fit.names:
        column = name if "=" not in name else name.replace("=", "[T.") + "]"
        assert found.loc[name, "estimate"] == pytest.approx(theirs.params[column], rel=1e-7)
        assert found.loc[name, "std_error"] == pytest.approx(theirs.bse[column], rel=1e-6)
        assert found.loc[name, "ratio"] == pytest.approx(np.exp(theirs.params[column]), rel=1e-7)
    np.testing.assert_array_equal(path.predict(frame), np.where(theirs.predict(frame) > 0.5, "yes", "no"))


def test_missing_values_and_names_of_columns() -> None:
    frame = table()
    frame.loc[[3, 5], "site"] = None
    frame.loc[7, "a"] = np.nan
    path = select(frame, "ill", model="logistic", missing="drop")
    assert any("ignored 3 of 300 rows" in note for note in path.notes)
    again = select(frame.dropna(), "ill", model="logistic")
    assert path.score == again.score
    counts = frame.assign(n=np.arange(300) % 4, exposure=0.1).drop(columns="ill").dropna()
    named = select(counts, "n", model="poisson", offset="exposure")
    by_hand = select(counts[["a", "b", "c", "site"]], counts["n"], model="poisson", offset=counts["exposure"])
    assert named.score == by_hand.score
    times = counts.assign(time=np.arange(len(counts)) + 1.0, event=1)
    path = select(times.drop(columns=["n", "exposure"]), ["time", "event"], model="cox", strata="site")
    assert path.feature_names == ("a", "b", "c")


@pytest.mark.parametrize("kind", ["logistic", "multinomial", "poisson", "gamma"])
def test_estimators_hold_these_numbers(kind: str) -> None:
    given = problem(kind, 1, n=150, plain=True)
    path = given.select(criterion="aic")
    assert path.selected
    estimator, X = path.to_estimator(), given.X[:, list(path.selected)]
    predicted: Any = path.predict(given.X)
    if kind in ("poisson", "gamma"):
        np.testing.assert_allclose(estimator.predict(X), predicted, rtol=1e-12)
        return
    np.testing.assert_array_equal(estimator.predict(X), predicted)
    refit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, given.data.y)
    np.testing.assert_allclose(estimator.predict_proba(X), refit.predict_proba(X), atol=1e-4)


def test_cox_has_no_estimator() -> None:
    given = problem("cox", 1, n=150, plain=True)
    path = given.select(criterion="aic")
    with pytest.raises(ValueError, match=r"scikit-learn has no Cox regression; use path\.predict"):
        path.to_estimator()
    assert path.coefficients is not None
    expected = given.X[:, list(path.selected)] @ path.coefficients.coef
    np.testing.assert_allclose(path.predict(given.X), expected)
