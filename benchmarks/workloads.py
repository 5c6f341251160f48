"""The workloads: simulated and real data, and the number of features to select."""

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
    """Data, and the number of features to select.

    Attributes
    ----------
    name : as passed to --only.
    make : simulates or reads X and y.
    k : number of features that every tool selects.
    about : description.
    kind : type of y.
    thresholds : enter and leave as in the paper, instead of k.
    quick : smaller data for --quick; None to skip the workload there.
    """

    name: str
    make: Callable[[], Made]
    k: int
    about: str
    kind: Literal["regression", "classes"] = "regression"
    thresholds: tuple[float, float] | None = None
    quick: Callable[[], Made] | None = None

    @property
    def params(self) -> dict[str, Any]:
        """Parameters of dropstep: exactly k features, or the thresholds."""
        criterion = "rss" if self.kind == "regression" else "trace"
        if self.thresholds is not None:
            return {"criterion": criterion, "enter": self.thresholds[0], "leave": self.thresholds[1]}
        return exactly(self.k, criterion)

    @property
    def ours(self) -> str:
        """The row whose set the others are compared with: the strategy that performs the same search."""
        return "dropstep forward" if self.thresholds is None else "dropstep dropping"


def exactly(k: int, criterion: str = "rss") -> dict[str, Any]:
    """Exactly k features: any improvement enters, nothing leaves, candidates are dropped by a test at 0.05."""
    return {"criterion": criterion, "enter": 0.0, "leave": 0.0, "drop": "auto", "max_features": k}


def coded(y: NDArray[Any], kind: str) -> NDArray[np.float64]:
    """Classes as numbers, for tools that support regression only: 0 and 1, or one column per class."""
    if kind == "regression":
        return np.asarray(y, dtype=float)
    labels = np.unique(y)
    one_hot = (y[:, None] == labels).astype(float)
    return one_hot[:, 1].copy() if len(labels) == 2 else one_hot


def real(name: str, **params: Any) -> Made:
    """A public dataset, standardised, without constant columns and classes of a single row."""
    X, y = data.read(name, **params)
    if y.dtype.kind in "iU":
        labels, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, labels[counts > 1])
        X, y = X[kept], y[kept]
    return np.ascontiguousarray(data.standardised(X[:, np.ptp(X, axis=0) > 0])), y


def _read(name: str, **params: Any) -> Callable[[], Made]:
    return partial(real, name, **params)


WORKLOADS = (
    Workload("tall", Simulated(200_000, 200, 20), 20, "many rows", quick=Simulated(20_000, 100, 20)),
    Workload("square", Simulated(5_000, 10_000, 30), 30, "both large", quick=Simulated(1_000, 2_000, 30)),
    Workload("wide", Simulated(500, 20_000, 20), 20, "many features", quick=Simulated(300, 3_000, 20)),
    Workload("small", Simulated(80, 80, 4), 4, "small data", quick=Simulated(80, 80, 4)),
    Workload("square-fortran", Simulated(5_000, 10_000, 30, order="F"), 30, "square, column-major"),
    Workload("wide-fortran", Simulated(500, 20_000, 20, order="F"), 20, "wide, column-major"),
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
