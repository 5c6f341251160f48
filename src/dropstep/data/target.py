"""The target: values of a regression, or class labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.factor import is_missing
from dropstep.wording import shortened

Model = Literal["auto", "linear", "discriminant"]
MODELS = ("auto", "linear", "discriminant")

# model="auto" reads integers as class labels if there are at most two distinct values, or up to MAX_CLASSES with
# MIN_ROWS_PER_CLASS rows each on average.
MAX_CLASSES = 32
MIN_ROWS_PER_CLASS = 4

BLOCK_ROWS = 2**14  # labels that are sorted at a time
CONSTANT_TOLERANCE = 1e-15  # range of a constant target, relative to its largest absolute value
MIN_RANGE, MAX_VALUE = 1e-140, 1e140  # limits between which squares can be summed in float64


@dataclass(frozen=True, eq=False)
class Continuous:
    """Targets of a regression.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_targets)
        Target values.
    """

    values: NDArray[np.float64]

    def at(self, rows: NDArray[Any]) -> Continuous:
        """The targets of some rows."""
        return Continuous(self.values[rows])


@dataclass(frozen=True, eq=False)
class Categorical:
    """Class labels.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
        Distinct labels, sorted.
    codes : ndarray of shape (n_samples,)
        Index into `labels` for each row.
    """

    labels: NDArray[Any]
    codes: NDArray[np.intp]

    def at(self, rows: NDArray[Any]) -> Categorical:
        """The classes of some rows; classes without rows are omitted."""
        present, codes = np.unique(self.codes[rows], return_inverse=True)
        return Categorical(self.labels[present], codes.astype(np.intp))


Target = Continuous | Categorical


def as_target(
    y: Any, n_rows: int, model: Model, weights: NDArray[np.float64] | None = None, *, whole: bool = True
) -> Target:
    """Validate y and convert it to target values or class labels.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Target values or class labels.
    n_rows : int
        Number of rows of X.
    model : {"auto", "linear", "discriminant"}
        "linear" requires numbers, "discriminant" class labels; "auto" decides from the values.
    weights : ndarray of shape (n_samples,) or None
        Row weights; rows of weight zero are ignored in the decision and in the checks.
    whole : bool, default=True
        If False, y is a part of a target, and may be constant or contain a single class.

    Returns
    -------
    Continuous or Categorical
    """
    if model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(map(repr, MODELS))}; got {model!r}")
    if y is None:
        raise ValueError(
            "dropstep requires y to be passed, but the target y is None; pass target values or class labels"
        )
    values = as_values(y)
    if values.ndim not in (1, 2) or (values.ndim == 2 and values.shape[1] == 0):
        raise ValueError(f"y must have one column, or one column per target; its shape is {values.shape}")
    if len(values) != n_rows:
        raise ValueError(f"X and y must have the same number of rows; X has {n_rows}, y has {len(values)}")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    _check_missing(values)
    _check_types(values)
    present, n = (values, float(n_rows)) if weights is None else (values[weights > 0], weights.sum())
    categorical = model == "discriminant" or (model == "auto" and is_categorical(present, n))
    target: Target = _as_categorical(values, present) if categorical else _as_continuous(values)
    ranges: list[tuple[float, float]] = []
    if isinstance(target, Continuous):
        ranges = _ranges(target.values if weights is None else target.values[weights > 0])
        _check_scale(ranges)
    if whole:
        _check_varies(target, present, ranges, n_rows)
    return target


def as_values(y: Any) -> NDArray[Any]:
    """Values of y as an array; objects become numbers if all of them are, and text stays text."""
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


def missing_targets(y: Any, n_rows: int) -> NDArray[np.bool_]:
    """Rows whose target is missing or infinite; none if y is not valid otherwise.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Target values or class labels.
    n_rows : int
        Number of rows of X.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    values = as_values(y)
    if values.ndim not in (1, 2) or len(values) != n_rows:
        return np.zeros(n_rows, dtype=bool)
    return np.asarray(_missing(values).reshape(n_rows, -1).any(axis=1))


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are missing or infinite."""
    if values.dtype.kind == "f":
        return np.asarray(~np.isfinite(values))
    if values.dtype == object:
        return np.array([is_missing(v) for v in values.flat], dtype=bool).reshape(values.shape)
    return np.zeros(values.shape, dtype=bool)


def _check_missing(values: NDArray[Any]) -> None:
    if values.dtype.kind == "f" and np.isfinite(values).all():
        return
    absent = _missing(values).reshape(len(values), -1).any(axis=1)
    if absent.any():
        raise missing_target(int(absent.sum()), f"row {int(np.argmax(absent)) + 1}")


def missing_target(n: int, first: str) -> ValueError:
    """The error for a target that is missing or infinite in n rows, the first of which is known."""
    return ValueError(
        f"{first}: y has {n} missing or infinite value{'' if n == 1 else 's'} (NaN, None or inf); "
        "remove these rows from X and y, as missing='drop' does"
    )


def one_class(label: Any) -> ValueError:
    """The error for class labels that are all the same."""
    return ValueError(f"y has only one class ({shortened(str(label))}); at least 2 classes are required")


def constant_target(j: int, n_targets: int, value: float) -> ValueError:
    """The error for one of several targets that is constant."""
    return ValueError(f"{_target_name(j, n_targets)} is constant ({value:g}); pass a target that varies")


def dates_error() -> ValueError:
    """The error for a target that consists of dates or lists."""
    return ValueError("y contains dates or times; convert them to numbers, e.g. days since a reference date")


def continuous_error(value: float) -> ValueError:
    """The error for class labels that have fractions."""
    return ValueError(
        f"Unknown label type: y has continuous values (such as {value:g}), which are not class labels; "
        "use model='linear'"
    )


def _check_types(values: NDArray[Any]) -> None:
    """Reject dates, and a mixture of text and numbers."""
    times = (date, time, timedelta, np.datetime64, np.timedelta64)
    if values.dtype.kind in "mM" or (values.dtype == object and any(isinstance(v, times) for v in values.flat)):
        raise dates_error()
    if values.dtype == object:
        text = [isinstance(v, str | bytes) for v in values.flat]
        if any(text) and not all(text):
            label, other = values.flat[text.index(True)], values.flat[text.index(False)]
            raise ValueError(f"y mixes text and numbers ({label!r} and {other!r}); convert all labels to text")


def is_categorical(values: NDArray[Any], n: float) -> bool:
    """True for text, booleans, and integers with two, or few and frequent, distinct values; not for one float."""
    if values.ndim == 2:
        return False
    if values.dtype.kind not in "iuf":
        return True
    if values.dtype.kind == "f" and not (values == np.floor(values)).all():
        return False
    n_distinct = len(_distinct(values))
    if n_distinct == 1 and values.dtype.kind == "f":
        return False  # a constant, which is refused as such
    return n_distinct <= 2 or (n_distinct <= MAX_CLASSES and n >= MIN_ROWS_PER_CLASS * n_distinct)


def _as_categorical(values: NDArray[Any], present: NDArray[Any]) -> Categorical:
    if values.ndim == 2:
        raise ValueError(f"y has {values.shape[1]} columns, but the model requires one column of class labels")
    if values.dtype.kind == "f" and len(fractions := present[present != np.floor(present)]):
        raise continuous_error(fractions[0])
    labels = _distinct(present)
    codes = [np.minimum(np.searchsorted(labels, part), len(labels) - 1) for part in _parts(values)]
    return Categorical(labels, np.concatenate(codes))


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The distinct values, sorted. np.unique copies what it is given, and labels may take as much memory as X."""
    return np.unique(np.concatenate([np.unique(part) for part in _parts(values)]))


def _parts(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The values in blocks, and objects as text."""
    for start in range(0, max(len(values), 1), BLOCK_ROWS):
        part = values[start : start + BLOCK_ROWS]
        yield part.astype(str) if part.dtype == object else part


def _as_continuous(values: NDArray[Any]) -> Continuous:
    if values.dtype.kind not in "iufb":
        raise ValueError(
            f"y contains text (such as {str(values.flat[0])!r}), but model='linear' requires numbers; "
            "use model='discriminant' for class labels"
        )
    return Continuous(np.asarray(values, dtype=np.float64).reshape(len(values), -1))


def _check_scale(ranges: list[tuple[float, float]]) -> None:
    """Reject a target whose squares, or those of its differences, float64 cannot represent."""
    for j, (low, high) in enumerate(ranges):
        name = _target_name(j, len(ranges))
        if (largest := max(-low, high)) > MAX_VALUE:
            raise ValueError(f"{name} has values up to {largest:g}, whose squares are too large for float64; rescale y")
        if 0 < (spread := high - low) < MIN_RANGE:
            raise ValueError(f"the range of {name} is {spread:g}, whose square is too small for float64; rescale y")


def _ranges(numbers: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Minimum and maximum of each column."""
    return list(zip(np.minimum.reduce(numbers).tolist(), np.maximum.reduce(numbers).tolist(), strict=True))


def _target_name(j: int, n_targets: int) -> str:
    return "y" if n_targets == 1 else f"target {j} of y"


def _check_varies(target: Target, present: NDArray[Any], ranges: list[tuple[float, float]], n_rows: int) -> None:
    """Reject a constant target, and one that has a single sample or a single class."""
    if len(present) == 1:
        kind = "sample" if n_rows == 1 else "sample of positive weight"
        raise ValueError(f"X has 1 {kind} (n_samples={n_rows}); at least 3 are required")
    if isinstance(target, Categorical):
        if len(target.labels) < 2:
            raise one_class(target.labels[0])
        return
    for j, (low, high) in enumerate(ranges):
        if high - low <= CONSTANT_TOLERANCE * max(-low, high):
            raise constant_target(j, len(ranges), float(present.reshape(len(present), -1)[0, j]))
