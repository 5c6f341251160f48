"""Rows and columns without missing or infinite values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dropstep.cli.naming import listed, option_list
from dropstep.cli.roles import Roles
from dropstep.readers import Column
from dropstep.readers.wording import counted, quoted

Mask = NDArray[np.bool_]


def complete(
    columns: Sequence[Column], features: list[int], roles: Roles, missing: str, notes: list[str]
) -> tuple[list[int], Mask]:
    """Drop rows or columns with missing or infinite values, as the option `--missing` requests; raise by default."""
    needed = (*roles.targets, *roles.others)
    used = (*needed, *features)
    absent = {j: mask for j in used if (mask := columns[j].missing | columns[j].infinite).any()}
    kept = np.ones(len(columns[0].values), dtype=bool)
    if not absent:
        return features, kept
    _check([columns[j] for j in absent], [columns[j] for j in needed], missing)
    # A row without a target cannot be used in either case.
    deciding = absent if missing == "drop-rows" else {j: mask for j, mask in absent.items() if j in needed}
    for mask in deciding.values():
        kept &= ~mask
    why = _why([columns[j] for j in deciding])
    if not kept.any():
        advice = "use --missing drop-columns" if missing == "drop-rows" else "choose another target"
        raise ValueError(f"none of the {counted(len(kept), 'row')} is complete, because {why}; {advice}")
    if not kept.all():
        n_out = len(kept) - int(kept.sum())
        notes.append(f"ignored {n_out} of {counted(len(kept), 'row')}, because {why}")
    incomplete = [j for j in features if j in absent and absent[j][kept].any()]
    return _without(incomplete, columns, features, roles, notes), kept


def _why(columns: Sequence[Column]) -> str:
    missing = any(column.missing.any() for column in columns)
    infinite = any(column.infinite.any() for column in columns)
    return f"values are {' or '.join(['missing'] * missing + ['infinite'] * infinite)}"


def _check(absent: Sequence[Column], needed: Sequence[Column], missing: str) -> None:
    """Raise if a required column is empty, or if `--missing` was not given."""
    if empty := [column.name for column in needed if (column.missing | column.infinite).all()]:
        raise ValueError(f"column {quoted(empty[0])} has no value in any row")
    if missing != "fail":
        return
    if infinite := [column for column in absent if column.infinite.any()]:
        raise ValueError(_infinite_sentence(infinite))
    raise ValueError(_missing_sentence(absent))


def _without(
    incomplete: Sequence[int], columns: Sequence[Column], features: list[int], roles: Roles, notes: list[str]
) -> list[int]:
    """Features without the columns in which values are missing or infinite."""
    why = _why([columns[j] for j in incomplete])
    if forced := [columns[j].name for j in incomplete if j in roles.forced]:
        raise ValueError(f"{listed(forced)} is required as a feature, but {why} there; use --missing drop-rows")
    if incomplete:
        notes.append(f"ignored columns, because {why}: {listed([columns[j].name for j in incomplete])}")
    return [j for j in features if j not in set(incomplete)]


def _infinite_sentence(columns: Sequence[Column]) -> str:
    first, rows = columns[0], np.flatnonzero(columns[0].infinite)
    cell = str(first.cells.original()[rows[0]]).strip()
    large = "inf" not in cell.lower()
    one, many = ("a number", "numbers") if large else ("an infinite value", "infinite values")
    limit = " too large for double precision" if large else ""
    what = f"{one}{limit} in" if len(rows) == 1 else f"{many}{limit} in {len(rows)} rows, the first in"
    more = f" (and {counted(len(columns) - 1, 'more column', 'more columns')})" if len(columns) > 1 else ""
    exclude = option_list([column.name for column in columns[:5]])
    return (
        f"column {quoted(first.name)}{more} has {what} data row {rows[0] + 1} ({quoted(cell)}); "
        f"choose --missing drop-rows or --missing drop-columns, or --exclude {exclude}"
    )


def _missing_sentence(columns: Sequence[Column]) -> str:
    counts = sorted(((column.name, int(column.missing.sum())) for column in columns), key=lambda pair: -pair[1])
    shown = ", ".join(f"{quoted(name)} ({count})" for name, count in counts[:5])
    more = f" and {counted(len(counts) - 5, 'more column', 'more columns')}" if len(counts) > 5 else ""
    rows = np.any(np.stack([column.missing for column in columns]), axis=0)
    return (
        f"values are missing in {shown}{more}, in {int(rows.sum())} of {counted(len(rows), 'row')}; "
        "choose --missing drop-rows or --missing drop-columns, or --exclude columns"
    )
