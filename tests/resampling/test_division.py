"""Observations: halves and shares of rows, of rows with weights, and of groups of rows."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from dropstep import Moments, SelectorCV, audit, compare, infer, select, stability
from dropstep.data import division
from dropstep.data.sample import PerRow, Sample
from dropstep.models.estimator.family import EstimatorSample
from dropstep.models.least_squares.family import union
from dropstep.parameters import Parameters
from dropstep.resampling.resampler import Resampler


def noisy(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 0.5 * X[:, 0] + rng.standard_normal(n)


def of(X, y, model="linear", **per_row):
    return Resampler.of(X, y, PerRow(**per_row), Parameters(model=model), "stability")


# --- weights ---------------------------------------------------------------------------------------------------------


def test_weights_are_frequencies_of_observations_that_are_drawn_one_by_one():
    X, y = noisy(40, 3)
    weights = np.random.default_rng(1).integers(0, 6, 40).astype(float)
    resampler = of(X, y, weights=weights)
    drawn = resampler.observations
    assert drawn.n == weights.sum()
    assert drawn.has_copies
    part = drawn.deal(2, np.random.default_rng(0))
    halves = [resampler.part(np.flatnonzero(part == i)) for i in (0, 1)]
    totals = [half.weights.sum() for half in halves]
    assert abs(totals[0] - totals[1]) <= 1
    assert sum(totals) == weights.sum()
    rows = [{tuple(row) for row in half.table.values.tolist()} for half in halves]
    assert rows[0] & rows[1]  # copies of a row are in both
    assert tuple(X[np.flatnonzero(weights == 0)[0]]) not in rows[0] | rows[1]


@pytest.mark.parametrize("model", ["linear", "discriminant", "logistic", "poisson"])
def test_whole_weights_are_equivalent_to_repeated_rows(model):
    """In the same order of rows, even the halves are the same, so that every number is."""
    X, y = noisy(50, 4)
    y = {"linear": y, "poisson": np.floor(np.exp(y))}.get(model, (y > 0).astype(int))
    weights = np.random.default_rng(1).integers(0, 4, 50)
    again = np.repeat(np.arange(50), weights)
    once = stability(X, y, n_pairs=4, sample_weight=weights, model=model)
    copies = stability(X[again], y[again], n_pairs=4, model=model)
    np.testing.assert_array_equal(once.selections, copies.selections)
    path, expected = select(X, y, sample_weight=weights, model=model), select(X[again], y[again], model=model)
    assert path.selected == expected.selected
    if model != "discriminant":
        split = {"split": 0.4, "n_splits": 4}
        rows, others = infer(path, X, y, sample_weight=weights, **split), infer(expected, X[again], y[again], **split)
        np.testing.assert_allclose(rows.to_frame(), others.to_frame(), rtol=1e-5)


def test_a_table_of_frequencies_is_as_stable_as_its_rows():
    """16 patterns of four binary features and a class, with their counts: halves of the patterns would be useless."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (2000, 4))
    y = (X[:, 1] + rng.logistic(size=2000) > 0.5).astype(int)
    patterns, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    result = stability(patterns[:, :4], patterns[:, 4], n_pairs=5, sample_weight=counts, model="logistic")
    assert result.frequencies[1] == 1
    assert result.n_empty == 0


def test_weights_that_are_not_whole_numbers_stay_with_their_row():
    X, y = noisy(40, 3)
    weights = np.linspace(0.0, 2.5, 40)
    resampler = of(X, y, weights=weights)
    assert resampler.observations.n == 39
    assert not resampler.observations.has_copies
    part = resampler.part(np.arange(20))
    np.testing.assert_allclose(part.weights, weights[1:21])


def test_weights_that_are_very_large_are_drawn_in_parcels(monkeypatch):
    monkeypatch.setattr(division, "MAX_OBSERVATIONS", 1000)
    X, y = noisy(40, 3)
    weights = np.full(40, 3000.0)
    weights[0] = 0
    resampler = of(X, y, weights=weights)
    assert 1000 <= resampler.observations.n <= 1040
    part = resampler.observations.deal(2, np.random.default_rng(0))
    halves = [resampler.part(np.flatnonzero(part == i)) for i in (0, 1)]
    assert sum(half.weights.sum() for half in halves) == pytest.approx(weights.sum())
    assert halves[0].weights.sum() == pytest.approx(weights.sum() / 2, rel=0.01)


def test_weights_of_an_estimator_stay_with_their_row():
    X, y = noisy(40, 3)
    resampler = of(X, y, model=LinearRegression(), weights=np.full(40, 3))
    assert resampler.observations.n == 40


# --- groups of rows --------------------------------------------------------------------------------------------------


def test_groups_of_rows_stay_in_one_part():
    X, y = noisy(60, 3)
    groups = np.repeat([f"g{i}" for i in range(12)], 5)
    drawn = of(X, y, groups=groups).observations
    part = drawn.deal(2, np.random.default_rng(0))
    assert all(len(set(part[groups == g])) == 1 for g in set(groups))
    assert np.bincount(part).tolist() == [30, 30]
    inside = drawn.share(0.25, np.random.default_rng(0))
    assert all(len(set(inside[groups == g])) == 1 for g in set(groups))
    assert inside.sum() == 15


@pytest.mark.parametrize("n_groups", [2, 5, 20])
@pytest.mark.parametrize("classes", [False, True])
def test_few_groups_of_many_rows(n_groups, classes):
    """There are fewer groups than blocks, of which halves would be sums."""
    X, y = noisy(5000, 10)
    groups = np.arange(5000) % n_groups
    result = stability(X, y > 0 if classes else y, n_pairs=3, sample_groups=groups)
    assert not result.from_blocks
    assert result.frequencies[0] == 1


@pytest.mark.parametrize("classes", [False, True])
def test_a_union_of_moments_is_their_sum(classes):
    rng = np.random.default_rng(0)
    parts = []
    for i in range(5):
        X, weights = 1e3 + rng.standard_normal((30, 4)), rng.integers(0, 3, 30)
        y = np.arange(30) % (3 if i < 4 else 2) if classes else rng.standard_normal(30)
        parts.append(Moments.of(X, y, sample_weight=weights, model="discriminant" if classes else "linear"))
    for some in (parts[:4], parts):  # the last one lacks a class
        slow, fast = reduce(add, some), union(some)
        np.testing.assert_allclose(fast.counts, slow.counts)
        np.testing.assert_allclose(fast.means, slow.means, rtol=1e-14)
        np.testing.assert_allclose(fast.scatter, slow.scatter, rtol=1e-9, atol=1e-9 * np.abs(slow.scatter).max())
        np.testing.assert_array_equal(fast.scatter, fast.scatter.T)


def test_many_groups_are_summed_in_blocks():
    X, y = noisy(6000, 10)
    assert stability(X, y, n_pairs=2, sample_groups=np.arange(6000) // 10).from_blocks
    classes = np.arange(6000) < 100  # in ten groups only
    assert not stability(X, classes, n_pairs=2, sample_groups=np.arange(6000) // 10).from_blocks


def test_a_single_group_has_no_halves():
    X, y = noisy(60, 3)
    with pytest.raises(ValueError, match="sample_groups has a single group, which cannot be divided into halves"):
        stability(X, y, sample_groups=np.zeros(60))


# --- targets that cannot be fitted -----------------------------------------------------------------------------------


def test_a_half_whose_target_is_constant_selects_nothing_also_with_many_rows():
    X, _ = noisy(5000, 10)
    y = np.zeros(5000)
    y[7] = 1.0
    result = stability(X, y, n_pairs=3, model="linear")
    assert result.from_blocks
    assert result.n_empty == 3


def test_a_half_whose_targets_are_dependent_selects_nothing():
    X, y = noisy(40, 3)
    other = y.copy()
    other[3] += 5.0
    result = stability(X, np.column_stack([y, other]), n_pairs=3)
    assert result.n_empty == 3


def test_data_of_which_no_half_can_be_fitted_are_refused():
    X, _ = noisy(8, 2)
    with pytest.raises(ValueError, match="no half of the rows can be fitted: they are too few, the target does not"):
        stability(X, np.array([0, 0, 1, 1, 2, 2, 3, 3]), n_pairs=2, model="discriminant")


def test_an_error_on_a_part_of_the_rows_says_so():
    X, y = noisy(40, 25)
    with pytest.raises(ValueError, match="on a part of the rows: backward starts from all 25 features, which 20 rows"):
        stability(X, y, n_pairs=2, strategy="backward")


def test_a_criterion_that_reads_rows_does_so_with_many_rows():
    X, y = noisy(5000, 10)
    result = stability(X, y, n_pairs=2, criterion="press")
    assert not result.from_blocks
    assert result.frequencies[0] == 1


def test_rows_that_are_not_in_memory_are_refused(tmp_path, read_in_blocks):
    data = load_diabetes(as_frame=True).frame
    data.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match="stability needs all rows in memory; pass X as an array or a frame"):
        stability(str(tmp_path / "rows.csv"), "target")
    with pytest.raises(ValueError, match="audit needs all rows in memory; pass X as an array or a frame"):
        audit(select(data, "target"), str(tmp_path / "rows.csv"), "target")


# --- groups of rows --------------------------------------------------------------------------------------------------

MODELS = ("linear", "discriminant", "logistic", "poisson", "cox", "estimator")
EVALUATIONS = {
    "stability": lambda path, X, y, groups, given: stability(X, y, n_pairs=2, sample_groups=groups, **given),
    "compare": lambda path, X, y, groups, given: compare(
        X, y, strategies=["forward"], cv=3, sample_groups=groups, **given
    ),
    "SelectorCV": lambda path, X, y, groups, given: SelectorCV(cv=3, **given).fit(X, y, sample_groups=groups),
    "report": lambda path, X, y, groups, given: path.report(X=X, y=y, sample_groups=groups),
    "infer": lambda path, X, y, groups, given: infer(path, X, y, split=0.5, n_splits=3, sample_groups=groups),
    "cv": lambda path, X, y, groups, given: select(X, y, criterion="cv", cv=3, sample_groups=groups, **given),
}


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_every_evaluation_keeps_groups_of_rows_together(model, evaluation, monkeypatch):
    """Every part of the rows that a model is fitted to consists of whole groups."""
    undefined = {"infer": ("discriminant", "estimator"), "cv": MODELS[2:], "report": ("estimator",)}
    if model in undefined.get(evaluation, ()):
        pytest.skip("not defined")
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(24), 4))
    X = rng.standard_normal((96, 4))
    signal = 2 * X[:, 0] + rng.standard_normal(24)[groups]
    y = {"linear": signal, "estimator": signal, "poisson": rng.poisson(np.exp(signal / 4))}.get(model, signal > 0)
    if model == "cox":
        y = np.column_stack([np.exp(-signal), rng.random(96) < 0.7])
    X = np.column_stack([X, groups])  # what each row belongs to, whatever is done with it; never considered
    given = {"model": LinearRegression() if model == "estimator" else model, "exclude": [4]}
    path = select(X, y, **given)
    seen = []

    def note(groups):
        seen.append(tuple(np.unique(np.unique(groups, return_counts=True)[1])))

    def watch_parts(owner):
        original = owner.at

        def at(self, rows):
            note(np.asarray(self.groups)[rows])
            return original(self, rows)

        monkeypatch.setattr(owner, "at", at)

    def watch_folds(owner):
        original = owner.split

        def split(self, X, y=None, groups=None):
            for train, test in original(self, X, y, groups):
                note(np.asarray(groups)[train])
                yield train, test

        monkeypatch.setattr(owner, "split", split)

    watch_parts(Sample)
    watch_parts(EstimatorSample)
    watch_folds(GroupKFold)
    watch_folds(StratifiedGroupKFold)
    EVALUATIONS[evaluation](path, X, y, groups, given)
    assert set(seen) == {(4,)}
