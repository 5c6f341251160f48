"""The reference against independent results: scikit-learn, SciPy, R, determinants, and examples computed by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LinearRegression

import datasets
import reference
from examples.from_scratch import FromScratch, least_squares_criterion, trace_criterion
from reference import ReferencePath, aliased, improvement, lambda_partial, p_value, run, score

REGRESSION = ["rss", "r2", "adj_r2", "cp", "aic", "aicc", "bic", "ebic", "hqc", "sawa", "amemiya", "press"]
CLASSES = ["trace", "pillai", "wilks", "roy"]
STRATEGIES = list(reference.STRATEGIES)
GOLDEN = Path(datasets.__file__).parent / "golden"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture
def regression(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(50, 8)) @ (np.eye(8) + 0.4)
    return X, 3 * X[:, 1] - 2 * X[:, 4] + X[:, 6] + rng.normal(size=50)


@pytest.fixture
def iris() -> tuple[np.ndarray, np.ndarray]:
    return load_iris(return_X_y=True)


def scatters(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sw and the total scatter, by their definitions."""
    within = sum(np.cov(X[y == c].T, bias=True).reshape(X.shape[1], -1) * (y == c).sum() for c in np.unique(y))
    return within, np.cov(X.T, bias=True).reshape(X.shape[1], -1) * len(X)


# Criteria


def test_by_hand() -> None:
    """Line y = 1.1 + 1.6 x through (0, 1), (1, 3), (2, 4), (3, 6): residuals -0.1, 0.3, -0.3, 0.1."""
    X, y = np.array([[0.0], [1], [2], [3]]), np.array([1.0, 3, 4, 6])
    assert score("rss", X, y, []) == pytest.approx(13)
    assert score("rss", X, y, [0]) == pytest.approx(0.2)
    assert score("r2", X, y, [0]) == pytest.approx(1 - 0.2 / 13)
    assert score("adj_r2", X, y, [0]) == pytest.approx(1 - 0.1 / (13 / 3))
    assert score("aic", X, y, [0]) == pytest.approx(4 * math.log(0.05) + 4)
    assert score("bic", X, y, [0]) == pytest.approx(4 * math.log(0.05) + 2 * math.log(4))
    assert score("aicc", X, y, [0]) == math.inf
    assert score("hqc", X, y, [0]) == pytest.approx(4 * math.log(0.05) + 4 * math.log(math.log(4)))
    assert score("sawa", X, y, [0]) == pytest.approx(4 * math.log(0.05) + 2 * 4 * 2 - 2 * 2**2)
    assert score("amemiya", X, y, [0]) == pytest.approx(6 / 2 * 0.2 / 13)
    assert score("press", X, y, [0]) == pytest.approx(2 * (0.1 / 0.3) ** 2 + 2 * (0.3 / 0.7) ** 2)
    assert score("cp", X, y, [], sigma2=0.1) == pytest.approx(130 - 4 + 2)
    assert score("cp", X, y, [0], sigma2=0.1, per_sample=True) == pytest.approx(0.4 / 4)
    assert lambda_partial(X, y, [], 0) == pytest.approx(0.2 / 13)
    assert p_value(X, y, [], 0) == pytest.approx(stats.f.sf(12.8 / 0.1, 1, 2))


@pytest.mark.parametrize("weighted", [False, True])
def test_rss_is_that_of_sklearn(regression, rng: np.random.Generator, weighted: bool) -> None:
    X, y = regression
    Y = np.column_stack([y, X[:, 0] + rng.normal(size=50)])
    w = rng.uniform(0.5, 3, size=50) if weighted else None
    fit = LinearRegression().fit(X[:, [4, 1]], Y, sample_weight=w)
    squares = (Y - fit.predict(X[:, [4, 1]])) ** 2
    expected = squares.sum() if w is None else (w @ squares).sum()
    assert score("rss", X, Y, [4, 1], weights=w) == pytest.approx(expected)
    assert score("r2", X, y, [4, 1]) == pytest.approx(LinearRegression().fit(X[:, [4, 1]], y).score(X[:, [4, 1]], y))


def test_information_criteria_of_several_targets(regression, rng: np.random.Generator) -> None:
    X, y = regression
    Y = np.column_stack([y, X[:, 0] + rng.normal(size=50)])
    n, q, k, subset = 50, 2, 3, [0, 1, 6]
    design = np.column_stack([np.ones(n), X[:, subset]])
    residual = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    E = residual.T @ residual
    bic = n * np.log(np.linalg.det(E / n)) + np.log(n) * q * (k + 1)
    assert score("bic", X, Y, subset) == pytest.approx(bic)
    assert score("aic", X, Y, subset) == pytest.approx(bic + (2 - np.log(n)) * q * (k + 1))
    ebic = partial(score, "ebic", X, Y, subset)
    assert ebic() == pytest.approx(bic + 2 * np.log(math.comb(8, 3)))
    assert ebic(gamma=0.5, n_candidates=20) == pytest.approx(bic + np.log(math.comb(20, 3)))
    assert ebic(exclude=[7]) == pytest.approx(bic + 2 * np.log(math.comb(7, 3)))
    assert ebic(include=[0]) == pytest.approx(bic + 2 * np.log(math.comb(7, 2)))
    assert ebic(n_candidates=4) == pytest.approx(bic + 2 * np.log(math.comb(4, 2)))  # constant from half of them on
    aicc = n * np.log(np.linalg.det(E / n)) + 2 * n * (q * (k + 1) + 3) / (n - k - q - 2)
    assert score("aicc", X, Y, subset) == pytest.approx(aicc)


def test_cp_of_the_full_model_is_its_number_of_coefficients(regression) -> None:
    X, y = regression
    assert score("cp", X, y, range(8)) == pytest.approx(9)
    assert score("cp", X, np.column_stack([y, y**2]), range(8)) == pytest.approx(18)
    assert score("cp", X, y, range(1, 8), exclude=[0]) == pytest.approx(8)
    with pytest.raises(ValueError, match="sigma2"):
        score("cp", X[:9], y[:9], [0])


def test_iris_has_the_statistics_of_r(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """summary(manova(cbind(...) ~ Species, iris), test = ...)"""
    known = {"wilks": 0.023439, "pillai": 1.1919, "trace": 32.477, "roy": 32.192}
    for criterion, value in known.items():
        assert score(criterion, *iris, range(4)) == pytest.approx(value, rel=3e-5)


def test_separability_by_determinants_and_inverses(iris) -> None:
    X, y = iris
    within, total = scatters(X[:, [2, 0, 3]], y)
    assert score("wilks", X, y, [2, 0, 3]) == pytest.approx(np.linalg.det(within) / np.linalg.det(total))
    assert score("pillai", X, y, [2, 0, 3]) == pytest.approx(np.trace(np.linalg.solve(total, total - within)))
    assert score("trace", X, y, [2, 0, 3]) == pytest.approx(np.trace(np.linalg.solve(within, total - within)))
    largest = np.linalg.eigvals(np.linalg.solve(within, total - within)).real.max()
    assert score("roy", X, y, [2, 0, 3]) == pytest.approx(largest)
    assert [score(name, X, y, []) for name in CLASSES] == [0, 0, 1, 0]


def test_class_labels_do_not_matter(iris) -> None:
    X, y = iris
    names = np.array(["z", "a", "m"])[y]
    assert run("swap", X, names, criterion="roy") == run("swap", X, np.array([5, -1, 9])[y], criterion="roy")


@pytest.mark.parametrize("criterion", REGRESSION + CLASSES)
def test_a_weight_counts_its_row(criterion: str, regression, rng: np.random.Generator) -> None:
    X, y = regression
    y = y if criterion in REGRESSION else np.digitize(y, [-2, 2])
    w = rng.integers(0, 4, size=50)
    twice = score(criterion, np.repeat(X, w, axis=0), np.repeat(y, w, axis=0), [1, 4])
    assert score(criterion, X, y, [1, 4], weights=w) == pytest.approx(twice, rel=1e-12)


@pytest.mark.parametrize("criterion", REGRESSION + CLASSES)
def test_combinations_of_features_add_nothing_and_scale_does_not_matter(criterion: str, regression) -> None:
    X, y = regression
    model = "linear" if criterion in REGRESSION else "discriminant"
    y = y if model == "linear" else np.digitize(y, [-2, 2])
    wide = np.column_stack([(X + 1e3) * 10.0 ** np.arange(-8, 8, 2), X[:, 1] - 3 * X[:, 4] + 1e3, np.full(50, 0.1)])
    params = {"n_candidates": 8} if criterion == "ebic" else {}
    assert aliased(wide, y, [1, 4], 8, None, model)
    assert aliased(wide, y, [], 9, None, model)
    assert not aliased(wide, y, [1], 8, None, model)
    expected = score(criterion, X, y, [1, 4], **params)
    assert score(criterion, wide, y, [1, 9, 4, 8], **params) == pytest.approx(expected, rel=1e-7)
    assert p_value(wide, y, [1, 4], 8, model=model) == 1


def test_improvement_is_positive_when_the_score_is_better() -> None:
    assert improvement("rss", 1.0, 3.0) == 2
    assert improvement("wilks", 0.25, 0.5) == 0.25
    assert improvement("trace", 1.0, 3.0) == -2
    assert improvement("aicc", math.inf, math.inf) == 0


# Tests


def test_one_feature_has_the_p_value_of_simple_regression_and_of_one_way_anova(regression, iris) -> None:
    X, y = regression
    assert p_value(X, y, [], 3) == pytest.approx(stats.linregress(X[:, 3], y).pvalue)
    X, y = iris
    anova = stats.f_oneway(*(X[y == c, 1] for c in range(3)))
    assert p_value(X, y, [], 1, model="discriminant") == pytest.approx(anova.pvalue)


def test_a_group_has_the_f_test_of_nested_models(regression) -> None:
    X, y = regression
    small, large = score("rss", X, y, [1]), score("rss", X, y, [1, 2, 3, 0])
    f = (small - large) / 3 / (large / (50 - 5))
    assert p_value(X, y, [1], [2, 3, 0]) == pytest.approx(stats.f.sf(f, 3, 45))


def test_raos_f_of_iris_is_that_of_r(iris: tuple[np.ndarray, np.ndarray]) -> None:
    """Wilks 0.023439, approx F 199.15 on 8 and 288; at L^(1/2) = 0.1531 the approximation is exact."""
    wilks = score("wilks", *iris, range(4))
    f = (1 - math.sqrt(wilks)) / math.sqrt(wilks) * 288 / 8
    assert f == pytest.approx(199.15, abs=0.005)
    assert p_value(*iris, [], range(4), model="discriminant") == pytest.approx(stats.f.sf(f, 8, 288), rel=1e-6)


def test_rao_and_the_exact_test_agree_on_one_feature(regression, rng: np.random.Generator) -> None:
    X, y = regression
    Y = np.column_stack([y, rng.normal(size=50), X[:, 2] + rng.normal(size=50)])
    one = lambda_partial(X, Y, [0, 3], 2)
    assert p_value(X, Y, [0, 3], 2) == pytest.approx(reference.rao(one, 3, 1, 50 - 1 - 2 - 1))
    classes = np.digitize(y, [-4, 0, 4])
    one = lambda_partial(X, classes, [0, 3], 2, model="discriminant")
    assert p_value(X, classes, [0, 3], 2, model="discriminant") == pytest.approx(reference.rao(one, 1, 3, 50 - 4 - 2))


def test_several_targets_and_features_are_symmetric(regression) -> None:
    """det E_A / det E_0 is the same when features and targets are exchanged; so are Rao's degrees of freedom."""
    X, _ = regression
    exchanged = p_value(X[:, :3], X[:, 3:6], [], [0, 1, 2])
    assert exchanged == pytest.approx(p_value(X[:, 3:6], X[:, :3], [], [0, 1, 2]))


# Strategies


def test_dropping_on_the_digits_is_the_procedure_from_scratch() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:200, [*range(18, 23), *range(26, 31), *range(34, 39), *range(42, 47)]], y[:200]
    scratch = FromScratch(trace_criterion(X, y), X.shape[1], 0.6, 0.6)
    path = run("dropping", X, y, criterion="trace", enter=0.6, leave=0.6, drop=0.6)
    assert list(path.selected) == scratch.run("dropping")
    assert path.score == pytest.approx(scratch.score(scratch.selected))
    # Gains of candidates that were never dropped are known when the others are recalled; from scratch they are not.
    handled = sum(len(step.features) for step in path.steps if step.phase == "forward")
    assert path.n_evaluations == scratch.n_evaluations - (X.shape[1] - handled)
    assert {"add", "drop", "recall"} <= {step.action for step in path.steps}


def test_forward_on_regression_is_the_procedure_from_scratch(regression) -> None:
    X, y = regression
    bic = least_squares_criterion(X, y, lambda rss, size: -(50 * math.log(rss / 50) + math.log(50) * (size + 1)))
    scratch = FromScratch(bic, 8, 0, 0)
    path = run("forward", X, y, criterion="bic")
    assert (list(path.selected), path.n_evaluations) == (scratch.run("forward"), scratch.n_evaluations)
    assert path.score == pytest.approx(-bic(scratch.selected))
    assert path.start == pytest.approx(-bic([]))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("criterion", ["bic", "rss", "wilks"])
def test_a_path_adds_up(strategy: str, criterion: str, regression) -> None:
    """The score is that of the start plus all gains; no included feature is removed and no excluded one added."""
    X, y = regression
    y = y if criterion in REGRESSION else np.digitize(y, [-2, 2])
    path = run(strategy, X, y, criterion=criterion, include=[3], exclude=[0], groups=[[5, 1]], max_features=5)
    sign = -1 if criterion in reference.LOWER_IS_BETTER else 1
    assert path.score == pytest.approx(path.start + sign * sum(step.gain for step in path.steps))
    assert path.score == pytest.approx(score(criterion, X, y, path.selected))
    assert path.steps[0][:3] == ("start", "add", (3,))
    assert path.selected[0] == 3
    assert 0 not in path.selected
    assert (1 in path.selected) == (5 in path.selected)
    assert len(path.selected) <= 5 + (1 in path.selected)  # a group counts once


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_finds_an_easy_answer(strategy: str, regression) -> None:
    X, y = regression
    two = np.column_stack([y, np.sin(5 * y)])
    limit = 3 if strategy == "exhaustive" else None  # without a penalty it needs a size
    assert set(run(strategy, X, y, criterion="rss", rounds=math.inf, max_features=limit).selected) == {1, 4, 6}
    assert set(run(strategy, X, two, criterion="ebic", rounds=math.inf).selected) == {1, 4, 6}


def test_noise_selects_nothing(rng: np.random.Generator) -> None:
    found = [
        bool(run("forward", rng.normal(size=(12, 5)), np.arange(12) % 3, criterion="trace", max_features=1).selected)
        for _ in range(100)
    ]
    assert np.mean(found) < 0.12


def redundant_first() -> tuple[np.ndarray, np.ndarray]:
    """y = x0 + x1 and x2 = y + noise: forward adds x2 first, and x0 and x1 make it redundant."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + X[:, 1] + 0.01 * rng.normal(size=60)
    X[:, 2] = y + 0.3 * rng.normal(size=60)
    return X, y


def actions(path: ReferencePath) -> list[tuple[str, str, tuple[int, ...]]]:
    return [step[:3] for step in path.steps]


def test_stepwise_removes_what_became_redundant() -> None:
    X, y = redundant_first()
    path = run("stepwise", X, y, criterion="bic")
    first, second = path.selected
    assert actions(path) == [
        ("forward", "add", (2,)),
        ("forward", "add", (first,)),
        ("forward", "add", (second,)),
        ("backward", "remove", (2,)),
    ]
    # Pools of 4, 3, 2; removals 1, 2, 3, 2; the pool of 2 after the removal.
    assert path.n_evaluations == 4 + 3 + 2 + 1 + 2 + 3 + 2 + 2
    with pytest.raises(ValueError, match="cycle"):
        run("stepwise", X, y, criterion="bic", enter=0.1, leave=0.2)


def test_backward_skips_combinations_of_earlier_features() -> None:
    X, y = redundant_first()
    X = np.column_stack([np.ones(60), X, X[:, 0] + X[:, 1]])
    path = run("backward", X, y, criterion="bic", max_features=1)
    assert path.steps[0][:3] == ("start", "add", (1, 2, 3, 4))
    assert [step.action for step in path.steps[1:]] == ["remove"] * 3
    assert path.n_evaluations == 4 + 3 + 2 + 1


def test_floating_removes_a_feature_for_a_better_set_of_that_size() -> None:
    X, y = redundant_first()
    path = run("floating", X, y, criterion="r2", enter=1e-4, leave=0)
    assert [step.action for step in path.steps] == ["add", "add", "add", "remove"]
    assert set(path.selected) == {0, 1}
    # The pool of 2 at the end is scanned, the removals from 2 units are not.
    assert path.n_evaluations == 4 + 3 + 2 + 3 + 2


def test_swap_exchanges_until_nothing_improves() -> None:
    X, y = redundant_first()
    path = run("swap", X, y, criterion="r2", enter=0, max_features=2)
    other = path.steps[1].features[0]
    assert actions(path)[2:] == [("swap", "remove", (2,)), ("swap", "add", (1 - other,))]
    # Two scans of 2 x 2 pairs: the first finds an exchange, the second none.
    assert path.n_evaluations == 4 + 3 + 4 + 4


def test_ties_go_to_the_lowest_index(regression) -> None:
    X, y = regression
    path = run("forward", np.column_stack([X, X[:, ::-1]]), y, criterion="bic")
    assert path.selected == run("forward", X, y, criterion="bic").selected


def test_rows_limit_the_size(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(8, 12)), rng.normal(size=8)
    assert len(run("forward", X, y, criterion="rss", enter=-math.inf).selected) == 6
    assert len(run("forward", X, np.arange(8) % 3, criterion="trace", enter=-math.inf).selected) == 4


def test_fbed_rounds(regression) -> None:
    """No round: the selection of forward dropping. A round that adds nothing is the last one."""
    X, y = regression
    fbed = partial(run, "fbed", X, y, criterion="bic", drop=40.0)
    none, one, many = fbed(rounds=0), fbed(rounds=1), fbed(rounds=math.inf)
    assert [step.action for step in none.steps].count("recall") == 0
    assert set(none.selected) <= set(one.selected) <= set(many.selected)
    assert {1, 4, 6} <= set(many.selected)
    assert many.steps[-1].action == "recall"


@pytest.mark.parametrize("strategy", ["stepwise", "bidirectional"])
def test_a_cycle_stops(strategy: str, regression) -> None:
    """Any loss is accepted, so every feature that enters by the test is removed again."""
    path = run(strategy, *regression, criterion="rss", leave=math.inf, max_features=1)
    assert [step.action for step in path.steps] == ["add", "remove"]
    assert path.selected == ()


# Bidirectional


def r_both(path: ReferencePath) -> list[tuple[Any, ...]]:
    """The moves, as R's step() prints them."""
    return [("+" if step.action == "add" else "-", *step.features) for step in path.steps]


@pytest.mark.parametrize("criterion", ["aic", "bic"])
@pytest.mark.parametrize("name", ["swiss", "mtcars"])
def test_bidirectional_is_step_of_r(name: str, criterion: str) -> None:
    """step(direction = "both") from the empty model."""
    golden = json.loads((GOLDEN / f"regression_{name}.json").read_text())
    path = run("bidirectional", golden["X"], golden["y"], criterion=criterion)
    step = golden["step"]["both"][criterion]
    assert r_both(path) == list(zip(step["signs"], step["features"], strict=True))
    assert path.score - path.start == pytest.approx(step["final_aic"] - step["start_aic"])


def test_bidirectional_removes_where_r_does(data_dir: Path) -> None:
    """A removal before the last additions; without most of the features that R never adds, the path is the same."""
    X, y = datasets.communities(data_dir)
    step = json.loads((GOLDEN / "regression_communities.json").read_text())["step"]["both"]["bic"]
    columns = sorted({*step["features"], *range(0, X.shape[1], 9)})
    path = run("bidirectional", X[:, columns], y, criterion="bic")
    assert "-" in step["signs"]
    assert [(sign, columns[j]) for sign, j in r_both(path)] == list(zip(step["signs"], step["features"], strict=True))


def bidirectional_by_loop(value: Callable[[list[int]], float], p: int, most: int) -> tuple[list[tuple[str, int]], int]:
    """The best neighbour of the selection, while it is better: index lists and a function."""
    selected: list[int] = []
    moves, evaluations = [], 0
    while True:
        additions = [j for j in range(p) if j not in selected] if len(selected) < most else []
        neighbours = [("+", j, [*selected, j]) for j in additions]
        neighbours += [("-", i, [j for j in selected if j != i]) for i in sorted(selected)]
        evaluations += len(neighbours)
        sign, j, best = max(neighbours, key=lambda neighbour: value(neighbour[2]))
        if not value(best) > value(selected):
            return moves, evaluations
        moves.append((sign, j))
        selected = best


@pytest.mark.parametrize("criterion", ["aic", "bic", "ebic", "cp"])
@pytest.mark.parametrize("most", [3, 12])
def test_bidirectional_is_the_loop(criterion: str, most: int, rng: np.random.Generator) -> None:
    for _ in range(10):
        X = rng.normal(size=(40, 12)) + 2 * rng.normal(size=(40, 1))
        y = X[:, :6].sum(axis=1) + rng.normal(size=40)
        X[:, 7] = y + 2 * rng.normal(size=40)
        path = run("bidirectional", X, y, criterion=criterion, max_features=most)
        moves, evaluations = bidirectional_by_loop(lambda subset: -score(criterion, X, y, subset), 12, most)  # noqa: B023
        assert (r_both(path), path.n_evaluations) == (moves, evaluations)
        assert {step.phase for step in path.steps if step.action == "remove"} <= {"backward"}
        assert {step.phase for step in path.steps if step.action == "add"} <= {"forward"}


def test_bidirectional_starts_from_include() -> None:
    """Included features stay, even a redundant one; at max_features only removals are possible."""
    X, y = redundant_first()
    path = run("bidirectional", X, y, criterion="bic", include=[2], max_features=3)
    assert path.steps[0][:3] == ("start", "add", (2,))
    assert set(path.selected) == {0, 1, 2}
    # The pool of 3, then 2 and a removal, then 2 removals at max_features.
    assert path.n_evaluations == 3 + (2 + 1) + 2


def test_bidirectional_removes_first_what_gains_more() -> None:
    """After x2, x0 and x1, removing x2 gains more than adding noise: the removal is made before any addition."""
    X, y = redundant_first()
    path = run("bidirectional", X, y, criterion="bic")
    assert [step.phase for step in path.steps] == ["forward", "forward", "forward", "backward"]
    assert path.steps[-1].features == (2,)
    # Every selection scans all 4 features, as additions or removals.
    assert path.n_evaluations == 4 * 5


def test_a_loss_of_rounding_error_leaves_no_margin(regression) -> None:
    """y = 2 x1, so whether removing another feature loses nothing is a matter of rounding error."""
    X, _ = regression
    assert run("backward", X[:, [1, 4]], 2 * X[:, 1], criterion="rss", leave=0.0).margin == 0
