"""The tails of score tests are those of their definition, which sums over every row and brackets its roots."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dropstep import select
from models.glm.problems import RandomProblem
from reference.glm.fits import Data
from reference.tails import score_log_p_in_tails

KINDS = ("logistic", "poisson", "gamma", "cox")
NEAR_A_GATE = 1e-6


def skewed(kind: str, seed: int, n: int, p: int = 4, *, weighted: bool = False, rare: float = 0.08) -> RandomProblem:
    """Lognormal features, of which the first has an effect, and a target with a long tail or a rare class."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    X = np.exp(rng.normal(size=(n, p)))
    eta = 0.5 * np.log(X[:, 0])
    y: Any
    if kind == "logistic":
        y = (eta + rng.logistic(size=n) > math.log(1 / rare - 1)).astype(float)
        y[rng.permutation(n)[:3]] = 1
    elif kind == "poisson":
        y = rng.poisson(np.exp(eta - 1) * (rng.gamma(0.5, 2, size=n) if seed % 2 else 1.0)).astype(float)
    elif kind == "gamma":
        y = rng.gamma(0.7, np.exp(eta))
    else:
        time = np.ceil(20 * rng.exponential(np.exp(-eta)))
        y = np.column_stack([time, rng.uniform(size=n) < 0.3]).astype(float)
    weights = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    data = Data(kind, y, weights, np.zeros(n), np.zeros(n))
    return RandomProblem(kind, X, data, {"sample_weight": weights} if weighted else {})


def compared(given: RandomProblem, selected: list[int]) -> list[tuple[float | None, float | None]]:
    """Logarithms of p-values in the tails of what is not selected, by the library and by the definition."""
    model, p = given.model("deviance"), given.X.shape[1]
    model.add(selected)
    pool = np.array([j for j in range(p) if j not in selected])
    tests = model.additions(pool).tests
    assert tests is not None
    pairs = []
    for i, j in enumerate(pool.tolist()):
        expected, gate = score_log_p_in_tails(given.data, given.X[:, selected], given.X[:, [j]])
        if gate > NEAR_A_GATE:
            pairs.append((tests.log_tail(i), expected))
    return pairs


def check(pairs: list[tuple[float | None, float | None]], tolerance: float) -> None:
    assert pairs
    for found, expected in pairs:
        assert (found is None) == (expected is None)
        if expected is not None:
            assert found == pytest.approx(expected, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_few_rows_are_summed_one_by_one(kind: str, weighted: bool) -> None:
    """Up to 128 observations are not binned, so that rounding is all that differs."""
    pairs = []
    for seed in range(2 if kind == "cox" else 4):
        given = skewed(kind, seed, 40 if weighted or kind == "cox" else 70, weighted=weighted)
        for selected in ([], [0], [0, 1]):
            pairs += compared(given, selected)
    check(pairs, 1e-5)
    assert sum(expected is not None for _, expected in pairs) > len(pairs) / 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_are_binned(kind: str, weighted: bool) -> None:
    """Bins are an eighth of an octave wide, which changes the logarithm of a p-value by 0.2 % at most."""
    given = skewed(kind, 5, 75 if weighted else 150, 3, weighted=weighted)
    for selected in ([], [0]):
        check(compared(given, selected), 0.002)


@pytest.mark.parametrize("kind", ["logistic", "poisson", "gamma"])
def test_bins_keep_the_tail_of_many_rows(kind: str) -> None:
    """The smallest p-values are those of extreme values, which have bins of their own."""
    for seed in range(3):
        given = skewed(kind, seed, 400, 2, rare=0.02)
        given.X[np.argmax(given.data.y), 1] = 30.0
        check(compared(given, [0]), 0.002)


@pytest.mark.parametrize("kind", KINDS)
def test_the_p_value_of_a_step_is_that_in_the_tails(kind: str) -> None:
    """What is included is removed from the candidate, and the step shows the p-value that decided."""
    given = skewed(kind, 11, 120)
    given.X[:, 2] *= np.maximum(given.data.y if kind != "cox" else 1 / given.data.y[:, 0], 0.02)
    path = given.select(strategy="forward", include=[3])
    step = next(step for step in path.steps if step.phase == "forward")
    assert step.test is not None
    assert step.test.confirmed is not None
    assert step.test.p_value == step.test.confirmed
    expected, _ = score_log_p_in_tails(given.data, given.X[:, [3]], given.X[:, list(step.features)])
    assert math.log(step.test.p_value) == pytest.approx(expected, rel=1e-4)
    plain = replace(step.test, confirmed=None).p_value
    assert abs(math.log(plain / step.test.p_value)) > 0.2


# --- where the plain test holds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("near", ["features", "target"])
def test_there_is_no_tail_where_one_side_is_close_to_normal(kind: str, near: str) -> None:
    given = skewed(kind, 2, 129)
    if near == "features":
        given = replace(given, X=np.random.default_rng(2).normal(size=given.X.shape))
    else:
        rng = np.random.default_rng(3)
        y = {
            "logistic": rng.permutation(129) % 2.0,
            "poisson": rng.poisson(30, size=129).astype(float),
            "gamma": rng.gamma(40, size=129),
            "cox": np.column_stack([np.where(rng.permutation(129) % 2, 1.0, 2.0), np.arange(129) % 2]),
        }
        given = replace(given, data=replace(given.data, y=y[kind]))
    pairs = compared(given, [])
    assert len(pairs) == 4
    if kind != "cox":  # the variance of a partial likelihood may be less than that of exchangeable residuals
        assert pairs == [(None, None)] * 4
    check(pairs, 1e-6)


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
def test_fits_that_follow_the_rows_are_made_up_for_by_their_degrees_of_freedom(kind: str) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 12))
    y = rng.permutation(60) % 2.0 if kind == "logistic" else rng.binomial(4, 0.5, size=60).astype(float)
    given = RandomProblem(kind, X, Data(kind, y, np.ones(60), np.zeros(60), np.zeros(60)), {})
    model = given.model("deviance")
    model.add(range(10))
    scan = model.additions(np.array([10, 11]))
    assert scan.tests is not None
    for i in range(2):
        test, log_p = scan.tests.one(i), scan.tests.log_tail(i)
        assert test is not None
        assert test.df == (1.0,)
        assert log_p == pytest.approx(stats.chi2.logsf(test.statistic * 49 / 59, 1), rel=1e-9)


# --- weights and units -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [40, 150])
@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_two_is_a_repeated_row(kind: str, n: int) -> None:
    given = skewed(kind, 7, n, weighted=True)
    times = given.data.weights.astype(int)
    data = replace(given.data, y=np.repeat(given.data.y, times, axis=0), weights=np.ones(times.sum()))
    data = replace(data, offset=np.zeros(times.sum()), strata=np.zeros(times.sum()))
    repeated = RandomProblem(kind, np.repeat(given.X, times, axis=0), data, {})
    for selected in ([], [0]):
        tails = []
        for problem in (given, repeated):
            model = problem.model("deviance")
            model.add(selected)
            tests = model.additions(np.array([1, 2, 3])).tests
            assert tests is not None
            tails.append([tests.log_tail(i) for i in range(3)])
        assert any(log_p is not None for log_p in tails[0])
        np.testing.assert_allclose(*np.array(tails, dtype=float), rtol=1e-7)  # None is NaN, which equals itself here


@pytest.mark.parametrize("kind", KINDS)
def test_the_tail_of_a_group_does_not_depend_on_its_basis(kind: str) -> None:
    given = skewed(kind, 3, 100)
    turned = given.X.copy()
    turned[:, 1:3] = turned[:, 1:3] @ np.array([[1.0, 2.0], [-1.0, 0.5]])
    tails = []
    for X in (given.X, turned):
        tests = replace(given, X=X).model("deviance", [[0], [1, 2], [3]]).additions(np.array([1])).tests
        assert tests is not None
        test, log_p = tests.one(0), tests.log_tail(0)
        assert test is not None
        assert test.df[0] == 2
        assert log_p is not None
        tails.append(log_p)
    assert tails[0] == pytest.approx(tails[1], rel=1e-7)
    assert abs(tails[0] - math.log(test.p_value)) > 1e-3


def test_a_step_by_the_plain_test_has_no_other_p_value() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(83, 5))
        path = select(X, (X[:, 0] + rng.logistic(size=83) > 0).astype(int), model="logistic", strategy="forward")
        assert all(step.test is not None and step.test.confirmed is None for step in path.steps[:1])
