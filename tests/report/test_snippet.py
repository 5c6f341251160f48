"""The report's snippet, executed with the same data, makes the same path."""

import html
import math
import re
from collections import UserDict
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dropstep import BIC, EBIC, FBED, R2, MallowsCp, Moments, SelectionPath, Selector, Significance, select
from dropstep.report import report_html
from dropstep.report.snippet import literal

# The thresholds of the tests are no levels.
pytestmark = pytest.mark.filterwarnings("ignore:.*is a threshold in units of")

NAMES = [f"f{j}" for j in range(12)]
STRATEGIES = ("dropping", "forward", "backward", "stepwise", "forward_backward", "fbed", "floating", "swap")


def regression() -> tuple[np.ndarray, np.ndarray]:
    """Features that share causes, so that later additions make earlier ones redundant."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 5)) @ rng.normal(size=(5, 12)) + 0.4 * rng.normal(size=(150, 12))
    return X, X @ np.where(np.arange(12) % 3 == 0, rng.normal(size=12), 0.0) + rng.normal(size=150)


def classes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    y = np.arange(150) % 3
    X = rng.normal(size=(150, 12))
    X[:, :4] += rng.normal(size=(3, 4))[y]
    return X, np.array(["low", "middle", "high"])[y]


def snippet(path: SelectionPath) -> str:
    """The code of the section "How to reproduce it", as a reader would copy it."""
    section = report_html(path).split("How to reproduce it", 1)[1]
    found = re.search(r"<pre[^>]*><code>(.*?)</code></pre>", section, re.DOTALL)
    assert found
    return html.unescape(found[1])


def assert_reproduces(path: SelectionPath, **data: Any) -> None:
    names = dict(data)
    exec(compile(snippet(path), "snippet", "exec"), names)
    again = names["path"]
    assert (again.selected, again.steps, again.score) == (path.selected, path.steps, path.score)
    assert (again.model, again.solver, again.criterion, again.strategy) == (
        path.model,
        path.solver,
        path.criterion,
        path.strategy,
    )


# --- calls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [regression, classes])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy(strategy: str, make: Callable[[], tuple[Any, Any]]) -> None:
    X, y = make()
    for words in ({}, {"enter": 0.05, "leave": 0.05}, {"max_features": np.int64(3)}, {"solver": "gram"}):
        assert_reproduces(select(X, y, strategy=strategy, **words), X=X, y=y)


@pytest.mark.parametrize(
    "words",
    [
        {"criterion": MallowsCp()},
        {"criterion": MallowsCp(sigma2=np.float64(2.0), per_sample=True)},
        {"criterion": EBIC(gamma=0.5, n_candidates=30)},
        {"criterion": BIC()},
        {"criterion": R2(), "enter": np.float32(0.01), "leave": Fraction(1, 128)},
        {"criterion": np.str_("aic"), "strategy": np.str_("stepwise")},
        {"criterion": "rss", "drop": "auto"},
        {"criterion": "bic", "enter": -math.inf, "max_features": 4},
        {"criterion": "bic", "leave": math.inf, "strategy": "forward_backward", "enter": math.inf},
        {"strategy": FBED(rounds=math.inf)},
        {"strategy": FBED(rounds=np.float64("inf"))},
        {"strategy": FBED(rounds=0), "model": "linear"},
        {"criterion": "bic", "strategy": "floating", "solver": "columns"},
    ],
)
def test_criteria_and_thresholds(words: dict[str, Any]) -> None:
    X, y = regression()
    assert_reproduces(select(X, y, **words), X=X, y=y)


@pytest.mark.parametrize(
    "words",
    [
        {"include": 5},
        {"include": np.int64(5), "exclude": "f0"},
        {"include": "f7", "exclude": np.array(["f0", "f3"])},
        {"include": np.array([7, 2]), "exclude": np.array([0])},
        {"include": pd.Index(["f7", "f2"]), "exclude": pd.Series([0, 3])},
        {"include": range(np.int64(2), 5)},
        {"include": {"f10", "f2", "f1"}},  # a set is included by position: not in the order of the sorted names
        {"include": frozenset({np.int64(9), np.int64(1)})},
        {"include": {"f7": 0, "f2": 0}.keys()},
        {"include": (np.str_("f7"), "f2")},
        {"include": [], "exclude": set()},
        {"groups": np.arange(12) // 3, "strategy": "stepwise"},
        {"groups": pd.Series(list("aabbccddeeff"))},
        {"groups": np.array(["a", "b", "c"]).repeat(4)},
        {"groups": [np.array([0, 5]), [1, 2, np.int64(6)]], "include": [0, 5]},
        {"groups": [{"f3", "f1"}, ("f0",)]},
        {"groups": {"first": ["f0", "f4"], np.int64(2): np.array(["f3"])}},
        {"groups": [1.5, math.inf] * 6},
    ],
)
def test_features_and_groups(words: dict[str, Any]) -> None:
    X, y = regression()
    frame = pd.DataFrame(X, columns=NAMES)
    assert_reproduces(select(frame, y, criterion="bic", **words), X=frame, y=y)


@pytest.mark.parametrize("make", [regression, classes])
@pytest.mark.parametrize("solver", ["auto", "gram", "columns"])
def test_weights_and_solver(solver: str, make: Callable[[], tuple[Any, Any]]) -> None:
    X, y = make()
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    path = select(X, y, sample_weight=weights, solver=solver)
    assert f"solver='{path.solver}'" in snippet(path)
    assert_reproduces(path, X=X, y=y, sample_weight=weights)
    fitted = Selector(max_features=2).fit(X, y, sample_weight=weights).path_
    assert_reproduces(fitted, X=X, y=y, sample_weight=weights)


def test_numbers_that_could_be_classes_keep_their_model() -> None:
    X, _ = regression()
    y = np.arange(150) % 3
    for model in ("auto", "linear", "discriminant"):
        path = select(X, y, model=model, max_features=2, enter=0)
        assert f"model='{path.model}'" in snippet(path)
        assert_reproduces(path, X=X, y=y)


@pytest.mark.parametrize("make", [regression, classes])
def test_from_moments(make: Callable[[], tuple[Any, Any]]) -> None:
    X, y = make()
    path = replace(select(Moments.of(X, y), strategy="stepwise", max_features=3), from_moments=True)
    assert "Moments.of(X, y, " in snippet(path)
    assert_reproduces(path, X=X, y=y)


def test_a_significance_level_is_imported() -> None:
    X, y = regression()
    path = replace(select(X, y), params={"enter": Significance(0.15)})
    assert "Significance(level=0.15" in snippet(path)
    code = snippet(path).split("path = ")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["Significance"] is Significance


def test_equivalents_are_computed_again() -> None:
    X, y = regression()
    path = select(X, y, equivalents=True)
    names: dict[str, Any] = {"X": X, "y": y}
    exec(snippet(path), names)
    assert names["path"].equivalents == path.equivalents


# --- what cannot be written as a literal -----------------------------------------------------------------------------


class Mine(BIC):
    """A criterion of the user's own."""


class Colour(Enum):
    RED = 1


def test_what_has_no_literal_is_left_to_fill_in() -> None:
    X, y = regression()
    path = select(X, y, criterion=Mine())
    code = snippet(path)
    assert "criterion = ...  # fill in: an object of type Mine was passed" in code
    names: dict[str, Any] = {"X": X, "y": y}
    with pytest.raises(TypeError, match="criterion must be a name or a Criterion"):  # never another result in silence
        exec(code, names)
    exec(code.replace("criterion = ...", "criterion = Mine()"), names | {"Mine": Mine})
    stopped = select(X, y, callback=lambda step: True)
    assert "callback = ...  # fill in: a callback stopped the search" in snippet(stopped)
    labelled = select(X, y, groups=[Colour.RED] * 12)
    assert "groups = ...  # fill in: an object of type list was passed" in snippet(labelled)
    consumed = select(X, y, include=(j for j in (1, 2)))
    assert "include = ...  # fill in: an object of type generator was passed" in snippet(consumed)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (np.float64(0.1), "0.1"),
        (np.bool_(True), "True"),
        (-math.inf, "-math.inf"),
        (math.nan, "math.nan"),
        ({10, 9, 2}, "{2, 9, 10}"),
        ({"b", 1}, "{'b', 1}"),
        (set(), "set()"),
        (np.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (("a",), "('a',)"),
        ({"a": np.array([1])}, "{'a': [1]}"),
        (UserDict({"a": 1}), "{'a': 1}"),
        (b"x", "b'x'"),
        (None, "None"),
    ],
)
def test_literals(value: Any, written: str) -> None:
    assert literal(value)[0] == written
