"""Usable: which columns can be features, and which rows and columns are left when values are missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dropstep.cli.naming import listed, option_list
from dropstep.cli.roles import Roles
from dropstep.readers import Column

MOST_LEVELS = 1000  # of a category that was not asked for by name

Mask = NDArray[np.bool_]


def usable(columns: Sequence[Column], roles: Roles, notes: list[str]) -> list[int]:
    """Columns that can be features. Dates, and text that is like an id, are left out, unless an option names them."""
    wanted, asked = roles.candidates(len(columns)), roles.forced | {*roles.categorical}
    dates = [j for j in wanted if columns[j].kind in ("date", "other")]
    if refused := [columns[j].name for j in dates if j in asked]:
        raise ValueError(f"{listed(refused)} holds dates or lists, which cannot be features; derive numbers first")
    if dates:
        shown = listed([columns[j].name for j in dates])
        notes.append(f"left out, because dates and lists are no numbers: {shown} (derive numbers such as the year)")
    features = without_ids({j: columns[j] for j in wanted if j not in set(dates)}, roles, notes)
    _refuse_mixed([columns[j] for j in (*roles.targets, *roles.others, *features)])
    return features


def without_ids(columns: dict[int, Column], roles: Roles, notes: list[str]) -> list[int]:
    """Columns without those that are like an id, which are left out unless an option names them."""
    asked = roles.forced | {*roles.categorical}
    ids = {j: c for j, c in columns.items() if j not in asked and c.is_category and _too_many(c)}
    if ids:
        shown = [f"{column.name!r} ({len(column.levels)} values)" for column in ids.values()]
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        notes.append(
            f"left out, because text with so many different values is more like an id: {', '.join(shown[:5])}{more}"
        )
    return [j for j in columns if j not in ids]


def _too_many(column: Column) -> bool:
    """Whether a category has so many values that it tells rows apart rather than kinds of rows."""
    return len(column.levels) > min(MOST_LEVELS, len(column.values) / 2)


def _refuse_mixed(columns: Sequence[Column]) -> None:
    mixed = [column for column in columns if column.kind == "mixed"]
    if mixed:
        more = f" (and {len(mixed) - 1} more)" if len(mixed) > 1 else ""
        way_out = f"--exclude {option_list([column.name for column in mixed[:5]])}"
        raise ValueError(f"column {mixed[0].name!r}{more} {mixed[0].odd}; or leave it out: {way_out}")


def complete(
    columns: Sequence[Column], features: list[int], roles: Roles, missing: str, notes: list[str]
) -> tuple[list[int], Mask]:
    """Features and rows without missing values, by the choice that was made; without a choice, refuse."""
    needed = (*roles.targets, *roles.others)
    absent = {j: mask for j in (*needed, *features) if (mask := columns[j].missing).any()}
    n = len(columns[0].values)
    kept = np.ones(n, dtype=bool)
    if not absent:
        return features, kept
    if hollow := [columns[j].name for j in needed if j in absent and absent[j].all()]:
        raise ValueError(f"column {hollow[0]!r} has no value in any row")
    if missing == "fail":
        raise ValueError(_missing_sentence({columns[j].name: mask for j, mask in absent.items()}, n))
    # Rows without a target are of no use, whatever is done about the features.
    ruling = absent if missing == "drop-rows" else {j: mask for j, mask in absent.items() if j in needed}
    for mask in ruling.values():
        kept &= ~mask
    if not kept.any():
        raise ValueError(f"every one of the {n} rows has a missing value somewhere; use --missing drop-columns")
    if not kept.all():
        notes.append(f"{n - int(kept.sum())} of {n} rows are left out, because values are missing")
    return _without(
        [j for j in features if j in absent and absent[j][kept].any()], columns, features, roles, notes
    ), kept


def _without(
    holed: Sequence[int], columns: Sequence[Column], features: list[int], roles: Roles, notes: list[str]
) -> list[int]:
    """Features without the columns in which values are missing."""
    if asked := [columns[j].name for j in holed if j in roles.forced]:
        raise ValueError(f"{listed(asked)} was asked for, but values are missing in it; use --missing drop-rows")
    if holed:
        notes.append(f"left out, because values are missing: {listed([columns[j].name for j in holed])}")
    return [j for j in features if j not in set(holed)]


def _missing_sentence(absent: dict[str, Mask], n: int) -> str:
    counts = sorted(((name, int(mask.sum())) for name, mask in absent.items()), key=lambda pair: -pair[1])
    shown = ", ".join(f"{name!r} ({count})" for name, count in counts[:5])
    more = f" and {len(counts) - 5} more columns" if len(counts) > 5 else ""
    rows = int(np.any(np.stack(list(absent.values())), axis=0).sum())
    return (
        f"values are missing in {shown}{more}, in {rows} of {n} rows; "
        "choose --missing drop-rows or --missing drop-columns, or --exclude columns"
    )
