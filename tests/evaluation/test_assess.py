"""What a report says about a selection: errors as by a loop of refits, verdicts that follow from them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, StratifiedKFold

from dropstep import select, stability
from dropstep.evaluation.assess import assess, with_equivalents
from dropstep.evidence import ALL, NONE, SELECTION, Evidence, HeldOut
from dropstep.presentation.verdict import next_step, unstable, verdict


def looped(X, y, splitter, model, error, **params):
    """The errors by definition: select on the training rows, fit, predict."""
    found = {SELECTION: [], ALL: [], NONE: []}
    for train, test in splitter.split(X, y):
        chosen = list(select(X[train], y[train], **params).selected)
        for name, columns in ((SELECTION, chosen), (ALL, list(range(X.shape[1])))):
            if columns:
                fitted = model().fit(X[train][:, columns], y[train])
                found[name].append(error(y[test], fitted.predict(X[test][:, columns])))
        classes, counts = np.unique(y[train], return_counts=True)
        constant = y[train].mean() if model is LinearRegression else classes[counts.argmax()]
        found[NONE].append(error(y[test], np.full(len(test), constant)))
    return found


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def rate(a, b):
    return float(np.mean(a != b))


@pytest.mark.parametrize("params", [{}, {"strategy": "forward", "criterion": "bic"}, {"max_features": 2}])
def test_errors_of_a_regression_as_in_a_loop(params):
    X, y = load_diabetes(return_X_y=True)
    found = assess(select(X, y, **params), X, y, n_pairs=2)
    expected = looped(X, y, KFold(5, shuffle=True, random_state=0), LinearRegression, rmse, **params)
    assert found.measure == "RMSE"
    for name, errors in expected.items():
        assert found.error_of(name).folds == pytest.approx(errors)


def test_errors_of_classes_as_in_a_loop():
    X, y = load_breast_cancer(return_X_y=True)
    found = assess(select(X, y), X, y, n_pairs=2)
    expected = looped(X, y, StratifiedKFold(5, shuffle=True, random_state=0), LinearDiscriminantAnalysis, rate)
    assert found.measure == "error rate"
    for name, errors in expected.items():
        assert found.error_of(name).folds == pytest.approx(errors)


def test_stability_is_that_of_the_public_function():
    X, y = load_diabetes(return_X_y=True)
    found = assess(select(X, y, criterion="bic"), X, y, n_pairs=5)
    assert found.frequencies == tuple(stability(X, y, n_pairs=5, random_state=0, criterion="bic").frequencies)
    assert (found.n_halves, found.n_rows) == (10, 442)


def test_rare_classes_are_judged_by_the_log_loss():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = (X[:, 0] + rng.normal(size=600) > 2.1).astype(int)
    assert y.mean() < 0.1
    for model in ("discriminant", "logistic"):
        found = assess(select(X, y, model=model), X, y, n_pairs=1)
        assert found.measure == "log loss"
        assert found.error_of(SELECTION).mean < found.error_of(NONE).mean


def test_what_cannot_be_computed_is_said():
    X, y = load_diabetes(return_X_y=True)
    path = select(X, y, model=LinearRegression(), max_features=1)
    (sentence,) = assess(path, X, y).omitted
    assert sentence.startswith("Stability and held-out error were not computed, because every repetition would take")
    few = np.r_[np.zeros(438), np.ones(4)].astype(int)
    path = select(X, few, model="discriminant", enter=0.0, leave=0.0)
    assert assess(path, X, few, n_pairs=1).omitted == (
        "The held-out error was not computed: 5 folds need at least 5 rows of every class.",
    )


def test_weights_offsets_and_survival_times_are_compared_too():
    X, y = load_diabetes(return_X_y=True)
    alike = assess(select(X, y), X, y, n_pairs=1)
    weighted = assess(select(X, y, sample_weight=np.ones(442)), X, y, sample_weight=np.ones(442), n_pairs=1)
    assert weighted.measure == "RMSE"
    for name in (SELECTION, ALL, NONE):
        assert weighted.error_of(name).folds == pytest.approx(alike.error_of(name).folds, rel=1e-6)
    times = np.column_stack([y, np.arange(442) % 3 > 0])
    cox = select(-X, times, model="cox")
    found = assess(cox, -X, times, n_pairs=1)
    assert found.measure == "partial deviance"
    assert found.error_of(SELECTION).mean < found.error_of(NONE).mean
    assert verdict(cox, found).startswith("Better than using no features: partial deviance")


def test_stand_ins_are_added_for_the_report():
    X, y = load_diabetes(return_X_y=True)
    path = select(X, y)
    assert path.equivalents is None
    assert with_equivalents(path, X, y).equivalents == select(X, y, equivalents=True).equivalents
    estimator = select(X, y, model=LinearRegression(), max_features=1)
    assert with_equivalents(estimator, X, y) is estimator


# --- verdicts --------------------------------------------------------------------------------------------------------


def evidence(own, every, none, measure="RMSE", frequencies=None):
    def held_out(name, mean):
        return HeldOut(name, 2.0, tuple(mean + d for d in (-0.01, 0.0, 0.01)))

    errors = (held_out(SELECTION, own), held_out(ALL, every), held_out(NONE, none))
    return Evidence(100, frequencies, 100 if frequencies else 0, errors, measure)


@pytest.fixture(scope="module")
def five():
    return select(*load_diabetes(return_X_y=True))


@pytest.fixture(scope="module")
def empty():
    rng = np.random.default_rng(0)
    return select(rng.normal(size=(50, 10)), rng.normal(size=50))


def test_the_verdicts(five, empty):
    assert verdict(five, evidence(0.74, 0.51, 1.0)) == (
        "Better than using no features: RMSE 0.740 against 1. Worse than using all features: RMSE 0.740 against 0.510."
    )
    assert verdict(five, evidence(0.5, 0.51, 1.0)).endswith("About as good as using all 10 features (0.510).")
    assert verdict(five, evidence(0.4, 0.51, 1.0)).endswith("Better than using all 10 features (0.510).")
    assert verdict(five, evidence(1.0, 1.2, 1.0)) == "No better than using no features (the mean): RMSE 1 against 1."
    assert verdict(empty, evidence(1.0, 1.2, 1.0)) == (
        "Nothing here beats the mean: RMSE 1 without features, 1.20 with all of them."
    )
    assert verdict(empty, evidence(1.0, 0.5, 1.0)).endswith("Worse than using all features: RMSE 1 against 0.500.")
    assert verdict(five, evidence(0.1, 0.1, 0.3, "error rate")).startswith(
        "Better than using no features: error rate 10.0% against 30.0%."
    )
    assert verdict(five, Evidence(10)) == ""
    without_all = evidence(0.5, 0.5, 1.0)
    without_all = replace(without_all, errors=tuple(e for e in without_all.errors if e.name != ALL))
    assert verdict(five, without_all) == "Better than using no features: RMSE 0.500 against 1."


def test_what_to_do_next(five, empty):
    assert next_step(five, None).startswith("Pass the data to see how sure this is")
    assert next_step(empty, None).startswith("Do not report a feature from this table.")
    assert next_step(five, evidence(1.0, 1.0, 1.0)).startswith("Do not use this selection for prediction")
    assert next_step(five, evidence(0.7, 0.5, 1.0)).startswith("For prediction, use all features with a regularised")
    weak = evidence(0.5, 0.5, 1.0, frequencies=(0.9, 0.2, *[0.9] * 8))
    assert unstable(five, weak) == (1,)
    assert next_step(five, weak).startswith("1 of the 5 features is not stable")
    assert next_step(five, evidence(0.5, 0.5, 1.0, frequencies=(0.1,) * 10)).startswith("The features are not stable")
    assert next_step(five, weak).endswith("before naming any of them.")
    one = select(*load_diabetes(return_X_y=True), max_features=1)
    alone = next_step(one, evidence(0.5, 0.5, 1.0, frequencies=(0.1,) * 10))
    assert alone.startswith("The feature is not stable")
    assert alone.endswith("confirm on new rows before naming it.")
    strong = evidence(0.5, 0.5, 1.0, frequencies=(1.0,) * 10)
    assert next_step(five, strong).startswith("Confirm on rows that took no part in the selection")
