"""Why a search stopped, in numbers: the best remaining candidate and the limit are those of brute force."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression

from dropstep import Significance, StandardErrors, StopReason, select


def rss(X: np.ndarray, y: np.ndarray, columns: list[int]) -> float:
    A = np.column_stack([np.ones(len(y)), X[:, columns]])
    return float(np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2))


def p_value(X: np.ndarray, y: np.ndarray, columns: list[int], j: int) -> float:
    """The partial F test of j given the others."""
    small, large = rss(X, y, columns), rss(X, y, [*columns, j])
    df = len(y) - len(columns) - 2
    return float(stats.f.sf((small - large) / (large / df), 1, df))


@pytest.fixture
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 12))
    X[:, 11] = X[:, 0] + 0.1 * rng.normal(size=120)
    return X, X[:, :3] @ [1.0, 0.6, 0.3] + rng.normal(size=120)


@pytest.mark.parametrize("strategy", ["forward", "stepwise", "bidirectional"])
def test_the_best_remaining_candidate_by_a_test(strategy, table):
    X, y = table
    path = select(X, y, strategy=strategy, criterion="rss")
    others = [j for j in range(12) if j not in path.selected]
    expected = {j: p_value(X, y, list(path.selected), j) for j in others}
    best = min(expected, key=expected.__getitem__)
    assert path.stop is StopReason.ENTER
    assert path.nearest.features == (best,)
    assert (path.nearest.action, path.nearest.quantity) == ("add", "p")
    assert path.nearest.value == pytest.approx(expected[best], rel=1e-9)
    needed = 0.05 * (len(path.selected) + 1) / 12
    assert path.nearest.needed == pytest.approx(needed)
    assert path.nearest.value > path.nearest.needed
    assert path.why == (
        f"no candidate's gain is large enough to enter (best p = {path.nearest.value:.2g} (x{best}), "
        f"needed {needed:.3f})"
    )


def test_the_best_gain_of_a_penalised_criterion(table):
    X, y = table
    path = select(X, y, strategy="forward", criterion="bic")
    n, chosen = len(y), list(path.selected)

    def bic(columns):
        return n * math.log(rss(X, y, columns) / n) + math.log(n) * (len(columns) + 1)

    gains = {j: bic(chosen) - bic([*chosen, j]) for j in range(12) if j not in chosen}
    best = max(gains, key=gains.__getitem__)
    assert path.nearest.features == (best,)
    assert path.nearest.value == path.nearest.gain == pytest.approx(gains[best])
    assert path.nearest.needed == 0
    assert "needed more than 0)" in path.why


def test_backward_names_the_least_useful_feature(table):
    X, y = table
    path = select(X, y, strategy="backward", criterion="rss", leave=Significance(0.01))
    chosen = list(path.selected)
    expected = {j: p_value(X, y, [k for k in chosen if k != j], j) for j in chosen}
    worst = max(expected, key=expected.__getitem__)
    assert path.stop is StopReason.LEAVE
    assert (path.nearest.action, path.nearest.features) == ("remove", (worst,))
    assert path.nearest.value == pytest.approx(expected[worst], rel=1e-9)
    assert f"(largest p = {expected[worst]:.1e} (x{worst}), removed above 0.010)" in path.why


def test_a_loss_within_leave(table):
    X, y = table
    path = select(X, y, strategy="backward", criterion="bic")
    assert path.nearest.quantity == "loss"
    assert path.nearest.value == -path.nearest.gain > 0
    assert f"smallest loss = {path.nearest.value:.1f} (" in path.why


def test_standard_errors_of_folds():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    path = select(X, y, model=LinearRegression(), enter=StandardErrors(2))
    near = path.nearest
    assert near.needed == pytest.approx(2 * near.std_error)
    assert near.gain <= near.needed
    assert path.why.endswith(", 2 standard errors)")


def test_the_score_test_of_a_likelihood_is_stated():
    path = select(*load_breast_cancer(return_X_y=True), model="logistic")
    assert path.nearest.quantity == "p"
    assert path.nearest.value > path.nearest.needed
    assert "best gain = 0" not in path.why


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"max_features": 2}, "max_features=2 is reached"),
        ({"exclude": range(1, 12), "enter": -math.inf, "max_features": 3}, "no candidates remain"),
    ],
)
def test_other_reasons_have_their_own_numbers(params, sentence, table):
    path = select(*table, **params)
    assert path.nearest is None
    assert path.why == sentence


def test_what_an_exchange_added_is_not_called_remaining(table):
    X, y = table
    for strategy in ("swap", "dropping", "floating"):
        path = select(X, y, strategy=strategy, criterion="aic")
        assert path.nearest is None or not set(path.nearest.features) & set(path.selected)
