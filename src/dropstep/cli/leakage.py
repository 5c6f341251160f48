"""Checks for identifiers and for target leakage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dropstep.cli.naming import listed, option_list
from dropstep.data.target import Categorical, Target
from dropstep.readers import Column

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # tolerance of 1 - R² for an exact fit


def check_leakage(
    features: Sequence[Column], X: Floats, owner: NDArray[np.intp], target: Target, notes: list[str]
) -> None:
    """Note probable identifiers and features that determine a continuous target; raise if one determines the class."""
    if rounded := [column.name for column in features if column.loses_digits]:
        holds = "holds" if len(rounded) == 1 else "hold"
        notes.append(
            f"{listed(rounded)} {holds} integers that lose digits in double precision (for identifiers, use "
            f"--exclude {option_list(rounded)}; for categories, --categorical {option_list(rounded)})"
        )
    if ids := identifiers(features):
        noun, pronoun = ("identifier", "it") if len(ids) == 1 else ("identifiers", "them")
        notes.append(f"probable {noun}: {listed(ids)} (to ignore {pronoun}, use --exclude {option_list(ids)})")
    if isinstance(target, Categorical):
        if known := determining_class(features, target):
            raise ValueError(
                f"{listed(known)} {'determines' if len(known) == 1 else 'each determine'} the class of every row, so "
                "no other feature can be assessed; if unavailable at prediction time (target leakage), use "
                f"--exclude {option_list(known)}"
            )
    elif known := determining_number(features, X, owner, target.values):
        determines = "determines" if len(known) == 1 else "each determine"
        notes.append(
            f"{listed(known)} {determines} the target exactly; if unavailable at prediction time (target leakage), use "
            f"--exclude {option_list(known)}"
        )


def identifiers(features: Sequence[Column]) -> list[str]:
    """Integer columns that number the rows in some order, or whose name says that they are identifiers."""
    return [column.name for column in features if column.kind == "number" and _is_identifier(column)]


def _is_identifier(column: Column) -> bool:
    values = column.values
    name = column.name.lower()
    if values[0] != np.floor(values[0]) or len(values) < 3 or not (values == np.floor(values)).all():
        return False
    if name == "id" or name.endswith(("_id", ".id", " id")):
        return True
    return bool(values.max() - values.min() == len(values) - 1 and len(np.unique(values)) == len(values))


def determining_class(features: Sequence[Column], target: Categorical) -> list[str]:
    """Features that determine the class: constant within each class, or every level occurs in one class only."""
    if np.bincount(target.codes).min() < 2:
        return []  # the search raises for a class of one row
    order = np.argsort(target.codes, kind="stable")
    starts = np.searchsorted(target.codes[order], np.arange(len(target.labels)))
    return [column.name for column in features if _determines_class(column, order, starts, target)]


def _determines_class(column: Column, order: NDArray[np.intp], starts: NDArray[np.intp], target: Categorical) -> bool:
    if column.is_category:
        pairs = len(np.unique(column.values * len(target.labels) + target.codes))
        return pairs == len(np.unique(column.values)) and pairs > 1
    values = column.values[order]
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return bool((low == high).all() and low.min() < high.max())


def determining_number(features: Sequence[Column], X: Floats, owner: NDArray[np.intp], targets: Floats) -> list[str]:
    """Features that determine a target: a linear function of it, or one value of the target per level."""
    centred = targets - targets.mean(axis=0)
    suspects = set(owner[_correlated(X, centred)].tolist())
    suspects.update(f for f, column in enumerate(features) if column.is_category)
    return [features[f].name for f in sorted(suspects) if any(_determines_number(features[f], y) for y in centred.T)]


def _correlated(X: Floats, centred: Floats) -> NDArray[np.bool_]:
    """Columns that may have correlation 1 with a target: a superset by a fast test."""
    n = len(X)
    products = (centred.T @ X) ** 2 / (centred**2).sum(axis=0)[:, None]
    scatter = np.einsum("ij,ij->j", X, X) - n * X.mean(axis=0) ** 2
    return np.asarray((products > 0.9 * scatter).any(axis=0))


def _determines_number(column: Column, y: Floats) -> bool:
    if column.is_category:
        counts = np.bincount(column.values)
        means = np.bincount(column.values, y) / np.maximum(counts, 1)
        residual = y - means[column.values]
        return bool(residual @ residual <= ROUNDING * (y @ y))
    x = column.values - column.values.mean()
    return bool((x @ y) ** 2 >= (1 - ROUNDING) * (x @ x) * (y @ y) > 0)
