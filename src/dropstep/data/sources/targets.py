"""The target of a block of rows: numbers, or class labels as far as the block can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.factor import Column, Factor, Unusable
from dropstep.data.sources.layout import Part
from dropstep.data.target import MAX_CLASSES, Categorical, Continuous, Target

Floats = NDArray[np.float64]


def rows_of_target(target: Target, rows: slice) -> Target:
    """The target in some rows."""
    if isinstance(target, Continuous):
        return Continuous(target.values[rows])
    return Categorical(target.labels, target.codes[rows])


def target_of(part: Part, model: str, names: Sequence[str]) -> tuple[Target, NDArray[np.intp]]:
    """The target in the rows of positive weight, and these rows."""
    present = np.arange(part.n_rows) if part.weights is None else np.flatnonzero(part.weights > 0)
    if len(part.targets) > 1 and model == "discriminant":
        raise ValueError(f"y has {len(part.targets)} columns, but the model requires one column of class labels")
    column = part.targets[0]
    if isinstance(column, Unusable):
        raise ValueError("y contains dates or times; convert them to numbers, e.g. days since a reference date")
    if len(part.targets) > 1 or model == "linear":
        return Continuous(_as_numbers(part.targets, names)[present]), present
    if isinstance(column, Factor):
        labels, codes = np.unique(_labels(column), return_inverse=True)
        found, codes = np.unique(codes[column.codes[present]], return_inverse=True)
        return Categorical(labels[found], codes.astype(np.intp)), present
    values = column[present]
    if values.dtype != bool:
        values = np.asarray(values, dtype=np.float64)
        fractions = values[values != np.floor(values)]
        if len(fractions) and model == "discriminant":
            raise ValueError(
                f"Unknown label type: y has continuous values (such as {fractions[0]:g}), which are not class labels; "
                "use model='linear'"
            )
        if len(fractions):
            return Continuous(values[:, None]), present
    labels, codes = np.unique(values, return_inverse=True)
    if model == "auto" and len(labels) > MAX_CLASSES:
        return Continuous(values[:, None].astype(np.float64)), present
    return Categorical(labels, codes.astype(np.intp)), present


def class_codes(column: Column, labels: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of the values of a column among sorted labels."""
    assert not isinstance(column, Unusable)
    if not isinstance(column, Factor):
        return np.searchsorted(labels, column)
    levels = np.array(column.levels)
    return np.searchsorted(labels, levels if levels.dtype.kind in "biuf" else levels.astype(str))[column.codes]


def numbers_of(column: Column) -> Floats:
    """A numeric target, declared as categories or not."""
    if isinstance(column, Factor):
        return np.asarray(column.levels, dtype=np.float64)[column.codes]
    return np.asarray(column, dtype=np.float64)


def class_rows(column: Column) -> dict[Any, int]:
    """Number of rows of each class label."""
    if isinstance(column, Factor):
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
        return {k: n for k, n in zip(_labels(column).tolist(), counts.tolist(), strict=True) if n}
    assert isinstance(column, np.ndarray)
    labels, counts = np.unique(column, return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _labels(column: Factor) -> NDArray[Any]:
    """Levels as class labels: text, unless they are booleans or numbers."""
    labels = np.array(column.levels)
    return labels if labels.dtype.kind in "biuf" and len(labels) else labels.astype(str)


def _as_numbers(targets: Sequence[Column], names: Sequence[str]) -> Floats:
    values = []
    for column, name in zip(targets, names, strict=True):
        if isinstance(column, Factor):
            raise ValueError(
                f"y contains text in {name!r}, but model='linear' and several targets require numbers; use "
                "model='discriminant' for class labels"
            )
        if isinstance(column, Unusable):
            raise ValueError(f"y contains dates, times or objects in {name!r}; convert them to numbers")
        values.append(np.asarray(column, dtype=np.float64))
    return np.column_stack(values)
