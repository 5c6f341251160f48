"""Every statistic, gain and path equals that of the textbook reference, which refits every candidate from scratch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dropstep import Significance, select
from dropstep.models.glm.likelihood import Pointwise
from models.glm.problems import KINDS, NUISANCE, RandomProblem, problem, without_zero_weights
from reference.glm import fits
from search.test_lookup import Brute

SEEDS = range(6)
ALL = (*KINDS, *NUISANCE)
DISPERSED = ("gamma", "poisson", "negative_binomial")
REFITTING = ("forward", "backward", "stepwise", "bidirectional", "forward_backward", "floating", "swap", "dropping",
             "fbed")  # fmt: skip


def usable(kind: str, seed: int) -> tuple[RandomProblem, RandomProblem]:
    """A problem, and as the reference takes it."""
    given = problem(kind, seed)
    return given, without_zero_weights(given)


def columns(slow: RandomProblem, units: list[int]) -> np.ndarray:
    return slow.X[:, units].reshape(len(slow.X), -1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ALL)
def test_screening_is_the_score_test_and_confirmed_gains_are_those_of_refits(kind: str, seed: int) -> None:
    given, slow = usable(kind, seed)
    model = given.model()
    for selected in ([], [0], [0, 2]):
        model.add([u for u in selected if u not in model.fitted.units])
        pool = np.array([u for u in range(given.X.shape[1]) if u not in selected])
        scan, exact = model.additions(pool), model.confirm(pool)
        assert exact.units.tolist() == pool.tolist()
        now = fits.score(slow.data, columns(slow, selected), "aic")
        assert model.score == pytest.approx(now, rel=1e-8)
        for i, unit in enumerate(pool.tolist()):
            added = columns(slow, [unit])
            statistic, rank = fits.score_statistic(slow.data, columns(slow, selected), added)
            assert bool(scan.feasible[i]) == (rank > 0)
            after = fits.score(slow.data, columns(slow, [*selected, unit]), "aic")
            assert exact.gains[i] == pytest.approx(now - after if rank else 0.0, rel=1e-6, abs=1e-6)
            if rank and kind != "gamma":
                assert scan.tests is not None
                log_p = fits.score_log_p(slow.data, columns(slow, selected), added)
                assert scan.tests.log_p_values[i] == pytest.approx(log_p, rel=1e-5, abs=1e-8)
                assert scan.gains[i] == pytest.approx(statistic - 2 * rank, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ALL)
def test_removals_are_wald_tests_and_confirmed_losses_are_those_of_refits(kind: str, seed: int) -> None:
    given, slow = usable(kind, seed)
    model = given.model()
    chosen = model.independent(np.arange(given.X.shape[1]))
    model.add(chosen)
    if model.fit.limit is not None:
        pytest.skip("the reference has no information matrix where the likelihood has no maximum")
    units = np.array(chosen)
    scan, exact = model.removals(units), model.confirm(units)
    found = fits.fit(slow.data, columns(slow, chosen))
    covariance = fits.covariance(slow.data, found)
    q = slow.data.n_classes - 1 if kind == "multinomial" else 1
    first = slow.data.n_leading * q
    room = model.likelihood.df - len(chosen)
    phi = 1.0
    if kind in DISPERSED:
        assert isinstance(model.fitted.local, Pointwise)
        phi = model.fitted.local.pearson / room
    for i, unit in enumerate(chosen):
        at = np.arange(first + i * q, first + (i + 1) * q)
        wald = found.beta[at] @ np.linalg.solve(covariance[np.ix_(at, at)], found.beta[at])
        others = [u for u in chosen if u != unit]
        small = fits.fit(slow.data, columns(slow, others))
        assert scan.tests is not None
        assert exact.tests is not None
        if kind == "gamma" or phi > 1:
            expected = stats.f.logsf(wald / phi, 1, room)
            ratio = stats.f.logsf((small.deviance - found.deviance) / phi, 1, room)
        else:
            expected, ratio = stats.chi2.logsf(wald, q), stats.chi2.logsf(small.deviance - found.deviance, q)
        assert scan.tests.log_p_values[i] == pytest.approx(expected, rel=1e-5, abs=1e-7)
        assert exact.tests.log_p_values[i] == pytest.approx(ratio, rel=1e-5, abs=1e-7)
        loss = fits.score(slow.data, columns(slow, others), "aic") - fits.score(slow.data, columns(slow, chosen), "aic")
        assert exact.gains[i] == pytest.approx(loss, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ALL)
def test_groups_are_block_tests(kind: str, seed: int) -> None:
    given, slow = usable(kind, seed)
    groups = [[0, 3], [1], [2, 4, 5]]
    model = given.model(groups=groups)
    for selected in ([], [1], [0, 1]):
        model.add([u for u in selected if u not in model.fitted.units])
        inside = [j for u in sorted(selected) for j in groups[u]]
        now = fits.score(slow.data, columns(slow, inside), "aic")
        assert model.score == pytest.approx(now, rel=1e-8)
        if model.fit.limit is not None:
            continue
        pool = np.array([u for u in range(3) if u not in selected])
        scan, exact = model.additions(pool), model.confirm(pool)
        for i, unit in enumerate(pool.tolist()):
            statistic, rank = fits.score_statistic(slow.data, columns(slow, inside), columns(slow, groups[unit]))
            both = [j for u in sorted([*selected, unit]) for j in groups[u]]
            gain = now - fits.score(slow.data, columns(slow, both), "aic") if rank else 0.0
            assert exact.gains[i] == pytest.approx(gain, rel=1e-6, abs=1e-6)
            if rank and kind != "gamma":
                assert scan.gains[i] == pytest.approx(statistic - 2 * rank, rel=1e-5, abs=1e-6)


class Scores:
    """All subsets of a few features, scored by the reference; what `Brute` searches."""

    def __init__(self, slow: RandomProblem, criterion: str) -> None:
        self.slow, self.criterion, self.n = slow, criterion, slow.X.shape[1]
        self._known: dict[frozenset[int], float] = {}

    def value(self, units: list[int]) -> float:
        key = frozenset(units)
        if key not in self._known:
            self._known[key] = -fits.score(self.slow.data, columns(self.slow, sorted(units)), self.criterion)
        return self._known[key]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("criterion", ["aic", "aicc", "bic"])
def test_strategies_are_those_of_brute_force(kind: str, criterion: str) -> None:
    """With every candidate refitted."""
    for seed in range(2):
        given = problem(kind, seed, p=5, plain=True)
        scores = Scores(given, criterion)
        for strategy in REFITTING:
            path = given.select(strategy=strategy, criterion=criterion)
            expected = Brute(scores, {}, None).run(strategy)
            assert list(path.selected) == expected, strategy
            assert -path.score == pytest.approx(scores.value(expected), rel=1e-8)


@pytest.mark.parametrize("kind", ALL)
def test_a_weight_is_a_number_of_rows(kind: str) -> None:
    for seed in (1, 3):
        given = problem(kind, seed, n=60)
        times = given.data.weights.astype(int)
        assert 0 in times
        rows = {name: np.repeat(values, times) for name, values in given.rows.items() if name != "sample_weight"}
        repeated = RandomProblem(kind, np.repeat(given.X, times, axis=0), given.data, rows)
        y = np.repeat(given.data.y, times, axis=0)
        for criterion in ("ebic", "aic"):
            path = given.select(criterion=criterion)
            same = select(repeated.X, y, model=given.family(), criterion=criterion, **rows)
            assert path.selected == same.selected
            assert path.score == pytest.approx(same.score, rel=1e-9)
            assert [s.gain for s in path.steps] == pytest.approx([s.gain for s in same.steps], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("kind", ALL)
def test_memory_order_type_and_scale_do_not_matter(kind: str) -> None:
    given = problem(kind, 0, n=80, plain=True)
    given = RandomProblem(kind, np.round(given.X * 8).astype(np.int16), given.data, given.rows)
    paths = [given.select(8, criterion="aic")]
    for X in (
        given.X.astype(np.float32),
        np.asfortranarray(given.X, dtype=float),
        given.X * 1e200,
        given.X + 1e7,
    ):
        other = RandomProblem(kind, X, given.data, given.rows)
        paths.append(other.select(8, criterion="aic"))
    assert len({path.selected for path in paths}) == 1
    assert all(path.score == pytest.approx(paths[0].score, rel=1e-8) for path in paths)


@pytest.mark.parametrize("kind", ALL)
def test_fits_are_counted_and_bounded_by_the_shortlist(kind: str) -> None:
    given = problem(kind, 2, n=80, p=30, plain=True)
    for shortlist in (1, 4):
        path = given.select(shortlist, strategy="forward", criterion="bic")
        n_scans = len(path.steps) + 1
        assert path.n_fits == shortlist * n_scans
        assert path.n_evaluations == sum(30 - k for k in range(n_scans))
    every = given.select(None, strategy="forward", criterion="bic")
    assert every.n_fits == every.n_evaluations


@pytest.mark.parametrize("kind", ALL)
def test_a_test_enters_by_score_and_leaves_by_likelihood_ratio(kind: str) -> None:
    given = problem(kind, 4, n=150, p=8, plain=True)
    path = given.select(criterion="deviance", strategy="stepwise", enter=Significance(0.05))
    assert path.selected
    chosen = list(path.selected)
    full = fits.fit(given.data, given.X[:, chosen])
    q = 2 if kind == "multinomial" else 1
    for unit in chosen:
        small = fits.fit(given.data, given.X[:, [u for u in chosen if u != unit]])
        phi = 1.0 if kind != "gamma" else given_dispersion(given, chosen)
        assert stats.chi2.sf((small.deviance - full.deviance) / phi, q) <= 0.06
    path = given.select(criterion="deviance")
    assert not math.isnan(path.score)
    assert set(path.rules) == {"enter", "leave", "drop"}


def given_dispersion(given: RandomProblem, chosen: list[int]) -> float:
    model = given.model()
    model.add(chosen)
    return model.likelihood.dispersion(model.fitted.local, len(chosen))
