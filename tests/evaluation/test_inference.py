"""infer and optimism: equal to textbook computations on rows that took no part, which others are refused."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LinearRegression

from dropstep import Moments, infer, optimism, select
from dropstep.data.fingerprint import Fingerprint
from dropstep.data.target import Categorical, Continuous
from dropstep.evaluation.inference import aggregated
from dropstep.evaluation.optimism import METRICS, concordance
from reference import inference as reference

PER_MODEL = ("linear", "logistic", "poisson", "gamma", "cox")


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


def problem(model, n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    eta = 0.8 * X[:, 1]
    targets = {
        "linear": eta + rng.standard_normal(n),
        "discriminant": (eta + rng.logistic(size=n) > 0).astype(int),
        "logistic": (eta + rng.logistic(size=n) > 0).astype(int),
        "poisson": rng.poisson(np.exp(eta)),
        "gamma": rng.gamma(3, np.exp(eta)),
        "cox": np.column_stack([rng.exponential(np.exp(-eta)), rng.random(n) < 0.8]),
    }
    return X, targets[model]


# --- held-out rows ---------------------------------------------------------------------------------------------------


def test_held_out_estimates_are_those_of_a_regression(diabetes):
    X, y = diabetes
    path = select(X[:200], y[:200])
    frame = infer(path, X[200:], y[200:]).to_frame()
    assert frame.columns.tolist() == ["estimate", "std_error", "lower", "upper", "p_value"]
    assert frame.index.tolist() == list(path.selected_names)
    columns = list(path.selected)
    np.testing.assert_allclose(
        frame, reference.least_squares(X.to_numpy()[200:, columns], y[200:].to_numpy()), rtol=1e-6
    )


@pytest.mark.parametrize("model", PER_MODEL)
def test_every_model_with_standard_errors(model):
    X, y = problem(model)
    path = select(X[:100], y[:100], model=model)
    (row,) = [r for r in infer(path, X[100:], y[100:]).rows if r.name == "x1"]
    assert row.lower < row.estimate < row.upper
    assert row.p_value < 0.05
    twice = infer(path, X, y, split=0.5, n_splits=2)
    assert twice.frequencies["x1"] >= 0.5
    assert twice.n_splits == 2
    assert twice.n_rows == 100


def test_factors_by_column_and_targets_by_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(list("abc"), 120), "x": rng.standard_normal(120)})
    frame["y"] = (frame["kind"] == "b") * 2.0 + rng.standard_normal(120)
    path = select(frame[:60], "y")
    found = infer(path, frame[60:], "y")
    assert [row.name for row in found.rows] == ["kind=b", "kind=c"] or len(found.rows) == 2
    assert found.rows[0].p_value < 1e-3
    with pytest.raises(ValueError, match=r"60 of the 120 rows took part in the selection"):
        infer(path, frame, "y")


def test_rows_of_the_selection_are_refused(diabetes):
    X, y = diabetes
    path = select(X[:200], y[:200])
    with pytest.raises(
        ValueError,
        match="10 of the 30 rows took part in the selection, which biases inference; pass rows that did not, or split",
    ):
        infer(path, X[190:220], y[190:220])
    shuffled = np.random.default_rng(0).permutation(200)[:50]
    with pytest.raises(ValueError, match="50 of the 50 rows took part"):
        infer(path, X.iloc[shuffled], y.iloc[shuffled])
    with pytest.raises(ValueError, match="200 of the 442 rows took part"):
        infer(path, X.to_numpy(), y.to_numpy())


def test_an_empty_selection_has_no_estimates():
    X, y = problem("linear")
    path = select(X[:100], y[:100], enter=np.inf)
    assert path.selected == ()
    assert infer(path, X[100:], y[100:]).rows == ()


def test_moments_have_no_rows_to_check():
    X, y = problem("linear")
    path = select(Moments.of(X[:100], y[:100]))
    assert path.fingerprint is None
    assert "not known" in infer(path, X[100:], y[100:]).notes[0]


@given(st.integers(1, 40), st.integers(1, 12), st.booleans(), st.integers(0, 10_000))
def test_a_fingerprint_counts_the_rows_that_took_part(n, p, classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2 * n, p))
    target = (
        Categorical(np.array(["a", "b"]), rng.integers(0, 2, 2 * n)) if classes else Continuous(rng.random((2 * n, 1)))
    )
    known = Fingerprint.of(X[:n], target.at(np.arange(n)))
    some = rng.permutation(2 * n)
    assert known.count(X[some], target.at(some)) == n
    assert known.count(np.asfortranarray(X[some]), target.at(some)) == n


def test_fingerprints_of_many_rows_are_a_random_part(monkeypatch):
    monkeypatch.setattr("dropstep.data.fingerprint.MAX_KEPT", 500)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5000, 3)), Continuous(rng.standard_normal((5000, 1)))
    known = Fingerprint.of(X, y)
    assert len(known.marks) == 500
    assert not known.is_complete
    assert known.count(X[:2000], y.at(np.arange(2000))) == pytest.approx(2000, rel=0.2)
    assert known.count(rng.standard_normal((2000, 3)), y.at(np.arange(2000))) == 0
    path = select(X, y.values[:, 0])
    with pytest.raises(ValueError, match=r"about [0-9]+ of the 5000 rows took part"):
        infer(path, X, y.values[:, 0])


# --- splits ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=60))
def test_aggregated_p_values_are_those_of_the_paper(p_values):
    assert aggregated(np.array(p_values)) == pytest.approx(reference.aggregated(p_values), rel=2e-3)


def test_one_split_is_inference_on_the_other_rows(diabetes):
    X, y = diabetes
    path = select(X, y)
    found = infer(path, X, y, split=0.5, n_splits=1, random_state=3)
    bmi = found.rows[0]
    assert bmi.name == "bmi"
    assert bmi.upper - bmi.estimate == pytest.approx(bmi.estimate - bmi.lower, rel=1e-4)
    df = 221 - 1 - round(sum(found.frequencies.values()))  # of a single split
    assert (bmi.upper - bmi.estimate) / bmi.std_error == pytest.approx(stats.t.ppf(0.975, df), rel=0.01)


def test_aggregated_intervals_are_where_the_aggregated_test_does_not_reject(diabetes):
    X, y = diabetes
    found = infer(select(X, y), X, y, split=0.5, n_splits=10)
    assert [row.name for row in found.rows] == list(select(X, y).selected_names)
    for row in found.rows:
        assert row.lower <= row.estimate <= row.upper
        assert 0 <= row.p_value <= 1
    assert found.rows[0].p_value < 1e-4
    assert found == infer(select(X, y), X, y, split=0.5, n_splits=10, random_state=0)
    wide, narrow = (infer(select(X, y), X, y, split=0.5, n_splits=4, level=v).rows[0] for v in (0.99, 0.8))
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


def test_a_feature_that_no_split_selects_again_is_not_claimed():
    X, y = problem("linear", n=60)
    path = select(X, y, include=[1], enter=-math.inf, max_features=2)
    assert len(path.selected) == 2
    found = infer(path, X, np.random.default_rng(0).standard_normal(60), split=0.5, n_splits=3)
    assert found.rows[0].p_value > 0.01
    path = select(X, y)
    noise = infer(path, X, np.random.default_rng(0).standard_normal(60), split=0.5, n_splits=3).rows[0]
    assert (noise.lower, noise.upper, noise.p_value) == (-math.inf, math.inf, 1.0)
    assert math.isnan(noise.estimate)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": 1.5}, r"split must be None or a share between 0 and 1; got 1\.5"),
        ({"split": 0.5, "n_splits": 0}, "n_splits must be a whole number from 1; got 0"),
        ({"level": 95}, "level must be a number between 0 and 1; got 95"),
        ({"split": 0.5, "random_state": "a"}, "random_state must be None or an integer from 0; got 'a'"),
    ],
)
def test_parameters_that_are_refused(arguments, message, diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match=message):
        infer(select(X, y, max_features=1), X, y, **arguments)


def test_data_that_are_refused(diabetes):
    X, y = diabetes
    path = select(X, y, max_features=1)
    with pytest.raises(ValueError, match="X has 9 features, but the path was made of 10"):
        infer(path, X.iloc[:, 1:], y)
    with pytest.raises(ValueError, match="the features of X differ from those of the path; pass the same columns"):
        infer(path, X[X.columns[::-1]], y)
    with pytest.raises(ValueError, match="infer has no standard errors for several targets or classes"):
        infer(select(*load_iris(return_X_y=True)), *load_iris(return_X_y=True))
    cancer = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="infer has no standard errors for"):
        infer(select(*cancer), *cancer)
    with pytest.raises(ValueError, match="which Moments do not have; pass X and y"):
        infer(path, Moments.of(X, y), None)


# --- optimism --------------------------------------------------------------------------------------------------------


def test_optimism_is_that_of_the_textbook(diabetes):
    X, y = (np.asarray(part) for part in diabetes)
    path = select(X, y, criterion="aic")
    found = optimism(path, X, y, n_bootstrap=8, random_state=1)
    slow = reference.optimism(X, y, lambda A, b: select(A, b, criterion="aic").selected, 8, 1)
    assert found.optimism == pytest.approx(slow)
    assert found.apparent == pytest.approx(path.r2)
    assert found.corrected == pytest.approx(path.r2 - slow)
    assert found.n_bootstrap == 8


def test_on_noise_the_corrected_score_is_near_zero():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 20)), rng.standard_normal(60)
    found = optimism(select(X, y, criterion="aic"), X, y, n_bootstrap=40)
    assert found.apparent > 0.2
    assert found.corrected < 0.1
    assert found.std_error < 0.1


@pytest.mark.parametrize("model", METRICS)
def test_every_model_has_a_metric(model):
    X, y = problem(model)
    found = optimism(select(X, y, model=model), X, y, n_bootstrap=4)
    assert found.metric == METRICS[model]
    assert 0.2 < found.apparent < 1
    assert abs(found.optimism) < 0.1


def test_optimism_with_weights_offsets_and_factors():
    X, y = problem("poisson")
    offset = np.full(200, 0.3)
    found = optimism(select(X, y, model="poisson", offset=offset), X, y, n_bootstrap=3, offset=offset)
    assert found.apparent > 0.2
    weights = np.ones(200)
    path = select(X, X[:, 0], sample_weight=weights, max_features=1)
    assert optimism(path, X, X[:, 0], n_bootstrap=3, sample_weight=weights).apparent == pytest.approx(1)
    empty = select(X, np.random.default_rng(3).standard_normal(200))
    assert empty.selected == ()
    assert optimism(empty, X, np.random.default_rng(3).standard_normal(200), n_bootstrap=3).apparent == 0


def test_concordance_counts_pairs():
    from dropstep.data.response import Survival

    target = Survival(np.array([1.0, 2.0, 3.0]), np.array([True, True, False]))
    assert concordance(target, np.array([3.0, 2.0, 1.0])) == 1
    assert concordance(target, np.array([1.0, 2.0, 3.0])) == 0
    assert concordance(target, np.zeros(3)) == 0.5


def test_optimism_is_refused(diabetes):
    X, y = diabetes
    with pytest.raises(
        ValueError, match=r"optimism supports the models linear, .*; estimators are scored by cross-val"
    ):
        optimism(select(X, y, model=LinearRegression(), max_features=1), X, y)
    with pytest.raises(ValueError, match="n_bootstrap must be a whole number from 2; got 1"):
        optimism(select(X, y), X, y, n_bootstrap=1)
