"""Coefficients and step tests, against statsmodels, R, NIST and the reference."""

from __future__ import annotations

import json
import math
import pickle
import weakref
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.datasets import load_diabetes, load_wine
from sklearn.metrics import r2_score

import nist
import reference
from dropstep import Coefficients, Moments, PartialTest, SelectionPath, Significance, select
from problems import Problem, by_library, problem
from reference.least_squares.coefficients import posteriors, regression
from reference.least_squares.problem import size
from reference.least_squares.tests import dimensions, raos_df

GOLDEN = Path(__file__).parents[1] / "golden"
SOLVERS = ("columns", "gram")
WITH_FACTORS = ("mtcars", "mtcars_weighted", "CO2")
SEEDS = range(400)


def table(seed: int = 0, n: int = 120, p: int = 8, q: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns of several scales and locations, of which a few explain the targets."""
    rng = np.random.default_rng([11, seed])
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3)
    Y = X[:, :3] @ rng.normal(size=(3, q)) + rng.normal(size=(n, q))
    X = X * 10.0 ** rng.integers(-2, 3, size=p) + 10 * rng.normal(size=p)
    return X, Y[:, 0] if q == 1 else Y


def estimates(fit: Coefficients) -> np.ndarray:
    """One row per target, with the intercept first."""
    return np.column_stack([np.atleast_1d(fit.intercept), np.atleast_2d(fit.coef)])


def errors(fit: Coefficients) -> np.ndarray:
    return np.column_stack([np.atleast_1d(fit.intercept_std_error), np.atleast_2d(fit.std_error)])


# --- statsmodels -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [*SOLVERS, "moments"])
@pytest.mark.parametrize("data", ["diabetes", "simulated"])
def test_equal_statsmodels_to_1e_10(data: str, solver: str) -> None:
    X, y = load_diabetes(return_X_y=True) if data == "diabetes" else table()
    path = select(Moments.of(X, y)) if solver == "moments" else select(X, y, solver=solver)
    theirs = sm.OLS(y, sm.add_constant(X[:, list(path.selected)])).fit()
    ours = path.coefficients
    assert len(path.selected) > 1
    np.testing.assert_allclose(estimates(ours)[0], theirs.params, rtol=1e-10)
    np.testing.assert_allclose(errors(ours)[0], theirs.bse, rtol=1e-10)
    np.testing.assert_allclose([row.statistic for row in ours.rows()], theirs.tvalues, rtol=1e-10)
    np.testing.assert_allclose([row.p_value for row in ours.rows()], theirs.pvalues, rtol=1e-9)
    np.testing.assert_allclose([path.r2, path.adj_r2], [theirs.rsquared, theirs.rsquared_adj], rtol=1e-10)
    assert ours.df_resid == theirs.df_resid


def test_weights_count_rows() -> None:
    X, y = table(1)
    weights = np.random.default_rng(1).integers(0, 4, size=len(X))
    path = select(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(len(X)), weights)
    theirs = sm.OLS(y[rows], sm.add_constant(X[rows][:, list(path.selected)])).fit()
    np.testing.assert_allclose(estimates(path.coefficients)[0], theirs.params, rtol=1e-10)
    np.testing.assert_allclose(errors(path.coefficients)[0], theirs.bse, rtol=1e-10)
    assert path.coefficients.df_resid == pytest.approx(theirs.df_resid)


@pytest.mark.parametrize("solver", SOLVERS)
def test_several_targets_have_a_row_each(solver: str) -> None:
    X, Y = table(2, q=3)
    path = select(X, Y, solver=solver)
    fit = path.coefficients
    assert fit.targets == ("y0", "y1", "y2")
    assert fit.coef.shape == fit.std_error.shape == (3, len(path.selected))
    for t in range(3):
        theirs = sm.OLS(Y[:, t], sm.add_constant(X[:, list(path.selected)])).fit()
        np.testing.assert_allclose(estimates(fit)[t], theirs.params, rtol=1e-10)
        np.testing.assert_allclose(errors(fit)[t], theirs.bse, rtol=1e-10)
    assert path.r2 == pytest.approx(r2_score(Y, path.predict(X)))  # the mean over the targets
    r2 = select(X, Y, criterion="r2", include=path.selected, max_features=len(path.selected))
    assert path.r2 == pytest.approx(r2.score, rel=1e-12)


def test_the_last_test_of_a_feature_is_the_square_of_its_t() -> None:
    X, y = load_diabetes(return_X_y=True)
    path = select(X, y, strategy="forward")
    last = path.coefficients.rows()[-1]
    assert path.steps[-1].test.statistic == pytest.approx(last.statistic**2, rel=1e-10)
    assert path.steps[-1].test.p_value == pytest.approx(last.p_value, rel=1e-8)


# --- R ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=WITH_FACTORS)
def golden(request: pytest.FixtureRequest) -> dict[str, Any]:
    found = json.loads((GOLDEN / f"lm_{request.param}.json").read_text())
    return {
        name: np.array(value, dtype=float) if name in ("X", "y", "weights") else value for name, value in found.items()
    }


def with_terms(golden: dict[str, Any], **parameters: Any) -> SelectionPath:
    weights = None if (golden["weights"] == 1).all() else golden["weights"]
    return select(
        golden["X"], golden["y"], model="linear", criterion="rss", groups=golden["terms"], sample_weight=weights,
        **parameters,
    )  # fmt: skip


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
def test_coefficients_of_a_table_with_factors_are_those_of_lm(golden: dict[str, Any], solver: str) -> None:
    """A column that R reports as NA has coefficient 0, and no standard error."""
    p = golden["X"].shape[1]
    fit = with_terms(golden, include=list(range(p)), max_features=p, solver=solver).coefficients
    expected = {name: np.array(golden[name], dtype=float) for name in ("estimate", "std_error", "t", "p_value")}
    aliased = np.isnan(expected["estimate"])
    np.testing.assert_array_equal(np.isnan(errors(fit)[0]), aliased)
    assert (estimates(fit)[0][aliased] == 0).all()
    np.testing.assert_allclose(estimates(fit)[0][~aliased], expected["estimate"][~aliased], rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(errors(fit)[0], expected["std_error"], rtol=1e-10)
    np.testing.assert_allclose([row.statistic for row in fit.rows()], expected["t"], rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose([row.p_value for row in fit.rows()], expected["p_value"], rtol=1e-8)
    assert (fit.df_resid, fit.r2, fit.adj_r2) == pytest.approx(tuple(golden[k] for k in ("df_resid", "r2", "adj_r2")))


def test_some_golden_table_has_aliased_columns() -> None:
    assert "null" in (GOLDEN / "lm_CO2.json").read_text()


def test_tests_of_added_factors_are_those_of_add1(golden: dict[str, Any]) -> None:
    path, added = with_terms(golden, strategy="forward", enter=0.0), golden["added"]
    terms = [golden["terms"][step.features[0]] for step in path.steps]
    assert terms == added["terms"]
    assert [step.test.df for step in path.steps] == list(zip(added["df1"], added["df2"], strict=True))
    np.testing.assert_allclose([step.test.statistic for step in path.steps], added["F"], rtol=1e-9)
    np.testing.assert_allclose([step.test.p_value for step in path.steps], added["p_value"], rtol=1e-8)


@pytest.mark.parametrize("golden", ["mtcars", "mtcars_weighted"], indirect=True)  # drop1 has no test of aliased terms
def test_tests_of_removed_factors_are_those_of_drop1(golden: dict[str, Any]) -> None:
    path, dropped = with_terms(golden, strategy="backward", leave=math.inf), golden["dropped"]
    first = next(step for step in path.steps if step.action == "remove")
    term = golden["terms"][first.features[0]]
    assert first.test.df == (dropped["df1"][term], golden["df_resid"])
    assert first.test.statistic == pytest.approx(dropped["F"][term], rel=1e-9)
    assert first.test.p_value == pytest.approx(dropped["p_value"][term], rel=1e-8)


# --- NIST ------------------------------------------------------------------------------------------------------------

# Correct digits of the certified coefficients: from rows no fewer than LAPACK's QR has. The columns of Filip are
# dependent as far as a Gram matrix can tell.
DIGITS = {
    "columns": {"Longley": 13, "Filip": 7, "Wampler1": 9, "Wampler2": 12, "Wampler3": 9, "Wampler4": 7, "Wampler5": 5},
    "gram": {"Longley": 11, "Wampler1": 6, "Wampler2": 10, "Wampler3": 6, "Wampler4": 6, "Wampler5": 5},
}


@pytest.mark.parametrize(("solver", "name"), [(solver, name) for solver in SOLVERS for name in DIGITS[solver]])
def test_certified_coefficients_of_nist(solver: str, name: str) -> None:
    given = next(p for p in nist.PROBLEMS if p.name == name)
    rows, y = given.stored()
    everything = list(range(given.n_features))
    path = select(np.array(rows), np.array(y), model="linear", criterion="rss", include=everything, solver=solver)
    certified = np.array(given.coefficients, dtype=float)
    np.testing.assert_allclose(estimates(path.coefficients)[0], certified, rtol=10.0 ** -DIGITS[solver][name])


# --- the reference ---------------------------------------------------------------------------------------------------


def compared(given: Problem, path: SelectionPath) -> None:
    """Coefficients of the independent columns equal those of the reference, to the digits that a solver has."""
    fit = path.coefficients
    assert fit.columns == path.selected
    digits = 1e-6 if path.solver == "gram" else 1e-8
    if given.model == "discriminant":
        independent = np.flatnonzero(fit.coef.any(axis=0))
        shares = posteriors(given.X, given.y, [fit.columns[i] for i in independent], given.weights)
        scores = fit.linear_predictor(given.X[:, list(fit.columns)])
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(odds / odds.sum(axis=1, keepdims=True), shares, atol=100 * digits)
        return
    independent = np.flatnonzero(~np.isnan(np.atleast_2d(fit.std_error)[0]))
    expected = regression(given.X, given.y, [fit.columns[i] for i in independent], given.weights)
    assert fit.df_resid == pytest.approx(expected.df_resid)
    own = [0, *(independent + 1)]
    assert (np.delete(estimates(fit), own, axis=1) == 0).all()
    Y = given.y.reshape(len(given.y), -1)
    fitted = path.predict(given.X).reshape(Y.shape)
    design = np.column_stack([np.ones(len(Y)), given.X[:, [fit.columns[i] for i in independent]]])
    spread = Y.std(axis=0)
    np.testing.assert_allclose(fitted / spread, design @ expected.estimate.T / spread, atol=digits)
    size = np.abs(expected.estimate) + expected.std_error + spread[:, None] / np.linalg.norm(design, axis=0)
    np.testing.assert_allclose(estimates(fit)[:, own] / size, expected.estimate / size, atol=10 * digits)
    np.testing.assert_allclose(errors(fit)[:, own] / size, expected.std_error / size, atol=10 * digits)
    assert (fit.r2, fit.adj_r2) == pytest.approx((expected.r2, expected.adj_r2), abs=digits)


def test_coefficients_are_those_of_the_reference() -> None:
    """Exact fits, few rows, dependent columns within groups, weights, several targets, with every strategy."""
    kinds = set()
    for seed in SEEDS:
        given = problem(seed)
        path = by_library(given)
        if isinstance(path, str):
            continue
        try:
            compared(given, path)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}\n{given}") from None
        dependent = path.coefficients.std_error is not None and np.isnan(path.coefficients.std_error).any()
        kinds |= {given.model, path.solver, f"dependent {dependent}", f"weights {given.weights is not None}"}
        kinds |= {f"empty {not path.selected}", f"{given.y.ndim} dimensions", str(path.stop.name)}
    assert kinds >= {
        "linear", "discriminant", "columns", "gram", "dependent True", "weights True", "empty True", "2 dimensions",
        "EXACT", "ROWS",
    }  # fmt: skip


def test_tests_of_steps_are_those_of_the_reference() -> None:
    """F, degrees of freedom and p-value of each addition and removal, computed from the rows for its own selection."""
    seen = {"add": 0, "remove": 0, "swap": 0}
    for seed in SEEDS:
        given = problem(seed)
        path = by_library(given)
        doubtful = ("few digits", "cannot resolve")  # of a Gram matrix
        if isinstance(path, str) or any(text in note for note in path.notes for text in doubtful):
            continue
        rows = reference.problem_of(given.X, given.y, given.weights, given.model)
        selected: list[int] = []
        for step in path.steps:
            others = [j for j in selected if j not in step.features]
            if step.action not in ("add", "remove") or step.phase == "start":
                assert step.test is None
            elif reference.lambda_of(rows, others, step.features) > 1e-8:
                assert_same_test(rows, others, step.features, step.test, seed)
                seen[step.action] += 1
                seen["swap"] += step.phase == "swap"
            if step.action in ("add", "remove"):
                selected = [*others, *step.features] if step.action == "add" else others
    assert min(seen.values()) > 0, seen


def assert_same_test(rows: Any, others: list[int], features: tuple[int, ...], test: PartialTest, seed: int) -> None:
    k = size(rows, others)
    t, df1, df2 = raos_df(*dimensions(rows, k, size(rows, (*others, *features)) - k))
    assert test is not None, f"seed {seed}: {features} given {others}"
    assert test.df == pytest.approx((df1, df2), abs=1e-6), f"seed {seed}"
    x = reference.lambda_of(rows, others, features) ** (1 / t)
    assert test.statistic == pytest.approx((1 - x) / x * df2 / df1, rel=1e-5, abs=1e-9), f"seed {seed}"
    plain = replace(test, confirmed=None)  # what decided in the tails has a reference of its own
    assert plain.p_value == pytest.approx(reference.p_value_of(rows, others, features), rel=1e-4, abs=1e-12)


def test_a_unit_that_became_redundant_has_no_test() -> None:
    """A group that enters with a copy of a selected feature makes it redundant; its removal changes no fit."""
    rng = np.random.default_rng(0)
    a, b, signal = rng.normal(size=(3, 200))
    X, y = np.c_[a, signal + b, a, b], 3 * a + signal + 0.1 * rng.normal(size=200)  # b matters given signal + b only
    path = select(X, y, criterion="bic", strategy="forward_backward", groups=[[0], [1], [2, 3]])
    assert [(step.action, step.features) for step in path.steps] == [
        ("add", (0,)), ("add", (1,)), ("add", (2, 3)), ("remove", (0,)),
    ]  # fmt: skip
    assert [step.test is None for step in path.steps] == [False, False, False, True]
    assert path.steps[2].test.df == (1, 196)
    np.testing.assert_allclose(estimates(path.coefficients), regression(X, y, path.selected).estimate, rtol=1e-10)


# --- special cases ---------------------------------------------------------------------------------------------------


def test_an_empty_selection_predicts_the_mean() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=60) + 7
    path = select(X, y)
    fit = path.coefficients
    assert (path.selected, fit.names, fit.coef.shape, fit.columns) == ((), (), (0,), ())
    assert fit.intercept == pytest.approx(y.mean(), rel=1e-14)
    assert fit.intercept_std_error == pytest.approx(y.std(ddof=1) / math.sqrt(60))
    assert (path.r2, path.adj_r2) == (0.0, 0.0)
    assert path.predict(X) == pytest.approx(np.full(60, y.mean()))
    labels = np.array(["a", "b", "b"] * 20)
    assert (select(X, labels).predict(X) == "b").all()


def test_an_exact_fit() -> None:
    X, _ = table(3)
    path = select(X, 2 * X[:, 1] - X[:, 4] + 5)
    assert sorted(path.selected) == [1, 4]
    expected = [5, *({1: 2, 4: -1}[j] for j in path.selected)]
    np.testing.assert_allclose(estimates(path.coefficients)[0], expected, rtol=1e-11)
    assert path.r2 == pytest.approx(1)
    assert np.isfinite(path.coefficients.to_frame().to_numpy()).all()


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_blocks_of_moments_give_the_coefficients_of_all_rows(kind: str) -> None:
    X, y = table(4) if kind == "numbers" else load_wine(return_X_y=True)
    model = "linear" if kind == "numbers" else "discriminant"
    blocks = np.array_split(np.random.default_rng(0).permutation(len(X)), 5)
    merged = reduce(add, (Moments.of(X[rows], y[rows], model=model) for rows in blocks))
    whole, parts = select(X, y), select(merged)
    assert parts.selected == whole.selected
    np.testing.assert_allclose(parts.coefficients.coef, whole.coefficients.coef, rtol=1e-9)
    np.testing.assert_allclose(parts.coefficients.intercept, whole.coefficients.intercept, rtol=1e-9)


def test_nearly_dependent_columns_are_solved_from_the_rows() -> None:
    """A Gram matrix would lose half of the digits; `solver="auto"` has the rows."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(6000, 6))
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=6000)
    everything = {"include": list(range(6)), "max_features": 6}
    auto, gram = select(X, y, **everything), select(X, y, solver="gram", **everything)
    exact = regression(X, y, range(6)).estimate[0]
    assert auto.solver == "gram"
    np.testing.assert_allclose(estimates(auto.coefficients)[0], exact, rtol=1e-12, atol=1e-13)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(estimates(gram.coefficients)[0], exact, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(estimates(gram.coefficients)[0], exact, rtol=1e-7)


@pytest.mark.parametrize("shape", [(150, 12), (900, 400)])
@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_single_precision_and_integers_are_solved_in_double(dtype: type, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(6)
    X = (50 * rng.normal(size=shape) + 20).astype(dtype)
    y = X[:, 0] - 2.0 * X[:, 3] + 10 * rng.normal(size=shape[0])
    fit = select(X, y, solver="columns").coefficients
    exact = regression(X, y, fit.columns)
    np.testing.assert_allclose(estimates(fit), exact.estimate, rtol=1e-9)
    np.testing.assert_allclose(errors(fit), exact.std_error, rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("model", ["linear", "discriminant"])
def test_extreme_units(model: str, solver: str) -> None:
    """Columns that were rescaled to represent their squares have coefficients in their own units."""
    X, y = table(7)
    if model == "discriminant":
        y = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    units = 10.0 ** np.array([0, 200, -200, 0, 150, -150, 0, 0])
    plain, scaled = (select(X * by, y, solver=solver, model=model) for by in (np.ones(8), units))
    assert scaled.selected == plain.selected
    by = units[list(plain.selected)]
    np.testing.assert_allclose(scaled.coefficients.coef * by, plain.coefficients.coef, rtol=1e-8)
    np.testing.assert_allclose(scaled.coefficients.intercept, plain.coefficients.intercept, rtol=1e-8)
    if model == "linear":
        np.testing.assert_allclose(scaled.coefficients.std_error * by, plain.coefficients.std_error, rtol=1e-8)
    else:
        np.testing.assert_allclose(scaled.coefficients.means / by, plain.coefficients.means, rtol=1e-12)
        np.testing.assert_array_equal(scaled.predict(X * units), plain.predict(X))


def test_units_beyond_float64_are_infinite() -> None:
    X, y = table(8)
    fit = select(X * 1e-300, y * 1e100).coefficients
    assert np.isinf(fit.coef).any()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_path_does_not_keep_the_rows(solver: str) -> None:
    X, y = table(9)
    rows, path = weakref.ref(X), select(X, y, solver=solver)
    del X
    assert rows() is None
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.coefficients.coef, path.coefficients.coef)
    assert again == path


def test_removals_leave_the_coefficients_of_what_remains() -> None:
    X, y = load_diabetes(return_X_y=True)
    path = select(X, y, strategy="backward", criterion="bic", leave=Significance(0.01))
    assert any(step.action == "remove" for step in path.steps)
    np.testing.assert_allclose(estimates(path.coefficients), regression(X, y, path.selected).estimate, rtol=1e-9)


# --- the dataclass ---------------------------------------------------------------------------------------------------


def test_to_frame() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    path = select(X, y)
    frame = path.coefficients.to_frame()
    assert list(frame.columns) == ["estimate", "std_error", "statistic", "p_value"]
    assert list(frame.index) == ["(intercept)", *path.selected_names]
    assert "optimistically biased" in frame.attrs["note"]
    both = select(X, np.c_[y, y**2 + X["age"]]).coefficients.to_frame()
    assert both.index.names == ["target", "name"]
    assert set(both.index.get_level_values("target")) == {"y0", "y1"}
    classes = select(*load_wine(return_X_y=True)).coefficients.to_frame()
    assert list(classes.columns) == ["estimate"]
    assert classes.loc[(2, "(intercept)"), "estimate"] == pytest.approx(3.6275, rel=1e-4)


def test_normal_statistics_and_no_intercept() -> None:
    """What models other than least squares report."""
    fit = Coefficients(
        ("a", "b"), (0, 1), ("y",), None, np.array([2.0, -1.0]), 10.0, np.array([1.0, np.nan]), statistic="z"
    )
    first, second = fit.rows()
    assert (first.name, first.statistic) == ("a", 2.0)
    assert first.p_value == pytest.approx(0.0455, abs=1e-4)
    assert math.isnan(second.p_value)
    np.testing.assert_array_equal(fit.linear_predictor(np.eye(2)), [2.0, -1.0])


def test_a_chi_squared_test_has_one_number_of_degrees_of_freedom() -> None:
    assert PartialTest(3.841458820694124, (1.0,)).p_value == pytest.approx(0.05)
    assert PartialTest(4.0, (2.0, 10.0)).p_value == pytest.approx(0.0529, abs=1e-4)


def test_coefficients_print_as_a_table() -> None:
    X, y = load_diabetes(return_X_y=True)
    printed = str(select(X, y, strategy="forward", max_features=2).coefficients).splitlines()
    assert printed[0].split() == ["coefficient", "estimate", "std.", "error", "t", "p"]
    assert [line.split()[0] for line in printed[2:5]] == ["(intercept)", "x2", "x8"]
    assert "optimistically biased" in printed[5]
