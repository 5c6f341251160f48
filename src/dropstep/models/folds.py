"""Folds: training and test rows, by the conventions of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.parameters import ENTRIES

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

N_FOLDS = 5  # of cv=None


def folds_of(
    cv: Any, X: Any, y: Any, *, classes: bool, grouped: bool, split_params: Mapping[str, Any]
) -> tuple[Fold, ...]:
    """Folds, the same for all candidates.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        None is 5 folds. An integer stratifies classes; with groups of rows it is a number of folds of whole groups.
    X, y : array-like
        What the splitter splits.
    classes : bool
        Whether y contains class labels.
    grouped : bool
        Whether there are groups of rows.
    split_params : mapping of str to array-like
        Passed to the splitter, e.g. the groups.

    Returns
    -------
    tuple of (ndarray, ndarray)
        Training and test rows of each fold.
    """
    from sklearn.model_selection import GroupKFold, StratifiedKFold, check_cv

    n_folds = N_FOLDS if cv is None else cv
    ENTRIES["cv"].check(cv)
    n_rows = X.shape[0]
    if isinstance(n_folds, Integral):
        check_number(int(n_folds), n_rows, split_params.get("groups") if grouped else None)
    if grouped and isinstance(n_folds, Integral):
        n_folds = GroupKFold(int(n_folds))
    splitter = check_cv(n_folds, y, classifier=classes)
    if isinstance(splitter, StratifiedKFold):
        check_classes(splitter.n_splits, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # a fold without it says so
        splits = list(splitter.split(X, y, **split_params))
    found = tuple((_row_numbers(train, n_rows), _row_numbers(test, n_rows)) for train, test in splits)
    if not found:
        raise ValueError("cv yields no folds; pass an integer from 2, a splitter or an iterable of folds")
    return found


def check_number(n_folds: int, n_rows: int, groups: Any) -> None:
    """Raise if there are fewer rows, or groups of rows, than folds."""
    n_units = n_rows if groups is None else len(np.unique(groups))
    if n_units < n_folds:
        unit = "rows" if groups is None else "groups of rows"
        raise ValueError(f"{n_folds} folds require at least {n_folds} {unit}; there are {n_units}")


def check_classes(n_folds: int, labels: Any) -> None:
    """Raise if every class has fewer rows than there are folds, which cannot be stratified then."""
    most = int(np.unique(labels, return_counts=True)[1].max())
    if most < n_folds:
        raise ValueError(f"{n_folds} folds require a class of at least {n_folds} rows; the largest has {most}")


def _row_numbers(rows: Any, n_rows: int) -> NDArray[np.intp]:
    """Rows of a part of a fold, which are given as row numbers or as a mask."""
    found = np.asarray(rows)
    if found.dtype == bool:
        if found.shape != (n_rows,):
            raise ValueError(f"cv yields masks of shape {found.shape}, but there are {n_rows} rows; pass one per row")
        return found.nonzero()[0]
    if found.ndim != 1 or (len(found) and found.dtype.kind not in "iu"):
        raise ValueError(f"cv must yield row numbers or masks; got an array of {found.dtype} of shape {found.shape}")
    if len(found) and (last := int(found.max())) >= n_rows:
        raise ValueError(f"cv yields row {last}, but there are {n_rows} rows; pass folds of these rows, or a splitter")
    return found.astype(np.intp, copy=False)
