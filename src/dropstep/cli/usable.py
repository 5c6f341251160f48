"""Columns that can be features."""

from __future__ import annotations

from collections.abc import Sequence

from dropstep.cli.advice import problem_of
from dropstep.cli.naming import listed, option_list
from dropstep.cli.roles import Roles
from dropstep.readers import Column
from dropstep.readers.wording import counted, quoted

MAX_LEVELS = 1000  # of a categorical column that no option names


def usable(columns: Sequence[Column], roles: Roles, notes: list[str]) -> list[int]:
    """Columns that can be features; dates, and text that resembles identifiers, only if an option names them."""
    candidates, named = roles.candidates(len(columns)), roles.forced | {*roles.categorical}
    dates = [j for j in candidates if columns[j].kind in ("date", "other")]
    if refused := [columns[j].name for j in dates if j in named]:
        holds = "holds" if len(refused) == 1 else "hold"
        raise ValueError(f"{listed(refused)} {holds} dates or lists, which cannot be features; derive numbers first")
    if dates:
        shown = listed([columns[j].name for j in dates])
        notes.append(f"ignored columns with dates or lists: {shown} (derive numbers such as the year)")
    features = without_ids({j: columns[j] for j in candidates if j not in set(dates)}, roles, notes)
    _check_mixed([columns[j] for j in (*roles.targets, *roles.others)], optional=False)
    _check_mixed([columns[j] for j in features], optional=True)
    return features


def without_ids(columns: dict[int, Column], roles: Roles, notes: list[str]) -> list[int]:
    """Columns without those that resemble identifiers, unless an option names them."""
    named = roles.forced | {*roles.categorical}
    ids = {j: c for j, c in columns.items() if j not in named and c.is_category and _too_many(c)}
    if ids:
        shown = [f"{quoted(column.name)} ({counted(len(column.levels), 'level')})" for column in ids.values()]
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        notes.append(f"ignored text columns with too many levels, probably identifiers: {', '.join(shown[:5])}{more}")
    return [j for j in columns if j not in ids]


def _too_many(column: Column) -> bool:
    """True if a categorical column has so many levels that it identifies rows."""
    return len(column.levels) > min(MAX_LEVELS, len(column.values) / 2)


def _check_mixed(columns: Sequence[Column], *, optional: bool) -> None:
    mixed = [(column, column.problem) for column in columns if column.problem is not None]
    if mixed:
        first, problem = mixed[0]
        more = f" (and {len(mixed) - 1} more)" if len(mixed) > 1 else ""
        exclude = f", or exclude it (--exclude {option_list([column.name for column, _ in mixed[:5]])})"
        raise ValueError(f"column {quoted(first.name)}{more} {problem_of(problem)}{exclude if optional else ''}")
