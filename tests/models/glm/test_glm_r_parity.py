"""The same paths, criteria, coefficients and log likelihoods as R.

Paths are those of step() for glm and coxph, and of extractAIC() of refits for gamma, glm.nb and polr.

The golden files say which R wrote them and are made by tests/golden/make_glm.R; they contain the data.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dropstep import Cox, Gamma, Logistic, NegativeBinomial, Ordinal, Poisson, select
from dropstep.data.sample import PerRow
from dropstep.models.base import Choices, Units
from dropstep.models.families import MODELS
from dropstep.models.glm.model import GeneralizedLinear
from dropstep.parameters import Parameters

GOLDEN = Path(__file__).parents[2] / "golden"
NAMES = sorted(path.stem.removeprefix("glm_") for path in GOLDEN.glob("glm_*.json"))
STRATEGIES = {"forward": "forward", "backward": "backward", "both": "bidirectional"}
TOLERANCES = {"ordinal": (1e-5, 1e-4)}  # polr differentiates numerically
SIGN = {"add": "+", "remove": "-"}


class Case:
    """A golden file, and its data as `select` takes them."""

    def __init__(self, name: str) -> None:
        self.golden = golden = json.loads((GOLDEN / f"glm_{name}.json").read_text())
        self.X = np.array(golden["X"], dtype=float)
        response = golden["response"]
        self.y = np.column_stack([response["time"], response["event"]]) if "time" in response else response["y"]
        self.rows = {name: golden[name] for name in ("offset", "strata", "sample_weight") if name in golden}
        self.kind = golden["model"]

    def family(self, shortlist: int | None = None) -> Any:
        if self.kind == "cox":
            return Cox(shortlist, ties=self.golden["ties"])
        if self.kind == "ordinal":
            return Ordinal(shortlist, link=self.golden["link"])
        families = {"logistic": Logistic, "poisson": Poisson, "gamma": Gamma, "negative_binomial": NegativeBinomial}
        return families[self.kind](shortlist)

    def model(self) -> GeneralizedLinear:
        family = self.family()
        per_row = {"weights" if name == "sample_weight" else name: values for name, values in self.rows.items()}
        problem = family.problem(family.sample(self.X, self.y, PerRow(**per_row), Parameters()), "auto", None)
        p = self.X.shape[1]
        return problem.model("aic", Units(p), np.arange(p), Choices(p, 0))

    def constant(self, k: float) -> float:
        """What our criterion counts in addition to extractAIC: R charges 2 for a dispersion, and nothing for theta."""
        return {"gamma": k - 2, "negative_binomial": k}.get(self.kind, 0.0)


@pytest.fixture(scope="module", params=NAMES)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def test_there_are_two_datasets_for_each_model() -> None:
    kinds = [Case(name).kind for name in NAMES]
    assert {kind for kind in kinds if kinds.count(kind) >= 2} == set(MODELS) - {"auto", "linear", "discriminant"}
    assert min(kinds.count(kind) for kind in ("negative_binomial", "ordinal")) >= 4


@pytest.mark.parametrize("criterion", ["aic", "bic"])
@pytest.mark.parametrize("direction", list(STRATEGIES))
def test_paths_are_those_of_r(case: Case, direction: str, criterion: str) -> None:
    golden = case.golden["paths"][direction][criterion]
    path = select(case.X, case.y, model=case.family(), strategy=STRATEGIES[direction], criterion=criterion, **case.rows)
    steps = [step for step in path.steps if step.phase != "start"]
    assert [(SIGN[s.action], *s.features) for s in steps] == list(zip(golden["signs"], golden["features"], strict=True))
    assert sorted(path.selected) == golden["final"]
    constant = case.constant(golden["k"])
    start = path.steps[0].score if direction == "backward" else path.start
    np.testing.assert_allclose(start - constant, golden["start"], rtol=1e-8)
    np.testing.assert_allclose([s.score - constant for s in steps], golden["scores"], rtol=1e-8)


@pytest.mark.parametrize("which", ["full", "null"])
def test_fits_are_those_of_r(case: Case, which: str) -> None:
    golden, model = case.golden[which], case.model()
    if which == "full":
        model.add(range(case.X.shape[1]))
    columns = list(model.fitted.columns)
    found = model.coefficients(columns, [f"x{j}" for j in columns])
    minus_twice = model.likelihood.minus_twice_loglik(model.fit.deviance)
    np.testing.assert_allclose(-minus_twice / 2, golden["loglik"], rtol=1e-8)
    if "theta" in golden:
        np.testing.assert_allclose(found.theta, golden["theta"], rtol=1e-6)
    else:
        np.testing.assert_allclose(model.fit.deviance, golden["deviance"], rtol=1e-8)
    if "coef" in golden:
        rows = found.rows()
        digits, error_digits = TOLERANCES.get(case.kind, (1e-8, 1e-6))
        np.testing.assert_allclose([row.estimate for row in rows], golden["coef"], rtol=digits, atol=digits / 1e4)
        errors = [row.std_error for row in rows]
        np.testing.assert_allclose(errors, golden["std_error"], rtol=error_digits)


@pytest.mark.parametrize("direction", list(STRATEGIES))
def test_the_default_shortlist_ends_on_the_same_sets(case: Case, direction: str) -> None:
    golden = case.golden["paths"][direction]["aic"]
    path = select(case.X, case.y, model=case.family(8), strategy=STRATEGIES[direction], criterion="aic", **case.rows)
    assert sorted(path.selected) == golden["final"]
