"""The target: numbers to be explained, or classes to be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Model = Literal["auto", "linear", "discriminant"]
MODELS = ("auto", "linear", "discriminant")

# Whole numbers are taken for class labels under model="auto" only when they are few and each is frequent.
MOST_CLASSES = 32
ROWS_PER_CLASS = 4

ROUNDING = 1e-15  # numbers that differ by this part of the largest are the same
SMALLEST, LARGEST = 1e-140, 1e140  # numbers whose squares can be summed


@dataclass(frozen=True, eq=False)
class Continuous:
    """Targets of a regression, one column each."""

    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Categorical:
    """Class labels, sorted, and for each row the position of its label."""

    labels: NDArray[Any]
    codes: NDArray[np.intp]


Target = Continuous | Categorical


def as_target(
    y: Any, n_rows: int, model: Model, weights: NDArray[np.float64] | None = None, *, whole: bool = True
) -> Target:
    """Read y as numbers or as classes; rows of weight zero have no say in what it is.

    What is not whole, but a part of the rows of a table, may be constant or of a single class.
    """
    if model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(map(repr, MODELS))}; got {model!r}")
    if y is None:
        raise ValueError(
            "dropstep requires y to be passed, but the target y is None; pass the numbers or classes to explain"
        )
    values = _as_array(y)
    if values.ndim not in (1, 2) or (values.ndim == 2 and values.shape[1] == 0):
        raise ValueError(f"y must have one column, or one column a target; its shape is {values.shape}")
    if len(values) != n_rows:
        raise ValueError(f"X and y must have the same number of rows; X has {n_rows}, y has {len(values)}")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    _refuse_missing(values)
    _refuse_odd(values)
    present, n = (values, float(n_rows)) if weights is None else (values[weights > 0], weights.sum())
    wants_classes = model == "discriminant" or (model == "auto" and _looks_like_classes(present, n))
    target = _as_classes(values, present) if wants_classes else _as_numbers(values, weights)
    if whole:
        _refuse_constant(target, present)
    return target


def _as_array(y: Any) -> NDArray[Any]:
    """An array of what y holds; objects become numbers where all of them are, and text stays text."""
    values = np.asarray(y)
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        values = values.astype(object)
        values[np.ma.getmaskarray(y)] = None
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must be real numbers or class labels")
    if values.dtype != object or not values.size:
        return values
    if any(isinstance(v, str | bytes) for v in values.flat):
        return values
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return values


def _refuse_missing(values: NDArray[Any]) -> None:
    if values.dtype.kind == "f":
        bad = ~np.isfinite(values)
    elif values.dtype == object:
        bad = np.array([_is_missing(v) for v in values.flat], dtype=bool)
    else:
        return
    if count := int(bad.sum()):
        raise ValueError(
            f"y has {count} missing or infinite value{'' if count == 1 else 's'} (NaN, None or inf); "
            "remove those rows from X and y before selecting"
        )


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # pandas.NA equals nothing


def _refuse_odd(values: NDArray[Any]) -> None:
    """Refuse what is neither numbers nor labels of one kind."""
    times = (date, time, timedelta, np.datetime64, np.timedelta64)
    if values.dtype.kind in "mM" or (values.dtype == object and any(isinstance(v, times) for v in values.flat)):
        raise ValueError("y holds dates or times; turn them into numbers first, e.g. days since a start")
    if values.dtype == object:
        text = [isinstance(v, str | bytes) for v in values.flat]
        if any(text) and not all(text):
            label, other = values.flat[text.index(True)], values.flat[text.index(False)]
            raise ValueError(f"y mixes text and numbers ({label!r} and {other!r}); make all of its labels text")


def _looks_like_classes(values: NDArray[Any], n: float) -> bool:
    """Text and booleans are classes; so are two whole numbers, and up to 32 of them seen 4 times each on average."""
    if values.ndim == 2:
        return False
    if values.dtype.kind not in "iuf":
        return True
    if values.dtype.kind == "f" and not np.array_equal(values, np.floor(values)):
        return False
    n_distinct = len(np.unique(values))
    return n_distinct <= 2 or (n_distinct <= MOST_CLASSES and n >= ROWS_PER_CLASS * n_distinct)


def _as_classes(values: NDArray[Any], present: NDArray[Any]) -> Categorical:
    if values.ndim == 2:
        raise ValueError(f"y has {values.shape[1]} columns of classes; model='discriminant' takes one column of labels")
    if values.dtype.kind == "f" and len(fractions := present[present != np.floor(present)]):
        raise ValueError(
            f"Unknown label type: y has continuous values with fractions (such as {fractions[0]:g}), so it is no class "
            "label; use model='linear'"
        )
    if values.dtype == object:
        values, present = values.astype(str), present.astype(str)
    labels = np.unique(present)
    codes = np.minimum(np.searchsorted(labels, values), len(labels) - 1)
    return Categorical(labels, codes)


def _as_numbers(values: NDArray[Any], weights: NDArray[np.float64] | None) -> Continuous:
    if values.dtype.kind not in "iufb":
        raise ValueError(
            f"y holds text (such as {str(values.flat[0])!r}); model='linear' needs numbers, "
            "use model='discriminant' for classes"
        )
    numbers = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    _refuse_scale(numbers if weights is None else numbers[weights > 0])
    return Continuous(numbers)


def _refuse_scale(numbers: NDArray[np.float64]) -> None:
    """Refuse a target whose squares, or those of its differences, float64 cannot represent."""
    for j, column in enumerate(numbers.T):
        which = "y" if numbers.shape[1] == 1 else f"target {j} of y"
        if (most := np.abs(column).max()) > LARGEST:
            raise ValueError(f"{which} has values up to {most:g}, whose squares are too large for float64; rescale y")
        if 0 < (spread := column.max() - column.min()) < SMALLEST:
            raise ValueError(f"{which} varies by {spread:g} only, whose square is too small for float64; rescale y")


def _refuse_constant(target: Target, present: NDArray[Any]) -> None:
    """Refuse a target of which nothing is to be explained."""
    if len(present) == 1:
        raise ValueError("X and y have one row only (n_samples=1), from which nothing can be told; pass more rows")
    if isinstance(target, Categorical):
        if len(target.labels) < 2:
            raise ValueError(f"y has one class only ({target.labels[0]}); at least two are needed to tell apart")
        return
    for j, column in enumerate(np.asarray(present, dtype=np.float64).reshape(len(present), -1).T):
        which = "y" if target.values.shape[1] == 1 else f"target {j} of y"
        if column.max() - column.min() <= ROUNDING * np.abs(column).max():
            raise ValueError(f"{which} is constant ({column[0]:g}): nothing is to be explained; pass another y")
