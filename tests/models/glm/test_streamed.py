"""Logistic and Poisson regression of row sources: the fits of the table in memory, in a counted number of passes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dropstep import Logistic, Poisson, SelectionPath, select
from dropstep.backends.arrow import BatchSource, block_of
from dropstep.data.source import Source
from dropstep.models.glm.newton import MAX_STEP
from sources import arrow, table, with_gaps

pytestmark = pytest.mark.usefixtures("read_in_blocks")

OTHERS = ("y", "y2", "label", "code", "two", "count", "positive")


def counts(seed: int = 0, n: int = 700) -> pd.DataFrame:
    """The table of the sources, with two classes, counts and an offset."""
    frame, rng = table(seed, n), np.random.default_rng(seed + 100)
    log_mean = 0.3 * frame["a"] - 0.3 * frame["c"] + 0.5 * (frame["colour"] == "red")
    frame["exposure"] = 0.3 * rng.normal(size=n)
    frame["count"] = rng.poisson(np.exp(log_mean + frame["exposure"]))
    frame["positive"] = rng.gamma(2.0, np.exp(log_mean + frame["exposure"]))
    frame["two"] = np.where(frame["y"] + 2 * rng.normal(size=n) > frame["y"].median(), "yes", "no")
    return frame


def both(frame: pd.DataFrame, y: str, rows: int = 150, **parameters: Any) -> tuple[SelectionPath, SelectionPath]:
    used = frame.drop(columns=[name for name in OTHERS if name != y])
    return select(arrow(used).to_batches(max_chunksize=rows), y, **parameters), select(used, y, **parameters)


def check(path: SelectionPath, expected: SelectionPath) -> None:
    assert [(s.phase, s.action, s.features) for s in path.steps] == [
        (s.phase, s.action, s.features) for s in expected.steps
    ]
    np.testing.assert_allclose([s.score for s in path.steps], [s.score for s in expected.steps], rtol=1e-9)
    assert path.ranking == expected.ranking
    assert path.n_fits == expected.n_fits
    assert path.notes == expected.notes
    fit, known = path.coefficients, expected.coefficients
    assert (fit.names, fit.targets, fit.classes, fit.effect) == (
        known.names,
        known.targets,
        known.classes,
        known.effect,
    )
    np.testing.assert_allclose(fit.coef, known.coef, rtol=1e-7)
    np.testing.assert_allclose(fit.std_error, known.std_error, rtol=1e-7)
    if known.thresholds is None:
        np.testing.assert_allclose(fit.intercept, known.intercept, rtol=1e-7)
    else:
        np.testing.assert_allclose(fit.thresholds, known.thresholds, rtol=1e-7)
        np.testing.assert_allclose(fit.threshold_std_error, known.threshold_std_error, rtol=1e-7)


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "two classes": ("two", {"model": "logistic"}),
    "weights and offset": ("two", {"model": "logistic", "sample_weight": "weight", "offset": "exposure"}),
    "three classes": ("label", {"model": "logistic", "max_features": 3}),
    "integer classes": ("code", {"model": Logistic(shortlist=3), "max_features": 2}),
    "counts": ("count", {"model": "poisson", "offset": "exposure"}),
    "weighted counts": ("count", {"model": "poisson", "sample_weight": "weight", "criterion": "aic"}),
    "positive numbers": ("positive", {"model": "gamma", "offset": "exposure"}),
    "tests of positive numbers": ("positive", {"model": "gamma", "criterion": "aic", "sample_weight": "weight"}),
    "quasi-Poisson": ("count", {"model": Poisson(dispersion="estimate"), "sample_weight": "weight"}),
    "tests": ("two", {"model": "logistic", "criterion": "deviance", "strategy": "stepwise"}),
    "backward": ("count", {"model": "poisson", "strategy": "backward", "max_features": 3}),
    "groups": ("two", {"model": "logistic", "groups": [["a", "b", "f"]], "include": ["size"], "exclude": ["whole"]}),
}


@pytest.mark.parametrize("case", CASES)
def test_fits_are_those_of_memory(case: str) -> None:
    y, parameters = CASES[case]
    path, expected = both(counts(), y, **parameters)
    assert expected.selected
    check(path, expected)


@pytest.mark.parametrize("missing", ["drop", "level"])
def test_missing_values(missing: str) -> None:
    frame = with_gaps(counts(3))
    if missing == "level":
        frame = frame.dropna(subset=["b"]).reset_index(drop=True)
    check(*both(frame, "two", model="logistic", missing=missing))


@pytest.mark.parametrize("y", ["two", "count"])
def test_separation_is_found(y: str) -> None:
    frame = counts(4, 200)
    if y == "two":
        frame["a"] = np.where(frame["two"] == "yes", 5.0, 1.0) + frame["a"] / 100
    else:
        frame["a"] = (frame["count"] == 0).astype(float)
        frame["count"] = frame["count"].where(frame["a"] == 0, 0)
    model = "logistic" if y == "two" else "poisson"
    path, expected = both(frame, y, model=model, max_features=2)
    assert path.selected == expected.selected
    np.testing.assert_allclose(path.score, expected.score, rtol=1e-6)
    assert [note.split(":")[0] for note in path.notes] == [note.split(":")[0] for note in expected.notes]


def test_dependent_and_constant_columns() -> None:
    frame = counts(5)
    frame["twice"], frame["one"] = 2 * frame["a"] + 1, 1.0
    check(*both(frame, "two", model="logistic"))


class Counted(BatchSource):
    """A source whose functions and results are pickled, as workers of a cluster require, and counted."""

    def reduce(self, partial: Any, columns: tuple[str, ...]) -> Any:
        self.seen = [*getattr(self, "seen", []), type(partial).__name__]
        sent = pickle.loads(pickle.dumps(partial))
        return super().reduce(lambda block: pickle.loads(pickle.dumps(sent(block))), columns)


def test_passes_are_counted_one_per_newton_step() -> None:
    used = counts(6)[["a", "b", "c", "d", "e", "two"]]
    source = Counted(arrow(used).schema, arrow(used).to_batches(max_chunksize=100))
    path = select(source, "two", model="logistic")
    assert path.n_passes == source.n_passes == len(source.seen)
    assert source.seen[:2] == ["Summarise", "Constants"]
    n_scans = source.seen.count("Score")
    # All candidates of a shortlist take their steps together: far fewer passes than fits with several steps each.
    assert source.seen.count("Evaluate") < 8 * (n_scans + 1)
    assert path.selected == select(used, "two", model="logistic").selected


def test_large_steps_are_shortened() -> None:
    frame = counts(7, 120)[["a", "b", "count"]]
    frame.loc[0, "count"] = 10**6
    assert MAX_STEP == 1e3
    path = select(arrow(frame).to_batches(max_chunksize=50), "count", model="poisson")
    expected = select(frame, "count", model="poisson")
    assert path.selected == expected.selected
    np.testing.assert_allclose(path.score, expected.score, rtol=1e-9)


def test_messages() -> None:
    frame = counts(8)[["a", "b", "two", "label", "count", "exposure"]]
    batches = arrow(frame).to_batches(max_chunksize=100)

    def refused(y: Any, **parameters: Any) -> str:
        with pytest.raises(ValueError, match=" ") as error:
            select(parameters.pop("X", batches), y, **parameters)
        return str(error.value)

    assert "row 1: y must be positive for model='gamma'; it is 0" in refused(
        "count", model="gamma", X=[frame.assign(count=frame["count"].where(frame.index > 0, 0))]
    )
    assert "model 'cox' needs all rows in memory" in refused(["count", "a"], model="cox")
    assert "y names 2 columns, but model 'poisson' requires one" in refused(["count", "a"], model="poisson")
    negative = frame.assign(count=frame["count"].where(frame.index != 250, -1))
    expected = "row 251: y must contain counts, which are not negative; it is -1; use model='linear'"
    assert expected in refused("count", model="poisson", X=arrow(negative).to_batches(max_chunksize=100))
    assert "offset is defined for two classes, but y has 3" in refused("label", model="logistic", offset="exposure")
    assert "y has only one class (yes)" in refused("two", model="logistic", X=[frame.assign(two="yes")])
    assert "y is constant (4)" in refused("count", model="poisson", X=[frame.assign(count=4)])
    assert "an iterator, which can be read once, but 2 passes" in refused("two", model="logistic", X=iter(batches))
    assert "solver='gram' does not apply" in refused("two", model="logistic", solver="gram")
    assert isinstance(BatchSource(arrow(frame).schema, batches), Source)
    assert block_of(batches[0]).frame.n_rows == 100
