"""Usable: which columns can be features, and which rows and columns are left when values are missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dropstep.cli.naming import listed, option_list
from dropstep.cli.roles import Roles
from dropstep.readers import Column
from dropstep.readers.wording import counted, quoted

MOST_LEVELS = 1000  # of a category that was not asked for by name

Mask = NDArray[np.bool_]


def usable(columns: Sequence[Column], roles: Roles, notes: list[str]) -> list[int]:
    """Columns that can be features. Dates, and text that is like an id, are left out, unless an option names them."""
    wanted, asked = roles.candidates(len(columns)), roles.forced | {*roles.categorical}
    dates = [j for j in wanted if columns[j].kind in ("date", "other")]
    if refused := [columns[j].name for j in dates if j in asked]:
        holds = "holds" if len(refused) == 1 else "hold"
        raise ValueError(f"{listed(refused)} {holds} dates or lists, which cannot be features; derive numbers first")
    if dates:
        shown = listed([columns[j].name for j in dates])
        notes.append(f"left out, because dates and lists are not numbers: {shown} (derive numbers such as the year)")
    features = without_ids({j: columns[j] for j in wanted if j not in set(dates)}, roles, notes)
    _refuse_mixed([columns[j] for j in (*roles.targets, *roles.others)], may_leave=False)
    _refuse_mixed([columns[j] for j in features], may_leave=True)
    return features


def without_ids(columns: dict[int, Column], roles: Roles, notes: list[str]) -> list[int]:
    """Columns without those that are like an id, which are left out unless an option names them."""
    asked = roles.forced | {*roles.categorical}
    ids = {j: c for j, c in columns.items() if j not in asked and c.is_category and _too_many(c)}
    if ids:
        shown = [f"{quoted(column.name)} ({counted(len(column.levels), 'value')})" for column in ids.values()]
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        notes.append(
            f"left out, because text with so many different values is more like an id: {', '.join(shown[:5])}{more}"
        )
    return [j for j in columns if j not in ids]


def _too_many(column: Column) -> bool:
    """Whether a category has so many values that it tells rows apart rather than kinds of rows."""
    return len(column.levels) > min(MOST_LEVELS, len(column.values) / 2)


def _refuse_mixed(columns: Sequence[Column], *, may_leave: bool) -> None:
    mixed = [column for column in columns if column.kind == "mixed"]
    if mixed:
        more = f" (and {len(mixed) - 1} more)" if len(mixed) > 1 else ""
        exclude = f", or leave it out (--exclude {option_list([column.name for column in mixed[:5]])})"
        raise ValueError(f"column {quoted(mixed[0].name)}{more} {mixed[0].odd}{exclude if may_leave else ''}")
