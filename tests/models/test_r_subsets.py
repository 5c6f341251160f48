"""The same sets, paths and numbers as R: regsubsets(method="exhaustive"), step(direction="both"), add1() and drop1().

The golden files say which R wrote them; tests/golden/make_subsets.R writes them. Values agree to 1e-8 relative.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import datasets
from dropstep import Exhaustive, Significance, select

GOLDEN = Path(__file__).parents[1] / "golden"
TABLES = ("swiss", "mtcars", "longley", "uscrime", "diabetes64", "communities")
SIGN = {"add": "+", "remove": "-"}


@pytest.fixture(scope="module", params=TABLES)
def table(request):
    """A golden file and its data: in the file itself, or the first columns of a public dataset."""
    golden = json.loads((GOLDEN / f"subsets_{request.param}.json").read_text())
    if "X" in golden:
        return golden, np.array(golden["X"], dtype=float), np.array(golden["y"])
    X, y = getattr(datasets, request.param)(request.getfixturevalue("data_dir"))
    return golden, X[:, : len(golden["columns"])], y


def same(actual, golden, scale=0.0):
    """Equal to 1e-8 relative; scale is the size of what was subtracted to get there."""
    np.testing.assert_allclose(actual, golden, rtol=1e-8, atol=1e-8 * scale)


def moves(path):
    return [(SIGN[step.action], *step.features) for step in path.steps]


@pytest.mark.parametrize("solver", ["gram", "columns"])
def test_best_subsets_are_those_of_leaps(table, solver):
    """Of some sizes there are fewer than three sets."""
    golden, X, y = table
    best = golden["best"]
    path = select(
        X, y, model="linear", strategy=Exhaustive(n_best=3), criterion="rss", max_features=X.shape[1], solver=solver
    )
    found = [subset for subset in path.subsets.sets if subset.size]
    assert [list(subset.features) for subset in found] == best["sets"]
    same([subset.score for subset in found], best["rss"])
    same(path.subsets.of_size(0)[0].score, best["rss_null"])
    assert path.subsets.gap == 0
    assert path.stop.name == "OPTIMAL"


@pytest.mark.parametrize("criterion", ["cp", "adj_r2"])
def test_criteria_of_best_subsets_are_those_of_leaps(table, criterion):
    golden, X, y = table
    best = golden["best"]
    path = select(
        X, y, model="linear", strategy=Exhaustive(n_best=3), criterion=criterion, enter=0.0, max_features=X.shape[1]
    )
    found = [subset for subset in path.subsets.sets if subset.size]
    assert [list(subset.features) for subset in found] == best["sets"]
    same([subset.score for subset in found], best[criterion], scale=golden["n"] if criterion == "cp" else 1.0)
    at = (np.argmin if criterion == "cp" else np.argmax)(best[criterion])
    assert sorted(path.selected) == best["sets"][at]


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_bidirectional_is_the_path_of_step_both(table, criterion):
    golden, X, y = table
    step = golden["both"][criterion]
    path = select(X, y, model="linear", strategy="bidirectional", criterion=criterion)
    assert moves(path) == list(zip(step["signs"], step["features"], strict=True))
    same([s.score for s in path.steps], step["aic"], scale=golden["n"])
    same(path.start, step["start_aic"])
    assert sorted(path.selected) == step["final"]


@pytest.mark.parametrize("at", [0, 1])
def test_stepwise_by_p_value_is_the_loop_over_add1_and_drop1(table, at):
    """SLENTRY and SLSTAY of SAS: 0.15 and 0.15, and 0.05 and 0.10."""
    golden, X, y = table
    loop = golden["stepwise"][at]
    path = select(
        X, y, model="linear", strategy="stepwise", criterion="rss",
        enter=Significance(loop["enter"]), leave=Significance(loop["stay"]),
    )  # fmt: skip
    assert moves(path) == list(zip(loop["signs"], loop["features"], strict=True))
    same([step.score for step in path.steps], loop["rss"])
    same([step.test.statistic for step in path.steps], loop["F"])
    np.testing.assert_allclose([step.test.p_value for step in path.steps], loop["p_value"], rtol=1e-6)
    assert sorted(path.selected) == loop["final"]


def test_some_stepwise_path_of_r_has_a_removal():
    """Otherwise the test above would say nothing about removals."""
    files = [json.loads((GOLDEN / f"subsets_{name}.json").read_text()) for name in TABLES]
    assert any("-" in loop["signs"] for file in files for loop in file["stepwise"])
    assert any("-" in file["both"][criterion]["signs"] for file in files for criterion in ("aic", "bic"))


def test_leaps_finds_sets_that_no_greedy_search_finds():
    """Otherwise an exhaustive search would not be needed here."""
    golden = json.loads((GOLDEN / "subsets_uscrime.json").read_text())
    X, y = np.array(golden["X"], dtype=float), np.array(golden["y"])
    nested = select(X, y, model="linear", strategy="forward", criterion="rss", enter=-math.inf).selected
    best = [set(s) for s in golden["best"]["sets"][::3]]
    assert any(set(nested[: len(one)]) != one for one in best)
