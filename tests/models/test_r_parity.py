"""The same paths and the same numbers as R: leaps::regsubsets, step() and summary(manova()).

The golden files say which R wrote them; tests/golden/make_golden.R writes them. Values agree to 1e-8 relative.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import datasets
import mixed_tables
from dropstep import Significance, select

GOLDEN = Path(__file__).parents[1] / "golden"
REGRESSIONS = ("swiss", "mtcars", "diabetes64", "communities")
MANOVAS = ("iris", "satellite", "optdigits", "biodeg", "ionosphere")
SIGN = {"add": "+", "remove": "-"}


def load(kind, name, request):
    """A golden file and its data: in the file itself when small, else from the folder of public datasets."""
    golden = json.loads((GOLDEN / f"{kind}_{name}.json").read_text())
    if "X" in golden:
        return golden, np.array(golden["X"], dtype=float), np.array(golden["y"])
    X, y = getattr(datasets, name)(request.getfixturevalue("data_dir"))
    assert X.shape == (golden["n"], len(golden["columns"]))
    return golden, X, y


@pytest.fixture(scope="module", params=REGRESSIONS)
def regression(request):
    return load("regression", request.param, request)


@pytest.fixture(scope="module", params=MANOVAS)
def manova(request):
    return load("manova", request.param, request)


def same(actual, golden, scale=0.0):
    """Equal to 1e-8 relative; scale is the size of what was subtracted to get there."""
    np.testing.assert_allclose(actual, golden, rtol=1e-8, atol=1e-8 * scale)


def moves(path):
    return [(SIGN[step.action], *step.features) for step in path.steps if step.phase != "start"]


def scores(path):
    return [step.score for step in path.steps if step.phase != "start"]


# ---- leaps -------------------------------------------------------------------------------------------------------


def test_forward_is_the_path_of_leaps(regression):
    golden, X, y = regression
    leaps = golden["leaps"]["forward"]
    path = select(X, y, model="linear", strategy="forward", criterion="rss", enter=0)
    assert list(path.selected) == leaps["order"]
    assert moves(path) == [("+", j) for j in leaps["order"]]
    same(path.start, leaps["rss_null"])
    same(scores(path), leaps["rss"])


def test_backward_is_the_path_of_leaps(regression):
    golden, X, y = regression
    leaps = golden["leaps"]["backward"]
    path = select(X, y, model="linear", strategy="backward", criterion="rss", leave=math.inf)
    assert path.steps[0].phase == "start"
    assert list(path.steps[0].features) == list(range(X.shape[1]))
    assert moves(path) == [("-", j) for j in reversed(leaps["order"])]
    same([step.score for step in path.steps], [*reversed(leaps["rss"]), leaps["rss_null"]])
    assert path.selected == ()


def test_cp_of_every_set_on_the_forward_path_of_leaps(regression):
    golden, X, y = regression
    leaps = golden["leaps"]["forward"]
    path = select(X, y, model="linear", strategy="forward", criterion="cp", enter=-math.inf)
    assert list(path.selected) == leaps["order"]
    same(scores(path), leaps["cp"], scale=golden["n"])  # cp is a difference of two numbers of size n


def test_cp_of_every_set_on_the_backward_path_of_leaps(regression):
    golden, X, y = regression
    leaps = golden["leaps"]["backward"]
    path = select(X, y, model="linear", strategy="backward", criterion="cp", leave=math.inf)
    assert moves(path) == [("-", j) for j in reversed(leaps["order"])]
    same([step.score for step in path.steps[:-1]], leaps["cp"][::-1], scale=golden["n"])


def test_cp_of_a_set_is_the_same_however_it_came_about(regression):
    golden, X, y = regression
    p = X.shape[1]
    for direction in ("forward", "backward"):
        leaps = golden["leaps"][direction]
        for size in (1, p // 2, p):
            cp = _of_set(X, y, leaps["order"][:size], model="linear", criterion="cp")
            same(cp, leaps["cp"][size - 1], scale=golden["n"])


def test_forward_by_cp_follows_leaps_until_cp_no_longer_falls(regression):
    golden, X, y = regression
    leaps = golden["leaps"]["forward"]
    cp = leaps["cp"]
    falls = next((k for k in range(1, len(cp)) if cp[k] >= cp[k - 1]), len(cp))
    path = select(X, y, model="linear", strategy="forward", criterion="cp")
    assert list(path.selected) == leaps["order"][:falls]
    same(scores(path), cp[:falls], scale=golden["n"])


def test_forward_under_the_test_stops_where_the_partial_f_of_r_is_no_longer_significant(regression):
    golden, X, y = regression
    leaps = golden["leaps"]["forward"]
    rule = Significance(0.05, "fdr")
    path = select(X, y, model="linear", strategy="forward", criterion="rss", enter=rule)
    assert list(path.selected) == leaps["order"][: _significant(leaps["p_value"], X.shape[1])]


def test_tests_of_the_forward_path_are_the_partial_f_tests_of_r(regression):
    golden, X, y = regression
    leaps = golden["leaps"]["forward"]
    path = select(X, y, model="linear", strategy="forward", criterion="rss", enter=0)
    tests = [step.test for step in path.steps]
    assert [test.df for test in tests] == [(1, golden["n"] - size - 1) for size in range(1, X.shape[1] + 1)]
    # A gain at rounding level of the total sum of squares has the digits that the difference has.
    np.testing.assert_allclose([test.statistic for test in tests], leaps["partial_F"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose([test.p_value for test in tests], leaps["p_value"], rtol=1e-5)


# ---- step --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["aic", "bic"])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_one_way_search_is_the_path_of_step(regression, direction, criterion):
    golden, X, y = regression
    step = golden["step"][direction][criterion]
    path = select(X, y, model="linear", strategy=direction, criterion=criterion)
    assert moves(path) == list(zip(step["signs"], step["features"], strict=True))
    same(scores(path), step["aic"])
    assert sorted(path.selected) == step["final"]
    same(path.score, step["final_aic"])
    same(path.start if direction == "forward" else path.steps[0].score, step["start_aic"])


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_bidirectional_is_the_path_of_step_both(regression, criterion):
    golden, X, y = regression
    step = golden["step"]["both"][criterion]
    path = select(X, y, model="linear", strategy="bidirectional", criterion=criterion)
    assert moves(path) == list(zip(step["signs"], step["features"], strict=True))
    same(scores(path), step["aic"])
    same(path.start, step["start_aic"])
    assert sorted(path.selected) == step["final"]
    same(path.score, step["final_aic"])


def test_some_golden_path_of_step_both_has_a_removal():
    """Else the test above would say nothing about removals."""
    files = [json.loads((GOLDEN / f"regression_{name}.json").read_text()) for name in REGRESSIONS]
    assert any("-" in file["step"]["both"][criterion]["signs"] for file in files for criterion in ("aic", "bic"))


# ---- step with factors ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=mixed_tables.GOLDEN)
def factors(request):
    golden = mixed_tables.golden(request.param)
    return golden, *mixed_tables.frame_of(golden)


@pytest.mark.parametrize("criterion", ["aic", "bic"])
@pytest.mark.parametrize("strategy", ["forward", "backward", "bidirectional"])
def test_factors_give_the_path_of_step(factors, strategy, criterion):
    """Missing values are dropped by row, and a factor enters and leaves as a whole."""
    golden, frame, y = factors
    step = golden["step"]["both" if strategy == "bidirectional" else strategy][criterion]
    path = select(frame, y, model="linear", strategy=strategy, criterion=criterion, missing="drop")
    assert path.notes[0].startswith(f"ignored {golden['n'] - golden['n_complete']} of {golden['n']} rows")
    assert moves(path) == list(zip(step["signs"], step["features"], strict=True))
    same(scores(path), step["aic"])
    same(path.steps[0].score if strategy == "backward" else path.start, step["start_aic"])
    assert sorted(path.selected) == step["final"]
    same(path.score, step["final_aic"])


def test_the_golden_paths_of_step_move_factors():
    """Else the test above would say nothing about factors of several columns."""
    for name in mixed_tables.GOLDEN:
        golden = mixed_tables.golden(name)
        wide = {j for j, column in enumerate(golden["features"]) if len(column.get("levels", ())) > 2}
        for strategy in ("forward", "backward", "both"):
            assert wide & set(golden["step"][strategy]["aic"]["features"]), (name, strategy)


# ---- manova ------------------------------------------------------------------------------------------------------


def test_forward_by_trace_is_the_greedy_path_of_hotelling_lawley(manova):
    golden, X, y = manova
    path = select(
        X,
        y,
        model="discriminant",
        strategy="forward",
        criterion="trace",
        enter=0,
        max_features=len(golden["path"]),
    )
    assert list(path.selected) == golden["path"]
    assert path.start == 0
    same(scores(path), golden["trace"])


@pytest.mark.parametrize("criterion", ["trace", "wilks", "pillai", "roy"])
def test_statistics_of_manova_along_the_path(manova, criterion):
    golden, X, y = manova
    order = golden["path"]
    sizes = range(1, len(order) + 1)
    values = [_of_set(X, y, order[:size], model="discriminant", criterion=criterion) for size in sizes]
    same(values, golden[criterion])


def test_forward_under_the_test_stops_where_the_analysis_of_covariance_is_no_longer_significant(manova):
    golden, X, y = manova
    order = golden["path"]
    path = select(X, y, model="discriminant", strategy="forward", criterion="trace", max_features=len(order))
    assert list(path.selected) == order[: _significant(golden["p_value"], golden["n_varying"])]


def test_tests_of_the_forward_path_are_those_of_the_analysis_of_covariance(manova):
    golden, X, y = manova
    size = len(golden["path"])
    path = select(X, y, model="discriminant", strategy="forward", criterion="trace", enter=0, max_features=size)
    tests = [step.test for step in path.steps]
    assert [test.df for test in tests] == list(zip(golden["df1"], golden["df2"], strict=True))
    same([test.statistic for test in tests], golden["partial_F"])
    np.testing.assert_allclose([test.p_value for test in tests], golden["p_value"], rtol=1e-6, atol=1e-300)


def _of_set(X, y, features, **model):
    """The score of a set: all of it in from the start and no room for more."""
    path = select(X, y, strategy="forward", include=list(features), max_features=len(features), **model)
    assert path.selected == tuple(features)
    return path.score


def _significant(p_values, candidates):
    """How many p-values come before the first, the k-th, above 0.05 k / candidates."""
    return next((k for k, p in enumerate(p_values) if p > 0.05 * (k + 1) / candidates), len(p_values))
