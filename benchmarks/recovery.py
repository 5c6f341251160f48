"""Recovery of true features by dropstep, abess and LassoCV.

    python -m benchmarks.recovery                    # settings of Hastie, Tibshirani and Tibshirani
    python -m benchmarks.recovery --part strategies  # dropstep's strategies on a grid of effects

The settings follow "Best Subset, Forward Stepwise or Lasso?" (Statistical Science 2020): normal features with the
correlation 0.35 ** |i - j|, five coefficients of 1, and noise of the variance b'Sb / SNR. The true features are the
first five (beta-type 2), or five at equal distances (beta-type 1). The R2 on new rows is that of the population:
1 - (variance of the prediction error) / (variance of y), at most SNR / (1 + SNR).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV

from benchmarks.noise import autoregressive
from dropstep import select
from dropstep.search.strategies import STRATEGIES

Floats = NDArray[np.float64]
Fit = Callable[[Floats, Floats], tuple[float, Floats]]

N_TRUE = 5
SHAPES, RATIOS, CORRELATION = ((100, 50), (100, 1000), (500, 200), (60, 2000)), (0.25, 1.0, 4.0), 0.35

ROWS, FEATURES, CORRELATIONS, EFFECTS = (60, 200), (20, 100), (0.0, 0.7), (0.3, 0.8)
COMPARED = ("dropping", "stepwise", "swap", "exhaustive")  # those that exist
MAX_EXHAUSTIVE = 20  # features up to which an exhaustive search is run


# --- settings of Hastie, Tibshirani and Tibshirani -------------------------------------------------------------------


class Setting(NamedTuple):
    """Rows, features, signal-to-noise ratio and the place of the true features."""

    n: int
    p: int
    snr: float
    beta_type: int

    def coefficients(self) -> Floats:
        beta = np.zeros(self.p)
        beta[np.arange(N_TRUE) if self.beta_type == 2 else np.linspace(0, self.p - 1, N_TRUE).astype(int)] = 1.0
        return beta

    def noise_variance(self) -> float:
        return variance(self.coefficients()) / self.snr

    def draw(self, seed: int) -> tuple[Floats, Floats]:
        rng = np.random.default_rng([seed, self.n, self.p, round(100 * self.snr), self.beta_type])
        X = autoregressive(rng, self.n, self.p, CORRELATION)
        return X, X @ self.coefficients() + np.sqrt(self.noise_variance()) * rng.standard_normal(self.n)

    def population_r2(self, intercept: float, coef: Floats) -> float:
        """Share of the variance of new responses that a fit explains."""
        noise, beta = self.noise_variance(), self.coefficients()
        return 1 - (intercept**2 + variance(coef - beta) + noise) / (variance(beta) + noise)


def variance(b: Floats) -> float:
    """b'Sb for the correlations of the settings, from the coefficients that are not zero."""
    (used,) = np.nonzero(b)
    return float(b[used] @ CORRELATION ** np.abs(used[:, None] - used) @ b[used])


def with_dropstep(**parameters: Any) -> Fit:
    def fit(X: Floats, y: Floats) -> tuple[float, Floats]:
        path = select(X, y, model="linear", **parameters)
        coef = np.zeros(X.shape[1])
        assert path.coefficients is not None
        coef[list(path.selected)] = path.coefficients.coef
        return float(path.coefficients.intercept), coef

    return fit


def with_estimator(estimator: Any) -> Fit:
    def fit(X: Floats, y: Floats) -> tuple[float, Floats]:
        estimator.fit(X, y)
        return float(estimator.intercept_), np.asarray(estimator.coef_, dtype=float)

    return fit


def fits() -> dict[str, Fit]:
    """The methods that are compared; abess if it is installed."""
    found = {"dropstep": with_dropstep(), "forward + BIC": with_dropstep(strategy="forward", criterion="bic")}
    try:
        from abess import LinearRegression as Abess
    except ImportError:
        pass
    else:
        found["abess"] = with_estimator(Abess())
    return found | {"LassoCV": with_estimator(LassoCV(cv=5))}


def measured(setting: Setting, seed: int) -> list[tuple[float, float, float, float]]:
    """F1, exact recovery, false selections and population R2 of every method on one table."""
    X, y = setting.draw(seed)
    true, rows = set(np.flatnonzero(setting.coefficients())), []
    for fit in fits().values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence of the lasso
            intercept, coef = fit(X, y)
        found = set(np.flatnonzero(coef))
        f1 = 2 * len(found & true) / (len(found) + len(true))
        rows.append((f1, float(found == true), float(len(found - true)), setting.population_r2(intercept, coef)))
    return rows


def settings_table(runs: int, jobs: int, beta_type: int) -> Iterator[str]:
    names = list(fits())
    yield "| rows × features | SNR | " + " | ".join(names) + " | best R2 |"
    yield "|---" * (3 + len(names)) + "|"
    for (n, p), snr in product(SHAPES, RATIOS):
        setting = Setting(n, p, snr, beta_type)
        counts = np.array(Parallel(n_jobs=jobs)(delayed(measured)(setting, seed) for seed in range(runs)))
        cells = [f"{f1:.2f}, {exact:.0%}, {false:.1f}, {r2:.2f}" for f1, exact, false, r2 in counts.mean(axis=0)]
        yield f"| {n:,} × {p:,} | {snr:g} | " + " | ".join(cells) + f" | {snr / (1 + snr):.2f} |"


# --- strategies ------------------------------------------------------------------------------------------------------


def methods() -> dict[str, Callable[[Floats, Floats], list[int]]]:
    """Functions that return the selected columns."""
    found: dict[str, Callable[[Floats, Floats], list[int]]] = {}
    for name in COMPARED:
        if name in STRATEGIES:
            found[name] = _strategy(name)
    try:
        from abess import LinearRegression as Abess
    except ImportError:
        pass
    else:
        found["abess"] = lambda X, y: np.flatnonzero(Abess(cv=1, ic_type="ebic").fit(X, y).coef_).tolist()
    found["LassoCV"] = lambda X, y: np.flatnonzero(LassoCV(cv=5).fit(X, y).coef_).tolist()
    return found


def _strategy(name: str) -> Callable[[Floats, Floats], list[int]]:
    parameters: dict[str, Any] = {"strategy": name}
    return lambda X, y: list(select(X, y, model="linear", **parameters).selected)


def draw(seed: int, n: int, p: int, rho: float, effect: float) -> tuple[Floats, Floats, set[int]]:
    """Correlated features; five random ones have effects of alternating sign."""
    rng = np.random.default_rng([seed, n, p, round(100 * rho), round(100 * effect)])
    X = autoregressive(rng, n, p, rho)
    true = rng.permutation(p)[:N_TRUE]
    signs = np.resize([1.0, -1.0], N_TRUE)
    return X, X[:, true] @ (effect * signs) + rng.standard_normal(n), set(true.tolist())


def strategies_table(runs: int) -> Iterator[str]:
    compared, seconds = methods(), dict.fromkeys(methods(), 0.0)
    yield "| rows | features | correlation | effect | " + " | ".join(compared) + " |"
    yield "|---" * (4 + len(compared)) + "|"
    for n, p, rho, effect in product(ROWS, FEATURES, CORRELATIONS, EFFECTS):
        cells = []
        for name, method in compared.items():
            if name == "exhaustive" and p > MAX_EXHAUSTIVE:
                cells.append("-")
                continue
            counts = []
            for seed in range(runs):
                X, y, true = draw(seed, n, p, rho, effect)
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # convergence of the lasso
                    chosen = set(method(X, y))
                seconds[name] += time.perf_counter() - start
                counts.append((len(true - chosen), len(chosen - true)))
            missed, false = np.mean(counts, axis=0)
            cells.append(f"{missed:.1f} + {false:.1f}")
        yield f"| {n} | {p} | {rho} | {effect} | " + " | ".join(cells) + " |"
    yield "\nseconds: " + ", ".join(f"{name} {total:.1f}" for name, total in seconds.items())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["settings", "strategies"], default="settings")
    parser.add_argument("--runs", type=int, default=100, help="tables per setting (100)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2), for the settings")
    parser.add_argument("--beta-type", type=int, choices=[1, 2], default=2, help="where the true features are (2)")
    given = parser.parse_args(arguments)
    if given.part == "settings":
        print(f"F1, exact recovery, false selections and R2 on new rows: means of {given.runs} tables, ", end="")
        print(f"beta-type {given.beta_type}\n")
        lines = settings_table(given.runs, given.jobs, given.beta_type)
    else:
        lines = strategies_table(given.runs)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
