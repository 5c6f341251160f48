"""Separation, few rows, bad input, parameters: what a user meets at the edges."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dropstep import Cox, Gamma, Logistic, Moments, Poisson, Selector, Significance, StopReason, select
from dropstep.data.sample import PerRow
from dropstep.models.base import Choices, Units
from dropstep.parameters import Parameters
from dropstep.report.snippet import snippet
from models.glm.problems import KINDS, NUISANCE, problem

RNG = np.random.default_rng(12)
X = RNG.normal(size=(60, 4))
BINARY = (X[:, 1] + RNG.logistic(size=60) > 0).astype(int)
TIMES = np.column_stack([RNG.exponential(np.exp(-X[:, 1])), RNG.integers(0, 2, size=60)])


# --- separation ------------------------------------------------------------------------------------------------------


def test_separated_classes_end_the_search_with_a_note() -> None:
    y = (X[:, 2] > 0).astype(int)
    path = select(X, y, model="logistic")
    assert path.selected == (2,)
    assert path.stop is StopReason.EXACT
    assert any("x2" in note or "column 2" in note for note in path.notes if "separate" in note)
    assert path.score == pytest.approx(0.0, abs=1e-6)  # the infimum of the deviance


def test_three_separated_classes() -> None:
    path = select(X, np.digitize(X[:, 0], [-0.5, 0.5]), model="logistic")
    assert path.selected == (0,)
    assert any("separate" in note for note in path.notes)


def test_quasi_separation_of_counts_and_of_survival_times_is_noted() -> None:
    zero = np.repeat([0.0, 1.0], 30)
    table = np.column_stack([zero, X[:, :2]])
    counts = np.where(zero == 1, 0, 1 + RNG.poisson(2, size=60))
    path = select(table, counts, model="poisson")
    assert path.selected == (0,)
    assert any("separate" in note for note in path.notes)
    times = np.column_stack([1 + zero + np.arange(60) / 1000, np.ones(60)])
    path = select(table, times, model="cox")
    assert 0 in path.selected
    assert any("separate" in note for note in path.notes)


def test_a_strong_effect_with_a_small_wald_statistic_stays() -> None:
    """Hauck and Donner: near separation the Wald statistic falls as the effect grows; the likelihood ratio does not."""
    y = (X[:, 2] > 0).astype(int)
    y[[3, 8]] = 1 - y[[3, 8]]
    strong = X[:, 2] * 40
    strong[[3, 8]] = [0.001, -0.001] * np.sign(strong[[3, 8]])
    table = np.column_stack([strong, X[:, :2], X[:, 3]])
    family = Logistic()
    problem_ = family.problem(family.sample(table, y, PerRow(), Parameters()), "auto", None)
    model = problem_.model("deviance", Units(4), np.arange(4), Choices(4, 0))
    model.add([0, 1, 2, 3])
    units = np.arange(4)
    wald, ratio = model.removals(units).tests, model.confirm(units).tests
    assert wald is not None
    assert ratio is not None
    assert wald.log_p_values[0] > np.log(0.01) > ratio.log_p_values[0]
    path = select(table, y, model="logistic", strategy="backward", criterion="deviance", leave=Significance(0.01))
    assert 0 in path.selected


@pytest.mark.parametrize("strategy", ["dropping", "backward", "swap", "floating", "stepwise", "fbed"])
@pytest.mark.parametrize("kind", [*KINDS, *NUISANCE])
def test_few_rows_and_many_dependent_columns_are_survived(kind: str, strategy: str) -> None:
    for seed in range(4):
        given = problem(kind, seed, n=14, p=8) if strategy != "backward" else problem(kind, seed, n=24, p=4)
        path = given.select(8, criterion="aic", strategy=strategy, max_features=3)
        assert len(path.selected) <= 3
        assert np.isfinite(path.score)
        assert not np.isnan([step.gain for step in path.steps[1:]]).any()


def test_constant_and_repeated_columns_never_enter() -> None:
    table = np.column_stack([np.ones(60), X[:, 1], X[:, 1], 1e9 + 0 * X[:, 0]])
    for y, model in ((BINARY, "logistic"), (np.exp(X[:, 1]), "gamma"), (TIMES, "cox")):
        path = select(table, y, model=model, enter=-np.inf, max_features=4)
        assert path.selected == (1,)
    path = select(np.ones((60, 2)), BINARY, model="logistic")
    assert path.stop is StopReason.CONSTANT


def test_a_column_that_is_constant_within_strata_never_enters() -> None:
    strata = np.arange(60) % 3
    path = select(np.column_stack([X, strata]), TIMES, model="cox", strata=strata, enter=-np.inf, max_features=5)
    assert sorted(path.selected) == [0, 1, 2, 3]


# --- noise -----------------------------------------------------------------------------------------------------------

SHAPES = ((8, 1), (12, 20), (12, 20_000), (60, 50))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["logistic", "multinomial", "poisson", "gamma", "cox", "negative_binomial", "ordinal"])
def test_noise_gives_an_empty_selection(kind: str, shape: tuple[int, int]) -> None:
    """95 % of selections are empty for normal features; 9 of 60 is three standard errors fewer."""
    repeats = 10 if shape[1] > 1000 else 60
    found = 0
    for repeat in range(repeats):
        rng = np.random.default_rng([(*KINDS, *NUISANCE).index(kind), *shape, repeat])
        y = noise(rng, kind, shape[0])
        model = "logistic" if kind == "multinomial" else kind
        found += bool(select(rng.normal(size=shape), y, model=model).selected)
    assert found <= (3 if repeats == 10 else 8)


def noise(rng: np.random.Generator, kind: str, n: int) -> Any:
    if kind in ("logistic", "multinomial"):
        return rng.permutation(np.arange(n) % (2 if kind == "logistic" else 3))
    if kind == "poisson":
        return np.append(rng.poisson(2.0, size=n - 1), 3)
    if kind == "gamma":
        return rng.gamma(1.5, size=n)
    if kind == "negative_binomial":
        return np.append(rng.negative_binomial(0.5, 0.1, size=n - 1), 3)
    if kind == "ordinal":
        return np.append(np.digitize(rng.normal(size=n - 2), [-0.5, 0.5]), [0, 2])
    return np.column_stack([rng.exponential(size=n), np.append(rng.integers(0, 2, size=n - 3), [1, 1, 1])])


def test_too_few_rows_for_any_candidate_are_noted() -> None:
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(8, 2000)), np.arange(8) % 2
    table[:, 5] = y
    assert select(table, y, model="logistic").selected == ()
    path = select(table, y, model="logistic", criterion="ebic")
    assert path.selected == ()
    assert any("8 rows are so few that no candidate could enter" in note for note in path.notes)
    assert select(table, y, model="logistic", criterion="bic", strategy="forward").selected[0] == 5


def test_the_default_needs_more_than_separation() -> None:
    """Of 20 noise features over 8 rows one often separates the classes; the likelihood ratio alone would accept it."""
    found = {"auto": 0, "ebic": 0}
    for repeat in range(40):
        rng = np.random.default_rng([5, repeat])
        table, y = rng.normal(size=(8, 20)), rng.permutation(np.arange(8) % 2)
        for criterion in found:
            found[criterion] += bool(select(table, y, model="logistic", criterion=criterion).selected)
    assert found["ebic"] > 10
    assert found["auto"] <= 5


def test_one_event_selects_nothing() -> None:
    path = select(X, np.column_stack([TIMES[:, 0], np.arange(60) == 5]), model="cox")
    assert (path.selected, path.stop) == ((), StopReason.ROWS)
    with pytest.raises(ValueError, match="include forces in 1 features, but 1 events can estimate 0 at most"):
        select(X, np.column_stack([TIMES[:, 0], np.arange(60) == 5]), model="cox", include=0)


@pytest.mark.parametrize("model", ["poisson", "gamma", "cox", "logistic"])
@pytest.mark.parametrize("constant", [-900.0, 900.0])
def test_a_constant_offset_is_part_of_the_intercept(model: str, constant: float) -> None:
    y = {"poisson": BINARY, "logistic": BINARY, "gamma": TIMES[:, 0], "cox": TIMES}[model]
    shifted, plain = (
        select(X, y, model=model, criterion="aic", offset=offset) for offset in (np.full(60, constant), None)
    )
    assert shifted.selected == plain.selected
    assert shifted.score == pytest.approx(plain.score, rel=1e-9)


def test_overdispersed_counts_are_noted_with_the_ratio() -> None:
    rng = np.random.default_rng(1)
    y = rng.negative_binomial(1, 0.2, size=60)
    (note,) = (note for note in select(X, y, model="poisson").notes if "overdispersed" in note)
    assert "times its degrees of freedom" in note
    assert not any("overdispersed" in note for note in select(X, rng.poisson(3, size=60), model="poisson").notes)


@pytest.mark.parametrize("model", ["logistic", "poisson", "gamma", "cox"])
def test_near_collinearity_is_noted_with_the_condition_number(model: str) -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((200, 1)) + np.array([0.0, 0.005]) * rng.standard_normal((200, 2))
    eta = 0.5 * Z[:, 0]
    targets = {
        "logistic": eta + rng.logistic(size=200) > 0,
        "poisson": rng.poisson(np.exp(eta)),
        "gamma": rng.gamma(3, np.exp(eta)),
        "cox": np.column_stack([rng.exponential(np.exp(-eta)), rng.random(200) < 0.7]),
    }
    both = select(Z, targets[model], model=model, include=[0, 1], enter=np.inf)
    (note,) = (note for note in both.notes if "nearly collinear" in note)
    number = float(note.split("condition number ")[1].split(")")[0])
    plain = Z - Z.mean(axis=0)
    assert number == pytest.approx(np.linalg.cond(plain / np.linalg.norm(plain, axis=0)), rel=0.3)  # by weights
    alone = select(Z, targets[model], model=model, include=[0], enter=np.inf)
    assert not any("collinear" in note for note in alone.notes)


def test_classes_of_few_rows_are_noted_with_their_number() -> None:
    y = np.array(["few"] * 3 + ["many"] * (len(X) - 3))
    (note,) = (note for note in select(X, y, model="logistic").notes if "class" in note)
    assert note == "class 'few' has 3 rows; what separates it is uncertain"
    weights = np.ones(len(X)) * 2
    notes = select(X, y, model="logistic", sample_weight=weights).notes
    assert not any("class" in note for note in notes)


def test_means_that_underflow_are_not_divided_by() -> None:
    """Counts of 0 whose mean is 0 in floating point are fitted exactly: they add nothing to Pearson's statistic."""
    x = np.r_[np.full(20, -1e3), np.linspace(0, 1, 40)]
    y = np.r_[np.zeros(20), np.random.default_rng(0).poisson(np.exp(1 + np.linspace(0, 1, 40)))]
    path = select(x[:, None], y, model="poisson", include=[0], enter=np.inf)
    assert path.coefficients is not None
    assert path.coefficients.coef[0] > 0.7


# --- input -----------------------------------------------------------------------------------------------------------


def test_structured_arrays_are_survival_times() -> None:
    y = np.array([(bool(e), t) for t, e in TIMES], dtype=[("dead", bool), ("days", float)])
    assert select(X, y, model="cox", criterion="aic") == select(X, TIMES, model="cox", criterion="aic")


MESSAGES: list[tuple[Any, dict[str, Any], str]] = [
    (-BINARY, {"model": "poisson"}, r"y must contain counts, which are not negative; its minimum is -1"),
    (BINARY, {"model": "gamma"}, r"y must be positive for model='gamma'; its minimum is 0"),
    (X, {"model": "gamma"}, r"y has 4 columns; model='gamma' requires one column of numbers"),
    (X[:, 0], {"model": "logistic"}, r"y has continuous values"),
    (X[:, :2], {"model": "logistic"}, r"requires one column of class labels"),
    (np.zeros(60, dtype=int), {"model": "logistic"}, r"y has only one class"),
    (BINARY, {"model": "cox"}, r"y must have two columns, time and event"),
    (None, {"model": "cox"}, r"y is None, but model='cox' requires survival times"),
    (TIMES[:, ::-1], {"model": "cox"}, r"event must be 0 .* or 1; got .*; pass the columns as \(time, event\)"),
    (TIMES + np.array([0, 1]), {"model": "cox"}, r"event must be .*; got 2; .*subtract 1 from events that are coded 1"),
    (-TIMES, {"model": "cox"}, r"event must be 0 \(censored\) or 1; got -1"),
    (TIMES * [-1, 1], {"model": "cox"}, r"times must not be negative; the minimum is -"),
    (TIMES * [1, 0], {"model": "cox"}, r"y has no events"),
    (TIMES[:9], {"model": "cox"}, r"X has 60, y has 9"),
    (np.where(TIMES > 1e9, 0, np.nan), {"model": "cox"}, r"y has missing or infinite values"),
    (np.array([("a", "b")] * 60), {"model": "cox"}, r"y contains a value that is not a number"),
    (np.array([(1, 2.0)] * 60, dtype="i4,f8"), {"model": "cox"}, r"a structured y must have a boolean field"),
    (BINARY, {"model": "ridge"}, r"model must be one of .*'cox', an object such as Logistic.*; got 'ridge'"),
    (BINARY, {"model": "logistic", "criterion": "cp"}, r"criterion 'cp' does not fit model 'logistic', whose criteria"),
    (BINARY, {"model": "logistic", "solver": "gram"}, r"solver='gram' does not apply to model 'logistic'"),
    (BINARY, {"model": "logistic", "strata": BINARY}, r"strata does not apply to model 'logistic'"),
    (X[:, 0], {"model": "linear", "offset": X[:, 1]}, r"offset does not apply to model 'linear'"),
    (X[:, 0], {"strata": BINARY}, r"strata does not apply to model 'auto'"),
    (BINARY, {"model": "logistic", "offset": X[:5, 1]}, r"offset must contain one number per row \(60\)"),
    (BINARY, {"model": "logistic", "offset": ["a"] * 60}, r"offset must contain one number per row; it has a value"),
    (BINARY, {"model": "logistic", "offset": np.full(60, np.inf)}, r"offset contains NaN or infinity"),
    (np.arange(60) % 3, {"model": "logistic", "offset": X[:, 1]}, r"offset is defined for two classes, but y has 3"),
    (
        TIMES,
        {"model": "cox", "strata": np.where(np.arange(60) < 2, np.nan, 1.0)},
        r"strata has 2 missing values; remove these rows, as missing='drop' does, or give them labels",
    ),
    (TIMES, {"model": "cox", "strata": [None, *("ab" * 30)[1:]]}, r"strata has 1 missing value; remove these rows"),
    (TIMES, {"model": "cox", "strata": [1, 2]}, r"strata must contain one label per row \(60\)"),
    (TIMES, {"model": "cox", "sample_weight": np.full(60, 0.5)}, r"use Cox\(ties='breslow'\) for other weights"),
    (BINARY, {"model": "logistic", "sample_weight": np.eye(60)[0] + np.eye(60)[np.argmax(BINARY[0] != BINARY)]},
     r"needs at least 3 samples of positive weight; there are 2"),
]  # fmt: skip


@pytest.mark.parametrize(("y", "parameters", "message"), MESSAGES, ids=[m[2][:40] for m in MESSAGES])
def test_messages(y: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        select(X, y, **parameters)


def test_moments_do_not_suffice() -> None:
    with pytest.raises(ValueError, match="Moments do not suffice for model 'logistic'"):
        select(Moments.of(X, BINARY), model="logistic")


def test_backward_needs_rows_for_all_features() -> None:
    wide = np.random.default_rng(0).normal(size=(10, 20))
    with pytest.raises(ValueError, match="backward starts from all 20 features, which 10 rows cannot estimate"):
        select(wide, np.arange(10) % 2, model="logistic", strategy="backward")
    with pytest.raises(ValueError, match="include forces in 12 features"):
        select(wide, np.arange(10) % 2, model="logistic", include=range(12))


@pytest.mark.parametrize("shortlist", [0, -1, 2.5, "8", True])
def test_shortlists_are_checked(shortlist: Any) -> None:
    with pytest.raises(ValueError, match="shortlist must be None or a whole number from 1"):
        Logistic(shortlist)


def test_ties_are_checked() -> None:
    with pytest.raises(ValueError, match="ties must be 'efron' or 'breslow'; got 'exact'"):
        Cox(ties="exact")


# --- parameters ------------------------------------------------------------------------------------------------------


def test_families_are_values() -> None:
    assert Logistic(4) == Logistic(shortlist=4) != Logistic()
    other: object = Gamma()
    assert Poisson() != other
    assert repr(Cox(ties="breslow")) == "Cox(shortlist=8, ties='breslow')"
    selector = Selector(model=Logistic(shortlist=3), criterion="bic")
    again = clone(selector)
    assert again.model == selector.model
    path = pickle.loads(pickle.dumps(again.fit(X, BINARY))).path_
    assert path.params == {"model": Logistic(shortlist=3), "criterion": "bic"}
    assert path == select(X, BINARY, **path.params)
    assert path.model == "logistic"


def test_selector_passes_what_is_given_per_row() -> None:
    counts, exposure = np.random.default_rng(3).poisson(np.exp(X[:, 1] + X[:, 0])), X[:, 0]
    selector = Selector(model="poisson").fit(X, counts, offset=exposure)
    assert selector.path_ == select(X, counts, model="poisson", offset=exposure)
    assert selector.selected_.tolist() == [1]
    strata = np.arange(60) % 2
    path = select(X, TIMES, model=Cox(ties="breslow"), strata=strata)
    assert Selector(model=Cox(ties="breslow")).fit(X, TIMES, strata=strata).path_ == path
    assert "model=Cox(ties='breslow'), solver='columns', strata=strata)" in snippet(path)


def test_included_and_excluded_features_and_groups() -> None:
    path = select(X, BINARY, model="logistic", include=[3], exclude=[1], criterion="aic")
    assert path.selected[0] == 3
    assert 1 not in path.selected
    path = select(X, BINARY, model="logistic", groups=[[0, 1], [2, 3]], criterion="aic")
    assert path.selected == (0, 1)
    assert path.ranking == (1, 1, 2, 2)


def test_equivalents_cost_no_counted_fits() -> None:
    plain = select(X, BINARY, model="logistic", criterion="aic")
    path = select(X, BINARY, model="logistic", criterion="aic", equivalents=True)
    assert path.n_fits == plain.n_fits
    assert path.losses is not None
    assert set(path.losses) == set(path.selected)
