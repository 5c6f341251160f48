"""Callbacks of scikit-learn (1.9 and later) on Selector."""

from __future__ import annotations

import contextlib
import io
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dropstep import SelectionPath, Selector, StopReason, select

callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

STRATEGIES = ("dropping", "forward", "backward", "stepwise", "forward_backward", "fbed", "floating", "swap")


@pytest.fixture(scope="module")
def diabetes() -> tuple[pd.DataFrame, pd.Series]:
    return load_diabetes(return_X_y=True, as_frame=True)


class Recorder:
    """Keeps what it was told, and asks to stop after some steps."""

    def __init__(self, stop_after: float = math.inf) -> None:
        self.stop_after = stop_after
        self.told: list[tuple[str, str, Any]] = []
        self.columns: list[list[str]] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.told.append(("setup", context.task_name, None))

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None, y: Any = None) -> None:
        self.told.append(("begin", context.task_name, X))

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any = None, metadata: Any = None, fitted_estimator: Any = None
    ) -> bool:
        self.told.append(("end", context.task_name, metadata))
        if isinstance(fitted_estimator, Selector):
            if fitted_estimator.support_.any():
                assert fitted_estimator.transform(X).shape == (len(X), fitted_estimator.support_.sum())
            self.columns.append(list(fitted_estimator.get_feature_names_out()))
        return sum(what == "end" for what, _, _ in self.told) >= self.stop_after

    def teardown(self, estimator: Any, context: Any) -> None:
        self.told.append(("teardown", context.task_name, None))

    def names(self, what: str) -> list[str]:
        return [name for told, name, _ in self.told if told == what]


class Everywhere(Recorder):
    """The same, handed on to the parts of a pipeline."""

    max_propagation_depth = None


def test_callbacks_are_told_every_step(diabetes: Any) -> None:
    X, y = diabetes
    recorder = Recorder()
    selector = Selector().set_callbacks(recorder).fit(X, y)
    assert selector.path_ == select(X, y)
    steps = [f"{step.phase}: {step.action}" for step in selector.path_.steps]
    assert recorder.names("begin") == ["fit", *steps]
    assert recorder.names("end") == [*steps, "fit"]
    assert recorder.told[0][:2] == ("setup", "fit")
    assert recorder.told[-1][:2] == ("teardown", "fit")
    assert all(told is X for what, _, told in recorder.told if what == "begin")
    sizes = [len(columns) for columns in recorder.columns]
    assert sizes == [*selector.path_.sizes(), len(selector.selected_)]
    assert recorder.columns[0] == ["bmi"]
    assert recorder.columns[-1] == list(selector.get_feature_names_out())


def test_callbacks_are_told_the_weights(diabetes: Any) -> None:
    recorder = Recorder()
    weights = np.ones(len(diabetes[0]))
    Selector().set_callbacks(recorder).fit(*diabetes, sample_weight=weights)
    assert all(told["sample_weight"] is weights for what, _, told in recorder.told if what == "end")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_callback_stops_the_search(strategy: str, diabetes: Any) -> None:
    X, y = diabetes
    whole = select(X, y, strategy=strategy)
    selector = Selector(strategy=strategy).set_callbacks(Recorder(stop_after=2)).fit(X, y)
    assert selector.path_.stop is StopReason.CALLBACK
    assert selector.path_.steps == whole.steps[:2]
    assert selector.transform(X).shape[1] == len(selector.path_.selected) == selector.path_.sizes()[-1]
    assert str(selector.path_.stop) == "a callback returned True"


def test_a_callback_hears_of_a_fit_that_fails(diabetes: Any) -> None:
    X, y = diabetes
    recorder = Recorder()
    selector = Selector(include="nobody").set_callbacks(recorder)
    with pytest.raises(ValueError, match="nobody"):
        selector.fit(X, y)
    assert recorder.told[-1][0] == "teardown"
    assert set(vars(selector)) == {*selector.get_params(), "_skl_callbacks"}


def test_a_pipeline_hands_callbacks_on(diabetes: Any) -> None:
    X, y = diabetes
    recorder = Everywhere()
    pipeline = make_pipeline(StandardScaler(), Selector()).set_output(transform="pandas").set_callbacks(recorder)
    pipeline.fit(X, y)
    steps = [f"{step.phase}: {step.action}" for step in pipeline["selector"].path_.steps]
    names = recorder.names("end")
    start = names.index(steps[0])
    assert names[start : start + len(steps)] == steps
    assert recorder.columns[-1] == list(pipeline["selector"].get_feature_names_out())
    assert recorder.names("setup") == recorder.names("teardown") == ["fit"]
    inner = Recorder()
    make_pipeline(StandardScaler(), Selector().set_callbacks(inner), LinearRegression()).fit(X, y)
    assert inner.names("end")[:-1] == steps


def test_a_grid_search_hands_callbacks_on(diabetes: Any) -> None:
    recorder = Everywhere()
    pipeline = make_pipeline(Selector(), LinearRegression())
    grid = GridSearchCV(pipeline, {"selector__criterion": ["bic", "ebic"]}, cv=2)
    with pytest.warns(UserWarning, match="LinearRegression does not support callbacks"):
        grid.set_callbacks(recorder).fit(*diabetes)
    assert "forward: add" in recorder.names("end")


def test_progress_bar(diabetes: Any) -> None:
    pytest.importorskip("rich")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        selector = Selector().set_callbacks(callback.ProgressBar()).fit(*diabetes)
    assert selector.path_ == select(*diabetes)
    assert "Selector - fit" in shown.getvalue()
    assert "100%" in shown.getvalue()


def test_callbacks_are_not_cloned_into_results(diabetes: Any) -> None:
    selector = Selector().set_callbacks(Recorder()).fit(*diabetes)
    leftover = {name for name in vars(selector) if name.startswith("_")}
    assert leftover == {"_skl_callbacks"}
    assert isinstance(selector.path_, SelectionPath)
