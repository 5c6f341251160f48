"""Columns that can be features."""

from __future__ import annotations

from collections.abc import Sequence

from dropstep.cli.columns import Column
from dropstep.cli.naming import brief, in_options, listed, option_list
from dropstep.cli.roles import Roles
from dropstep.data.factor import Factor
from dropstep.data.frame import Frame, table_of
from dropstep.data.leakage import identifiers_note, identifying_factors
from dropstep.data.source import ColumnType
from dropstep.data.table import Table
from dropstep.wording import quoted


def usable(columns: Sequence[Column], roles: Roles, notes: list[str]) -> list[int]:
    """Columns that can be features; dates, and text that resembles identifiers, only if an option names them."""
    candidates, named = roles.candidates(len(columns)), roles.forced | {*roles.categorical}
    dates = [j for j in candidates if columns[j].kind in ("date", "other")]
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


def _without_ids(columns: Sequence[Column], features: Sequence[int], roles: Roles, notes: list[str]) -> list[int]:
    """Features without text that resembles identifiers, unless an option names it."""
    table = as_table(columns, features, roles)
    ids = identifying_factors(table, {place for place, j in enumerate(features) if j in roles.forced})
    if ids:
        notes.append(brief(identifiers_note(table, {place: len(factor.levels) for place, factor in ids.items()})))
    return [j for place, j in enumerate(features) if place not in ids]


def as_table(columns: Sequence[Column], features: Sequence[int], roles: Roles) -> Table | Frame:
    """Columns of a file as the library reads a table; what --categorical names is categorical by declaration."""
    chosen = {j: columns[j] for j in features}
    read = [
        Factor(c.values, c.levels, j in roles.categorical) if c.is_category else c.values for j, c in chosen.items()
    ]
    return table_of(read, len(columns[roles.targets[0]].values), tuple(column.name for column in chosen.values()))


def refuse_mixed(types: Sequence[ColumnType], roles: Roles) -> None:
    """Raise for columns that seem to be meant as numbers, but cannot be read as such, unless they are categories."""
    for columns, optional in (((*roles.targets, *roles.others), False), (roles.candidates(len(types)), True)):
        mixed = [types[j] for j in columns if types[j].problem and j not in roles.categorical and j != roles.row_groups]
        if mixed:
            more = f" (and {len(mixed) - 1} more)" if len(mixed) > 1 else ""
            exclude = f", or exclude it (--exclude {option_list([column.name for column in mixed[:5]])})"
            problem = in_options(mixed[0].problem)
            raise ValueError(f"column {quoted(mixed[0].name)}{more} {problem}{exclude if optional else ''}")
