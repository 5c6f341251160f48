"""Properties of the criteria that the design relies on, each compared with an independent computation."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dropstep import select

Floats = NDArray[np.float64]
SEPARABILITY = ("trace", "pillai", "wilks", "roy")


def score(X: Any, y: Any, features: Any, criterion: str, **params: Any) -> float:
    """The criterion of exactly these features."""
    features = [int(j) for j in features]
    path = select(X, y, criterion=criterion, include=features, max_features=len(features), **params)
    assert path.selected == tuple(features)
    return path.score


def classes(seed: int, n: int = 60, p: int = 12, count: int = 4) -> tuple[Floats, NDArray[np.intp]]:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % count)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(size=(count, p))[y]
    return X, y


def scatters(X: Floats, y: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Sw and Sb, by their definitions."""
    mean, p = X.mean(axis=0), X.shape[1]
    Sw, Sb = np.zeros((p, p)), np.zeros((p, p))
    for label in np.unique(y):
        rows = X[y == label]
        Sw += (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
        Sb += len(rows) * np.outer(rows.mean(axis=0) - mean, rows.mean(axis=0) - mean)
    return Sw, Sb


def canonical_correlations(X: Floats, y: NDArray[np.intp]) -> Floats:
    """Correlations of the features with the class indicators: singular values of Qx' Qy."""
    indicators = (y[:, None] == np.unique(y)[None, 1:]).astype(float)
    Qx = np.linalg.qr(X - X.mean(axis=0))[0]
    Qy = np.linalg.qr(indicators - indicators.mean(axis=0))[0]
    return np.linalg.svd(Qx.T @ Qy, compute_uv=False)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_the_trace_never_decreases_when_a_feature_is_added(seed: int, solver: str) -> None:
    """So the search needs a threshold or a test to stop."""
    X, y = classes(seed)
    X = np.c_[X, X[:, 0] + X[:, 1], X[:, 2], np.full(len(X), 7.0), np.random.default_rng(seed).normal(size=(60, 5))]
    order = np.random.default_rng(seed).permutation(X.shape[1])
    traces = [score(X, y, order[:size], "trace", solver=solver) for size in range(1, len(order) + 1)]
    assert all(after >= before - 1e-9 * before for before, after in pairwise(traces))


def test_the_trace_diverges_as_the_size_approaches_rows_minus_classes() -> None:
    rng = np.random.default_rng(5)
    n, y = 40, np.arange(40) % 2
    X = rng.normal(size=(n, 60))  # pure noise
    traces = [score(X, y, range(size), "trace") for size in range(1, n - 2)]
    assert traces[4] < 1
    assert traces[-1] > 5 * traces[n // 2]
    greedy = select(X, y, enter=0.01, leave=0.0, strategy="forward")
    assert len(greedy.selected) == n - 2 - 1
    assert greedy.stop.name == "ROWS"
    assert greedy.score > 1e3
    assert select(X, y).selected == ()  # the test selects nothing


@pytest.mark.parametrize("seed", range(4))
def test_pillai_is_the_trace_with_the_total_scatter(seed: int) -> None:
    X, y = classes(seed)
    Sw, Sb = scatters(X, y)
    np.testing.assert_allclose(score(X, y, range(12), "trace"), np.trace(np.linalg.solve(Sw, Sb)), rtol=1e-8)
    np.testing.assert_allclose(score(X, y, range(12), "pillai"), np.trace(np.linalg.solve(Sw + Sb, Sb)), rtol=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_all_four_are_functions_of_the_canonical_correlations(seed: int, solver: str) -> None:
    X, y = classes(seed, count=2 + seed)
    features = list(np.random.default_rng(seed).permutation(12)[: 3 + 2 * seed])
    rho2 = canonical_correlations(X[:, features], y) ** 2
    expected = {
        "trace": (rho2 / (1 - rho2)).sum(),
        "pillai": rho2.sum(),
        "wilks": np.prod(1 - rho2),
        "roy": (rho2 / (1 - rho2)).max(),
    }
    for criterion, value in expected.items():
        np.testing.assert_allclose(score(X, y, features, criterion, solver=solver), value, rtol=1e-8)


@pytest.mark.parametrize("criterion", SEPARABILITY)
def test_a_regular_transformation_of_the_features_changes_no_score(criterion: str) -> None:
    X, y = classes(1)
    transformation = np.random.default_rng(0).normal(size=(12, 12))
    np.testing.assert_allclose(
        score(X @ transformation, y, range(12), criterion), score(X, y, range(12), criterion), rtol=1e-7
    )


@pytest.mark.parametrize("criterion", [*SEPARABILITY, "rss", "r2", "adj_r2", "aic", "aicc", "bic", "ebic", "cp"])
@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_the_order_of_features_never_changes_a_fit(criterion: str, solver: str) -> None:
    """The paper's theorem: the fit depends on the selected features, not on their order of entry."""
    X, y = classes(2)
    target = y if criterion in SEPARABILITY else X[:, 0] - X[:, 3] + np.random.default_rng(2).normal(size=60)
    model = "discriminant" if criterion in SEPARABILITY else "linear"
    scores = [score(X, target, order, criterion, solver=solver, model=model) for order in permutations([0, 3, 7, 10])]
    np.testing.assert_allclose(scores, scores[0], rtol=1e-9)


def test_two_classes_are_equivalent_to_regression_on_their_indicator() -> None:
    """With two classes trace = R2 / (1 - R2), so both follow the same path."""
    X, y = classes(3, count=2)
    for features in ([0], [1, 5], list(range(12))):
        r2 = score(X, y, features, "r2", model="linear")
        np.testing.assert_allclose(score(X, y, features, "trace"), r2 / (1 - r2), rtol=1e-9)
    discriminant = select(X, y, strategy="forward", enter=0.0, max_features=6)
    linear = select(X, y, strategy="forward", model="linear", criterion="r2", enter=0.0, max_features=6)
    assert discriminant.selected == linear.selected


def test_regression_on_class_codes_is_wrong() -> None:
    """Classes have no order: relabelling them changes a regression, but must not change a discriminant."""
    rng = np.random.default_rng(8)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 6))
    X[:, 4] += 2.0 * (y == 1)  # separates class 1 from the others, without a linear trend over 0, 1, 2
    X[:, 2] += 0.6 * y
    assert select(X, y, enter=0.05, leave=0.05).selected[0] == 4
    assert select(X, y, model="linear", strategy="forward", max_features=1).selected == (2,)
    for labels in permutations([0, 1, 2]):
        renamed = np.array(labels)[y]
        assert select(X, renamed, enter=0.05, leave=0.05).selected == select(X, y, enter=0.05, leave=0.05).selected
    firsts = {
        select(X, np.array(labels)[y], model="linear", criterion="rss", strategy="forward", max_features=1).selected
        for labels in permutations([0, 1, 2])
    }
    assert len(firsts) > 1


@pytest.mark.parametrize("size", [1, 3, 7])
def test_rss_is_total_minus_explained(size: int) -> None:
    X, _ = classes(4)
    y = X @ np.linspace(1, -1, 12) + np.random.default_rng(4).normal(size=60)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    S, C = Xc[:, :size].T @ Xc[:, :size], Xc[:, :size].T @ yc
    explained = C @ np.linalg.solve(S, C)
    np.testing.assert_allclose(score(X, y, range(size), "rss"), yc @ yc - explained, rtol=1e-9)
    np.testing.assert_allclose(score(X, y, range(size), "r2"), explained / (yc @ yc), rtol=1e-9)
