"""Negative binomial, quasi-Poisson and ordinal regression through the public door."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dropstep import NegativeBinomial, Ordinal, Poisson, SelectionPath, compare, infer, select
from dropstep.data.sample import PerRow
from dropstep.models.families import FAMILIES
from dropstep.models.glm.family import LikelihoodFamily
from dropstep.models.glm.ordinal import MAX_LEVELS
from dropstep.parameters import Parameters
from dropstep.result import Coefficients
from models.glm.test_streamed import check
from sources import arrow


def table(seed: int = 0, n: int = 400) -> pd.DataFrame:
    """Two features of five have an effect on overdispersed counts and on levels."""
    rng = np.random.default_rng([21, seed])
    frame = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    frame["colour"] = rng.choice(["blue", "green", "red"], size=n)
    eta = 0.6 * frame["a"] - 0.5 * frame["b"] + 0.7 * (frame["colour"] == "red")
    frame["exposure"] = 0.3 * rng.normal(size=n)
    frame["weight"] = rng.integers(0, 3, size=n).astype(float)
    frame["count"] = rng.poisson(np.exp(eta + frame["exposure"]) * rng.gamma(2.0, 0.5, size=n))
    frame["level"] = np.digitize(eta + rng.logistic(size=n), [-1.0, 0.5, 2.0])
    return frame


def coefficients(path: SelectionPath) -> Coefficients:
    assert path.coefficients is not None
    return path.coefficients


FEATURES = ["a", "b", "c", "d", "e", "colour"]
ROWS = {"offset": "exposure", "sample_weight": "weight"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "counts": ("count", {"model": "negative_binomial"}),
    "counts with an offset and weights": ("count", {"model": "negative_binomial", "criterion": "bic", **ROWS}),
    "counts backward": ("count", {"model": "negative_binomial", "strategy": "backward", "criterion": "aic"}),
    "counts with theta": ("count", {"model": NegativeBinomial(theta=2.0), "offset": "exposure"}),
    "levels": ("level", {"model": "ordinal"}),
    "levels with an offset and weights": ("level", {"model": "ordinal", "criterion": "bic", **ROWS}),
    "levels backward": ("level", {"model": Ordinal(link="probit"), "strategy": "backward", "criterion": "aic"}),
    "levels of another link": ("level", {"model": Ordinal(link="cloglog"), "criterion": "aic"}),
}


@pytest.mark.parametrize("case", CASES)
def test_blocks_of_rows_are_as_tables_in_memory(case: str) -> None:
    y, parameters = CASES[case]
    used = table()[[*FEATURES, y, *(v for k, v in parameters.items() if k in ROWS)]]
    expected = select(used, y, **parameters)
    assert {"a", "b"} <= set(expected.selected_names)
    path = select(arrow(used).to_batches(max_chunksize=90), y, **parameters)
    check(path, expected)
    theta = coefficients(expected).theta
    assert coefficients(path).theta == (theta if theta is None else pytest.approx(theta, rel=1e-7))


def test_a_weight_is_a_number_of_rows() -> None:
    frame = table(1)
    repeated = frame.loc[np.repeat(frame.index, frame["weight"].astype(int))]
    for y, model in (("count", "negative_binomial"), ("level", "ordinal")):
        path = select(frame[FEATURES], frame[y], model=model, sample_weight=frame["weight"], criterion="bic")
        twin = select(repeated[FEATURES], repeated[y], model=model, criterion="bic")
        assert path.selected == twin.selected
        assert path.score == pytest.approx(twin.score, rel=1e-10)


# --- negative binomial -----------------------------------------------------------------------------------------------


def test_poisson_is_adequate() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    y = rng.binomial(4, 1 / (1 + np.exp(-X[:, 0])))  # less variable than Poisson's
    path = select(X, y, model="negative_binomial")
    assert coefficients(path).theta == np.inf
    assert any("theta is infinite" in note and "use model='poisson'" in note for note in path.notes)
    poisson = select(X, y, model="poisson")
    assert path.selected == poisson.selected
    np.testing.assert_allclose(coefficients(path).coef, coefficients(poisson).coef, rtol=1e-7)
    np.testing.assert_allclose(coefficients(path).std_error, coefficients(poisson).std_error, rtol=1e-7)
    assert path.score == pytest.approx(poisson.score, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("theta", [0.05, 1.0, 1e3, 1e7])
def test_counts_of_any_size(scale: float, theta: float) -> None:
    """The likelihood is that of scipy at the fit, and no other theta or intercept close by is better."""
    rng = np.random.default_rng([4, int(theta)])
    y = rng.poisson(scale * rng.gamma(theta, 1 / theta, size=500)).astype(float)
    if np.ptp(y) == 0:
        pytest.skip("a constant target is refused")
    X = rng.normal(size=(500, 1))
    path = select(X, y, model="negative_binomial", criterion="aic", enter=np.inf)
    fit = coefficients(path)

    def loglik(theta: float, mean: float) -> float:
        if theta == np.inf or theta > 1e4 * max(mean, 1.0):  # digits of nbinom are lost
            return float(stats.poisson.logpmf(y, mean).sum())
        return float(stats.nbinom.logpmf(y, theta, theta / (theta + mean)).sum())

    mean, digits = np.exp(fit.intercept), 1e-9 * max(scale, 1.0)
    assert not any("converge" in note for note in path.notes)
    if fit.theta < 1e3 or fit.theta == np.inf:
        assert 4 - path.score == pytest.approx(2 * loglik(fit.theta, mean), rel=1e-7, abs=digits)
        for other in (0.99, 1.01):
            assert loglik(fit.theta, mean * other) <= loglik(fit.theta, mean) + digits
            if fit.theta < np.inf:
                assert loglik(fit.theta * other, mean) <= loglik(fit.theta, mean) + digits


def test_a_separated_level_of_counts() -> None:
    frame = table(5)
    frame.loc[frame["colour"] == "green", "count"] = 0
    path = select(frame[FEATURES], frame["count"], model="negative_binomial", include=["colour", "a"])
    (note,) = (note for note in path.notes if "infinite coefficients" in note)
    assert note.startswith("'colour=green': infinite")
    present = frame[frame["colour"] != "green"]
    twin = select(present[FEATURES], present["count"], model="negative_binomial", include=["colour", "a"])
    assert coefficients(path).theta == pytest.approx(coefficients(twin).theta, rel=1e-5)
    assert path.score == pytest.approx(twin.score, rel=1e-7)


def test_held_out_deviances_of_counts_can_be_compared() -> None:
    frame = table(6)
    means = {}
    for model in ("poisson", Poisson(dispersion="estimate"), "negative_binomial"):
        found = compare(frame[FEATURES], frame["count"], model=model, strategies=("dropping",))
        means[str(model)] = found.to_frame()["error"].iloc[0]
    assert means["negative_binomial"] < means["poisson"]
    assert means[str(Poisson(dispersion="estimate"))] == pytest.approx(means["poisson"], rel=0.05)


def test_intervals_of_counts() -> None:
    frame = table(7)
    path = select(frame[FEATURES], frame["count"], model="negative_binomial", offset=frame["exposure"])
    other = table(8)
    found = infer(path, other[FEATURES], other["count"], offset=other["exposure"])
    given = {"include": list(path.selected_names), "enter": np.inf, "offset": other["exposure"]}
    fit = coefficients(select(other[FEATURES], other["count"], model="negative_binomial", **given))
    assert fit.std_error is not None
    errors = dict(zip(fit.names, fit.std_error, strict=True))
    for row in found.rows:
        assert row.std_error == pytest.approx(errors[row.name], rel=0.3)


def test_metrics_of_other_rows() -> None:
    frame, other = table(18), table(19)
    numbers = FEATURES[:5]
    for y, model in (("count", "negative_binomial"), ("level", "ordinal")):
        path = select(frame[numbers], frame[y], model=model, criterion="bic")
        fit, family = coefficients(path), FAMILIES[model]
        assert isinstance(family, LikelihoodFamily)
        sample = family.sample(other[numbers], other[y], PerRow(), Parameters())
        eta = other[list(path.selected_names)].to_numpy() @ fit.coef + (fit.intercept or 0.0)
        found = family.measure(sample, eta[:, None], fit)
        if y == "level":
            level, pairs = other[y].to_numpy(), np.subtract.outer(eta, eta)
            higher = level[:, None] > level
            expected = (np.sum(pairs[higher] > 0) + 0.5 * np.sum(pairs[higher] == 0)) / np.sum(higher)
        else:
            mean = other[y].mean()
            # the deviance is relative to the saturated Poisson likelihood, which does not depend on the fit
            shares = [fit.theta / (fit.theta + m) for m in (np.exp(eta), mean)]
            loglik = [stats.nbinom.logpmf(other[y], fit.theta, share).sum() for share in shares]
            saturated = stats.poisson.logpmf(other[y], np.maximum(other[y], 1e-300)).sum()
            expected = 1 - (saturated - loglik[0]) / (saturated - loglik[1])
        assert found == pytest.approx(expected, rel=1e-9)


# --- quasi-Poisson ---------------------------------------------------------------------------------------------------


def test_quasi_poisson_scales_errors_and_tests() -> None:
    frame = table(9)
    chosen = {"include": ["a", "b"], "enter": np.inf, "criterion": "deviance"}
    plain = select(frame[FEATURES], frame["count"], model="poisson", **chosen)
    quasi = select(frame[FEATURES], frame["count"], model=Poisson(dispersion="estimate"), **chosen)
    assert any("use model='negative_binomial' or Poisson(dispersion='estimate')" in note for note in plain.notes)
    assert not any("overdispersed" in note for note in quasi.notes)
    a, b = coefficients(plain), coefficients(quasi)
    np.testing.assert_allclose(b.coef, a.coef)
    mean = np.exp(a.linear_predictor(frame[["a", "b"]].to_numpy()))
    dispersion = np.sum((frame["count"] - mean) ** 2 / mean) / (len(frame) - 3)
    np.testing.assert_allclose(b.std_error, a.std_error * np.sqrt(dispersion), rtol=1e-8)
    assert (a.statistic, b.statistic) == ("z", "t")
    path = select(frame[FEATURES], frame["count"], model=Poisson(dispersion="estimate"), strategy="backward")
    assert set(path.selected_names) == {"a", "b", "colour"}
    with pytest.raises(ValueError, match="criterion 'bic' needs a likelihood, which quasi-Poisson regression does not"):
        select(frame[FEATURES], frame["count"], model=Poisson(dispersion="estimate"), criterion="bic")


# --- ordinal ---------------------------------------------------------------------------------------------------------


def test_ordered_categories_are_in_their_order() -> None:
    frame = table(10)
    names = ["low", "fair", "high", "best"]
    levels = pd.Series(pd.Categorical.from_codes(frame["level"], names, ordered=True), name="level")
    path = select(frame[FEATURES], levels, model="ordinal")
    twin = select(frame[FEATURES], frame["level"], model="ordinal")
    assert path.selected == twin.selected
    assert coefficients(path).classes == ("low", "fair", "high", "best")
    np.testing.assert_allclose(coefficients(path).coef, coefficients(twin).coef)
    assert [row.name for row in coefficients(path).rows()][:3] == ["low | fair", "fair | high", "high | best"]
    predicted = path.predict(frame[FEATURES])
    assert predicted.tolist() == [names[k] for k in twin.predict(frame[FEATURES])]
    named = select(frame[FEATURES].assign(level=levels), "level", model="ordinal")
    assert named.score == path.score
    with_gap = levels.copy()
    with_gap[3] = None
    without = select(frame[FEATURES], with_gap, model="ordinal", missing="drop", include=list(path.selected_names))
    assert coefficients(without).classes == ("low", "fair", "high", "best")
    assert "y has 1 missing or infinite value" in refused(frame[FEATURES], with_gap, model="ordinal")


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_predictions_are_the_most_probable_levels(link: str) -> None:
    frame = table(11)
    path = select(frame[FEATURES[:5]], frame["level"], model=Ordinal(link=link), criterion="bic")
    fit = coefficients(path)
    F = {"logit": stats.logistic, "probit": stats.norm, "cloglog": stats.gumbel_l}[link]
    eta = frame[list(path.selected_names)].to_numpy() @ fit.coef
    edges = np.r_[-np.inf, fit.thresholds, np.inf] - eta[:, None]
    probabilities = np.diff(F.cdf(edges), axis=1)
    np.testing.assert_array_equal(path.predict(frame[FEATURES[:5]]), probabilities.argmax(axis=1))
    loglik = np.log(probabilities[np.arange(len(frame)), frame["level"]]).sum()
    assert path.score == pytest.approx(-2 * loglik + np.log(len(frame)) * (3 + len(fit.coef)), rel=1e-10)
    assert fit.effect == ("odds ratio" if link == "logit" else None)
    with pytest.raises(ValueError, match="scikit-learn has no ordinal regression"):
        path.to_estimator()


def test_two_levels_are_a_logistic_regression() -> None:
    frame = table(12)
    y = (frame["level"] > 1).astype(int)
    ordinal, logistic = (select(frame[FEATURES], y, model=model, criterion="aic") for model in ("ordinal", "logistic"))
    assert ordinal.selected == logistic.selected
    assert ordinal.score == pytest.approx(logistic.score, rel=1e-9)
    np.testing.assert_allclose(coefficients(ordinal).coef, coefficients(logistic).coef, rtol=1e-6)
    np.testing.assert_allclose(coefficients(ordinal).std_error, coefficients(logistic).std_error, rtol=1e-6)
    assert -coefficients(ordinal).thresholds[0] == pytest.approx(coefficients(logistic).intercept, rel=1e-6)


def test_doubtful_proportional_odds_are_noted() -> None:
    rng = np.random.default_rng(13)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=list("abc"))
    spread = pd.Series(rng.logistic(size=600) * np.exp(0.8 * X["a"]) + X["a"])
    y = pd.Series(np.digitize(spread, [-1.5, 0.0, 1.5]), name="y")
    path = select(X, y, model="ordinal")
    assert any("the odds are not proportional (score test:" in note for note in path.notes)
    streamed = select(arrow(X.assign(y=y)).to_batches(max_chunksize=100), "y", model="ordinal")
    assert streamed.notes == path.notes
    assert not any(
        "proportional" in note for note in select(table(14)[FEATURES], table(14)["level"], model="ordinal").notes
    )


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_separated_levels(link: str) -> None:
    """A feature that orders the levels perfectly has an infinite coefficient, and the deviance is its infimum."""
    rng = np.random.default_rng(15)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    y = np.digitize(X["a"], [-0.5, 0.5])
    path = select(X, y, model=Ordinal(link=link), criterion="deviance", include=["a"], enter=np.inf)
    assert path.score == pytest.approx(0.0, abs=1e-5)
    assert any(note.startswith("'a' and a threshold: infinite coefficients") for note in path.notes)
    assert np.isnan(coefficients(path).std_error).all()


# --- refusals --------------------------------------------------------------------------------------------------------


def refused(X: Any, y: Any, **parameters: Any) -> str:
    with pytest.raises(ValueError, match=" ") as error:
        select(X, y, **parameters)
    return str(error.value)


def test_counts_are_checked() -> None:
    frame = table(16)
    X, counts = frame[FEATURES], frame["count"].astype(float)
    negative, fractional = counts.where(counts.index != 7, -1.0), counts.where(counts.index != 7, 2.5)
    message = "y must contain counts, which are not negative; its minimum is -1; use model='linear'"
    assert refused(X, negative, model="negative_binomial") == message
    message = "y must contain counts, which are whole numbers; it contains 2.5; use model='gamma'"
    assert refused(X, fractional, model="negative_binomial").startswith(message)
    batches = arrow(X.assign(y=fractional)).to_batches(max_chunksize=100)
    message = "row 8: y must contain counts, which are whole numbers; it is 2.5"
    assert refused(batches, "y", model="negative_binomial").startswith(message)
    assert "y is constant" in refused(X, counts * 0, model="negative_binomial")
    assert "y is constant" in refused([X.assign(y=1)], "y", model="negative_binomial")
    assert "strata does not apply" in refused(X, counts, model="negative_binomial", strata=counts)


def test_levels_are_checked() -> None:
    frame = table(17)
    X, y = frame[FEATURES], frame["level"]
    text = y.map({0: "low", 1: "fair", 2: "high", 3: "best"})
    expected = "whose order is not known; pass an ordered categorical, such as pd.Categorical(y, categories="
    assert expected in refused(X, text, model="ordinal")
    assert expected in refused(X, text.astype("category"), model="ordinal")
    assert expected in refused(arrow(X.assign(y=text)).to_batches(max_chunksize=100), "y", model="ordinal")
    one = pd.Series(pd.Categorical(["low"] * len(X), ["low", "high"], ordered=True))
    assert "y has only one level (low)" in refused(X, one, model="ordinal")
    assert "only one" in refused(X, y * 0, model="ordinal")
    assert "y has only one level (1)" in refused([X.assign(y=1)], "y", model="ordinal")
    assert "continuous values" in refused(X, frame["exposure"], model="ordinal")
    many = np.arange(len(X)) % (MAX_LEVELS + 1)
    assert f"y has {MAX_LEVELS + 1} levels" in refused(X, many, model="ordinal")


@pytest.mark.parametrize("theta", [0, -1.0, np.inf, "2", True])
def test_thetas_are_checked(theta: Any) -> None:
    with pytest.raises(ValueError, match="theta must be None or a positive number"):
        NegativeBinomial(theta=theta)


def test_parameters_of_families_are_checked() -> None:
    with pytest.raises(ValueError, match="link must be one of 'logit', 'probit', 'cloglog'; got 'log'"):
        Ordinal(link="log")
    with pytest.raises(ValueError, match=r"dispersion must be 1 or 'estimate' \(quasi-Poisson\); got 2"):
        Poisson(dispersion=2)
