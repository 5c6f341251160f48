"""The simulated regressions of tables 1, 2 and 4, with the choices that the paper leaves open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dropstep import MallowsCp
from examples.from_scratch import per_sample_cp
from experiments.paper.procedures import PROCEDURES, Record, Task, all_measured, removals

Floats = NDArray[np.float64]
Generator = np.random.Generator

ROWS = 80
NOISE = 2.0  # the paper's N(0, 2), read as a variance
TRUE = (0, 1, 6, 11)
COEFFICIENTS = (3.0, 2.1, 3.5, 0.8)
INTERCEPT = 4.5
SCRATCH_EVERY = 10  # procedures from scratch are timed on every tenth repeat


@dataclass(frozen=True)
class Cp:
    """A definition of Cp, and the scale of the data.

    Attributes
    ----------
    label : str
        Description of the choice.
    per_sample : bool
        (RSS + 2 size sigma2) / n rather than the textbook's RSS / sigma2 - n + 2 (size + 1).
    standard_y : bool
        Whether y is standardised, like the features.
    sigma2 : {"true", "estimated"}
        The true noise variance on the scale of y, or its estimate from the model with all features.
    noise : float
        Variance of the simulated noise.
    alpha, beta : float
        The thresholds.
    """

    label: str
    per_sample: bool = True
    standard_y: bool = True
    sigma2: Literal["true", "estimated"] = "true"
    noise: float = NOISE
    alpha: float = 0.01
    beta: float = 0.01

    def task(self, X: Floats, y: Floats) -> Task:
        """The selection problem of a draw."""
        scale = float(y.var()) if self.standard_y else 1.0
        known = self.noise / scale if self.sigma2 == "true" else None
        target = standardised(y) if self.standard_y else y
        criterion = MallowsCp(known, per_sample=self.per_sample)
        return Task(standardised(X), target, "linear", criterion, self.alpha, self.beta)


CPS = {
    "per sample": Cp("(RSS + 2 k σ²)/n, X and y standardised, σ² the true one, noise of variance 2"),
    "noise sd 2": Cp("the same, noise of standard deviation 2", noise=4.0),
    "estimated": Cp("the same, σ² estimated by the model with all features", sigma2="estimated"),
    "raw y": Cp("the same, y not standardised", standard_y=False),
    "noise 0.2": Cp("the same, noise of variance 0.2", noise=0.2),
    "alpha 0.05": Cp("the same, α = 0.05", alpha=0.05),
    "beta 0": Cp("the same, β = 0", beta=0.0),
    "textbook": Cp("RSS/σ² - n + 2 (k + 1), σ² the true one", per_sample=False, standard_y=False),
    "textbook estimated": Cp(
        "RSS/σ² - n + 2 (k + 1), σ² from the model with all features",
        per_sample=False,
        standard_y=False,
        sigma2="estimated",
    ),
}


def standardised(a: Floats) -> Floats:
    """Columns with mean 0 and variance 1."""
    return np.asarray((a - a.mean(axis=0)) / a.std(axis=0))


# --- table 4 ---------------------------------------------------------------------------------------------------------


def table_4_rows(seed: int, repeat: int, p: int, noise: float) -> tuple[Floats, Floats]:
    """One draw of table 4; the underlying normal numbers do not depend on the noise."""
    rng = np.random.default_rng([seed, 4, p, repeat])
    X = rng.normal(size=(ROWS, p))
    return X, INTERCEPT + X[:, TRUE] @ np.array(COEFFICIENTS) + np.sqrt(noise) * rng.normal(size=ROWS)


def table_4_trial(seed: int, repeat: int, p: int, cp: str) -> Record:
    """All three procedures on one draw, with the number of the four true features that each selected."""
    choice = CPS[cp]
    X, y = table_4_rows(seed, repeat, p, choice.noise)
    task = choice.task(X, y)
    score = None
    if cp == "per sample" and repeat % SCRATCH_EVERY == 0:
        score = per_sample_cp(task.X, task.y, choice.noise / float(y.var()))
    record = all_measured(task, repeat, score)
    for procedure in PROCEDURES:
        record[procedure]["found"] = len({*record[procedure]["selected"]} & {*TRUE})
    return record


def table_4_choice_trial(seed: int, repeat: int, p: int, cp: str) -> Record:
    """Only stepwise, on the same draw."""
    choice = CPS[cp]
    path = choice.task(*table_4_rows(seed, repeat, p, choice.noise)).path("stepwise")
    return {"features": len(path.selected)}


# --- table 1 ---------------------------------------------------------------------------------------------------------

COEFFICIENT_LAWS: dict[str, Callable[[Generator, int], Floats]] = {
    "repeated": lambda rng, k: np.resize(COEFFICIENTS, k),
    "ones": lambda rng, k: np.ones(k),
    "falling": lambda rng, k: 3 * np.power(0.7, np.arange(k, dtype=np.float64)),
    "normal": lambda rng, k: rng.normal(size=k),
}


def table_1_trial(seed: int, repeat: int, k: int, law: str, cp: str) -> Record:
    """Backward steps of stepwise when k of 80 independent features are in the model."""
    rng = np.random.default_rng([seed, 1, k, repeat])
    choice = CPS[cp]
    X = rng.normal(size=(ROWS, 80))
    noise = np.sqrt(choice.noise) * rng.normal(size=ROWS)
    y = INTERCEPT + X[:, :k] @ COEFFICIENT_LAWS[law](rng, k) + noise
    path = choice.task(X, y).path("stepwise")
    return {"removals": removals(path), "features": len(path.selected)}


# --- table 2 ---------------------------------------------------------------------------------------------------------


def one_factor(rng: Generator, p: int, most: float) -> Floats:
    """Correlations l_i l_j with l uniform between 0 and sqrt(most): positive definite by construction."""
    loading = rng.uniform(0, np.sqrt(most), size=p)
    return with_unit_diagonal(np.outer(loading, loading))


def one_value(rng: Generator, p: int, most: float) -> Floats:
    """The same correlation between all features, uniform between 0 and most, drawn in each repeat."""
    return with_unit_diagonal(np.full((p, p), rng.uniform(0, most)))


def uniform(rng: Generator, p: int, most: float) -> Floats:
    """Every correlation uniform between 0 and most, as the paper says; with 80 features not positive definite."""
    upper = np.triu(rng.uniform(0, most, size=(p, p)), 1)
    return with_unit_diagonal(upper + upper.T)


def clipped(rng: Generator, p: int, most: float) -> Floats:
    """Uniform correlations, negative eigenvalues set to 0, scaled back to a diagonal of ones."""
    values, vectors = np.linalg.eigh(uniform(rng, p, most))
    return as_correlation((vectors * np.maximum(values, 0.0)) @ vectors.T)


def reflected(rng: Generator, p: int, most: float) -> Floats:
    """Uniform correlations, negative eigenvalues made positive, as by a singular value decomposition."""
    values, vectors = np.linalg.eigh(uniform(rng, p, most))
    return as_correlation((vectors * np.abs(values)) @ vectors.T)


def with_unit_diagonal(C: Floats) -> Floats:
    np.fill_diagonal(C, 1.0)
    return C


def as_correlation(C: Floats) -> Floats:
    scale = np.sqrt(np.diagonal(C))
    return np.asarray(C / np.outer(scale, scale))


CORRELATION_LAWS: dict[str, Callable[[Generator, int, float], Floats]] = {
    "one factor": one_factor,
    "clipped": clipped,
    "reflected": reflected,
    "one value": one_value,
}


def table_2_trial(seed: int, repeat: int, most: float, law: str, cp: str) -> Record:
    """Backward steps of stepwise on the model of table 4 when the 80 features are correlated."""
    rng = np.random.default_rng([seed, 2, round(100 * most), repeat])
    choice = CPS[cp]
    C = CORRELATION_LAWS[law](rng, 80, most)
    values, vectors = np.linalg.eigh(C)
    X = (rng.normal(size=(ROWS, 80)) * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    y = INTERCEPT + X[:, TRUE] @ np.array(COEFFICIENTS) + np.sqrt(choice.noise) * rng.normal(size=ROWS)
    path = choice.task(X, y).path("stepwise")
    apart = C[np.triu_indices(80, 1)]
    return {
        "removals": removals(path),
        "features": len(path.selected),
        "highest": float(apart.max()),
        "average": float(apart.mean()),
    }


def invalid_trial(seed: int, repeat: int, most: float, law: str = "uniform") -> Record:
    """Smallest eigenvalue of a matrix of uniform correlations."""
    rng = np.random.default_rng([seed, 3, round(100 * most), repeat])
    return {"smallest": float(np.linalg.eigvalsh(uniform(rng, 80, most))[0])}
