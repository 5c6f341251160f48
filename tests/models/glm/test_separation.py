"""Fits without a maximum: separation, and levels without events.

Whatever the path and the source of the rows, the deviance is the infimum, and exactly the coefficients that tend to
infinity have no standard error and are named by a note.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dropstep import Poisson, SelectionPath, StopReason, select
from dropstep.models.glm.newton import maximise
from dropstep.report.coefficient_table import INFINITE
from models.glm.problems import RandomProblem
from reference.glm.fits import Data, fit
from reference.glm.separation import infinite
from sources import arrow

MODELS = {"logistic": "logistic", "multinomial": "logistic", "poisson": "poisson", "cox": "cox"}
PATHS: dict[str, dict[str, Any]] = {
    "forward": {"strategy": "forward", "enter": -np.inf, "max_features": 4},
    "dropping": {"enter": -np.inf, "max_features": 4},
    "backward": {"strategy": "backward", "enter": -np.inf, "leave": -np.inf},
    "include": {"include": ["level", "a", "b", "c"], "enter": np.inf},
    "include the level": {"strategy": "forward", "include": ["level"], "enter": -np.inf, "max_features": 4},
    "include the others": {"strategy": "forward", "include": ["a", "b"], "enter": -np.inf, "max_features": 4},
}


def empty_level(kind: str, seed: int = 0, n: int = 160) -> tuple[pd.DataFrame, Any]:
    """Three numbers and a factor, one of whose levels has no events."""
    rng = np.random.default_rng([seed, len(kind)])
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["level"] = np.array(["one", "two", "three", "void"])[rng.permutation(np.arange(n) % 4)]
    void = (frame["level"] == "void").to_numpy()
    eta = 0.8 * frame["a"].to_numpy() - 0.4 * frame["b"].to_numpy()
    if kind == "poisson":
        return frame, np.where(void, 0, rng.poisson(np.exp(eta)))
    if kind == "cox":
        return frame, np.column_stack([rng.exponential(np.exp(-eta)), ~void & (rng.uniform(size=n) < 0.8)])
    if kind == "multinomial":
        y = np.argmax(np.column_stack([np.zeros(n), eta, -eta]) + rng.gumbel(size=(n, 3)), axis=1)
        return frame, np.where(void & (y == 1), 2, y)
    return frame, np.where(void, 0, eta + rng.logistic(size=n) > 0).astype(int)


def by_name(path: SelectionPath) -> dict[tuple[str, str], Any]:
    """Estimates and standard errors of each coefficient; missing standard errors are None."""
    assert path.coefficients is not None
    rows = path.coefficients.rows()
    errors = [None if row.std_error is None or np.isnan(row.std_error) else row.std_error for row in rows]
    return {(str(row.target), row.name): (row.estimate, error) for row, error in zip(rows, errors, strict=True)}


def note_of(path: SelectionPath) -> str:
    (note,) = (note for note in path.notes if "infinite coefficients" in note)
    return note


@pytest.mark.parametrize("kind", MODELS)
def test_a_level_without_events_has_no_standard_error_on_any_path(kind: str) -> None:
    """The other coefficients are those of the rows of the other levels."""
    X, y = empty_level(kind)
    present = (X["level"] != "void").to_numpy()
    twin = {"include": ["level", "a", "b", "c"], "enter": np.inf}
    without = None if kind == "multinomial" else select(X[present], y[present], model=MODELS[kind], **twin)
    scores = []
    for parameters in PATHS.values():
        path = select(X, y, model=MODELS[kind], criterion="deviance", **parameters)
        scores.append(path.score)
        found = by_name(path)
        missing = {key for key, (_, error) in found.items() if error is None}
        assert missing == {("1" if kind == "multinomial" else next(iter(found))[0], "level=void")}
        assert note_of(path).startswith("'level=void': infinite coefficients")
        if without is not None:
            finite = {key: value for key, value in found.items() if key not in missing}
            np.testing.assert_allclose(
                [finite[key] for key in sorted(finite)], [value for _, value in sorted(by_name(without).items())], 1e-5
            )
    np.testing.assert_allclose(scores, scores[0], rtol=1e-9)


@pytest.mark.parametrize("kind", ["logistic", "multinomial", "poisson"])
@pytest.mark.parametrize("name", PATHS)
def test_blocks_of_rows_are_as_tables_in_memory(kind: str, name: str) -> None:
    X, y = empty_level(kind, seed=3)
    parameters = {"model": MODELS[kind], "criterion": "deviance", **PATHS[name]}
    expected = select(X, y, **parameters)
    streamed = select(arrow(X.assign(y=y)).to_batches(max_chunksize=50), "y", **parameters)
    assert note_of(streamed) == note_of(expected)
    assert streamed.score == pytest.approx(expected.score, rel=1e-9)
    found, known = by_name(streamed), by_name(expected)
    for key, (estimate, error) in known.items():
        assert (found[key][1] is None) == (error is None)
        if error is not None:
            assert found[key] == pytest.approx((estimate, error), rel=1e-5)


def test_sparse_columns_without_events() -> None:
    X, y = empty_level("poisson", seed=5)
    columns = sparse.csr_array(pd.get_dummies(X, dtype=float).drop(columns="level_one").to_numpy())
    given = {"model": "poisson", "criterion": "deviance"}
    path = select(columns, y, strategy="forward", enter=-np.inf, max_features=6, **given)
    dense = select(columns.toarray(), y, include=range(6), enter=np.inf, **given)
    assert path.score == pytest.approx(dense.score, rel=1e-9)
    assert note_of(path) == note_of(dense)
    assert note_of(path).startswith("column 5: infinite coefficients")


# --- against the definition ------------------------------------------------------------------------------------------


def ugly(kind: str, seed: int) -> RandomProblem:
    """Levels, numbers, interactions, collinear and badly scaled columns; often with outcomes that are separated."""
    rng = np.random.default_rng([seed, 77])
    n = int(rng.integers(20, 70))
    level = rng.integers(0, 5, size=n)
    X = np.column_stack([*(level == k for k in range(1, rng.integers(2, 5))), rng.normal(size=(n, rng.integers(1, 4)))])
    if rng.random() < 0.5:
        X = np.column_stack([X, rng.integers(0, 3, size=n)])
    if rng.random() < 0.4:
        X = np.column_stack([X, X[:, 0] * X[:, -1], (level == 4) * X[:, -1]])
    if rng.random() < 0.3:
        X = np.column_stack([X, X[:, -1] + 1e-3 * rng.normal(size=n)])
    eta = 0.7 * X[:, -1] + 0.3 * rng.normal(size=n) + 3 * (rng.random() < 0.2) * X[:, 0]
    if rng.random() < 0.3:
        X = np.column_stack([X, 1e6 + 1e-2 * rng.normal(size=n)])
    void = (rng.random() > 0.25) & ((level == rng.integers(0, 5)) | (level == rng.integers(0, 9)))
    if rng.random() < 0.2:
        void = X[:, -2] > np.quantile(X[:, -2], 0.6)
    y = response(rng, kind, eta, void)
    if kind == "logistic" and rng.random() < 0.15:
        y = (X[:, -1] > np.median(X[:, -1])).astype(float)
    weights = rng.integers(1, 3, size=n).astype(float) if seed % 2 else np.ones(n)
    offset = 0.3 * rng.normal(size=n) if seed % 3 == 0 and kind != "multinomial" else np.zeros(n)
    strata = rng.integers(0, 2, size=n) if kind == "cox" and seed % 4 == 0 else np.zeros(n)
    rows = {"sample_weight": weights, "offset": offset, "strata": strata}
    given = {name: values for name, values in rows.items() if values.any() and not (values == 1).all()}
    return RandomProblem(kind, X, Data(kind, y, weights, offset, strata, "efron" if seed % 5 else "breslow"), given)


def response(rng: np.random.Generator, kind: str, eta: Any, void: Any) -> Any:
    n = len(eta)
    if kind == "logistic":
        y = np.where(void, rng.integers(0, 2), rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(float)
        return np.r_[0.0, 1.0, y[2:]]
    if kind == "multinomial":
        y = np.argmax(np.column_stack([np.zeros(n), eta, -eta]) + rng.gumbel(size=(n, 3)), axis=1)
        return np.r_[0, 1, 2, np.where(void & (y == 1), 2, y)[3:]]
    if kind == "poisson":
        return np.r_[2.0, np.where(void, 0, rng.poisson(np.exp(np.clip(eta, None, 3))))[1:]]
    event = ~void & (rng.uniform(size=n) < 0.7)
    return np.column_stack([np.ceil(20 * rng.exponential(np.exp(-eta))), np.r_[True, True, True, event[3:]]]).astype(
        float
    )


def walks(rng: np.random.Generator, columns: list[int], others: list[int]) -> dict[str, list[tuple[str, list[int]]]]:
    """Ways to a selection: moves that add and remove columns."""
    mixed = [int(j) for j in rng.permutation(columns)]
    return {
        "at once": [("add", columns)],
        "one by one": [("add", [j]) for j in columns],
        "in any order": [("add", [j]) for j in mixed],
        "backward": [("add", [*columns, *others]), *(("remove", [int(j)]) for j in rng.permutation(others))],
        "there and back": [*(("add", [j]) for j in mixed), *((do, others[:1]) for do in ("add", "remove") if others)],
    }


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", MODELS)
def test_every_walk_ends_at_the_infimum_with_the_same_infinite_coefficients(kind: str, seed: int) -> None:
    given, rng = ugly(kind, seed), np.random.default_rng(seed)
    order = [int(j) for j in rng.permutation(given.X.shape[1])]
    independent = given.model().independent(np.array(order))
    chosen = independent[: int(rng.integers(1, len(independent) + 1))]
    columns, others = sorted(chosen), [j for j in independent if j not in chosen]
    if len(independent) + 2 > min(given.model().max_rank, len(given.X) / 3):
        pytest.skip("too few rows")
    expected, infimum = infinite(given.data, given.X[:, columns]), fit(given.data, given.X[:, columns], 200).deviance
    errors = None
    for moves in walks(rng, columns, others).values():
        model = given.model()
        for do, units in moves:
            getattr(model, do)(units)
        assert model.fit.converged
        assert model.fit.deviance == pytest.approx(infimum, rel=1e-6, abs=1e-6)
        found = model.coefficients(columns, [str(j) for j in columns])
        table = np.atleast_2d(found.std_error)
        if found.intercept is not None:
            table = np.column_stack([np.atleast_1d(found.intercept_std_error), table])
        np.testing.assert_array_equal(np.isnan(table), expected)
        errors = table if errors is None else errors
        np.testing.assert_allclose(table, errors, rtol=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_separated_classes_are_an_exact_fit_on_every_path(seed: int) -> None:
    """The first features do not separate the classes, all together do: forward ends as exact, at a deviance of 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 6))
    y = (X[:, :3].sum(axis=1) > 0).astype(int)
    forward = select(X, y, model="logistic", criterion="deviance", strategy="forward", enter=0)
    backward = select(X, y, model="logistic", criterion="deviance", strategy="backward", leave=1)
    for path in (forward, backward):
        assert path.score < 1e-9
        assert path.coefficients is not None
        assert np.isnan(path.coefficients.std_error).all()
        assert "and the intercept: infinite coefficients" in note_of(path)
    assert forward.stop is StopReason.EXACT
    assert len(forward.selected) <= 3


# --- finite fits -----------------------------------------------------------------------------------------------------


def finite_fits() -> dict[str, tuple[Any, Any, str]]:
    rng = np.random.default_rng(8)
    x, half = rng.normal(size=(200, 2)), np.repeat([0.0, 1.0], 100)
    fits: dict[str, tuple[Any, Any, str]] = {}
    for gap in (1e-1, 1e-3, 1e-5, 1e-7):
        inner = np.r_[-1 - rng.random(20), 1 + rng.random(20), -gap, gap]
        fits[f"classes that overlap by {gap}"] = inner[:, None], np.r_[np.zeros(20), np.ones(20), 1, 0], "logistic"
    for mean in (1, 1e3, 1e6):
        counts = np.r_[rng.poisson(mean, size=100), np.zeros(99), 1]
        fits[f"one event against means of {mean:g}"] = np.column_stack([half, x]), counts, "poisson"
    near = np.column_stack([x, x[:, 0] + 5e-6 * rng.normal(size=200)])
    noisy = (x[:, 0] + rng.logistic(size=200) > 0).astype(int)
    fits["nearly collinear"] = near, noisy, "logistic"
    fits["badly scaled"] = np.column_stack([1e12 * x[:, 0], 1e9 + x[:, 1], 1e-20 * half]), noisy, "logistic"
    fits["a strong effect"] = x, (12 * x[:, 0] + rng.logistic(size=200) > 0).astype(int), "logistic"
    fits["counts from 0 to millions"] = x, rng.poisson(np.exp(np.clip(5 * x[:, 0], None, 15))), "poisson"
    times = rng.exponential(np.exp(-6 * x[:, 0]))
    fits["a strong hazard"] = x, np.column_stack([times, np.ones(200)]), "cox"
    one = np.r_[np.ones(100), np.zeros(99), 1]
    fits["one event of a level"] = np.column_stack([half, x]), np.column_stack([times, one]), "cox"
    values = rng.gamma(1.0, size=200) * np.exp(8 * x[:, 0]) * np.where(half, 1e-15, 1.0)
    fits["gamma over many decades"] = np.column_stack([half, x]), values, "gamma"
    return fits


FINITE = finite_fits()


@pytest.mark.parametrize("name", FINITE)
def test_finite_fits_have_standard_errors(name: str) -> None:
    X, y, model = FINITE[name]
    p = X.shape[1]
    parameters = [{"include": range(p), "enter": np.inf}, {"strategy": "forward", "enter": -np.inf, "max_features": p}]
    for given in parameters:
        path = select(X, y, model=model, criterion="deviance", **given)
        assert len(path.selected) == p
        assert path.coefficients is not None
        assert np.isfinite(path.coefficients.std_error).all()
        assert not any("infinite coefficients" in note for note in path.notes)


@pytest.mark.parametrize("n", [1_000, 100_000])
def test_a_gap_that_is_small_for_many_rows_still_separates(n: int) -> None:
    for seed in range(2):
        X = np.random.default_rng(seed).normal(size=(n, 2))
        path = select(X, (X[:, 0] > 0.1).astype(int), model="logistic", criterion="deviance", include=[0, 1])
        assert path.score < 1e-6
        assert path.stop is StopReason.EXACT


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_missing_standard_errors_are_empty_cells() -> None:
    X, y = empty_level("poisson")
    path = select(X, y, model="poisson", criterion="deviance", **PATHS["include"])
    line = next(line for line in str(path.coefficients).splitlines() if line.startswith("level=void"))
    assert len(line.split()) == 3  # name, estimate and ratio
    assert "nan" not in str(path.coefficients)
    page = path.report()
    assert page is not None
    assert f"{INFINITE}</span>" in page
    assert ">nan<" not in page


def test_a_candidate_that_was_set_aside_and_enters_later_keeps_its_note(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2))
    y = rng.poisson(np.exp(X @ [0.9, 0.5]))

    def fails_for_one(likelihood: Any, Z: Any, *args: Any, **options: Any) -> Any:
        found = maximise(likelihood, Z, *args, **options)
        alone = Z.shape[1] == 2 and abs(np.corrcoef(Z[:, 1], X[:, 1])[0, 1]) > 0.99
        return replace(found, converged=False) if alone else found

    monkeypatch.setattr("dropstep.models.glm.model.maximise", fails_for_one)
    path = select(X, y, model=Poisson(), criterion="aic", strategy="forward")
    assert path.selected == (0, 1)
    assert [note for note in path.notes if "did not converge" in note] == [
        "column 1: a fit that added or removed it did not converge; the move was not made"
    ]
