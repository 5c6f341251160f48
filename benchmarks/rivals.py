"""All tools behind one signature: X, y and the number of features to select."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import leaps
from benchmarks.found import Found
from benchmarks.from_rows import NegativeRSS, Recomputed, trace_by_solves
from benchmarks.workloads import Workload
from dropstep import Selector, select
from examples.from_scratch import FromScratch, least_squares_criterion, trace_criterion

Call = Callable[[NDArray[Any], NDArray[Any], int], Found]


@dataclass(frozen=True)
class Task:
    """A selection to perform.

    Attributes
    ----------
    workload : the data, and the number of features to select.
    n, p : numbers of rows and features.
    targets : number of targets, after classes have been encoded.
    patience : seconds; a tool whose refits are expected to take longer is not run.
    """

    workload: Workload
    n: int
    p: int
    targets: int
    patience: float = 60.0

    @property
    def k(self) -> int:
        return self.workload.k


@dataclass(frozen=True)
class Rival:
    """A tool that selects features.

    Attributes
    ----------
    name : as printed.
    call : returns the function for a workload, which must be picklable to run in a separate process.
    package : the package that must be installed.
    coded : whether classes must be encoded as numbers.
    unable : why the tool cannot perform a task; empty if it can, "-" if the task is irrelevant to it.
    outside : whether it runs outside Python and measures its own time.
    """

    name: str
    call: Callable[[Workload], Call]
    package: str = "dropstep"
    coded: bool = True
    unable: Callable[[Task], str] = lambda task: ""
    outside: bool = False

    @property
    def ours(self) -> bool:
        return self.name.startswith("dropstep")

    def missing(self) -> str:
        """Why the tool is unavailable; empty if it is available."""
        if self.outside:
            return leaps.missing()
        return "" if importlib.util.find_spec(self.package) else f"{self.package} is not installed"


# --- ours ------------------------------------------------------------------------------------------------------------


def dropstep(X: NDArray[Any], y: NDArray[Any], k: int, **params: Any) -> Found:
    path = Selector(**params).fit(X, y).path_
    return Found(path.selected, path.n_evaluations)


def dropstep_select(X: NDArray[Any], y: NDArray[Any], k: int, **params: Any) -> Found:
    path = select(X, y, **params)
    return Found(path.selected, path.n_evaluations)


def _ours(strategy: str, function: Any = dropstep) -> Callable[[Workload], Call]:
    return lambda workload: partial(function, strategy=strategy, **workload.params)


# --- textbook implementations ----------------------------------------------------------------------------------------


def recomputed(X: NDArray[Any], y: NDArray[Any], k: int) -> Found:
    search = Recomputed.of(X, y, NegativeRSS, k)
    return Found(tuple(search.run("forward")), search.n_evaluations)


def fit_per_candidate(X: NDArray[Any], y: NDArray[Any], k: int) -> Found:
    score = least_squares_criterion(X, y, NegativeRSS(*X.shape).of)
    search = FromScratch(score, X.shape[1], 0.0, 0.0, max_features=k)
    return Found(tuple(search.run("forward")), search.n_evaluations)


def paper_way(X: NDArray[Any], y: NDArray[Any], k: int, criterion: Any, alpha: float, beta: float) -> Found:
    search = FromScratch(criterion(X, y), X.shape[1], alpha, beta)
    return Found(tuple(search.run("dropping")), search.n_evaluations)


def _paper(criterion: Any) -> Callable[[Workload], Call]:
    return lambda workload: partial(
        paper_way, criterion=criterion, alpha=workload.thresholds[0], beta=workload.thresholds[1]
    )


# --- peers -----------------------------------------------------------------------------------------------------------


def fastcan(X: NDArray[Any], y: NDArray[Any], k: int, eta: bool = False) -> Found:
    from fastcan import FastCan

    return _found(FastCan(k, eta=eta, verbose=0).fit(X, y).indices_)


def abess(X: NDArray[Any], y: NDArray[Any], k: int) -> Found:
    from abess import LinearRegression, MultiTaskRegression

    if y.ndim == 1:
        return _found(np.flatnonzero(LinearRegression(support_size=k).fit(X, y).coef_))
    return _found(np.flatnonzero(np.abs(MultiTaskRegression(support_size=k).fit(X, y).coef_).sum(axis=1)))


def omp(X: NDArray[Any], y: NDArray[Any], k: int) -> Found:
    from sklearn.linear_model import OrthogonalMatchingPursuit

    return _found(np.flatnonzero(OrthogonalMatchingPursuit(n_nonzero_coefs=k).fit(X, y).coef_))


def sklearn_sequential(X: NDArray[Any], y: NDArray[Any], k: int) -> Found:
    """Scored on the training data, as in all other tools."""
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import LinearRegression

    rows = np.arange(len(X))
    search = SequentialFeatureSelector(LinearRegression(), n_features_to_select=k, scoring="r2", cv=[(rows, rows)])
    return _found(np.flatnonzero(search.fit(X, y).support_))


def mlxtend_sequential(X: NDArray[Any], y: NDArray[Any], k: int) -> Found:
    from mlxtend.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import LinearRegression

    search = SequentialFeatureSelector(LinearRegression(), k_features=k, scoring="r2", cv=0)
    return _found(search.fit(X, y).k_feature_idx_)


def _found(features: Any) -> Found:
    return Found(tuple(int(j) for j in features))


# --- which tool runs which task --------------------------------------------------------------------------------------


def _refits(each: float) -> Callable[[Task], str]:
    """One fit per candidate and step: `each` seconds of overhead, and the flops of least squares."""

    def unable(task: Task) -> str:
        fits = task.p * task.k - task.k * (task.k - 1) // 2
        seconds = fits * (each + 1.5e-8 * task.n * (task.k / 2) ** 2)
        return "" if seconds <= task.patience else f"{fits:,} fits, about {seconds:,.0f} s"

    return unable


def _one_target(task: Task) -> str:
    return "" if task.targets == 1 else "does not support several targets"


def _more_rows(task: Task) -> str:
    return "" if task.n > task.p + task.targets else "needs more rows than features"


def _leaps(task: Task) -> str:
    wide = f"p = {task.p:,} is more than 500" if task.p > 500 else ""
    return _one_target(task) or _more_rows(task) or wide


def _only(*names: str) -> Callable[[Task], str]:
    return lambda task: "" if task.workload.name in names else "-"


def _thresholds(task: Task) -> str:
    return "" if task.workload.thresholds else "-"


RIVALS = (
    Rival("dropstep dropping", _ours("dropping"), coded=False),
    Rival("dropstep forward", _ours("forward"), coded=False),
    Rival("dropstep stepwise", _ours("stepwise"), coded=False),
    Rival("dropstep forward_backward", _ours("forward_backward"), coded=False),
    Rival("dropstep Selector()", lambda workload: dropstep, coded=False),
    Rival("dropstep select", _ours("dropping", dropstep_select), coded=False, unable=_only("small", "tiny")),
    Rival("fastcan", lambda workload: fastcan, "fastcan"),
    Rival("fastcan, eta", lambda workload: partial(fastcan, eta=True), "fastcan", unable=_more_rows),
    Rival("abess", lambda workload: abess, "abess"),
    Rival("scikit-learn OMP", lambda workload: omp, "sklearn", unable=_one_target),
    Rival("scikit-learn SFS", lambda workload: sklearn_sequential, "sklearn", unable=_refits(2.5e-3)),
    Rival("mlxtend SFS", lambda workload: mlxtend_sequential, "mlxtend", unable=_refits(2e-3)),
    Rival("R leaps", lambda workload: leaps.forward, "", unable=_leaps, outside=True),
    Rival("recomputed at every step", lambda workload: recomputed, unable=_one_target),
    Rival("a fit per candidate", lambda workload: fit_per_candidate, unable=_refits(1e-4)),
    Rival("paper, from the data", _paper(trace_criterion), coded=False, unable=_thresholds),
    Rival("a solve per candidate", _paper(trace_by_solves), coded=False, unable=_thresholds),
)
