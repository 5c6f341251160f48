"""Coverage of 95 % intervals by `infer`, on held-out rows and over splits.

python -m benchmarks.coverage --runs 2000 --splits-runs 300
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from dropstep import SelectionPath, Significance, infer, select

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, Floats, Floats], NDArray[Any]]

P = 20
N_SPLITS = 20
POPULATION = 100_000  # rows whose coefficients stand for those of the population, where these have no formula
FIXED: dict[str, Any] = {"strategy": "dropping", "enter": Significance(0.05, "bonferroni")}


def features(rng: np.random.Generator, n: int, correlation: float) -> Floats:
    """Normal features; those at distance d have correlation ** d."""
    X = rng.standard_normal((n, P))
    for j in range(1, P):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    return X


def projected(selected: tuple[int, ...], beta: Floats, correlation: float) -> Floats:
    """Coefficients of a submodel of linear regression, and for normal features of any log-linear mean."""
    distance = np.abs(np.subtract.outer(np.arange(P), np.arange(P)))
    S, at = float(correlation) ** distance, list(selected)
    return np.asarray(np.linalg.solve(S[np.ix_(at, at)], S[at] @ beta), dtype=np.float64)


# --- held-out rows ---------------------------------------------------------------------------------------------------


def normal(rng: np.random.Generator, X: Floats, eta: Floats) -> Floats:
    return eta + rng.standard_normal(len(X))


def heteroscedastic(rng: np.random.Generator, X: Floats, eta: Floats) -> Floats:
    """Noise whose standard deviation grows with the first feature."""
    return eta + 0.8 * np.sqrt(0.3 + X[:, 0] ** 2) * rng.standard_normal(len(X))


def lognormal(rng: np.random.Generator, X: Floats, eta: Floats) -> Floats:
    return eta + rng.lognormal(0.0, 0.7, len(X))


def classes(rng: np.random.Generator, X: Floats, eta: Floats) -> NDArray[Any]:
    return (eta + rng.logistic(size=len(X)) > 0).astype(int)


def counts(rng: np.random.Generator, X: Floats, eta: Floats) -> NDArray[Any]:
    return rng.poisson(np.exp(0.5 + eta))


def overdispersed(rng: np.random.Generator, X: Floats, eta: Floats) -> NDArray[Any]:
    """Counts whose variance is mean + mean^2."""
    return rng.poisson(np.exp(0.5 + eta) * rng.exponential(size=len(X)))


def positive(rng: np.random.Generator, X: Floats, eta: Floats) -> Floats:
    return rng.gamma(2.0, np.exp(eta) / 2)


def survival(rng: np.random.Generator, X: Floats, eta: Floats) -> Floats:
    """Exponential times, about a third of which are censored."""
    time, censored = rng.exponential(np.exp(-eta)), rng.exponential(2.0, len(X))
    return np.column_stack([np.minimum(time, censored), time <= censored])


@dataclass(frozen=True, eq=False)
class Setting:
    """A population: half of the rows select, the other half estimate.

    Attributes
    ----------
    name, model : str
    draw : callable
        The target, given a generator, features and the linear predictor.
    n : int
        Rows of each half.
    effects : tuple of float
        Coefficients of the features 0, 3, 4 and 8.
    correlation : float
        Of adjacent features.
    parameters : dict
        Those of `select`.
    """

    name: str
    model: str
    draw: Draw
    n: int
    effects: tuple[float, ...]
    correlation: float
    parameters: dict[str, Any]

    @property
    def beta(self) -> Floats:
        beta = np.zeros(P)
        beta[[0, 3, 4, 8]] = self.effects
        return beta

    def sample(self, seed: int, n: int) -> tuple[Floats, NDArray[Any]]:
        rng = np.random.default_rng([seed, n])
        X = features(rng, n, self.correlation)
        return X, self.draw(rng, X, X @ self.beta)

    def targets(self, selected: tuple[int, ...]) -> Floats:
        """Coefficients of the population in the model of some features."""
        if self.model not in ("logistic", "cox"):
            return projected(selected, self.beta, self.correlation)
        X, y = population(self)
        everything = list(range(len(selected)))
        path = select(X[:, list(selected)], y, model=self.model, include=everything, enter=np.inf, criterion="deviance")
        assert path.coefficients is not None
        return path.coefficients.coef


@cache
def population(setting: Setting) -> tuple[Floats, NDArray[Any]]:
    return setting.sample(0, POPULATION)


BY_TEST = {"linear": {**FIXED, "criterion": "r2"}, "other": {**FIXED, "criterion": "deviance"}}
SETTINGS = (
    Setting("linear, normal noise", "linear", normal, 100, (0.5,) * 4, 0.0, BY_TEST["linear"]),
    Setting("linear, lognormal noise", "linear", lognormal, 100, (0.5,) * 4, 0.5, BY_TEST["linear"]),
    Setting("linear, heteroscedastic*", "linear", heteroscedastic, 100, (0.5,) * 4, 0.5, BY_TEST["linear"]),
    Setting("logistic", "logistic", classes, 200, (0.8,) * 4, 0.5, BY_TEST["other"]),
    Setting("poisson", "poisson", counts, 100, (0.3,) * 4, 0.5, BY_TEST["other"]),
    Setting("poisson, overdispersed*", "poisson", overdispersed, 200, (0.3,) * 4, 0.5, BY_TEST["other"]),
    Setting("gamma", "gamma", positive, 100, (0.4,) * 4, 0.5, BY_TEST["other"]),
    Setting("cox", "cox", survival, 300, (0.5,) * 4, 0.5, BY_TEST["other"]),
    Setting("linear, by aic", "linear", normal, 100, (0.5,) * 4, 0.0, {"strategy": "dropping", "criterion": "aic"}),
)


class Run(NamedTuple):
    """Selected features, and their limits by method, of shape (n_selected, 2)."""

    selected: tuple[int, ...]
    limits: dict[str, Floats]


def limits_of(rows: Any) -> Floats:
    return np.array([(row.lower, row.upper) for row in rows]).reshape(-1, 2)


def run(setting: Setting, seed: int) -> Run:
    X, y = setting.sample(seed + 1, 2 * setting.n)
    path = select(X[: setting.n], y[: setting.n], model=setting.model, **setting.parameters)
    outside = X[setting.n :], y[setting.n :]
    found = {
        "robust": limits_of(infer(path, *outside).rows),
        "model": limits_of(infer(path, *outside, covariance="model").rows),
        "same rows": naive(path),
    }
    return Run(path.selected, found)


def naive(path: SelectionPath) -> Floats:
    """Intervals on the rows of the selection."""
    fit = path.coefficients
    assert fit is not None
    assert fit.std_error is not None
    width = 1.98 * fit.std_error
    return np.column_stack([fit.coef - width, fit.coef + width])


def held_out(runs: int, jobs: int) -> None:
    print("| setting | rows | intervals | robust | model | same rows |")
    print("|---|---|---|---|---|---|")
    for setting in SETTINGS:
        found: list[Run] = Parallel(n_jobs=jobs)(delayed(run)(setting, seed) for seed in range(runs))
        true = {selected: setting.targets(selected) for selected in {one.selected for one in found} if selected}
        shares = []
        for method in ("robust", "model", "same rows"):
            inside = [covered(one.limits[method], true[one.selected]) for one in found if one.selected]
            shares.append(np.concatenate(inside))
        cells = " | ".join(f"{share.mean():.1%}" for share in shares)
        print(f"| {setting.name} | {setting.n} | {len(shares[0])} | {cells} |", flush=True)


def covered(limits: Floats, true: Floats) -> NDArray[np.bool_]:
    return (limits[:, 0] <= true) & (true <= limits[:, 1])


# --- splits ----------------------------------------------------------------------------------------------------------


class Design(NamedTuple):
    """Linear regression of 100 rows: effects of the first features, and the correlation of adjacent ones."""

    name: str
    effects: tuple[float, ...]
    correlation: float
    parameters: dict[str, Any]

    @property
    def beta(self) -> Floats:
        return np.concatenate([self.effects, np.zeros(P - len(self.effects))])


BIC = {"strategy": "dropping", "criterion": "bic"}
DESIGNS = (
    Design("independent", (0.5,) * 4, 0.0, BY_TEST["linear"]),
    Design("independent, weak", (0.3,) * 4, 0.0, BY_TEST["linear"]),
    Design("independent, by bic", (0.4,) * 4, 0.0, BIC),
    Design("correlation 0.5, weak", (0.3,) * 4, 0.5, BY_TEST["linear"]),
    Design("correlation 0.7", (0.5,) * 4, 0.7, BY_TEST["linear"]),
    Design("correlation 0.7, by bic", (0.4,) * 4, 0.7, BIC),
    Design("correlation 0.7, signs alternate", (0.6, -0.6, 0.6, -0.6), 0.7, BY_TEST["linear"]),
    Design("correlation 0.9", (0.6, 0.0, 0.4, 0.0, 0.4), 0.9, BY_TEST["linear"]),
)


def run_splits(design: Design, seed: int) -> list[tuple[float, ...]]:
    """Lower and upper limit, estimate, frequency and true coefficient of each selected feature; and the naive estimate.

    The true coefficient is that of the population in the model of the path.
    """
    rng = np.random.default_rng([seed, 100])
    X = features(rng, 100, design.correlation)
    y = X @ design.beta + rng.standard_normal(100)
    path = select(X, y, model="linear", **design.parameters)
    if not path.selected:
        return []
    found = infer(path, X, y, split=0.5, n_splits=N_SPLITS, random_state=seed)
    true = projected(path.selected, design.beta, design.correlation)
    assert path.coefficients is not None
    naive = path.coefficients.coef
    return [
        (row.lower, row.upper, row.estimate, found.frequencies[row.name], t, b)
        for row, t, b in zip(found.rows, true.tolist(), naive.tolist(), strict=True)
    ]


def over_splits(runs: int, jobs: int) -> None:
    print("| 100 rows, 20 features | intervals | finite | coverage | bias | bias, weighted | bias on the same rows |")
    print("|---|---|---|---|---|---|---|")
    for design in DESIGNS:
        found = Parallel(n_jobs=jobs)(delayed(run_splits)(design, seed) for seed in range(runs))
        every = np.array([row for rows in found for row in rows])
        some = every[np.isfinite(every[:, 0])]
        inside = covered(some[:, :2], some[:, 4]).mean()
        biases = (
            bias(some[:, 2], some[:, 4], np.ones(len(some))),
            bias(some[:, 2], some[:, 4], some[:, 3]),
            bias(every[:, 5], every[:, 4], np.ones(len(every))),
        )
        cells = " | ".join(f"{one:+.0%}" for one in biases)
        print(f"| {design.name} | {len(every)} | {len(some) / len(every):.0%} | {inside:.1%} | {cells} |", flush=True)


def bias(estimates: Floats, true: Floats, weights: Floats) -> float:
    """Mean error away from zero, relative to the mean absolute coefficient, of features that have an effect."""
    sign = np.where(np.abs(true) > 1e-9, np.sign(true), 0.0)
    return float((weights * sign * (estimates - true)).sum() / (weights * np.abs(true)).sum())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--splits-runs", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    held_out(given.runs, given.jobs)
    print()
    over_splits(given.splits_runs, given.jobs)


if __name__ == "__main__":
    main()
