"""Racing, ordering and the cache: fits are saved, and what they decide is defined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from dropstep import Estimator, select
from dropstep.models.estimator.ordering import ordering_of
from dropstep.models.estimator.racing import KEPT, LEVEL, mean_differences, race, survivors
from models.estimator.problems import problem, signal


def runner(scores):
    """Runs of a table of scores, which records who ran."""
    ran = []

    def run(some, fold):
        ran.extend((i, fold) for i in some)
        return scores[list(some), fold]

    return run, ran


@pytest.mark.parametrize("seed", range(10))
def test_a_race_runs_what_the_rules_say(seed: int) -> None:
    rng = np.random.default_rng([15, seed])
    n, n_folds = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    scores = rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, n_folds))
    order = rng.permutation(n_folds).tolist()
    run, ran = runner(scores)
    found = race(n, order, run, racing=True, ranks=np.arange(n))
    assert found.finalists.any()
    np.testing.assert_array_equal(found.finalists, ~np.isnan(found.scores).any(axis=1))
    assert {(i, fold) for i, fold in ran} == set(zip(*np.nonzero(~np.isnan(found.scores)), strict=True))
    np.testing.assert_array_equal(found.scores[~np.isnan(found.scores)], scores[~np.isnan(found.scores)])
    if n_folds > 1:
        second = [i for i, fold in ran if fold == order[1]]
        assert len(second) <= max(math.ceil(KEPT * n), min(n, 2))
        assert n < 4 or len(second) <= n / 2
        worst_in = min(scores[second, order[0]])
        assert all(scores[i, order[0]] <= worst_in for i in range(n) if i not in second)


def test_without_racing_everything_runs() -> None:
    scores = np.random.default_rng(1).normal(size=(7, 4))
    run, ran = runner(scores)
    found = race(7, range(4), run, racing=False, ranks=np.arange(7))
    assert found.finalists.all()
    assert len(ran) == 28


def test_a_candidate_that_fails_runs_no_further_folds() -> None:
    scores = np.random.default_rng(1).normal(size=(5, 3))
    scores[2, 1] = np.nan
    run, ran = runner(scores)
    found = race(5, range(3), run, racing=False, ranks=np.arange(5))
    assert (2, 2) not in ran
    np.testing.assert_array_equal(found.finalists, [True, True, False, True, True])


@pytest.mark.parametrize("seed", range(10))
def test_survivors_are_those_of_the_textbook_test(seed: int) -> None:
    """The pooled variance of differences from the leader, and a one-sided t test of each mean difference."""
    rng = np.random.default_rng([16, seed])
    scores = rng.normal(size=(8, 1)) + rng.normal(size=(8, 3))
    kept = set(survivors(scores).tolist())
    leader = int(np.argmax(scores.mean(axis=1)))
    others = [i for i in range(8) if i != leader]
    variance = np.mean([np.var(scores[leader] - scores[i], ddof=1) for i in others])
    for i in others:
        statistic = (scores[leader] - scores[i]).mean() / math.sqrt(variance / 3)
        assert (i in kept) == (stats.t.sf(statistic, 7 * 2) >= LEVEL)
    assert leader in kept


def test_a_champion_stops_what_is_worse() -> None:
    rng = np.random.default_rng(2)
    scores = 0.1 * rng.normal(size=(6, 3))
    assert len(survivors(scores, np.full(3, 5.0))) == 0
    assert scores.mean(axis=1).argmax() in survivors(scores, np.full(3, -5.0))


def test_ties_after_the_first_fold_go_by_promise() -> None:
    run, ran = runner(np.zeros((8, 2)))
    race(8, [0, 1], run, racing=True, ranks=np.arange(8)[::-1])
    assert sorted(i for i, fold in ran if fold == 1) == [6, 7]


def test_mean_differences_are_the_textbook_ones() -> None:
    nan = np.nan
    means, errors = mean_differences(np.array([[1.0, 2.0, 6.0], [0.0, nan, 1.0], [2.0, nan, nan], [nan, nan, nan]]))
    np.testing.assert_allclose(means, [3.0, 0.5, 2.0, 0.0])
    pooled = (14.0 + 0.5) / 3
    np.testing.assert_allclose(errors[:3], [math.sqrt(14 / 2 / 3), math.sqrt(0.5 / 2), math.sqrt(pooled)])


def test_linear_gains_are_differences_of_explained_variance() -> None:
    X, y = signal(60, 6)
    ordering = ordering_of(X, y, classes=False)
    assert ordering is not None

    def r2(columns):
        if not columns:
            return 0.0
        return LinearRegression().fit(X[:, columns], y).score(X[:, columns], y)

    gains = ordering.gains([2, 4])
    for j in (0, 1, 3, 5):
        assert gains[j] == pytest.approx(r2([2, 4, j]) - r2([2, 4]), rel=1e-9)
    assert gains[2] == gains[4] == 0


def test_tables_without_a_linear_gain_have_no_order() -> None:
    X, y = signal(20)
    X[3, 1] = np.nan
    assert ordering_of(X, y, classes=False) is None
    assert ordering_of(np.array([["a"], ["b"]]), [1, 2], classes=False) is None
    assert ordering_of(np.ones((2, 1)), ["a", "b"], classes=False) is None


@pytest.mark.parametrize("seed", range(6))
def test_racing_and_dropping_save_fits(seed: int) -> None:
    given = problem(seed)
    words = {"criterion": given.scoring or "auto", "cv": 5, "enter": -math.inf, "drop": 0, "max_features": 3}
    full = select(given.X, given.y, model=Estimator(given.estimator, racing=False), strategy="forward", **words)
    raced = select(given.X, given.y, model=given.estimator, strategy="forward", **words)
    dropped = select(given.X, given.y, model=Estimator(given.estimator, racing=False), **words)
    assert raced.n_fits < 0.6 * full.n_fits
    assert raced.n_fits + raced.fits_saved["racing"] + raced.fits_saved["cache"] == full.n_fits
    assert dropped.fits_saved["racing"] == 0
    assert dropped.score >= full.score or dropped.fits_saved["dropping"] > 0


def test_a_selection_is_fitted_once() -> None:
    """Stepwise evaluates sets again: those it removes from, and those it had before."""
    X, y = signal(60, 6)
    fitted = []

    class Recorded(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            fitted.append((X.shape[1], float(X.sum())))
            return super().fit(X, y, sample_weight)

    path = select(X, y, model=Estimator(Recorded(), racing=False), strategy="stepwise", enter=-math.inf,
                  leave=-math.inf, max_features=3)  # fmt: skip
    assert len(fitted) == len(set(fitted)) == path.n_fits
    bidirectional = select(X, y > 0, model=Estimator(GaussianNB(), racing=False), strategy="bidirectional", enter=0,
                           leave=0)  # fmt: skip
    assert bidirectional.fits_saved["cache"] > 0


@pytest.mark.parametrize("strategy", ["dropping", "fbed", "forward", "stepwise", "forward_backward", "floating",
                                      "bidirectional", "swap", "backward"])  # fmt: skip
def test_every_strategy_runs_and_ranks_without_further_fits(strategy: str) -> None:
    X, y = signal(70, 6)
    fits = []
    leave = 0 if strategy == "backward" else "auto"
    path = select(X, y, model=LinearRegression(), strategy=strategy, max_features=4, cv=4, leave=leave,
                  progress=lambda done, _: fits.append(done))  # fmt: skip
    assert {0, 2, 5} <= set(path.selected)
    assert path.n_fits == len(fits) == fits[-1]
    assert sorted(path.ranking) == [1, 2, 3, 4, 5, 6]
    assert [path.ranking[j] for j in path.selected] == list(range(1, len(path.selected) + 1))
    assert path.start + sum(step.gain for step in path.steps) == pytest.approx(path.score)


def test_exchanges_at_max_features_take_few_fits() -> None:
    """Feature 0 is the best one, but 1 and 2 together are better: an exchange must find them."""
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(2, 90))
    X = np.column_stack([A + B + 0.5 * rng.normal(size=90), A, B, *rng.normal(size=(5, 90))])
    y = A + B + 0.1 * rng.normal(size=90)
    path = select(X, y, model=Estimator(LinearRegression(), racing=False), cv=3, enter=-math.inf, max_features=2)
    assert set(path.selected) == {1, 2}
    assert [step.phase for step in path.steps].count("swap") == 2
    # Two scans of the pool, the recall, pairs with the best candidate twice, and the removal that comes first.
    assert path.n_fits <= 3 * (8 + 7 + 6 + 2 + 1 + 6 + 2)
