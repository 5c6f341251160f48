"""The target: numbers to be explained, or classes to be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Model = Literal["auto", "linear", "discriminant"]
MODELS = ("auto", "linear", "discriminant")

# Whole numbers are taken for class labels under model="auto" only when they are few and each is frequent.
MOST_CLASSES = 32
ROWS_PER_CLASS = 4


@dataclass(frozen=True, eq=False)
class Numbers:
    """Targets of a regression, one column each."""

    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Classes:
    """Class labels, sorted, and for each row the position of its label."""

    labels: NDArray[Any]
    codes: NDArray[np.intp]


Target = Numbers | Classes


def as_target(y: Any, n_rows: int, model: Model, weights: NDArray[np.float64] | None = None) -> Target:
    """Read y as numbers or as classes; rows of weight zero have no say in what it is."""
    if model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(map(repr, MODELS))}; got {model!r}")
    if y is None:
        raise ValueError("dropstep requires y to be passed, but the target y is None")
    values = _as_array(y)
    if values.ndim not in (1, 2) or (values.ndim == 2 and values.shape[1] == 0):
        raise ValueError(f"y must have one column, or one column a target; its shape is {values.shape}")
    if len(values) != n_rows:
        raise ValueError(f"X and y must have the same number of rows; X has {n_rows}, y has {len(values)}")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    _refuse_missing(values)
    present = values if weights is None else values[weights > 0]
    wants_classes = model == "discriminant" or (model == "auto" and _looks_like_classes(present))
    return _as_classes(values, present) if wants_classes else _as_numbers(values, present)


def _as_array(y: Any) -> NDArray[Any]:
    values = np.asarray(y)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must be real numbers or class labels")
    if values.dtype == object and values.size:
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            return values
    return values


def _refuse_missing(values: NDArray[Any]) -> None:
    if values.dtype.kind == "f":
        bad = ~np.isfinite(values)
    elif values.dtype == object:
        bad = np.array([v is None or v != v for v in values.ravel()], dtype=bool)
    else:
        return
    if count := int(bad.sum()):
        raise ValueError(
            f"y has {count} missing or infinite values (NaN, None or inf); "
            "remove those rows from X and y before selecting"
        )


def _looks_like_classes(values: NDArray[Any]) -> bool:
    """Text and booleans are classes; so are two whole numbers, and up to 32 of them seen 4 times each on average."""
    if values.ndim == 2:
        return False
    if values.dtype.kind not in "iuf":
        return True
    if values.dtype.kind == "f" and not np.array_equal(values, np.floor(values)):
        return False
    n_distinct = len(np.unique(values))
    return n_distinct <= 2 or (n_distinct <= MOST_CLASSES and len(values) >= ROWS_PER_CLASS * n_distinct)


def _as_classes(values: NDArray[Any], present: NDArray[Any]) -> Classes:
    if values.ndim == 2:
        raise ValueError(f"y has {values.shape[1]} columns of classes; model='discriminant' takes one column of labels")
    if values.dtype.kind == "f" and not np.array_equal(present, np.floor(present)):
        raise ValueError(
            "Unknown label type: y has continuous values with fractions, so it is no class label; use model='linear'"
        )
    if values.dtype == object:
        values, present = values.astype(str), present.astype(str)
    labels = np.unique(present)
    if len(labels) < 2:
        raise ValueError(
            f"y has one class only ({labels[0] if len(labels) else 'no row'}); at least two are needed to tell apart"
        )
    codes = np.minimum(np.searchsorted(labels, values), len(labels) - 1)
    return Classes(labels, codes)


def _as_numbers(values: NDArray[Any], present: NDArray[Any]) -> Numbers:
    if values.dtype.kind not in "iufb":
        raise ValueError(
            f"y holds text ({present.ravel()[0]!r}); model='linear' needs numbers, use model='discriminant' for classes"
        )
    columns = present.reshape(len(present), -1)
    constant = [j for j in range(columns.shape[1]) if len(columns) and np.all(columns[:, j] == columns[0, j])]
    if constant:
        which = "y is constant" if columns.shape[1] == 1 else f"target {constant[0]} of y is constant"
        raise ValueError(f"{which} ({columns[0, constant[0]]}): there is nothing to explain")
    return Numbers(np.asarray(values, dtype=np.float64).reshape(len(values), -1))
