"""The workloads: tables to select from, simulated and real, and how many features are asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks import data
from benchmarks.simulated import Simulated

Made = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Workload:
    """A table and a question.

    Attributes
    ----------
    name : what --only takes.
    make : makes or reads X and y.
    k : how many features are asked of everyone.
    about : a sentence for the reader.
    kind : what y is.
    thresholds : where the paper sets enter and leave, the search has those instead of k.
    quick : the same for --quick, smaller; None: left out there.
    """

    name: str
    make: Callable[[], Made]
    k: int
    about: str
    kind: Literal["regression", "classes"] = "regression"
    thresholds: tuple[float, float] | None = None
    quick: Callable[[], Made] | None = None

    @property
    def words(self) -> dict[str, Any]:
        """How our search is asked: for k features, or by the thresholds."""
        criterion = "rss" if self.kind == "regression" else "trace"
        if self.thresholds is not None:
            return {"criterion": criterion, "enter": self.thresholds[0], "leave": self.thresholds[1]}
        return asked(self.k, criterion)

    @property
    def ours(self) -> str:
        """The row by which the others are measured: the strategy that asks the same question as they do."""
        return "dropstep forward" if self.thresholds is None else "dropstep dropping"


def asked(k: int, criterion: str = "rss") -> dict[str, Any]:
    """Exactly k features: whatever improves the fit may enter, nothing leaves, a test drops the hopeless."""
    return {"criterion": criterion, "enter": 0.0, "leave": 0.0, "drop": "auto", "max_features": k}


def coded(y: NDArray[Any], kind: str) -> NDArray[np.float64]:
    """Classes as numbers, for rivals that know regression only: 0 and 1, or one column a class."""
    if kind == "regression":
        return np.asarray(y, dtype=float)
    labels = np.unique(y)
    one_hot = (y[:, None] == labels).astype(float)
    return one_hot[:, 1].copy() if len(labels) == 2 else one_hot


def real(name: str, **words: Any) -> Made:
    """A public dataset: standardised, without constant columns and without classes of one row."""
    X, y = data.read(name, **words)
    if y.dtype.kind in "iU":
        labels, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, labels[counts > 1])
        X, y = X[kept], y[kept]
    return np.ascontiguousarray(data.standardised(X[:, np.ptp(X, axis=0) > 0])), y


def _read(name: str, **words: Any) -> Callable[[], Made]:
    return partial(real, name, **words)


WORKLOADS = (
    Workload("tall", Simulated(200_000, 200, 20), 20, "many rows", quick=Simulated(20_000, 100, 20)),
    Workload("square", Simulated(5_000, 10_000, 30), 30, "both large", quick=Simulated(1_000, 2_000, 30)),
    Workload("wide", Simulated(500, 20_000, 20), 20, "many features", quick=Simulated(300, 3_000, 20)),
    Workload("small", Simulated(80, 80, 4), 4, "one of many in a loop", quick=Simulated(80, 80, 4)),
    Workload("square-fortran", Simulated(5_000, 10_000, 30, order="F"), 30, "square, column after column in memory"),
    Workload("wide-fortran", Simulated(500, 20_000, 20, order="F"), 20, "wide, column after column in memory"),
    Workload("square-float32", Simulated(5_000, 10_000, 30, dtype="float32"), 30, "square, in single precision"),
    Workload("mice", _read("mice", trait="Obesity.BMI"), 20, "body mass index of mice by genotypes"),
    Workload("riboflavin", _read("riboflavin"), 10, "production rate by gene expressions", quick=_read("riboflavin")),
    Workload("blogfeedback", _read("blogfeedback"), 20, "comments in the next day by features of a blog post"),
    Workload(
        "optdigits",
        _read("optdigits"),
        49,
        "handwritten digits by the trace, alpha = beta = 0.05 as in the paper",
        "classes",
        (0.05, 0.05),
        quick=_read("optdigits"),
    ),
    Workload("kdd", _read("kdd"), 15, "network connections of 23 kinds by their numeric columns", "classes"),
    Workload("arcene", _read("arcene"), 10, "cancer by mass spectra", "classes"),
    Workload("golub", _read("golub"), 5, "two leukemias by gene expressions", "classes", quick=_read("golub")),
)
