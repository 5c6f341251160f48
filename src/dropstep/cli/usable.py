"""Columns that can be features."""

from __future__ import annotations

from collections.abc import Sequence

from dropstep.cli.columns import Column
from dropstep.cli.naming import brief, in_options
from dropstep.cli.roles import Roles
from dropstep.data.factor import Factor, is_date
from dropstep.data.frame import Frame, table_of
from dropstep.data.sample import refuse_problems
from dropstep.data.source import ColumnType
from dropstep.data.summary import MAX_LEVELS
from dropstep.data.table import Table
from dropstep.wording import listed


def usable(columns: Sequence[Column], roles: Roles, notes: list[str]) -> list[int]:
    """Columns that can be features; dates, and text that resembles identifiers, only if an option names them."""
    candidates, named = roles.candidates(len(columns)), roles.forced | {*roles.categorical}
    dates = [j for j in candidates if columns[j].kind in ("date", "other") or _are_dates(columns[j])]
    if refused := [columns[j].name for j in dates if j in named]:
        holds = "holds" if len(refused) == 1 else "hold"
        raise ValueError(f"{listed(refused)} {holds} dates or lists, which cannot be features; derive numbers first")
    empty = [j for j in candidates if columns[j].kind == "empty" and j not in named]
    if empty:
        notes.append(
            f"ignored blank {'column' if len(empty) == 1 else 'columns'}: {listed([columns[j].name for j in empty])}"
        )
    if dates:
        shown = listed([columns[j].name for j in dates])
        notes.append(f"ignored columns with dates or lists: {shown} (derive numbers such as the year)")
    ignored = {*dates, *empty}
    return _without_ids(columns, [j for j in candidates if j not in ignored], roles, notes)


def _are_dates(column: Column) -> bool:
    """Whether all texts of a column are dates."""
    return column.kind == "text" and all(map(is_date, column.levels))


def _without_ids(columns: Sequence[Column], features: Sequence[int], roles: Roles, notes: list[str]) -> list[int]:
    """Features without text that resembles identifiers, unless an option names it."""
    table = as_table(columns, features, roles)
    factors = enumerate(table.columns) if isinstance(table, Frame) else ()
    ids = []
    for place, factor in factors:
        if isinstance(factor, Factor) and features[place] not in roles.forced:
            limit = MAX_LEVELS if factor.declared else min(MAX_LEVELS, table.n_rows / 2)
            if len(factor.levels) > limit:
                ids.append((place, f"{table.label(place)} ({len(factor.levels)} levels)"))
    if ids:
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        shown = ", ".join(text for _, text in ids[:5])
        notes.append(brief(f"ignored text columns with too many levels, probably identifiers: {shown}{more}"))
    ignored = {place for place, _ in ids}
    return [j for place, j in enumerate(features) if place not in ignored]


def as_table(columns: Sequence[Column], features: Sequence[int], roles: Roles) -> Table | Frame:
    """Columns of a file as the library reads a table; what --categorical names is categorical by declaration."""
    chosen = {j: columns[j] for j in features}
    read = [
        Factor(c.values, c.levels, j in roles.categorical) if c.is_category else c.values for j, c in chosen.items()
    ]
    return table_of(read, len(columns[roles.targets[0]].values), tuple(column.name for column in chosen.values()))


def refuse_mixed(types: Sequence[ColumnType], roles: Roles) -> None:
    """Raise for columns that seem to be meant as numbers, but cannot be read as such, unless they are categories."""
    declared = {*roles.categorical, roles.row_groups}
    needed, features = (*roles.targets, *roles.others), roles.candidates(len(types))
    try:
        refuse_problems(*([types[j] for j in columns if j not in declared] for columns in (needed, features)))
    except ValueError as error:
        raise ValueError(in_options(str(error))) from None
