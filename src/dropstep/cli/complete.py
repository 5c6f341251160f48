"""Missing and infinite values of a file, as the option --missing requests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dropstep.cli.columns import Column
from dropstep.cli.naming import option_list
from dropstep.cli.roles import Roles
from dropstep.wording import counted, listed, quoted


def complete(
    columns: Sequence[Column], features: list[int], roles: Roles, missing: str, notes: list[str]
) -> tuple[list[int], str]:
    """The features, without incomplete columns if these are to be dropped, and the parameter `missing` of the library.

    Raises in terms of the file if values are missing or infinite where the option does not allow it.
    """
    needed = (*roles.targets, *roles.others)
    absent = {j: mask for j in (*needed, *features) if (mask := columns[j].missing | columns[j].infinite).any()}
    if empty := [columns[j].name for j in needed if j in absent and absent[j].all()]:
        raise ValueError(f"column {quoted(empty[0])} has no value in any row")
    if missing == "drop-columns":
        kept = ~np.any([absent[j] for j in needed if j in absent], axis=0) if absent else slice(None)
        incomplete = [j for j in features if j in absent and absent[j][kept].any()]
        return _without(incomplete, columns, features, roles, notes), "drop"
    if missing == "drop":
        return features, "drop"
    if missing == "level":
        absent = {j: mask for j, mask in absent.items() if j in needed or not columns[j].is_category}
    if infinite := [columns[j] for j in absent if columns[j].infinite.any()]:
        raise ValueError(_infinite_sentence(infinite))
    if absent:
        raise ValueError(_missing_sentence([columns[j] for j in absent], missing))
    return features, "level" if missing == "level" else "error"


def _without(
    incomplete: Sequence[int], columns: Sequence[Column], features: list[int], roles: Roles, notes: list[str]
) -> list[int]:
    """Features without the columns in which values are missing or infinite."""
    missing = any(columns[j].missing.any() for j in incomplete)
    infinite = any(columns[j].infinite.any() for j in incomplete)
    why = f"values are {' or '.join(['missing'] * missing + ['infinite'] * infinite)}"
    if forced := [columns[j].name for j in incomplete if j in roles.forced]:
        raise ValueError(f"{listed(forced)} is required as a feature, but {why} there; use --missing drop")
    if incomplete:
        notes.append(f"ignored columns, because {why}: {listed([columns[j].name for j in incomplete])}")
    dropped = set(incomplete)
    return [j for j in features if j not in dropped]


def _infinite_sentence(columns: Sequence[Column]) -> str:
    first, rows = columns[0], np.flatnonzero(columns[0].infinite)
    cell = str(first.original()[rows[0]]).strip()
    large = "inf" not in cell.lower()
    one, many = ("a number", "numbers") if large else ("an infinite value", "infinite values")
    limit = " too large for double precision" if large else ""
    what = f"{one}{limit} in" if len(rows) == 1 else f"{many}{limit} in {len(rows)} rows, the first in"
    more = f" (and {counted(len(columns) - 1, 'more column', 'more columns')})" if len(columns) > 1 else ""
    exclude = option_list([column.name for column in columns[:5]])
    return (
        f"column {quoted(first.name)}{more} has {what} data row {rows[0] + 1} ({quoted(cell)}); "
        f"choose --missing drop or --missing drop-columns, or --exclude {exclude}"
    )


def _missing_sentence(columns: Sequence[Column], missing: str) -> str:
    counts = sorted(((column.name, int(column.missing.sum())) for column in columns), key=lambda pair: -pair[1])
    shown = ", ".join(f"{quoted(name)} ({count})" for name, count in counts[:5])
    more = f" and {counted(len(counts) - 5, 'more column', 'more columns')}" if len(counts) > 5 else ""
    rows = np.any(np.stack([column.missing for column in columns]), axis=0)
    level = missing == "error" and all(column.is_category for column in columns)
    choices = "--missing drop, drop-columns or level" if level else "--missing drop or --missing drop-columns"
    return (
        f"values are missing in {shown}{more}, in {int(rows.sum()):,} of {counted(len(rows), 'row')}; "
        f"choose {choices}, or --exclude columns"
    )
