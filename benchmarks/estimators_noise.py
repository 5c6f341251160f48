"""How often a search with an estimator selects nothing, where there is nothing: python -m benchmarks.estimators_noise.

The features and the target are independent: 100 rows, 30 features, 5 folds, the default strategy.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from dropstep import StandardErrors, select

RULES = {"auto": "auto", "StandardErrors(2)": StandardErrors(2), "StandardErrors(3)": StandardErrors(3)}
ESTIMATORS = {"LinearRegression, r2": LinearRegression(), "GaussianNB, accuracy": GaussianNB()}


def sizes(name: str, rule: str, n_draws: int) -> list[int]:
    """Number of selected features in each draw."""
    found = []
    for seed in range(n_draws):
        rng = np.random.default_rng([100, 30, seed])
        X, y = rng.normal(size=(100, 30)), rng.normal(size=100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target = y if name.startswith("Linear") else (y > 0).astype(int)
            found.append(len(select(X, target, model=ESTIMATORS[name], enter=RULES[rule], random_state=seed).selected))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100)
    n_draws = parser.parse_args().draws
    print("| estimator | enter | nothing selected | mean number selected |")
    print("|---|---|---|---|")
    for name in ESTIMATORS:
        for rule in RULES:
            found = sizes(name, rule, n_draws)
            print(
                f"| {name} | `{rule}` | {sum(n == 0 for n in found)} of {n_draws} | {np.mean(found):.1f} |", flush=True
            )


if __name__ == "__main__":
    main()
