"""Missing values: rows that are complete, and what to say about the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.factor import Column, Factor, Unusable, is_missing
from dropstep.data.frame import Frame
from dropstep.data.groups import Choice
from dropstep.data.table import Table, listed, missing_error

Missing = Literal["error", "drop", "level"]
Mask = NDArray[np.bool_]


def complete_rows(
    table: Table | Frame, choice: Choice, others: Sequence[Mask], missing: Missing
) -> tuple[Mask | None, tuple[str, ...]]:
    """Rows that are used, and the note on those that are not; raises by default if a factor has missing values.

    Missing numbers of a Table are not searched for here: the sums over its columns reveal them without another pass.

    Parameters
    ----------
    table : Table or Frame
        The features.
    choice : Choice
        Features that are excluded, whose missing values do not matter.
    others : sequence of ndarray of shape (n_samples,)
        Rows without a target, weight or row group.
    missing : {"error", "drop", "level"}
        What to do with missing values.

    Returns
    -------
    rows : ndarray of shape (n_samples,) or None
        None if all rows are used.
    notes : tuple of str
    """
    if missing != "drop" and isinstance(table, Table):
        return None, ()
    excluded = set(choice.features(choice.exclude))
    used = [j for j in range(table.n_features) if j not in excluded]
    if missing != "drop" and isinstance(table, Frame):
        _refuse(table, used, missing)
        return None, ()
    absent, infinite = _gaps(table, used)
    for mask in others:
        absent |= mask
    incomplete = absent | infinite
    if not incomplete.any():
        return None, ()
    kinds = ["missing"] * bool(absent.any()) + ["infinite"] * bool(infinite.any())
    why = f"values are {' or '.join(kinds)}"
    if incomplete.all():
        raise ValueError(f"none of the {table.n_rows} rows is complete, because {why}; exclude the columns concerned")
    return ~incomplete, (f"ignored {int(incomplete.sum())} of {table.n_rows} rows, because {why}",)


def _gaps(table: Table | Frame, used: Sequence[int]) -> tuple[Mask, Mask]:
    """Rows with a missing value, and rows with an infinite one."""
    if isinstance(table, Table):
        gaps = table.matrix.gaps(None if len(used) == table.n_features else np.array(used, dtype=np.intp))
        return gaps.absent, gaps.infinite
    absent, infinite = np.zeros((2, table.n_rows), dtype=bool)
    for j in used:
        column = table.columns[j]
        absent |= _missing(column)
        if isinstance(column, np.ndarray):
            infinite |= np.isinf(column)
    return absent, infinite


def _missing(column: Column) -> Mask:
    assert not isinstance(column, Unusable)
    return column.missing if isinstance(column, Factor) else np.isnan(column)


def _refuse(frame: Frame, used: Sequence[int], missing: Missing) -> None:
    """Raise if a number is missing or infinite, or a value of a factor is missing that does not become a level."""
    numbers = {j: ~np.isfinite(column) for j in used if isinstance(column := frame.columns[j], np.ndarray)}
    if bad := [j for j, mask in numbers.items() if mask.any()]:
        raise missing_error(frame, bad, int(np.any([numbers[j] for j in bad], axis=0).sum()))
    factors = {j: column.missing for j in used if isinstance(column := frame.columns[j], Factor)}
    if missing == "error" and (bad := [j for j, mask in factors.items() if mask.any()]):
        n_rows = int(np.any([factors[j] for j in bad], axis=0).sum())
        raise ValueError(
            f"X contains missing values in {listed(frame, bad)} ({n_rows} row{'' if n_rows == 1 else 's'} in total); "
            "use missing='level' to make them a level of their own, or missing='drop' to ignore these rows"
        )


def refuse_missing_labels(parameter: str, labels: Any, n_rows: int) -> None:
    """Raise if a row has no label: missing values would form a stratum or a group of rows that have nothing in common.

    Parameters
    ----------
    parameter : str
        Name of the parameter that contains the labels.
    labels : array-like of shape (n_samples,) or None
    n_rows : int
        Number of rows.
    """
    if n := int(rows_without(labels, n_rows).sum()):
        raise ValueError(
            f"{parameter} has {n} missing value{'' if n == 1 else 's'}; remove these rows, as missing='drop' does, or "
            "give them labels"
        )


def rows_without(values: Any, n_rows: int) -> Mask:
    """Rows without a value in an array-like; none if it is not one value per row."""
    given = np.asarray(values, dtype=object)
    if given.shape != (n_rows,):
        return np.zeros(n_rows, dtype=bool)
    return np.array([is_missing(value) for value in given], dtype=bool)
