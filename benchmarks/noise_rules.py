"""Stopping rules on pure noise: how often something is selected, and how many features; knockoffs on true effects.

python -m benchmarks.noise_rules --runs 2000
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.noise import autoregressive
from dropstep import Knockoffs, Permutation, Significance, select

SHAPES = ((20, 10), (50, 5), (100, 80), (30, 200), (100, 20), (200, 50))
# rules that claim 5 %, then rules that make no such claim
CLAIMING: dict[str, dict[str, Any]] = {
    "default": {},
    "Significance(0.05, 'bonferroni')": {"criterion": "rss", "enter": Significance(0.05, "bonferroni")},
    "Permutation(0.05)": {"enter": Permutation(0.05)},
}
OTHERS: dict[str, dict[str, Any]] = {
    "Knockoffs(0.1), forward": {"strategy": "forward", "enter": Knockoffs(0.1)},
    "ebic": {"criterion": "ebic"},
    "bic": {"criterion": "bic"},
    "aic": {"criterion": "aic"},
    "cp": {"criterion": "cp"},
    "Significance(0.05)": {"criterion": "rss", "enter": Significance(0.05)},
    "Significance(0.15), stepwise": {"criterion": "rss", "strategy": "stepwise", "enter": Significance(0.15)},
}
# rows, features, true ones, coefficient, correlation of neighbours, fdr
DESIGNS = (
    (300, 50, 15, 0.3, 0.0, 0.1),
    (300, 50, 15, 0.3, 0.5, 0.1),
    (300, 50, 15, 0.3, 0.8, 0.2),
    (500, 100, 20, 0.25, 0.5, 0.1),
    (150, 100, 20, 0.6, 0.5, 0.2),
)


def sizes(n: int, p: int, runs: int, parameters: dict[str, Any]) -> list[int] | None:
    """Number of features selected on noise, run by run; None where the rule does not apply."""
    found = []
    for seed in range(runs):
        rng = np.random.default_rng([n, p, seed])
        X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
        try:
            found.append(len(select(X, y, model="linear", random_state=seed, **parameters).selected))
        except ValueError:
            return None
    return found


def noise_table(runs: int, few: int) -> Iterator[str]:
    """Share of the runs that select something, and the mean number of features."""
    yield "| rule | runs | " + " | ".join(f"{n} x {p}" for n, p in SHAPES) + " |"
    yield "|---" * (len(SHAPES) + 2) + "|"
    for name, parameters in {**CLAIMING, **OTHERS}.items():
        n_runs, cells = (runs if name in CLAIMING else few), []
        for n, p in SHAPES:
            found = sizes(n, p, n_runs, parameters)
            cells.append("-" if found is None else f"{np.mean(np.array(found) > 0):.1%}, {np.mean(found):.2g}")
        yield f"| {name} | {n_runs} | " + " | ".join(cells) + " |"


def false_share(seed: int, n: int, p: int, k: int, effect: float, rho: float, fdr: float) -> tuple[float, float]:
    """Share of false ones among the selected, and share of the true ones that are selected."""
    rng = np.random.default_rng([seed, n, p])
    X, beta = autoregressive(rng, n, p, rho), np.zeros(p)
    beta[rng.permutation(p)[:k]] = effect * rng.choice([-1.0, 1.0], k)
    y = X @ beta + rng.standard_normal(n)
    selected = list(select(X, y, strategy="forward", enter=Knockoffs(fdr), random_state=seed).selected)
    true = int(np.count_nonzero(beta[selected]))
    return (len(selected) - true) / max(len(selected), 1), true / k


def knockoff_table(runs: int) -> Iterator[str]:
    """False discovery rate and power of knockoffs."""
    yield "| rows | features | true | effect | correlation | fdr | false share | power |"
    yield "|---" * 8 + "|"
    for design in DESIGNS:
        shares = np.array([false_share(seed, *design) for seed in range(runs)]).mean(axis=0)
        cells = " | ".join(f"{value:g}" for value in design)
        yield f"| {cells} | {shares[0]:.3f} | {shares[1]:.2f} |"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="of rules that claim 5 %%")
    parser.add_argument("--few", type=int, default=200, help="of the others, and of knockoffs")
    parser.add_argument("--only", choices=["noise", "knockoffs"])
    given = parser.parse_args(arguments)
    tables = {"noise": noise_table(given.runs, given.few), "knockoffs": knockoff_table(given.few)}
    for name, table in tables.items():
        if given.only in (None, name):
            print()
            for line in table:
                print(line, flush=True)


if __name__ == "__main__":
    main()
