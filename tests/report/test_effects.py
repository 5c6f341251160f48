"""Effects in a few characters, next to the numbers that they are computed from."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from dropstep import select
from dropstep.report.effects import effect
from dropstep.report.text import number

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table():
    """A number, a factor with two levels and one with three, which all matter."""
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame(
        {"dose": rng.normal(size=n), "sex": rng.choice(["f", "m"], n), "site": rng.choice(["a", "b", "c"], n)}
    )
    y = 3 * X["dose"] + 5 * (X["sex"] == "m") + 4 * (X["site"] == "b") - 4 * (X["site"] == "c")
    return X, y + rng.normal(size=n)


def test_coefficients_name_their_levels(table):
    path = select(*table)
    fit = path.coefficients
    value = {name: number(float(coef), 3) for name, coef in zip(fit.names, fit.coef, strict=True)}
    error = {name: number(float(e), 3) for name, e in zip(fit.names, fit.std_error, strict=True)}
    assert effect(path, (0,)) == f"coefficient {value['dose']} ± {error['dose']}"
    assert effect(path, (1,)) == f"coefficient {value['sex=m']} ± {error['sex=m']} for m"
    assert effect(path, (2,)) == f"coefficients {value['site=b']} (b), {value['site=c']} (c)"


def test_a_factor_of_many_levels_has_a_range():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"site": rng.choice(list("abcdef"), 300)})
    path = select(X, 3.0 * (X["site"] == "f") + rng.normal(size=300), include=["site"])
    coef = path.coefficients.coef
    assert effect(path, (0,)) == f"coefficients {number(coef.min(), 3)} to {number(coef.max(), 3)}"


def test_several_targets_are_named():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(100, 4))
    y = pd.DataFrame({"flow": 3 * X[:, 1] + rng.normal(size=100), "heat": rng.normal(size=100) - 2 * X[:, 1]})
    path = select(X, y)
    flow, heat = (number(float(c), 3) for c in path.coefficients.coef[:, 0])
    assert effect(path, (1,)) == f"coefficients {flow} (flow), {heat} (heat)"


def test_a_ratio_only_where_it_can_be_read():
    """The odds ratio of a feature that is measured in thousandths would be 1e-35: its coefficient is shown instead."""
    path = select(*load_breast_cancer(return_X_y=True, as_frame=True), model="logistic")
    for j, coef in zip(path.selected, path.coefficients.coef, strict=True):
        moderate = abs(coef) < 7
        assert effect(path, (j,)).startswith("odds ratio" if moderate else f"coefficient {number(float(coef), 3)} ± ")
    assert {abs(coef) < 7 for coef in path.coefficients.coef} == {True, False}
