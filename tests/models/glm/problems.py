"""Random problems with what goes wrong in practice: ties, offsets, weights, and columns that depend on others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dropstep import Cox, Gamma, Logistic, NegativeBinomial, Ordinal, Poisson, select
from dropstep.data.sample import PerRow
from dropstep.models.base import Choices, Units
from dropstep.models.glm.model import GeneralizedLinear
from dropstep.parameters import Parameters
from reference.glm.fits import Data

KINDS = ("logistic", "multinomial", "poisson", "gamma", "cox", "breslow")
NUISANCE = ("negative_binomial", "ordinal", "probit", "cloglog")  # kinds with nuisance parameters
LINKS = {"ordinal": "logit", "probit": "probit", "cloglog": "cloglog"}
FAMILIES = {
    "logistic": Logistic,
    "multinomial": Logistic,
    "poisson": Poisson,
    "gamma": Gamma,
    "negative_binomial": NegativeBinomial,
}


@dataclass(frozen=True)
class RandomProblem:
    """X with the response and what is given per row, for the library and for the reference."""

    kind: str
    X: Any
    data: Data
    rows: dict[str, Any]

    def family(self, shortlist: int | None = None) -> Any:
        if self.data.kind == "cox":
            return Cox(shortlist, ties=self.data.ties)
        if self.kind in LINKS:
            return Ordinal(shortlist, link=LINKS[self.kind])
        return FAMILIES[self.kind](shortlist)

    def model(self, criterion: str = "aic", groups: list[list[int]] | None = None) -> GeneralizedLinear:
        rows = PerRow(self.rows.get("sample_weight"), self.rows.get("offset"), self.rows.get("strata"))
        family = self.family()
        problem = family.problem(family.sample(self.X, self.data.y, rows, Parameters()), "auto", None)
        p = self.X.shape[1]
        choices = Choices(p if groups is None else len(groups), 0)
        return problem.model(criterion, Units(p, groups), np.arange(p), choices)

    def select(self, shortlist: int | None = None, **parameters: Any) -> Any:
        return select(self.X, self.data.y, model=self.family(shortlist), **self.rows, **parameters)


def problem(kind: str, seed: int, n: int = 40, p: int = 6, *, plain: bool = False) -> RandomProblem:
    """A problem with three true features. Unless plain: weights, an offset, strata, and columns that are ugly."""
    rng = np.random.default_rng([hash_of(kind), seed])
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1)) * rng.uniform(0, 0.6)
    eta = 0.8 * X[:, 0] - 0.6 * X[:, 1] + 0.4 * X[:, 2]
    if not plain:
        ugly(rng, X)
    y = response(rng, kind, eta)
    weights = rng.integers(0, 3, size=n).astype(float) if not plain and seed % 2 else np.ones(n)
    offset = rng.normal(size=n) * 0.3 if not plain and seed % 3 and kind != "multinomial" else np.zeros(n)
    strata = rng.integers(0, 3, size=n) if not plain and seed % 4 > 1 and kind in ("cox", "breslow") else np.zeros(n)
    ties = "breslow" if kind == "breslow" else "efron"
    rows = {"sample_weight": weights, "offset": offset, "strata": strata}
    given = {name: values for name, values in rows.items() if values.any() and not (values == 1).all()}
    data = Data("cox" if ties == "breslow" else kind, y, weights, offset, strata, ties)
    return RandomProblem(kind, X, data, given)


def hash_of(kind: str) -> int:
    return (*KINDS, *NUISANCE).index(kind)


def ugly(rng: np.random.Generator, X: Any) -> None:
    """Make columns constant, repeated, dependent, discrete, or of another scale."""
    p = X.shape[1]
    for j, what in zip(rng.permutation(np.arange(1, p)), rng.integers(0, 6, size=2), strict=False):
        if what == 0:
            X[:, j] = 7.0
        elif what == 1:
            X[:, j] = X[:, 0]
        elif what == 2:
            X[:, j] = 2 * X[:, 0] - X[:, (j + 1) % p] + 3
        elif what == 3:
            X[:, j] = np.round(X[:, j])
        elif what == 4:
            X[:, j] = 1e6 + 1e-3 * X[:, j]


def response(rng: np.random.Generator, kind: str, eta: Any) -> Any:
    n = len(eta)
    if kind == "logistic":
        return (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(float)
    if kind == "multinomial":
        return np.argmax(np.column_stack([np.zeros(n), eta, -eta]) + rng.gumbel(size=(n, 3)), axis=1)
    if kind == "poisson":
        return rng.poisson(np.exp(np.clip(eta, None, 3))).astype(float)
    if kind == "gamma":
        return rng.gamma(2.0, np.exp(eta) / 2)
    if kind == "negative_binomial":
        return rng.poisson(np.exp(np.clip(eta, None, 3)) * rng.gamma(2.0, 0.5, size=n)).astype(float)
    if kind in LINKS:
        latent = {"ordinal": rng.logistic, "probit": rng.normal, "cloglog": lambda size: -rng.gumbel(size=size)}[kind]
        return np.digitize(eta + latent(size=n), [-1.0, 0.2, 1.5]).astype(float)
    time, censored = rng.exponential(np.exp(-eta)), rng.exponential(2.0, size=n)
    ties = np.ceil(5 * np.minimum(time, censored))
    return np.column_stack([ties, time <= censored]).astype(float)


def without_zero_weights(problem: RandomProblem) -> RandomProblem:
    """The same problem with the rows of weight zero removed, for the reference."""
    keep = problem.data.weights > 0
    data = problem.data
    part = replace(data, y=data.y[keep], weights=data.weights[keep], offset=data.offset[keep], strata=data.strata[keep])
    return replace(problem, X=problem.X[keep], data=part)
