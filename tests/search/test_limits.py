"""Sizes, ties, exact fits and rules at their edges."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from datasets import colon
from dropstep import EBIC, FBED, MallowsCp, Significance, StopReason, select
from dropstep.models.least_squares.criteria import CRITERIA, OfMatrix
from dropstep.search.strategies import STRATEGIES

PENALISED = sorted(name for name, criterion in CRITERIA.items() if criterion.penalised)


# --- max_features ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "strategy", ["dropping", "fbed", "forward", "stepwise", "forward_backward", "floating", "swap"]
)
def test_max_features_is_reached_and_kept(data_dir: Any, strategy: str) -> None:
    X, y = colon(data_dir)
    path = select(X, y, strategy=strategy, enter=0, max_features=5)
    assert (len(path.selected), path.stop) == (5, StopReason.MAX_FEATURES)
    assert path.score >= select(X, y, strategy="forward", enter=0, max_features=5).score


@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_enter_of_minus_infinity_insists_on_max_features(criterion: str) -> None:
    rng = np.random.default_rng(1)
    X, numbers = rng.normal(size=(60, 9)), rng.normal(size=60)
    y: Any = np.digitize(numbers, [-0.5, 0.5]) if CRITERIA[criterion].kind == "discriminant" else numbers
    for strategy in ("dropping", "forward", "stepwise", "fbed"):
        path = select(X, y, criterion=criterion, strategy=strategy, enter=-math.inf, max_features=4)
        assert (len(path.selected), path.stop) == (4, StopReason.MAX_FEATURES)


def test_dropping_recalls_and_exchanges_at_max_features() -> None:
    """The paper's scheme under a cap: what was dropped is recalled, and may take the place of a selected feature."""
    worse = fewer = 0
    for seed in range(30):
        rng = np.random.default_rng([9, seed])
        X = rng.normal(size=(120, 40)) @ (np.eye(40) + 0.35 * rng.normal(size=(40, 40)))
        y = X[:, :8] @ rng.choice([-1.0, 1.0], size=8) + 3 * rng.normal(size=120)
        limits = {"criterion": "bic", "enter": -math.inf, "drop": 0, "max_features": 6}
        dropping = select(X, y, **limits)
        forward = select(X, y, strategy="forward", **limits)
        worse += dropping.score > forward.score * (1 + 1e-12)
        fewer += len(dropping.selected) < len(forward.selected)
    assert fewer == 0
    assert worse <= 6


def test_a_removal_after_the_cap_is_the_reason_to_stop() -> None:
    """Stepwise mistakes: the first feature is redundant given the next two, and leaves although the cap was reached."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] + X[:, 1] + 0.01 * rng.normal(size=60)
    X[:, 2] = y + 0.3 * rng.normal(size=60)
    path = select(X, y, strategy="forward_backward", criterion="bic", max_features=3)
    assert (set(path.selected), path.stop) == ({0, 1}, StopReason.LEAVE)


@pytest.mark.parametrize("criterion", PENALISED)
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_a_clear_table_gives_a_set_of_sensible_size(strategy: str, criterion: str) -> None:
    if strategy == "exhaustive" and criterion in ("press", "sawa"):
        pytest.skip("every set is evaluated, up to 20 candidates")
    rng = np.random.default_rng(6)
    X = rng.normal(size=(400, 30 if strategy == "exhaustive" else 60))
    y = X[:, :6] @ rng.choice([-1.0, 1.0], size=6) + rng.normal(size=400)
    selected = select(X, y, strategy=strategy, criterion=criterion).selected
    assert set(range(6)) <= set(selected)
    assert len(selected) <= (8 if criterion in ("bic", "ebic") else 25)


def test_backward_with_the_default_criterion_removes_noise() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(900, 300))
    y = X[:, :20] @ rng.choice([-1.0, 1.0], size=20) + rng.normal(size=900)
    selected = set(select(X, y, strategy="backward").selected)
    assert set(range(20)) <= selected  # and one false one in twenty is to be expected
    assert len(selected) <= 24


# --- small samples ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "p"), [(8, 1), (8, 5), (8, 20), (8, 300), (12, 1), (12, 300), (20, 1), (20, 50), (100, 5)]
)
def test_the_default_regression_selects_nothing_from_noise(n: int, p: int) -> None:
    """Empty at least 95 times in 100 by construction; 300 tables, so that 4 standard errors are 0.05."""
    rng = np.random.default_rng([10, n, p])
    empty = [not select(rng.normal(size=(n, p)), rng.normal(size=n)).selected for _ in range(300)]
    assert np.mean(empty) >= 0.9


@pytest.mark.parametrize("n_included", [0, 2])
def test_ebic_is_chen_and_chens_up_to_half_of_the_units_and_bic_from_there_on(n_included: int) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 9)), rng.normal(size=60)
    include = list(range(n_included))
    m = 9 - n_included
    given = {"strategy": "forward", "enter": -math.inf, "max_features": 9, "include": include}
    ebic, bic = (select(X, y, criterion=name, **given) for name in ("ebic", "bic"))
    assert ebic.selected == bic.selected
    steps = [pair for pair in zip(ebic.steps, bic.steps, strict=True) if pair[0].phase != "start"]
    for k, (a, b) in enumerate(steps, start=1):
        assert a.score - b.score == pytest.approx(2 * math.log(math.comb(m, min(k, m // 2))))


def test_one_criterion_serves_tables_of_several_shapes() -> None:
    rng = np.random.default_rng(4)
    ebic = EBIC(n_candidates=9)
    for n, p, q in [(30, 4, 1), (300, 4, 1), (30, 4, 2), (30, 7, 1)]:
        X = rng.normal(size=(n, p))
        y = X[:, :2] @ rng.normal(size=(2, q)) + rng.normal(size=(n, q))
        assert select(X, y, criterion=ebic).score == select(X, y, criterion=EBIC(n_candidates=9)).score


# --- ties ------------------------------------------------------------------------------------------------------------


class HarmonicMean(OfMatrix):
    """A custom criterion without an order of its own."""

    name, kind, better = "harmonic", "discriminant", 1

    def score(self, M: Any, size: Any, problem: Any) -> Any:
        return np.log(np.linalg.eigvalsh(M)).sum(axis=-1)


@pytest.mark.parametrize("criterion", ["pillai", "roy", "trace", "wilks", HarmonicMean()])
@pytest.mark.parametrize("solver", ["columns", "gram"])
def test_an_exact_multiple_never_wins_over_the_first_column(criterion: Any, solver: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng([11, seed])
        X = rng.normal(size=(40, 6))
        y = np.digitize(X[:, 0] + 0.7 * rng.normal(size=40), [-0.6, 0.6])
        X = np.c_[X, X[:, 0] * rng.uniform(-5, 5)]
        assert (
            6
            not in select(
                X, y, criterion=criterion, strategy="forward", enter=0, max_features=3, solver=solver
            ).selected
        )


# --- several targets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["rss", "r2", "aic", "bic", "ebic"])
@pytest.mark.parametrize("strategy", sorted({*STRATEGIES} - {"exhaustive"}))
@pytest.mark.parametrize("solver", ["columns", "gram"])
def test_a_target_that_is_explained_exactly_does_not_end_the_search(criterion: str, strategy: str, solver: str) -> None:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(80, 7))
    Y = np.c_[3 * X[:, 2], X[:, 4] - X[:, 5] + 0.1 * rng.normal(size=80)]
    path = select(X, Y, criterion=criterion, strategy=strategy, solver=solver)
    assert set(path.selected) == {2, 4, 5}
    assert path.stop in (StopReason.ENTER, StopReason.LEAVE)


def test_cp_with_a_singular_full_covariance_is_refused_by_both_solvers() -> None:
    rng = np.random.default_rng(13)
    X = rng.normal(size=(60, 4))
    Y = np.c_[X[:, 0] - X[:, 1], rng.normal(size=60)]
    mixed = np.c_[Y[:, 1] + X[:, 0], Y[:, 1] - X[:, 2]]  # a combination is explained exactly
    for targets in (Y, mixed):
        for solver in ("columns", "gram"):
            with pytest.raises(ValueError, match=r"fits some target, or a combination of targets, exactly"):
                select(X, targets, criterion="cp", solver=solver)


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_an_included_constant_of_any_size_changes_nothing() -> None:
    rng = np.random.default_rng(14)
    X = rng.normal(size=(3000, 100))
    y = X[:, 3] - X[:, 40] + X[:, 77] + rng.normal(size=3000)
    X[:, 0] = 1e8
    plain = select(X, y, criterion="bic", strategy="stepwise", solver="columns")
    path = select(X, y, criterion="bic", strategy="stepwise", solver="columns", include=[0])
    assert path.selected == (0, *plain.selected)
    assert path.score == pytest.approx(plain.score, rel=1e-9)
    assert not any(step.action == "remove" for step in path.steps)


def test_a_sum_in_single_precision_is_a_combination() -> None:
    rng = np.random.default_rng(15)
    for offset in (0.0, 30.0, 3000.0):
        X = (rng.normal(size=(4000, 80)) + offset).astype(np.float32)
        X[:, 79] = X[:, 0] + X[:, 1]
        y = X[:, 0] - X[:, 1] + 0.5 * X[:, 2] + rng.normal(size=4000)
        path = select(X, y, criterion="rss", enter=-math.inf, strategy="forward", include=[0, 1], solver="columns")
        assert 79 not in path.selected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MallowsCp(sigma2=math.inf), "sigma2 must be a positive finite number; got inf"),
        (lambda: MallowsCp(sigma2=np.array([1.0, 2.0])), r"sigma2 must be a positive finite number; got array"),
        (lambda: EBIC(gamma=math.inf), "gamma must be a finite number that is not negative; got inf"),
        (lambda: EBIC(gamma=np.ones(2)), "gamma must be a finite number that is not negative; got array"),
        (lambda: EBIC(n_candidates=2.5), "n_candidates must be None or a whole number from 1; got 2.5"),
        (lambda: FBED(rounds=np.array([1, 2])), "rounds must be a whole number from 0, or math.inf; got array"),
        (lambda: FBED(rounds=1.5), "rounds must be a whole number from 0, or math.inf; got 1.5"),
        (lambda: Significance(0.0), "level must be a number between 0 and 1; got 0.0"),
        (lambda: Significance(np.array([0.1])), "level must be a number between 0 and 1; got array"),
        (lambda: Significance(0.1, "holm"), "correction must be None, 'fdr' or 'bonferroni'; got 'holm'"),
    ],
)
def test_parameters_of_objects_are_checked(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", ["strategy", "model", "criterion", "enter", "leave", "drop", "max_features", "solver"])
@pytest.mark.parametrize(
    "value", [np.array([1, 2]), np.array(["auto", "bic"]), [0.1, 0.2]], ids=["ints", "texts", "list"]
)
def test_arrays_for_scalar_parameters_are_refused_in_a_sentence(name: str, value: Any) -> None:
    rng = np.random.default_rng(16)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    with pytest.raises((ValueError, TypeError), match=f"{name} |unknown {name}"):
        select(X, y, **{name: value})


@pytest.mark.parametrize("solver", ["columns", "gram"])
def test_pillai_of_classes_that_are_far_apart_warns_of_nothing(solver: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = np.arange(40) % int(rng.integers(2, 5))
        X = rng.normal(size=(40, 4))
        X[:, 0] += y * 10.0 ** rng.integers(5, 12)
        X[:, 1] = X[:, 0] + 10.0 ** rng.integers(-5, 1) * rng.normal(size=40) + (y == 0) * 10.0 ** rng.integers(0, 9)
        path = select(X, y, model="discriminant", criterion="pillai", strategy="forward", enter=0, solver=solver)
        assert 0 < path.score <= y.max() * (1 + 1e-9)


# --- rules -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def noisy() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(18)
    X = rng.normal(size=(90, 12))
    return X, X[:, :3] @ [1.0, 0.5, 0.25] + rng.normal(size=90)


def test_an_explicit_enter_sets_leave_unless_that_is_given(noisy: Any) -> None:
    for enter in (3.0, Significance(0.2), Significance(0.2, "bonferroni")):
        both = {"criterion": "rss", "strategy": "stepwise"}
        assert select(*noisy, enter=enter, **both) == select(*noisy, enter=enter, leave=enter, **both)
    free = select(*noisy, criterion="rss", strategy="forward_backward", enter=0, leave=Significance(0.05))
    assert len(free.selected) < len(select(*noisy, criterion="rss", strategy="forward_backward", enter=0).selected)


def test_significance_is_the_level_of_the_partial_f_test(noisy: Any) -> None:
    import reference

    X, y = noisy
    for level, correction in ((0.15, None), (0.05, None), (0.3, "bonferroni"), (0.3, "fdr"), (0.05, "fdr")):
        path = select(X, y, criterion="rss", strategy="forward", enter=Significance(level, correction))

        def bound(k: int, level: float = level, correction: str | None = correction) -> float:
            return level * {None: 12, "bonferroni": 1, "fdr": k}[correction] / 12

        for i, j in enumerate(path.selected):
            assert reference.p_value(X, y, path.selected[:i], j) <= bound(i + 1)
        others = [j for j in range(12) if j not in path.selected]
        assert min(reference.p_value(X, y, path.selected, j) for j in others) > bound(len(path.selected) + 1)


def test_by_default_every_selected_feature_is_significant_given_the_others(noisy: Any) -> None:
    """The condition of Benjamini and Hochberg; included features are not counted."""
    import reference

    X, y = noisy
    for include in ((), (7, 9)):
        path = select(X, y, include=list(include))
        chosen = [j for j in path.selected if j not in include]
        for j in chosen:
            others = [i for i in path.selected if i != j]
            assert reference.p_value(X, y, others, j) <= 0.05 * len(chosen) / (12 - len(include))


def test_drop_follows_a_leave_that_is_a_number_and_is_a_test_otherwise(noisy: Any) -> None:
    test = {"criterion": "rss", "enter": Significance(0.3)}
    assert select(*noisy, **test) == select(*noisy, drop=Significance(0.05), **test)
    number = {"criterion": "rss", "enter": 4.0, "leave": 2.0}
    assert select(*noisy, **number) == select(*noisy, drop=2.0, **number)


@pytest.mark.parametrize("criterion", ["rss", "cp", "aic", "aicc", "bic", "ebic"])
@pytest.mark.parametrize("name", ["enter", "leave", "drop"])
def test_a_number_that_looks_like_a_level_is_pointed_out(noisy: Any, criterion: str, name: str) -> None:
    with pytest.warns(UserWarning, match=rf"{name}=0\.15 is a threshold in units of {criterion}, not a significance"):
        path = select(*noisy, criterion=criterion, **{name: 0.15})
    assert any(f"use {name}=Significance(0.15)" in note for note in path.notes)


def test_thresholds_that_are_shares_are_not_pointed_out(noisy: Any) -> None:
    X, y = noisy
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select(X, y, criterion="r2", enter=0.05)
        select(X, y, criterion="adj_r2", enter=0.01)
        select(X, y, criterion=MallowsCp(per_sample=True), enter=0.01)
        select(X, np.digitize(y, [0.0]), criterion="trace", enter=0.05)
        select(X, y, criterion="bic", enter=2.0)
        select(X, y, criterion="rss", enter=0)


def test_floating_goes_on_from_several_included_features() -> None:
    rng = np.random.default_rng(19)
    X = rng.normal(size=(100, 10))
    y = X[:, 5] - X[:, 7] + 0.5 * rng.normal(size=100)
    for include in ([0, 1], [0, 1, 2]):
        path = select(X, y, strategy="floating", include=include)
        assert (set(path.selected), path.stop) == ({*include, 5, 7}, StopReason.ENTER)


# --- precision -------------------------------------------------------------------------------------------------------


def needs_rows() -> tuple[np.ndarray, np.ndarray]:
    """A tall table in which two features differ by 1e-6, so that moments lose the digits of their difference."""
    rng = np.random.default_rng(20)
    X = rng.normal(size=(3000, 12))
    X[:, 1] = X[:, 0] + 1e-6 * rng.normal(size=3000)
    return X, X[:, 0] + 1e6 * (X[:, 1] - X[:, 0]) + X[:, 5] + 0.5 * rng.normal(size=3000)


def test_callbacks_see_the_steps_of_the_path_once() -> None:
    X, y = needs_rows()
    seen: list[Any] = []
    path = select(X, y, callback=seen.append)
    assert path.solver == "columns"
    assert {0, 1, 5} <= set(path.selected)
    assert seen == list(path.steps)
    reference = select(X, y, solver="columns")
    assert (path.selected, path.stop) == (reference.selected, reference.stop)
    assert path.score == pytest.approx(reference.score, rel=1e-12)


def test_a_callback_stops_the_search_where_it_stands() -> None:
    X, y = needs_rows()
    for count in (1, 2, 3):
        seen: list[Any] = []
        path = select(X, y, callback=lambda step: seen.append(step) or len(seen) == count)  # noqa: B023
        assert seen == list(path.steps)
        assert len(path.steps) == count
        assert path.stop is StopReason.CALLBACK


def test_evaluations_of_a_scan_that_is_repeated_from_rows_are_counted() -> None:
    X, y = needs_rows()
    assert select(X, y).n_evaluations >= select(X, y, solver="columns").n_evaluations
