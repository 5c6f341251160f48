"""Best subsets by branch and bound: equal to brute force, with bounds that hold, and a gap when time is up."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression

import problems
import reference
from dropstep import Beam, Estimator, Exhaustive, Moments, Significance, StopReason, Subsets, select
from dropstep.data.sample import PerRow
from dropstep.models.base import Choices, Units
from dropstep.models.least_squares import best_subsets as subsets
from dropstep.models.least_squares.best_subsets import Tree
from dropstep.models.least_squares.criteria import CRITERIA, OfMatrix
from dropstep.models.least_squares.family import LeastSquaresFamily
from dropstep.models.least_squares.subset_candidates import candidates_of, fit_of, independent_parts
from dropstep.parameters import Parameters
from dropstep.search.strategies import STRATEGIES

NO_ROWS = PerRow(None, None, None, None, {})


def table(p: int, n: int = 60, q: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated features, half of them informative, so that greedy and best sets differ."""
    rng = np.random.default_rng([60, p, q, seed])
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, p)) + rng.normal(size=(n, p))
    effects = rng.normal(size=(p, q)) * (rng.random(size=(p, q)) < 0.5)
    y = X @ effects + 2 * rng.normal(size=(n, q))
    return X, y[:, 0] if q == 1 else y


def classes(y: np.ndarray, count: int) -> np.ndarray:
    return np.argsort(np.argsort(y)) * count // len(y)


def brute_force(X: np.ndarray, y: np.ndarray, criterion: str, size: int, **params: object) -> list[tuple[int, ...]]:
    """All sets of a size, best first."""
    problem = reference.problem_of(
        X, y, None, "discriminant" if CRITERIA[criterion].kind == "discriminant" else "linear"
    )
    resolved = reference.criterion_of(problem, criterion, **params)
    sets = list(combinations(range(X.shape[1]), size))
    value = {s: reference.score_of(problem, resolved, [(j,) for j in s]) for s in sets}
    return sorted(sets, key=lambda s: value[s] if criterion in reference.LOWER_IS_BETTER else -value[s])


@pytest.fixture(params=["bounds", "growing"])
def method(request, monkeypatch):
    """Both ways to find the best sets: bounds, and growing where there are few sets."""
    monkeypatch.setattr(subsets, "MAX_GROWN", 0 if request.param == "bounds" else 10**9)
    return request.param


# --- equal to brute force --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("criterion", "q"), [("rss", 1), ("rss", 2), ("cp", 2), ("bic", 1), ("aic", 3), ("sawa", 1)])
def test_regressions_equal_brute_force(criterion, q, method):
    X, y = table(9, q=q)
    path = select(X, y, model="linear", strategy=Exhaustive(n_best=4), criterion=criterion, max_features=9)
    for size in range(1, 9):
        found = [subset.features for subset in path.subsets.of_size(size)]
        assert found == brute_force(X, y, criterion, size)[:4]
    assert path.stop is StopReason.OPTIMAL
    assert path.subsets.gap == 0


@pytest.mark.parametrize("criterion", ["trace", "wilks", "pillai", "roy"])
@pytest.mark.parametrize("count", [2, 4])
def test_classes_equal_brute_force(criterion, count, method):
    X, y = table(8)
    path = select(X, classes(y, count), strategy=Exhaustive(n_best=3), criterion=criterion, max_features=6)
    for size in range(1, 7):
        found = [subset.features for subset in path.subsets.of_size(size)]
        assert found == brute_force(X, classes(y, count), criterion, size)[:3]


def test_fifteen_features_equal_brute_force():
    """Residual sums of squares of all 32768 sets, by Cholesky factors of the Gram matrix."""
    X, y = table(15, n=100)
    path = select(X, y, model="linear", strategy="exhaustive", criterion="rss", max_features=15)
    X, y = X - X.mean(axis=0), y - y.mean()
    S, c = X.T @ X, X.T @ y
    for size in range(1, 16):
        sets = np.array(list(combinations(range(15), size)))
        b = np.linalg.solve(S[sets[:, :, None], sets[:, None, :]], c[sets][:, :, None])[:, :, 0]
        rss = y @ y - np.einsum("ij,ij->i", b, c[sets])
        (best,) = path.subsets.of_size(size)
        assert best.features == tuple(sets[rss.argmin()])
        assert best.score == pytest.approx(rss.min())


@given(st.integers(0, 10**6))
def test_degenerate_problems_equal_the_reference(seed):
    """Groups, include, several targets, weights, dependent columns, exact fits, few rows, by bounds and by growing."""
    assert problems.compare(problems.problem(seed, ["beam", "exhaustive"])) is None


# --- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("criterion", "q"), [("rss", 1), ("aic", 3), ("wilks", 3), ("roy", 2)])
def test_no_subset_of_a_node_has_less_than_its_bound(criterion, q):
    X, y = table(7, q=q)
    y = classes(y[:, 0], q + 1) if CRITERIA[criterion].kind == "discriminant" else y
    tree, scale = tree_of(X, y, criterion)
    root = tree.root(scale)
    at, units = np.nonzero(root.free)
    bounds = root.bounds(at, units)
    for row, (unit, followers) in enumerate(zip(units, root.followers[0][units], strict=True)):
        later = [int(j) for j in range(7) if 0 <= root.followers[0][j] < followers]
        for count in range(1, len(later) + 1):
            losses = [loss_of(tree, scale, {int(unit), *others}) for others in combinations(later, count)]
            assert bounds[row, count - 1] <= min(losses) + 1e-9
        assert np.isinf(bounds[row, len(later) :]).all()


def tree_of(X, y, criterion):
    """The tree of all features, and M of all of them."""
    family = LeastSquaresFamily("discriminant" if CRITERIA[criterion].kind == "discriminant" else "linear")
    given = Parameters(criterion=criterion)
    problem = family.problem(family.sample(X, y, NO_ROWS, given), "gram", None)
    model = problem.model(criterion, Units(X.shape[1]), np.arange(X.shape[1]), Choices(X.shape[1], 0))
    candidates = candidates_of(model.projection, model.units, np.arange(X.shape[1]))
    full = model.matrix.M + model.problem.sign * candidates.contribution(np.arange(candidates.n)).G
    return Tree(candidates, fit_of(model.criterion, model.problem, full), model.problem.sign), full


def loss_of(tree, full, deleted):
    kept = np.array([j for j in range(tree.candidates.n) if j not in deleted], dtype=np.intp)
    everything = tree.candidates.contribution(np.arange(tree.candidates.n)).G
    M = full - tree.sign * (everything - tree.candidates.contribution(kept).G)
    return float(tree.fit.loss(M[None])[0])


def test_parts_cover_every_independent_set_once():
    """Two copies and a sum: sets that contain each dependent column, and those that contain none."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 4))
    X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2]])
    tree, _ = tree_of(X, X[:, 3] + rng.normal(size=30), "rss")
    seen = []
    for part in independent_parts(tree.candidates, 6):
        for size in range(part.candidates.n + 1):
            seen += [frozenset([*part.chosen, *s]) for s in combinations(part.candidates.units.tolist(), size)]
    independent = [
        frozenset(s)
        for k in range(7)
        for s in combinations(range(6), k)
        if not s or np.linalg.matrix_rank(X[:, list(s)]) == k
    ]
    assert len(seen) == len(set(seen))
    assert set(seen) == set(independent)


@pytest.mark.parametrize(("p", "most"), [(30, 20_000), (40, 100_000)])
def test_few_of_many_sets_are_evaluated(p, most):
    """500 rows, half of the features informative: 2^30 and 2^40 sets."""
    rng = np.random.default_rng(p)
    X = rng.normal(size=(500, p))
    y = X @ np.where(rng.permutation(p) < p // 2, rng.normal(size=p), 0.0) + 2 * rng.normal(size=500)
    path = select(X, y, strategy="exhaustive", criterion="bic")
    assert path.subsets.gap == 0
    assert path.n_evaluations < most
    assert path.score <= select(X, y, strategy="swap", criterion="bic").score + 1e-9


# --- max_time --------------------------------------------------------------------------------------------------------


def test_a_limit_gives_the_best_set_found_and_a_gap_that_holds(method):
    X, y = table(10, n=100)
    best = select(X, y, strategy="exhaustive", criterion="bic")
    path = select(X, y, strategy="exhaustive", criterion="bic", max_time=1e-9)
    assert path.stop is StopReason.MAX_TIME
    assert path.selected
    assert path.score - path.subsets.gap <= best.score <= path.score
    assert path.notes[0].startswith("the search ended before every set was excluded; a set that scores better by up to")


def test_the_gap_is_that_of_the_nodes_not_visited(monkeypatch):
    """Ended after some batches, the bound is better than that of all features."""
    monkeypatch.setattr(subsets, "BATCH", 1)
    X, y = table(16, n=100)
    best, gaps = select(X, y, strategy="exhaustive", criterion="bic"), []
    for limit in (20, 200):
        calls = iter(range(10**9))
        model = model_of(X, y, "bic")
        found = model.best_sets(np.arange(16), 16, 1, lambda calls=calls, limit=limit: next(calls) > limit)
        assert max(found.bounds.values()) >= -best.score - 1e-9 or not found.bounds
        gaps.append(max(found.bounds.values(), default=-best.score) + best.score)
    assert gaps[1] <= gaps[0]


def model_of(X, y, criterion):
    family = LeastSquaresFamily("linear")
    problem = family.problem(family.sample(X, y, NO_ROWS, Parameters()), "gram", None)
    return problem.model(criterion, Units(X.shape[1]), np.arange(X.shape[1]), Choices(X.shape[1], 0))


def test_a_beam_that_is_ended_returns_its_best_set():
    X, y = load_diabetes(return_X_y=True)
    path = select(X, y, strategy="beam", criterion="bic", max_time=1e-9)
    assert path.stop is StopReason.MAX_TIME
    assert path.selected == ()


# --- enumeration and beam --------------------------------------------------------------------------------------------


def test_other_models_are_enumerated():
    X, y = table(5, n=80)
    path = select(X, y > 0, model="logistic", strategy=Exhaustive(n_best=2), criterion="aic")
    scores = {
        s: select(
            X, y > 0, model="logistic", criterion="aic", include=list(s), max_features=max(1, len(s)), enter=1e9
        ).score
        for k in range(1, 6)
        for s in combinations(range(5), k)
    }
    assert path.score == pytest.approx(min(scores.values()))
    for size in range(1, 6):
        best = sorted((s for s in scores if len(s) == size), key=scores.__getitem__)[:2]
        assert [subset.features for subset in path.subsets.of_size(size)] == best
    assert path.n_fits >= 31


def test_estimators_are_enumerated_whatever_the_race_says():
    X, y = load_diabetes(return_X_y=True)
    X = X[:, :5]
    racing = select(X, y, model=LinearRegression(), strategy="exhaustive", enter=0)
    exact = select(X, y, model=Estimator(LinearRegression(), racing=False), strategy="exhaustive", enter=0)
    assert racing.selected == exact.selected
    assert racing.score == exact.score
    assert exact.n_fits == 5 * 31  # the empty set needs no fit


@pytest.mark.parametrize("model", ["linear", "logistic", LinearRegression()])
def test_a_beam_of_width_one_is_forward_backward_and_a_wide_one_is_exhaustive(model):
    X, y = table(6, n=80)
    criterion = "auto" if isinstance(model, LinearRegression) else "aic"
    model = Estimator(model, racing=False) if criterion == "auto" else model
    y = y > 0 if model == "logistic" else y
    common = {"model": model, "criterion": criterion, "enter": 0}
    if model != "logistic":  # whose forward search refits a shortlist
        forward, narrow = (select(X, y, strategy=s, **common) for s in ("forward_backward", Beam(width=1)))
        assert [step.features for step in narrow.steps] == [step.features for step in forward.steps]
        assert narrow.stop is forward.stop
    common |= {"enter": -math.inf, "max_features": 3}
    wide, best = (select(X, y, strategy=s, **common) for s in (Beam(width=100), "exhaustive"))
    assert sorted(wide.selected) == sorted(best.selected)
    assert wide.score == pytest.approx(best.score)


def test_a_beam_finds_what_forward_misses():
    """y is the difference of two features that are nearly equal."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 200))
    X = np.column_stack([a + 5 * b, b, rng.normal(size=(200, 6)), a + 0.9 * rng.normal(size=200)])
    forward, beam = (select(X, a, strategy=s, criterion="rss", enter=0, max_features=2) for s in ("forward", "beam"))
    assert sorted(beam.selected) == [0, 1]
    assert forward.score > 1000 * beam.score


# --- the result and errors -------------------------------------------------------------------------------------------


def test_subsets_as_a_frame():
    data = load_breast_cancer(as_frame=True)
    path = select(data.data.iloc[:, :6], data.target, strategy=Exhaustive(n_best=2), max_features=2, include=[0])
    frame = path.subsets.to_frame()
    assert list(frame.columns) == ["size", "place", "features", "score"]
    assert frame["size"].tolist() == [1, 2, 2]
    assert frame["place"].tolist() == [1, 1, 2]
    assert frame["features"][0] == "mean radius"
    assert path.subsets[1].features == tuple(sorted(path.selected))
    assert len(path.subsets) == 3
    assert Subsets((), 0.0).of_size(1) == ()
    assert select(data.data, data.target).subsets is None


def test_enter_is_the_price_of_a_feature():
    X, y = table(8)
    path = select(X, y, strategy="exhaustive", criterion="r2", enter=0.02)
    values = {s.size: s.score - 0.02 * s.size for s in path.subsets.sets}
    assert path.score - 0.02 * len(path.selected) == pytest.approx(max(values.values()))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"strategy": "exhaustive", "criterion": "rss"},
            "exhaustive by 'rss', which does not charge for size, needs max",
        ),
        (
            {"strategy": "exhaustive", "enter": Significance(0.05)},
            "exhaustive compares sets by their scores, so that en",
        ),
        ({"strategy": "exhaustive", "criterion": "press"}, "possible for up to 20; there are 25: exclude some, or use"),
    ],
)
def test_refusals(parameters, message):
    X, y = table(25, n=40)
    with pytest.raises(ValueError, match=message):
        select(X, y, **parameters)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_parameters_are_whole_numbers(value):
    with pytest.raises(ValueError, match=f"width must be a whole number from 1; got {value!r}"):
        Beam(width=value)
    with pytest.raises(ValueError, match=f"n_best must be a whole number from 1; got {value!r}"):
        Exhaustive(n_best=value)
    with pytest.raises(ValueError, match="or an object such as Beam"):
        select(*table(3), strategy="best")


def test_rows_are_needed_for_press_and_one_target_for_sawa():
    X, y = table(4, q=2)
    with pytest.raises(
        ValueError, match="criterion 'press' reads the rows, which Moments do not contain; pass X and y"
    ):
        select(Moments.of(X, y, model="linear"), criterion="press")
    with pytest.raises(ValueError, match="criterion 'sawa' is defined for one target; y has 2: use criterion='bic'"):
        select(X, y, criterion="sawa")
    with pytest.raises(ValueError, match=r"sawa takes sigma2 from the model with all 4 features, which 5 rows cannot"):
        select(X[:5], y[:5, 0], criterion="sawa")


def test_a_criterion_of_rank_updates_only_has_no_bounds():
    """A custom criterion of M that charges for size is enumerated."""

    class Charged(OfMatrix):
        name, kind, penalised = "charged", "linear", True

        def score(self, M, size, problem):
            return np.trace(M, axis1=-2, axis2=-1) + 5 * size.rank

    X, y = table(5, q=2)
    path = select(X, y, strategy="exhaustive", criterion=Charged())
    assert path.n_evaluations == 31
    assert set(STRATEGIES) >= {"beam", "exhaustive"}


@pytest.mark.parametrize("p", [4, 2_000])
def test_nothing_to_choose(p: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, p)), rng.normal(size=300)
    assert select(X, y, strategy="exhaustive", criterion="bic", exclude=range(p)).selected == ()
    assert select(X[:, :4], y, strategy="exhaustive", criterion="bic", include=range(4)).selected == (0, 1, 2, 3)
