"""Selection for likelihoods: speed against refits and abess, agreement of the shortlist, dropping.

python -m benchmarks.glm speed       # logistic 5,000 x 2,000 and 200,000 x 200
python -m benchmarks.glm shortlist   # final sets with 8 and with all candidates refitted
python -m benchmarks.glm dropping    # dropping against forward: fits, evaluations, time
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.noise import autoregressive, table
from dropstep import Cox, Gamma, Logistic, Poisson, select

Floats = NDArray[np.float64]

FAMILIES: dict[str, Callable[..., Any]] = {"logistic": Logistic, "poisson": Poisson, "gamma": Gamma, "cox": Cox}
SAMPLE = 25  # candidates that are refitted by scikit-learn, from which the time of all is extrapolated


# --- data ------------------------------------------------------------------------------------------------------------


def drawn(rng: np.random.Generator, kind: str, eta: Floats) -> Any:
    """A response of a family with linear predictor eta."""
    n = len(eta)
    if kind == "logistic":
        return (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(int)
    if kind == "multinomial":
        return np.argmax(np.column_stack([np.zeros(n), eta, -eta]) + rng.gumbel(size=(n, 3)), axis=1)
    if kind == "poisson":
        return rng.poisson(np.exp(np.clip(eta, None, 5)))
    if kind == "gamma":
        return rng.gamma(2.0, np.exp(eta) / 2)
    times, censored = rng.exponential(np.exp(-eta)), rng.exponential(2.0, size=n)
    return np.column_stack([np.minimum(times, censored), times <= censored])


def correlated(kind: str, n: int, p: int, seed: int, true: int = 6, size: float = 0.4) -> tuple[Floats, Any]:
    """Neighbours correlated 0.7, and some features with effects of either sign."""
    rng = np.random.default_rng([20, seed])
    X = autoregressive(rng, n, p, 0.7)
    beta = np.zeros(p)
    beta[rng.choice(p, true, replace=False)] = size * rng.choice([-1, 1], true)
    return X, drawn(rng, kind, X @ beta)


def model_of(kind: str, shortlist: int | None = 8) -> Any:
    return FAMILIES["logistic" if kind == "multinomial" else kind](shortlist)


def timed(call: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """The shortest CPU time of some calls, which does not depend on what else the machine does, and the result."""
    seconds = math.inf
    for _ in range(times):
        start = time.process_time()
        result = call()
        seconds = min(seconds, time.process_time() - start)
    return seconds, result


# --- speed -----------------------------------------------------------------------------------------------------------


def refits(X: Floats, y: Any, selected: tuple[int, ...]) -> float:
    """Seconds that refitting every candidate takes, extrapolated from a sample of candidates at every size."""
    p, total = X.shape[1], 0.0
    rng = np.random.default_rng(0)
    for size in range(len(selected)):
        before = list(selected[:size])
        sample = rng.choice(np.setdiff1d(np.arange(p), before), SAMPLE, replace=False)
        estimator = LogisticRegression(C=math.inf, max_iter=1000)
        seconds, _ = timed(partial(_refit_each, estimator, X, y, before, sample.tolist()), 3)
        total += seconds * (p - size) / SAMPLE
    return total


def _refit_each(estimator: Any, X: Floats, y: Any, before: Sequence[int], candidates: Sequence[int]) -> None:
    for j in candidates:
        estimator.fit(X[:, [*before, j]], y)


def with_abess(X: Floats, y: Any, k: int) -> float:
    from abess import LogisticRegression as Abess

    return timed(lambda: Abess(support_size=[k]).fit(X, y), 5)[0]


def speed() -> Iterator[str]:
    X, y = correlated("logistic", 5000, 2000, 0, true=10, size=0.5)
    rows = []
    ours, path = timed(lambda: select(X, y, model="logistic", strategy="forward", max_features=10), 5)
    rows.append(["dropstep, forward", f"{ours:.2f}", f"{path.n_fits}"])
    dropping, path_dropping = timed(lambda: select(X, y, model="logistic", max_features=10), 5)
    rows.append(["dropstep, dropping", f"{dropping:.2f}", f"{path_dropping.n_fits}"])
    rows.append(["abess, 10 features", f"{with_abess(X, y, 10):.2f}", ""])
    slow = refits(X, y, path.selected)
    times = f"{slow / ours:.0f} times forward, {slow / dropping:.0f} times dropping"
    rows.append([f"scikit-learn, every candidate (extrapolated: {times})", f"{slow:.0f}", "19,955"])
    yield from table("Logistic, 5,000 × 2,000, 10 features", ["", "CPU seconds", "fits"], rows)

    X, y = correlated("logistic", 200_000, 200, 0, true=10, size=0.2)
    ours, path = timed(lambda: select(X, y, model="logistic"))
    full, _ = timed(lambda: select(X, y, model="logistic", include=range(200), strategy="forward"))
    rows = [
        [f"dropstep, dropping, {len(path.selected)} features", f"{ours:.1f}", f"{path.n_fits}"],
        [f"one fit with all 200 (the selection takes {ours / full:.1f} times as long)", f"{full:.1f}", "1"],
    ]
    yield from table("Logistic, 200,000 × 200", ["", "CPU seconds", "fits"], rows)


# --- shortlist -------------------------------------------------------------------------------------------------------


def shortlist(repeats: int) -> Iterator[str]:
    rows = []
    for kind in ("logistic", "poisson", "gamma", "cox"):
        same = dict.fromkeys(("ebic", "aic"), 0)
        for seed in range(repeats):
            X, y = correlated(kind, 500, 100, seed)
            for criterion in same:
                few, every = (
                    select(X, y, model=model_of(kind, n), strategy="forward", criterion=criterion) for n in (8, None)
                )
                same[criterion] += set(few.selected) == set(every.selected)
        rows.append([kind, *(f"{count} of {repeats}" for count in same.values())])
    yield from table("Forward, 500 × 100: the same set with 8 and with all candidates refitted", ["", *same], rows)


# --- dropping --------------------------------------------------------------------------------------------------------


def dropping() -> Iterator[str]:
    rows = []
    for kind, n, p in (
        ("logistic", 1000, 500),
        ("multinomial", 1000, 200),
        ("poisson", 1000, 500),
        ("gamma", 1000, 500),
        ("cox", 1000, 500),
    ):
        X, y = correlated(kind, n, p, 1)
        for name in ("forward_backward", "dropping"):
            for refitted in (8, None):
                family = model_of(kind, refitted)
                seconds, path = timed(partial(select, X, y, model=family, strategy=name, criterion="ebic"))
                cells = [f"{path.n_evaluations:,}", f"{path.n_fits:,}", f"{seconds:.2f}", f"{path.score:.1f}"]
                rows.append([f"{kind}, {n:,} × {p}", name, "all" if refitted is None else str(refitted), *cells])
    head = ["", "strategy", "refitted per scan", "evaluations", "fits", "CPU seconds", "ebic"]
    yield from table("Dropping against forward", head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "shortlist", "dropping"])
    parser.add_argument("--repeats", type=int, help="random tables (100)")
    args = parser.parse_args()
    parts = {
        "speed": speed,
        "shortlist": lambda: shortlist(args.repeats or 100),
        "dropping": dropping,
    }
    for line in parts[args.what]():
        print(line, flush=True)


if __name__ == "__main__":
    main()
