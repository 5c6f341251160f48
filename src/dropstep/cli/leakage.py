"""Oddities: columns that number the rows, and columns that know the target beforehand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dropstep.cli.naming import listed, option_list
from dropstep.data.target import Categorical, Target
from dropstep.readers import Column

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # a correlation this close to 1 is 1


def point_out(features: Sequence[Column], X: Floats, owner: NDArray[np.intp], target: Target, notes: list[str]) -> None:
    """Say what looks like an identifier, and refuse or point out what knows the target beforehand."""
    if rounded := [column.name for column in features if column.loses_digits]:
        holds = "holds" if len(rounded) == 1 else "hold"
        notes.append(
            f"{listed(rounded)} {holds} whole numbers that lose digits as floating-point numbers (for identifiers: "
            f"--exclude {option_list(rounded)}, for categories: --categorical {option_list(rounded)})"
        )
    if ids := identifiers(features):
        looks, them = ("looks like an id", "it") if len(ids) == 1 else ("look like ids", "them")
        notes.append(f"{looks}: {listed(ids)} (to leave {them} out: --exclude {option_list(ids)})")
    if isinstance(target, Categorical):
        if known := known_classes(features, target):
            raise ValueError(
                f"{listed(known)} {'tells' if len(known) == 1 else 'each tell'} the class of every row without an "
                "error, so no other feature can be assessed; if unavailable at prediction time (target leakage), use "
                f"--exclude {option_list(known)}"
            )
    elif known := known_numbers(features, X, owner, target.values):
        explains = "explains" if len(known) == 1 else "explain"
        notes.append(
            f"{explains} the target without an error: {listed(known)} "
            f"(if unavailable at prediction time, which is target leakage, use --exclude {option_list(known)})"
        )


def identifiers(features: Sequence[Column]) -> list[str]:
    """Columns of whole numbers that count the rows in some order, or are called an id."""
    return [column.name for column in features if column.kind == "number" and _counts(column)]


def _counts(column: Column) -> bool:
    values = column.values
    name = column.name.lower()
    if values[0] != np.floor(values[0]) or len(values) < 3 or not (values == np.floor(values)).all():
        return False
    if name == "id" or name.endswith(("_id", ".id", " id")):
        return True
    return bool(values.max() - values.min() == len(values) - 1 and len(np.unique(values)) == len(values))


def known_classes(features: Sequence[Column], target: Categorical) -> list[str]:
    """Columns that say the class of every row: each class has one number, or each category lies in one class."""
    if np.bincount(target.codes).min() < 2:
        return []  # a class of one row says nothing, and the search refuses it
    order = np.argsort(target.codes, kind="stable")
    starts = np.searchsorted(target.codes[order], np.arange(len(target.labels)))
    return [column.name for column in features if _knows_class(column, order, starts, target)]


def _knows_class(column: Column, order: NDArray[np.intp], starts: NDArray[np.intp], target: Categorical) -> bool:
    if column.is_category:
        pairs = len(np.unique(column.values * len(target.labels) + target.codes))
        return pairs == len(np.unique(column.values)) and pairs > 1
    values = column.values[order]
    least, most = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return bool((least == most).all() and least.min() < most.max())


def known_numbers(features: Sequence[Column], X: Floats, owner: NDArray[np.intp], targets: Floats) -> list[str]:
    """Columns that give a target exactly: as a multiple of it plus a constant, or one number for each category."""
    centred = targets - targets.mean(axis=0)
    suspects = set(owner[_correlated(X, centred)].tolist())
    suspects.update(f for f, column in enumerate(features) if column.is_category)
    return [features[f].name for f in sorted(suspects) if any(_knows_number(features[f], y) for y in centred.T)]


def _correlated(X: Floats, centred: Floats) -> NDArray[np.bool_]:
    """Columns that may have correlation 1 with a target: none that has is left out, and only a few that have not."""
    n = len(X)
    products = (centred.T @ X) ** 2 / (centred**2).sum(axis=0)[:, None]
    scatter = np.einsum("ij,ij->j", X, X) - n * X.mean(axis=0) ** 2
    return np.asarray((products > 0.9 * scatter).any(axis=0))


def _knows_number(column: Column, y: Floats) -> bool:
    if column.is_category:
        counts = np.bincount(column.values)
        means = np.bincount(column.values, y) / np.maximum(counts, 1)
        left = y - means[column.values]
        return bool(left @ left <= ROUNDING * (y @ y))
    x = column.values - column.values.mean()
    return bool((x @ y) ** 2 >= (1 - ROUNDING) * (x @ x) * (y @ y) > 0)
