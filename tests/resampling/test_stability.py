"""Stability: frequencies equal those of separate selections; blocks equal rows; bounds equal their definitions."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from dropstep import Moments, StabilitySelector, select, stability
from dropstep.data.division import deal
from dropstep.data.sample import PerRow
from dropstep.models.capabilities import SumsBlocks
from dropstep.parameters import Parameters
from dropstep.resampling.resampler import Resampler
from dropstep.resampling.stability import N_BLOCKS, bound, r_concave_tail
from reference import stability as reference

# Equivalent rows are dealt to the same halves only in the same order, and these checks shuffle the rows with weights.
WEIGHTS = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "rows are dealt to halves at random, in the order of the table",
)


@parametrize_with_checks(
    [StabilitySelector(n_pairs=2), StabilitySelector(model="linear", n_pairs=2, threshold=0.5)],
    expected_failed_checks=lambda estimator: WEIGHTS,
)
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def noisy(n, p, n_true=4, seed=0, classes=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, p // 2] = X[:, 0] + 0.3 * rng.standard_normal(n)
    signal = X[:, :n_true].sum(axis=1) * 0.4
    y = signal + rng.standard_normal(n)
    return X, (np.digitize(y, [-0.5, 0.5]) if classes else y)


# --- halves ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 11, 97])
@pytest.mark.parametrize("n_parts", [2, 5])
def test_rows_are_dealt_evenly_at_random(n, n_parts):
    rng = np.random.default_rng(0)
    stratum = rng.integers(0, 3, n)
    part = deal(n, stratum, n_parts, rng)
    sizes = np.bincount(part, minlength=n_parts)
    assert sizes.max() - sizes.min() <= 1
    for s in range(3):
        inside = np.bincount(part[stratum == s], minlength=n_parts)
        assert inside.max() - inside.min() <= 2
    assert not np.array_equal(part, deal(n, stratum, n_parts, rng))


def test_every_row_is_in_the_first_half_equally_often():
    parts = np.array([deal(9, None, 2, np.random.default_rng(i)) for i in range(2000)])
    np.testing.assert_allclose(parts.mean(axis=0), 0.5, atol=0.05)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("case", ["plain", "weights", "max_features", "collinear", "offset from zero"])
def test_sums_of_blocks_give_the_selections_of_the_rows(classes, case):
    X, y = noisy(4000, 8, classes=classes)
    weights = None
    parameters: dict[str, Any] = {"solver": "gram", "model": "discriminant" if classes else "linear"}
    if case == "weights":
        weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    elif case == "max_features":
        parameters["max_features"] = 2
    elif case == "collinear":
        X[:, 5] = X[:, 0] - X[:, 1]
    elif case == "offset from zero":
        X += 1e3
    resampler = Resampler.of(X, y, PerRow(weights=weights), Parameters(**parameters), "stability")
    block = deal(len(y), resampler.sample.stratum, N_BLOCKS, np.random.default_rng(2))
    assert isinstance(resampler.family, SumsBlocks)
    blocks = resampler.family.blocks(resampler.sample, block, "gram", parameters.get("max_features"))
    assert blocks is not None
    chosen = np.arange(0, N_BLOCKS, 2)
    for problem, inside in zip(blocks.halves(chosen), (block % 2 == 0, block % 2 == 1), strict=True):
        rows = np.flatnonzero(inside)
        path = select(X[rows], y[rows], sample_weight=None if weights is None else weights[rows], **parameters)
        assert resampler.select_on(resampler.sample, problem) == path.selected


def test_where_a_gram_matrix_lacks_digits_a_half_continues_from_its_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 4))
    X[:, 1] = X[:, 0] + 1e-6 * rng.standard_normal(len(X))
    y = 10 * X[:, 0] + (X[:, 1] - X[:, 0]) * 1e6 + 0.1 * rng.standard_normal(len(X))
    result = stability(X, y, n_pairs=2)
    assert result.from_blocks
    assert set(result.selected(1.0)) == {0, 1}


def test_frequencies_are_those_of_separate_selections():
    X, y = noisy(150, 12)
    result = stability(X, y, n_pairs=4, random_state=3, criterion="bic")
    streams = np.random.SeedSequence(3).spawn(5)[1:]
    halves = []
    for stream in streams:
        part = deal(len(y), None, 2, np.random.default_rng(stream))
        halves += [np.flatnonzero(part == 0), np.flatnonzero(part == 1)]
    assert not result.from_blocks
    np.testing.assert_array_equal(result.frequencies, reference.frequencies(X, y, halves, criterion="bic"))


# --- every family ----------------------------------------------------------------------------------------------------


def survival(n, p):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    time = rng.exponential(np.exp(-X[:, 0]))
    return X, np.column_stack([time, time < 1.5])


@pytest.mark.parametrize("model", ["linear", "discriminant", "logistic", "poisson", "gamma", "cox", LinearRegression()])
def test_every_family_finds_its_feature(model):
    X, y = noisy(160, 5, n_true=1)
    y = 2 * X[:, 0] + y
    if model in ("discriminant", "logistic"):
        y = (y > 0).astype(int)
    elif model == "poisson":
        y = np.random.default_rng(0).poisson(np.exp(0.8 * X[:, 0]))
    elif model == "gamma":
        y = np.random.default_rng(0).gamma(2, np.exp(0.8 * X[:, 0]))
    elif model == "cox":
        X, y = survival(160, 5)
    X[:, 2] = np.random.default_rng(5).standard_normal(160)
    result = stability(X, y, n_pairs=3, model=model)
    assert result.frequencies[0] == 1
    assert result.frequencies.shape == (5,)
    assert result.selections.shape == (6, 5)


def test_groups_factors_include_and_exclude():
    X, y = noisy(200, 6)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["kind"] = np.random.default_rng(0).choice(["u", "v", "w"], len(y))
    y = y + 2 * (frame["kind"] == "v")
    result = stability(frame, y, n_pairs=4, include=["e"], exclude=["f"], groups=[["a", "b"]])
    table = result.to_frame()["frequency"]
    assert table["e"] == 1
    assert table["f"] == 0
    assert table["a"] == table["b"]
    assert table["kind"] == 1
    assert 4 in result.selected(1.0)
    assert result.candidates.sum() == 4  # (a, b), c, d, kind
    assert result.mean_size <= 4


def test_results_do_not_depend_on_n_jobs_and_follow_the_seed():
    X, y = noisy(120, 8)
    one = stability(X, y, n_pairs=4, random_state=1)
    with parallel_config("threading"):
        two = stability(X, y, n_pairs=4, random_state=1, n_jobs=2)
    other = stability(X, y, n_pairs=4, random_state=2)
    np.testing.assert_array_equal(one.selections, two.selections)
    assert not np.array_equal(one.selections, other.selections)


def test_results_do_not_depend_on_the_order_of_rows_with_equal_halves():
    """Positions carry no information: sorted rows give the same frequencies up to sampling error."""
    X, y = noisy(5000, 10)
    order = np.argsort(y)
    a, b = stability(X, y, n_pairs=10), stability(X[order], y[order], n_pairs=10)
    assert a.from_blocks
    assert b.from_blocks
    np.testing.assert_allclose(a.frequencies, b.frequencies, atol=0.5)
    assert a.selected(0.9) == b.selected(0.9)


def test_an_estimator_with_groups_of_rows():
    X, y = noisy(60, 3, n_true=1)
    X[:, 1] = np.random.default_rng(5).standard_normal(60)
    groups = np.repeat(np.arange(12), 5)
    result = stability(
        X, 3 * X[:, 0] + y, n_pairs=1, model=LinearRegression(), sample_groups=groups, cv=2, enter=0, max_features=1
    )
    assert result.selected(1.0) == (0,)


def test_a_half_without_a_varying_target_selects_nothing():
    X, _ = noisy(40, 3)
    rare = np.array(["a"] * 37 + ["b"] * 3)
    rare[0] = "a"
    X[37:, 0] += 20
    result = stability(X, rare, n_pairs=6, model="discriminant")
    assert result.n_empty == 6  # one half of each pair has a single row of class b
    assert result.frequencies[0] == 0.5
    y = np.zeros(40)
    y[7] = 1.0
    assert stability(X, y, n_pairs=2, model="linear").n_empty == 2
    assert stability(X, y, n_pairs=2, model="linear", include=[1]).frequencies[1] == 1


def test_a_class_without_rows_in_a_half_is_omitted_there():
    X, y = noisy(60, 3, classes=True)
    y[y == 1] = 0
    y[:3] = 1
    assert stability(X, y, n_pairs=3).n_empty == 0


# --- results ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result():
    data = load_diabetes(as_frame=True)
    return stability(data.data, data.target, n_pairs=10)


def test_the_path_ends_with_the_frequencies_and_starts_empty(result):
    np.testing.assert_array_equal(result.path[0], 0)
    np.testing.assert_array_equal(result.path[-1], result.frequencies)
    assert np.all(result.path[1].sum() <= 1 + 1e-9)
    data = load_diabetes()
    forward = stability(data.data, data.target, n_pairs=3, strategy="forward")
    assert np.all(np.diff(forward.path, axis=0) >= 0)


def test_pairs_count_halves_that_select_both(result):
    pair = next(p for p in result.pairs(100) if (p.first, p.second) == (2, 3))
    both = result.selections[:, 2] & result.selections[:, 3]
    either = result.selections[:, 2] | result.selections[:, 3]
    assert pair.together == pytest.approx(both.mean())
    assert pair.either == pytest.approx(either.mean())
    assert len(result.pairs(3)) == 3


def test_the_threshold_is_changed_without_refits(result):
    assert set(result.selected(0.9)) < set(result.selected(0.3))
    loose = result.threshold_for(3.0)
    assert result.false_selections(loose) <= 3.0
    assert loose == 0.51 or result.false_selections(loose - 0.05) > 3.0
    assert result.threshold_for(1e-9) is None


def test_the_frame_and_the_plot(result):
    table = result.to_frame()
    assert table.columns.tolist() == ["frequency", "both_halves"]
    assert table["frequency"].is_monotonic_decreasing
    assert (table["both_halves"] <= table["frequency"]).all()
    ax = result.plot(threshold=0.6)
    assert ax.get_xlabel() == "number of features"
    assert {text.get_text() for text in ax.texts} == set(result.names(result.selected(0.6)))
    assert result.frequencies[2] == result.frequencies[8] == 1
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert result.plot(ax) is ax


def test_the_transformer_changes_its_threshold_without_refits():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    selector = StabilitySelector(n_pairs=10, random_state=0).fit(X, y)
    before = selector.stability_
    assert selector.transform(X).shape[1] == len(before.selected(0.75))
    selector.set_params(threshold=0.2)
    assert selector.stability_ is before
    assert selector.support_.sum() == len(before.selected(0.2)) > len(before.selected(0.75))
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), np.sort(selector.selected_))
    assert selector.ranking_[selector.selected_[0]] == 1
    np.testing.assert_array_equal(selector.frequencies_, before.frequencies)


def test_the_transformer_in_a_pipeline():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StabilitySelector(n_pairs=3, threshold=0.5), Ridge()).fit(X, y)
    assert model.score(X, y) > 0.6


def test_data_are_not_kept_on_the_transformer():
    X, y = noisy(100, 4)
    selector = StabilitySelector(n_pairs=2).fit(X, y)
    assert not any(isinstance(v, np.ndarray) and len(v) == 100 for v in vars(selector.stability_).values())


# --- bounds ----------------------------------------------------------------------------------------------------------


def test_the_bounds_are_those_of_the_paper():
    """Theorems 1 and 2 of Shah and Samworth (2013), written out for B = 50."""
    q, p, B = 5.0, 100, 50
    theta = q / p
    assert bound(q, p, 0.9, B, "none") == pytest.approx(theta * q / 0.8)
    assert bound(q, p, 0.9, B, "unimodal") == pytest.approx(4 * (1 - 0.9 + 0.01) / (1 + 1 / 50) * theta * q)
    assert bound(q, p, 0.6, B, "unimodal") == pytest.approx(theta * q / (2 * (0.2 - 0.01)))
    assert bound(q, p, 0.6001, B, "none") == pytest.approx(theta * q / 0.22)  # frequencies are multiples of 0.01
    assert bound(q, p, 0.9, B, "r-concave") < bound(q, p, 0.9, B, "unimodal") < bound(q, p, 0.9, B, "none")
    assert bound(0.0, p, 0.9, B, "none") == 0
    assert bound(80.0, p, 0.51, B, "unimodal") <= 80 / 0.51  # theorem 2 does not apply: the trivial bound


@pytest.mark.parametrize(
    ("mean", "tail", "n", "r"),
    [(0.05, 0.5, 10, -0.5), (0.1, 0.6, 10, -0.25), (0.15, 0.9, 10, -0.25), (0.1, 0.75, 8, -0.5), (0.05, 1.0, 6, -0.5)],
)
def test_the_r_concave_tail_is_the_largest_found_by_direct_optimisation(mean, tail, n, r):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        slow = reference.r_concave_tail(mean, tail, n, r, starts=5)
    assert r_concave_tail(mean, tail, n, r) == pytest.approx(slow, rel=2e-3)


def test_r_concave_tails_at_the_limits():
    assert r_concave_tail(0.4, 0.5, 10, -0.5) == 1.0  # the mean is too large to exclude anything
    assert r_concave_tail(0.01, 1.0, 50, -0.5) < 0.001


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_pairs": 0}, "n_pairs must be a whole number from 1; got 0"),
        ({"random_state": -1}, "random_state must be None or a whole number from 0; got -1"),
        ({"max_time": 3}, "max_time does not apply to stability, which repeats the selection; omit max_time"),
        ({"nonsense": 3}, "stability has no parameter 'nonsense'"),
    ],
)
def test_parameters_that_are_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        stability(*noisy(50, 3), **arguments)


def test_data_that_are_refused(result):
    X, y = noisy(50, 3)
    with pytest.raises(ValueError, match="selection on parts of the rows, which Moments do not have; pass X and y"):
        stability(Moments.of(X, y), None)
    with pytest.raises(ValueError, match="divides each part of the rows again, which a list of folds cannot"):
        stability(X, y, criterion="cv", cv=[(np.arange(25), np.arange(25, 50))])
    with pytest.raises(ValueError, match=r"threshold must be above 0 and at most 1; got 1\.5"):
        result.selected(1.5)
    with pytest.raises(ValueError, match=r"the bounds hold for thresholds above 0\.5, up to 1; got 0\.5"):
        result.false_selections(0.5)
    with pytest.raises(ValueError, match="assumption must be one of 'none', 'unimodal', 'r-concave'; got 'convex'"):
        result.false_selections(0.6, "convex")
    with pytest.raises(ValueError, match="y must contain target values, not the name 'y'; pass the column"):
        StabilitySelector().fit(X, "y")


def test_stability_prints_the_most_frequent_features_first() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    result = stability(X, y, n_pairs=10, random_state=0)
    shares = dict(zip(X.columns, result.frequencies, strict=True))
    often = sorted((name for name in shares if shares[name] >= 0.1), key=lambda name: -shares[name])
    assert str(result) == "selected on 20 half-samples: " + ", ".join(f"{name} {shares[name]:.0%}" for name in often)
    rng = np.random.default_rng(0)
    nothing = stability(rng.normal(size=(80, 3)), rng.normal(size=80), n_pairs=10, criterion="bic", enter=20.0)
    assert str(nothing) == "selected on 20 half-samples: no feature on 10% of them or more"
