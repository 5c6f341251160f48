"""What a report says about a selection: errors as by a loop of refits, verdicts that follow from them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from dropstep import select, stability
from dropstep.data.response import Survival
from dropstep.models.glm.cox import concordance
from dropstep.report.verdict import next_step, unstable, verdict
from dropstep.resampling.assess import (
    MAX_REPEATED,
    PENALTIES,
    REGULARISED,
    as_components,
    assess,
    choose_penalty,
    few_rows,
    with_equivalents,
)
from dropstep.result import ALL, NONE, SELECTION, Evidence, HeldOut, compare_folds


def looped(X, y, splitter, model, error, whole, **params):
    """The errors by definition: select on the training rows, fit, predict; `whole` is the fit of all features."""
    found = {SELECTION: [], ALL: [], NONE: []}
    Z = StandardScaler().fit_transform(X)
    for train, test in splitter.split(X, y):
        chosen = list(select(X[train], y[train], **params).selected)
        for name, fit, part in ((SELECTION, model(), X[:, chosen]), (ALL, whole, Z)):
            if part.shape[1]:
                found[name].append(error(y[test], fit.fit(part[train], y[train]).predict(part[test])))
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
    folds = RepeatedKFold(n_splits=5, n_repeats=4, random_state=0)
    expected = looped(X, y, folds, LinearRegression, rmse, Ridge(1.0), **params)
    assert (found.measure, found.n_folds, found.n_repeats) == ("RMSE", 5, 4)
    assert found.error_of(ALL).model == "ridge regression"
    for name, errors in expected.items():
        assert found.error_of(name).folds == pytest.approx(errors)


def test_errors_of_classes_as_in_a_loop():
    X, y = load_breast_cancer(return_X_y=True)
    found = assess(select(X, y), X, y, n_pairs=2, n_repeats=2, random_state=3)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=3)
    expected = looped(X, y, folds, LinearDiscriminantAnalysis, rate, LogisticRegression(C=1.0, max_iter=1000))
    assert found.measure == "error rate"
    assert [error.model for error in found.errors] == ["LDA", "ridge logistic regression", ""]
    for name, errors in expected.items():
        assert found.error_of(name).folds == pytest.approx(errors)


def test_folds_of_the_selection_that_are_a_list_are_as_many_as_those_of_the_errors():
    X, y = load_diabetes(return_X_y=True)
    listed = select(X, y, criterion="cv", cv=list(KFold(3).split(X)))
    found = assess(listed, X, y, n_pairs=2, cv=4, n_repeats=1)
    again = assess(select(X, y, criterion="cv", cv=4), X, y, n_pairs=2, cv=4, n_repeats=1)
    assert (found.omitted, found.errors, found.frequencies) == ((), again.errors, again.frequencies)


@pytest.mark.parametrize("weights", [None, np.ones(442)])
def test_the_selection_is_divided_by_its_own_number_of_folds(weights):
    X, y = load_diabetes(return_X_y=True)
    path = select(X, y, criterion="cv", cv=3, enter=-np.inf, max_features=4, sample_weight=weights)
    found = assess(path, X, y, n_pairs=1, n_repeats=1, sample_weight=weights).error_of(SELECTION)
    folds = KFold(5, shuffle=True, random_state=0)
    params = {"criterion": "cv", "cv": 3, "enter": -np.inf, "max_features": 4}
    expected = looped(X, y, folds, LinearRegression, rmse, LinearRegression(), **params)[SELECTION]
    assert found.folds == pytest.approx(expected)


def test_many_rows_are_divided_once():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((MAX_REPEATED + 1, 2))
    found = assess(select(X, X[:, 0] + rng.standard_normal(len(X))), X, X[:, 1], n_pairs=1)
    assert (found.n_repeats, len(found.error_of(SELECTION).folds)) == (1, 5)


# --- the regularised fit of all features -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["linear", "logistic", "poisson"])
def test_components_of_a_wide_table_give_the_same_ridge_fit(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 80)) * rng.uniform(0.5, 20, 80)
    Z = StandardScaler().fit_transform(X)
    components = as_components(X)
    assert components.shape == (30, 30)
    y = {"linear": Z[:, 0], "logistic": (Z[:, 0] > 0).astype(int), "poisson": rng.poisson(np.exp(Z[:, 0] / 2))}[kind]
    fit = REGULARISED[kind].make(10.0, 20)
    expected = fit.fit(Z[:20], y[:20]).predict(Z[20:])
    assert fit.fit(components[:20], y[:20]).predict(components[20:]) == pytest.approx(expected, rel=1e-3)


def test_the_penalty_is_that_of_a_grid_search():
    X, y = load_breast_cancer(return_X_y=True)
    Z = as_components(X)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(Z, y))
    grid = GridSearchCV(
        LogisticRegression(max_iter=1000), {"C": [1 / a for a in PENALTIES]}, scoring="neg_log_loss", cv=folds
    )
    assert choose_penalty(REGULARISED["logistic"], Z, y, folds) == 1 / grid.fit(Z, y).best_params_["C"]


def test_rare_classes_are_among_the_rows_that_choose_the_penalty():
    y = np.r_[np.zeros(50_000), np.ones(7)].astype(int)
    rows = few_rows(y, classes=True)
    assert np.bincount(y[rows]).tolist() == [1000, 7]
    assert len(few_rows(np.zeros(5000), classes=False)) == 2000


# --- verdicts of tables ----------------------------------------------------------------------------------------------


def test_a_small_gain_on_many_rows_is_a_gain():
    """About 7 % of the variance, and every feature is stable."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20_000, 10))
    y = 0.1 * X[:, :7].sum(axis=1) + rng.standard_normal(20_000) * np.sqrt(0.93)
    path = select(X, y)
    found = assess(path, X, y, n_pairs=3)
    assert verdict(path, found).startswith("Better than using no features: RMSE 0.9")
    assert "a small gain: 7% of the variance. About as good as ridge regression on all 10 features" in verdict(
        path, found
    )
    assert next_step(path, found).startswith("Confirm on rows that took no part in the selection")


def test_the_veteran_data_are_predicted():
    golden = json.loads((Path(__file__).parents[1] / "golden" / "glm_veteran.json").read_text(encoding="utf-8"))
    X, y = np.array(golden["X"], dtype=float), np.column_stack(list(golden["response"].values()))
    path = select(X, y, model="cox")
    assert 4 in path.selected  # the Karnofsky score
    found = assess(path, X, y, n_pairs=2, n_repeats=1)
    own, every, none = (found.error_of(name) for name in (SELECTION, ALL, NONE))
    assert 0.65 < own.mean_concordance < 0.75
    assert none.concordance == (0.5,) * 5
    assert every.model == "unpenalised Cox regression"
    text = verdict(path, found)
    assert text.startswith(f"Better than using no features: concordance {own.mean_concordance:.3f} against 0.500, a ")
    assert text.endswith(f"unpenalised Cox regression on all 8 features ({every.mean_concordance:.3f}).")
    page = path.report(evidence=found)
    assert "concordance" in page
    assert f"{own.mean_concordance:.3f}" in page
    assert f"({own.mean_concordance:.3f}), compared with" in path.methods(evidence=found)


def test_concordance_of_a_fold_is_that_of_its_test_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.column_stack([rng.exponential(np.exp(-X[:, 0])), rng.random(60) < 0.8])
    path = select(X, y, model="cox", include=[0], enter=np.inf)
    found = assess(path, X, y, n_pairs=1, n_repeats=1).error_of(SELECTION)
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y[:, 1] > 0)
    expected = [concordance(Survival(y[test, 0], y[test, 1] > 0), X[test, 0]) for _, test in folds]
    assert found.concordance == pytest.approx(expected)  # one feature with a positive effect orders the rows


@pytest.mark.parametrize("seed", range(4))
def test_a_forced_selection_from_noise_is_warned_of(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((100, 20)), rng.standard_normal(100)
    path = select(X, y, enter=-np.inf, max_features=5)
    found = assess(path, X, y, n_pairs=1, n_repeats=2)
    assert verdict(path, found).startswith(
        ("Worse than using no features", "Not clearly better than using no features")
    )
    assert next_step(path, found).startswith("Do not use this selection for prediction")


def test_the_verdict_does_not_change_with_the_seed():
    X, y = load_breast_cancer(return_X_y=True)
    path = select(X, y)
    for seed in range(3):
        said = verdict(path, assess(path, X, y, n_pairs=1, random_state=seed))
        assert said.startswith("Better than using no features: error rate ")
        assert ", a large gain: " in said
        assert " Worse than ridge logistic regression on all 30 features (2." in said


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
    alike = assess(select(X, y), X, y, n_pairs=1, n_repeats=2)
    once = np.ones(442)
    weighted = assess(select(X, y, sample_weight=once), X, y, sample_weight=once, n_pairs=1, n_repeats=2)
    assert weighted.measure == "RMSE"
    assert weighted.error_of(ALL).model == "unpenalised linear regression"
    for name in (SELECTION, NONE):
        assert weighted.error_of(name).folds == pytest.approx(alike.error_of(name).folds, rel=1e-6)
    times = np.column_stack([y, np.arange(442) % 3 > 0])
    cox = select(-X, times, model="cox")
    found = assess(cox, -X, times, n_pairs=1, n_repeats=1)
    assert found.measure == "partial deviance"
    assert found.error_of(SELECTION).mean < found.error_of(NONE).mean
    assert verdict(cox, found).startswith("Better than using no features: concordance 0.7")


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
        return HeldOut(
            name, 2.0, tuple(mean + d for d in (-0.01, 0.0, 0.01)), "ridge regression" if name == ALL else ""
        )

    errors = (held_out(SELECTION, own), held_out(ALL, every), held_out(NONE, none))
    return Evidence(100, frequencies, 100 if frequencies else 0, errors, measure)


@pytest.fixture(scope="module")
def five():
    return select(*load_diabetes(return_X_y=True))


@pytest.fixture(scope="module")
def empty():
    rng = np.random.default_rng(0)
    return select(rng.normal(size=(50, 10)), rng.normal(size=50))


def test_errors_differ_by_the_corrected_standard_error():
    """Nadeau and Bengio: the variance of the differences times 1 / J + n_test / n_train."""
    differences = np.random.default_rng(0).standard_normal(20)
    standard_error = differences.std(ddof=1) * np.sqrt(1 / 20 + 1 / 4)
    for multiple, expected in ((-1.01, -1), (-0.99, 0), (0.99, 0), (1.01, 1)):
        own = differences - differences.mean() + multiple * standard_error
        assert compare_folds(own, np.zeros(20), 5) == expected
    assert compare_folds([1.0, 2.0], [1.0, 2.0], 2) == 0


def test_the_verdicts(five, empty):
    assert verdict(five, evidence(0.74, 0.51, 1.0)) == (
        "Better than using no features: RMSE 0.740 against 1, a moderate gain: 45% of the variance. Worse than ridge "
        "regression on all 10 features (0.510)."
    )
    assert verdict(five, evidence(0.51, 0.51, 1.0)).endswith(
        "About as good as ridge regression on all 10 features (0.510)."
    )
    assert " About as good as ridge regression on all 10" in verdict(five, evidence(0.501, 0.5, 1.0))
    assert " Slightly worse than ridge regression on all 10" in verdict(five, evidence(0.51, 0.5, 1.0))
    assert " Slightly better than ridge regression on all 10" in verdict(five, evidence(0.5, 0.51, 1.0))
    assert verdict(five, evidence(0.4, 0.51, 1.0)).endswith("Better than ridge regression on all 10 features (0.510).")
    assert "a small gain: 0.4% of the variance" in verdict(five, evidence(0.998, 0.998, 1.0))
    assert verdict(five, evidence(1.0, 1.2, 1.0)) == (
        "Not clearly better than using no features (the mean): RMSE 1 against 1."
    )
    assert verdict(five, evidence(1.1, 1.0, 1.0)) == "Worse than using no features (the mean): RMSE 1.10 against 1."
    assert verdict(empty, evidence(1.0, 1.2, 1.0)) == (
        "Nothing here beats the mean: RMSE 1 without features, 1.20 with ridge regression on all of them."
    )
    assert verdict(empty, evidence(1.0, 0.5, 1.0)).endswith("Worse than ridge regression on all 10 features (0.500).")
    assert verdict(five, evidence(0.1, 0.1, 0.3, "error rate")).startswith(
        "Better than using no features: error rate 10.0% against 30.0%, a large gain: 67% fewer errors."
    )
    assert verdict(five, Evidence(10)) == ""
    without_all = evidence(0.5, 0.5, 1.0)
    without_all = replace(without_all, errors=tuple(e for e in without_all.errors if e.name != ALL))
    assert verdict(five, without_all) == (
        "Better than using no features: RMSE 0.500 against 1, a large gain: 75% of the variance."
    )


def test_what_to_do_next(five, empty):
    assert next_step(five, None).startswith("Pass the data to see how sure this is")
    assert next_step(empty, None).startswith("Do not report a feature from this table.")
    assert next_step(five, evidence(1.0, 1.0, 1.0)).startswith("Do not use this selection for prediction")
    assert next_step(five, evidence(0.7, 0.5, 1.0)).startswith("For prediction, use ridge regression on all features. ")
    assert next_step(five, evidence(0.51, 0.5, 1.0)).startswith("Confirm on rows that took no part")
    one = select(*load_diabetes(return_X_y=True), max_features=1)
    alone = next_step(one, evidence(0.5, 0.5, 1.0, frequencies=(0.1,) * 10))
    assert alone.startswith("The feature is not stable")
    assert alone.endswith("confirm on new rows before naming it.")
    strong = evidence(0.5, 0.5, 1.0, frequencies=(1.0,) * 10)
    assert next_step(five, strong).startswith("Confirm on rows that took no part in the selection")


def test_features_that_are_not_stable_are_named(five):
    """The threshold is that of `Stability.selected`: 0.75."""
    shares = [0.75] * 10
    shares[five.selected[1]] = 0.74
    weak = evidence(0.5, 0.5, 1.0, frequencies=tuple(shares))
    assert unstable(five, weak) == (five.selected[1],)
    name = five.selected_names[1]
    assert next_step(five, weak) == f"4 features stable; confirm {name} on new rows before naming it."
    shares[five.selected[3]] = 0.1
    weak = evidence(0.5, 0.5, 1.0, frequencies=tuple(shares))
    both = f"{name} and {five.selected_names[3]}"
    assert next_step(five, weak) == f"3 features stable; confirm {both} on new rows before naming them."
    none = next_step(five, evidence(0.5, 0.5, 1.0, frequencies=(0.1,) * 10))
    assert none.startswith("None of the 5 features is stable: other rows would give others.")
    assert none.endswith("before naming any of them.")
    ten = select(*load_diabetes(return_X_y=True), enter=-np.inf, leave=-np.inf)
    many = evidence(0.5, 0.5, 1.0, frequencies=tuple(1.0 if j == ten.selected[0] else 0.1 for j in range(10)))
    assert next_step(ten, many).startswith("1 feature stable; confirm ")
    assert next_step(ten, many).endswith(" and 4 more on new rows before naming them.")


def test_several_targets_do_not_depend_on_their_units() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    Y = np.column_stack([X[:, 0], 0.5 * X[:, 1]]) + rng.normal(size=(120, 2))
    plain, scaled = (assess(select(X, y), X, y, n_pairs=2) for y in (Y, Y * [1.0, 1e4]))
    for one, other in zip(plain.errors, scaled.errors, strict=True):
        assert one.mean == pytest.approx(other.mean, rel=1e-6)
