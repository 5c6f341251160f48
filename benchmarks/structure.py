"""Bars on data with structure: all features at the start, classes, groups, several targets, correlated features."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import data
from benchmarks.bar import Bar, Bars, milliseconds
from benchmarks.measure import Timing, interleaved
from benchmarks.rivals import dropstep, omp
from benchmarks.simulated import Simulated
from benchmarks.workloads import WORKLOADS, exactly
from dropstep import Moments, select

Floats = NDArray[np.float64]


def backward(repeats: int) -> Bars:
    """Backward by BIC: from moments within 15 inverses of S, from rows within 15 products X'X with its inverse."""
    for p in (300, 1_000, 1_500):
        moments = Moments.of(*Simulated(3 * p, p, 10)())
        S = np.array(moments.scatter[:p, :p])
        calls = {"ours": partial(_backward, moments), "one": partial(np.linalg.inv, S)}
        yield _ratio(f"backward: p = {p:,} from moments", interleaved(calls, repeats), 15, "inverses")
    for n, p in ((3_000, 1_000), (6_000, 2_000)):
        X, y = Simulated(n, p, 10)()
        calls = {"ours": partial(_backward, X, y), "one": partial(_product_and_inverse, X)}
        yield _ratio(f"backward: {n:,} x {p:,} from rows", interleaved(calls, min(repeats, 3)), 15, "inv(X'X)")


def _backward(*table: Any) -> Any:
    return select(*table, strategy="backward", criterion="bic")


def _product_and_inverse(X: Floats) -> Floats:
    return np.asarray(np.linalg.inv(X.T @ X), dtype=np.float64)


def classes(repeats: int) -> Bars:
    """Classes: the tests of the default rule, for the trace and for Wilks' lambda, within 2 times thresholds."""
    X, y = data.read("optdigits")
    X = data.standardised(X)
    calls: dict[str, Callable[[], Any]] = {
        "one": lambda: select(X, y, criterion="trace", enter=0.05, leave=0.05),
        "trace": lambda: select(X, y, criterion="trace"),
        "wilks": lambda: select(X, y, criterion="wilks"),
    }
    times = interleaved(calls, max(repeats, 10))
    for name in ("trace", "wilks"):
        compared = {"ours": times[name], "one": times["one"]}
        yield _ratio(f"classes: default rule, {name}, optdigits / thresholds", compared, 2.0)


def correlated(repeats: int) -> Bars:
    """Correlated: 200 of 2,000 features in blocks of 20 with correlations of .99, no slower than OMP."""
    rng = np.random.default_rng(0)
    n = p = 2_000
    X = np.sqrt(0.99) * np.repeat(rng.standard_normal((n, p // 20)), 20, axis=1)
    X += np.sqrt(0.01) * rng.standard_normal((n, p))
    true = rng.choice(p, 200, replace=False)
    y = X[:, true] @ rng.standard_normal(200) + rng.standard_normal(n)
    params = exactly(200) | {"strategy": "forward"}
    calls = {"ours": lambda: dropstep(X, y, 200, **params), "one": lambda: omp(X, y, 200)}
    yield _ratio("correlated: time / OMP", interleaved(calls, repeats), 1.0)


def groups(repeats: int) -> Bars:
    """Groups: 2,000 features in groups of 5 within 1.3 times the same features ungrouped."""
    for n in (1_000, 5_000):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, 2_000))
        y = X[:, :50].sum(axis=1) + 2 * rng.standard_normal(n)
        labels = [j // 5 for j in range(2_000)]
        for strategy in ("forward", "dropping"):
            calls = {
                "ours": partial(select, X, y, strategy=strategy, groups=labels),
                "one": partial(select, X, y, strategy=strategy),
            }
            name = f"groups: {strategy}, {n:,} x 2,000 / ungrouped"
            yield _ratio(name, interleaved(calls, max(repeats, 10)), 1.3)


def targets(repeats: int) -> Bars:
    """Several targets: the default rule, 1,000 x 1,000 with 10 targets, within 10 ms."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000, 1_000))
    Y = X[:, :15] @ rng.standard_normal((15, 10)) + 3 * rng.standard_normal((1_000, 10))
    timing = interleaved({"ours": lambda: select(X, Y)}, max(repeats, 20))["ours"]
    note = f"{len(timing.result.selected)} selected"
    yield Bar("several targets: default rule, 1,000 x 1,000, 10 targets", 1e3 * timing.best, 10, "ms", note=note)


def pursuit(repeats: int) -> Bars:
    """Pursuit: 10 of 5,000 features from 100 rows, no slower than OMP."""
    X, y = Simulated(100, 5_000, 10)()
    params = exactly(10) | {"strategy": "forward"}
    calls = {"ours": lambda: dropstep(X, y, 10, **params), "one": lambda: omp(X, y, 10)}
    yield _ratio("pursuit: 100 x 5,000, 10 features, time / OMP", interleaved(calls, max(repeats, 20)), 1.0)


def early(repeats: int) -> Bars:
    """Early dropping: never slower than forward by more than 10 %, on any workload, by default and with k features."""
    for workload in WORKLOADS:
        try:
            X, y = workload.make()
        except FileNotFoundError:
            continue
        for name, params in (("default", {}), (f"{workload.k} features", workload.params)):
            calls = {
                "ours": partial(dropstep, X, y, 0, strategy="dropping", **params),
                "one": partial(dropstep, X, y, 0, strategy="forward", **params),
            }
            yield _ratio(f"early: {workload.name}, {name}, dropping / forward", interleaved(calls, repeats), 1.1)


BARS: tuple[Callable[[int], Bars], ...] = (backward, classes, correlated, groups, targets, pursuit, early)


def _ratio(what: str, times: dict[str, Timing], limit: float, unit: str = "times") -> Bar:
    """The best time of ours in units of the other."""
    ours, one = times["ours"], times["one"]
    note = f"{milliseconds(ours.best)}, one {milliseconds(one.best)}, {len(ours.result.selected)} selected"
    return Bar(what, ours.best / one.best, limit, unit, note=note)
