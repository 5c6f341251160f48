"""Permutation and Knockoffs: equal to their definitions, exact on noise, and refused where they do not apply."""

from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression

from dropstep import Knockoffs, Moments, Permutation, Selector, Significance, select, stability
from dropstep.models.least_squares.knockoff_moments import mvr, with_knockoffs
from dropstep.models.least_squares.problem import from_moments
from reference import calibrated as reference


def correlated(n, p, rho=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X, rng


# --- permutations ----------------------------------------------------------------------------------------------------


def nulls(X, y, selected=(), **parameters):
    """The null distribution of the scan after some features were added."""
    from dropstep.data.sample import PerRow
    from dropstep.models.base import Units
    from dropstep.models.families import as_family
    from dropstep.parameters import Parameters

    chosen = Parameters(**parameters)
    family = as_family(chosen.model)
    problem = family.problem(family.sample(X, y, PerRow(), chosen), chosen.solver, None)
    units = Units(problem.n_columns)
    model = problem.model("auto", units, np.flatnonzero(problem.varying), units.n)
    model.add(selected)
    return model.additions(np.array([j for j in range(units.n) if j not in selected])).largest_null


@given(
    st.integers(12, 30),
    st.integers(2, 6),
    st.integers(0, 2),
    st.sampled_from(["numbers", "targets", "classes"]),
    st.sampled_from(["plain", "collinear", "constant", "large mean"]),
    st.sampled_from(["gram", "columns"]),
    st.integers(0, 100),
)
def test_p_values_are_those_of_refitted_models(n, p, size, kind, ugly, solver, seed):
    X, rng = correlated(n, p + 2, seed=seed)
    if ugly == "collinear":
        X[:, -1] = X[:, 0]
    elif ugly == "constant":
        X[:, -1] = 3.0
    elif ugly == "large mean":
        X[:, -1] += 1e4
    y = X[:, 0] + rng.standard_normal(n)
    Y, given_y, model = y[:, None], y, "linear"
    if kind == "targets":
        Y = given_y = np.column_stack([y, rng.standard_normal(n)])
    elif kind == "classes":
        given_y, model = rng.permutation(np.arange(n) % 3), "discriminant"
        Y = (given_y[:, None] == np.arange(1, 3)).astype(float)
    selected = list(range(size))
    unit = size
    found = nulls(X, given_y, selected, model=model, solver=solver)(unit, 19, seed)
    assert found == pytest.approx(reference.permutation_p_value(X, Y, selected, unit, 19, seed))


def test_on_noise_something_is_selected_at_the_level():
    """Exact for the first feature; the script benchmarks/noise_rules.py has 2,000 runs at six shapes."""
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((20, 10)), rng.standard_exponential(20)
        hits += bool(select(X, y, enter=Permutation(0.05, 39), random_state=seed).selected)
    assert 2 <= hits <= 19  # binomial(200, 0.05) is outside with probability 0.003


def test_groups_and_factors_of_different_ranks_are_compared_by_p_value():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"many": rng.choice(list("abcdefgh"), 120), "x": rng.standard_normal(120)})
    y = 0.6 * frame["x"].to_numpy() + rng.standard_normal(120)
    assert select(frame, y, enter=Permutation(0.05)).selected_names == ("x",)
    X = rng.standard_normal((80, 6))
    y = X[:, 2] + X[:, 3] + rng.standard_normal(80)
    targets = np.column_stack([y, rng.standard_normal(80)])
    assert select(X, y, groups=[[0, 1], [2, 3]], enter=Permutation(0.05)).selected == (2, 3)
    assert select(X, targets, groups=[[0, 1], [2, 3]], enter=Permutation(0.05)).selected == (2, 3)


def test_the_dropped_count_among_the_candidates():
    """The p-value is over all that are not selected, so that dropping does not make later tests liberal."""
    X, rng = correlated(60, 10)
    y = X[:, 0] + rng.standard_normal(60)
    full = nulls(X, y, [0])(1, 99, 0)
    assert full == pytest.approx(reference.permutation_p_value(X, y[:, None], [0], 1, 99, 0))


def test_permutation_sets_leave_and_follows_the_seed():
    X, y = load_diabetes(return_X_y=True)
    path = select(X, y, enter=Permutation(0.05))
    assert path.rules["enter"] == Permutation(0.05)
    assert path.rules["leave"] == Significance(0.05)
    assert (
        path.selected
        == select(X, y, enter=Permutation(0.05)).selected
        == select(X, y, enter=Permutation(0.05), random_state=0).selected
    )
    assert tuple(Selector(enter=Permutation(0.05)).fit(X, y).selected_) == path.selected
    assert stability(X, y, n_pairs=2, enter=Permutation(0.05)).frequencies[2] == 1
    assert select(X, y, enter=Permutation(0.05), leave=0.0).rules["leave"] == 0.0


def test_permutation_judges_every_candidate_of_a_beam():
    X, y = load_diabetes(return_X_y=True)
    path = select(X, y, strategy="beam", enter=Permutation(0.05), max_features=3)
    assert set(path.selected) == {2, 8, 3}
    assert select(X[:, [1]], y, strategy="beam", enter=Permutation(0.05)).selected == ()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"enter": Permutation(0.05), "strategy": "exhaustive"}, "exhaustive compares sets by their scores, so that"),
        ({"enter": Permutation(0.05), "model": "poisson"}, r"Permutation\(0\.05\) permutes the residuals of least"),
        ({"enter": Permutation(0.05), "model": LinearRegression()}, "other models do not have; pass X and y for model"),
        ({"leave": Permutation(0.05)}, "decides what may enter; leave must be 'auto', a number, or Significance"),
        ({"drop": Knockoffs(0.1)}, "decides what may enter; drop must be 'auto', a number, or Significance"),
        ({"enter": Knockoffs(0.1)}, "judges a whole forward path; use strategy='forward' instead of 'dropping'"),
        (
            {"enter": Knockoffs(0.1), "strategy": "forward", "model": "poisson"},
            "needs model 'linear' or 'discriminant'",
        ),
        ({"enter": Knockoffs(0.1), "strategy": "forward", "groups": [[0, 1]]}, "groups does not apply to Knockoffs"),
        ({"enter": Knockoffs(0.1), "strategy": "forward", "include": [0]}, "include does not apply to Knockoffs"),
        ({"enter": Knockoffs(0.1), "strategy": "forward", "max_features": 2}, "max_features does not apply to Knock"),
    ],
)
def test_where_the_rules_are_refused(parameters, message):
    X, rng = correlated(40, 4)
    with pytest.raises(ValueError, match=message):
        select(X, rng.poisson(2, 40).astype(float) + 1, **{"model": "linear", **parameters})


def test_moments_and_weights_are_refused():
    X, rng = correlated(40, 4)
    y = rng.standard_normal(40)
    with pytest.raises(ValueError, match="row by row, which Moments and other models do not have; pass X and y"):
        select(Moments.of(X, y), enter=Permutation(0.05))
    with pytest.raises(ValueError, match="Permutation exchanges rows, which weights make unlike; use Significance"):
        select(X, y, sample_weight=np.ones(40), enter=Permutation(0.05))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Permutation(1.5), r"level must be a number between 0 and 1; got 1\.5"),
        (lambda: Permutation(0.05, 0), "n_permutations must be a whole number from 1; got 0"),
        (
            lambda: Permutation(0.01, 50),
            r"50 permutations cannot give a p-value of 0\.01 or less; use n_perm.*=99 or more",
        ),
        (lambda: Knockoffs(0), "fdr must be a number between 0 and 1; got 0"),
        (lambda: Knockoffs(True), "fdr must be a number between 0 and 1; got True"),
    ],
)
def test_parameters_that_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- knockoffs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numbers", "targets", "classes"])
def test_products_of_knockoffs_are_those_of_the_features(kind):
    X, rng = correlated(80, 6)
    y = X[:, 0] + rng.standard_normal(80)
    if kind == "targets":
        y = np.column_stack([y, rng.standard_normal(80)])
    elif kind == "classes":
        y = np.digitize(y, [-0.5, 0.5])
    problem = from_moments(Moments.of(X + 5, y))
    both = with_knockoffs(problem, np.arange(6), 0).equations
    S = np.asarray(both.scatter)
    np.testing.assert_allclose(S[6:, 6:], S[:6, :6], atol=1e-8)
    difference = S[:6, :6] - S[:6, 6:]
    np.testing.assert_allclose(difference, np.diag(np.diagonal(difference)), atol=1e-8)
    np.testing.assert_allclose(S[:6, :6], np.corrcoef(X.T), atol=1e-10)
    assert np.linalg.eigvalsh(S)[0] > 0


def test_a_knockoff_has_no_relation_to_the_target_given_the_features():
    """In a regression on both, the coefficients of knockoffs are symmetric about zero."""
    X, rng = correlated(60, 4)
    y = 2 * X[:, 1] + rng.standard_normal(60)
    problem, signs = from_moments(Moments.of(X, y)), []
    for seed in range(200):
        both = with_knockoffs(problem, np.arange(4), seed).equations
        signs.append(np.linalg.solve(np.asarray(both.scatter), both.cross)[4:, 0] > 0)
    np.testing.assert_allclose(np.mean(signs, axis=0), 0.5, atol=0.15)


def test_with_few_rows_products_are_right_on_average():
    X, rng = correlated(20, 8)
    problem = from_moments(Moments.of(X, X[:, 0] + rng.standard_normal(20)))
    draws = [np.asarray(with_knockoffs(problem, np.arange(8), seed).equations.scatter) for seed in range(400)]
    S = np.mean(draws, axis=0)
    np.testing.assert_allclose(S[8:, 8:], S[:8, :8], atol=0.1)
    assert min(np.linalg.eigvalsh(draw)[0] for draw in draws) > -1e-9


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_s_minimises_the_reconstructability(rho):
    S = np.corrcoef(correlated(200, 6, rho)[0].T)

    def objective(s):
        s = np.asarray(s)
        D = 2 * S - np.diag(s)
        return np.inf if s.min() <= 0 or np.linalg.eigvalsh(D)[0] <= 0 else (1 / s).sum() + np.trace(np.linalg.inv(D))

    start = np.full(6, np.linalg.eigvalsh(S)[0])
    best = optimize.minimize(
        objective,
        start,
        method="Nelder-Mead",
        options={"maxiter": 20000, "fatol": 1e-10, "xatol": 1e-8, "maxfev": 20000},
    )
    assert objective(mvr(S)) <= best.fun * (1 + 1e-4)


@given(st.permutations(range(12)), st.sampled_from([0.2, 0.25, 0.5, 0.9]), st.integers(0, 12))
def test_the_filter_is_knockoff_plus_of_the_order_of_entry(order, fdr, n_entered):
    order, p = order[:n_entered], 6
    W = [0] * p
    for j in range(p):
        places = [order.index(k) if k in order else 99 for k in (j, j + p)]
        if min(places) < 99:
            W[j] = (50 - min(places)) * (1 if places[0] < places[1] else -1)
    chosen = Knockoffs(fdr).chosen(order, p)
    assert set(chosen) == reference.knockoff_plus(W, fdr)
    assert chosen == sorted(chosen, key=order.index)


def test_knockoffs_select_and_note_where_they_cannot():
    X, rng = correlated(300, 30, 0.3)
    y = X[:, :12].sum(axis=1) + rng.standard_normal(300)
    path = select(X, y, strategy="forward", enter=Knockoffs(0.1))
    assert set(range(12)) <= set(path.selected)
    assert path.rules["enter"] == Knockoffs(0.1)
    assert select(Moments.of(X, y), strategy="forward", enter=Knockoffs(0.1)).selected == path.selected
    few = select(X, X[:, 0] + rng.standard_normal(300), strategy="forward", enter=Knockoffs(0.1))
    assert few.selected == ()
    assert any(n.startswith("Knockoffs(0.1) selects at least 10 features or none") for n in few.notes)
    with_exclusions = select(X, y, strategy="forward", enter=Knockoffs(0.2), exclude=[0, 1])
    assert not {0, 1} & set(with_exclusions.selected)
    assert stability(X, y, n_pairs=2, strategy="forward", enter=Knockoffs(0.2)).frequencies[5] == 1
    assert select(*load_iris(return_X_y=True), strategy="forward", enter=Knockoffs(0.4)).selected


def test_the_share_of_false_selections_holds_over_tables_of_one_shape():
    """With the same direction of noise for every table, it was .34 at this shape."""
    shares = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 40))
        y = X[:, :10] @ np.full(10, 0.3) + rng.standard_normal(300)
        selected = select(X, y, model="linear", strategy="forward", enter=Knockoffs(0.2)).selected
        shares.append(sum(j >= 10 for j in selected) / max(len(selected), 1))
    assert 0.1 < np.mean(shares) < 0.2


def test_knockoffs_depend_on_the_table_and_the_seed_but_not_on_blocks_or_scale():
    X, rng = correlated(120, 20)
    y = X[:, :10] @ np.full(10, 0.3) + rng.standard_normal(120)

    def products(moments, seed=0):
        return np.asarray(with_knockoffs(from_moments(moments), np.arange(20), seed).equations.cross)

    first = products(Moments.of(X, y))
    blocks = [Moments.of(X[rows], y[rows]) for rows in (slice(80, 120), slice(0, 7), slice(7, 80))]
    np.testing.assert_allclose(products(reduce(add, blocks)), first, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(products(Moments.of(X * 1e3, y * 1e-4)) / 1e-4, first, rtol=1e-9, atol=1e-12)
    other = y + 1e-3 * rng.standard_normal(120)
    for different in (products(Moments.of(X, y), seed=1), products(Moments.of(X, other))):
        assert np.abs(different[20:] - first[20:]).max() > 0.1


def test_knockoffs_need_rows_and_independent_features():
    X, rng = correlated(20, 30)
    with pytest.raises(
        ValueError, match="estimate the covariance of 30 features, which 20 rows cannot; use Permutation"
    ):
        select(X, rng.standard_normal(20), strategy="forward", enter=Knockoffs(0.1))
    X, rng = correlated(60, 5)
    X[:, 4] = X[:, 0] + X[:, 1]
    with pytest.raises(ValueError, match="Knockoffs need linearly independent features; exclude those that depend"):
        select(X, rng.standard_normal(60), strategy="forward", enter=Knockoffs(0.1))
    frame = pd.DataFrame({"a": list("xyz") * 20, "b": rng.standard_normal(60)})
    with pytest.raises(ValueError, match="judges single columns, and X has factors; exclude them, or use Permutation"):
        select(frame, rng.standard_normal(60), strategy="forward", enter=Knockoffs(0.1))
