"""Roles of the columns of a file, as given by the options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from dropstep.cli.naming import find_all, find_one
from dropstep.wording import listed


@dataclass(frozen=True)
class Roles:
    """Indices of the columns that the options name.

    Attributes
    ----------
    targets : tuple of int
        Target columns.
    weights, offset, strata, row_groups : int or None
        Columns with sample weights, an offset and strata, and with the groups of rows that cross-validation keeps
        together.
    exclude, include, categorical : tuple of int
        Columns that are excluded, included from the start, and read as categories.
    groups : tuple of tuple of int
        Columns that are selected together.
    """

    targets: tuple[int, ...]
    weights: int | None
    offset: int | None
    strata: int | None
    row_groups: int | None
    exclude: tuple[int, ...]
    include: tuple[int, ...]
    categorical: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def others(self) -> tuple[int, ...]:
        """Columns that are needed in addition to target and features."""
        return tuple(j for j, _ in self._named_others)

    @property
    def _named_others(self) -> list[tuple[int, str]]:
        named = (
            (self.weights, "weights"),
            (self.offset, "offset"),
            (self.strata, "strata"),
            (self.row_groups, "groups"),
        )
        return [(j, name) for j, name in named if j is not None]

    @property
    def forced(self) -> set[int]:
        """Columns that the options require to be features."""
        return {*self.include, *(j for group in self.groups for j in group)}

    def candidates(self, n_columns: int) -> list[int]:
        """Columns without another role that are not excluded."""
        taken = {*self.targets, *self.exclude, *self.others}
        return [j for j in range(n_columns) if j not in taken]

    def names(self, features: Sequence[int], n_columns: int) -> tuple[str, ...]:
        """The name of the role of each column."""
        names = dict.fromkeys(range(n_columns), "ignored") | dict.fromkeys(features, "feature")
        names |= dict.fromkeys(self.targets, "target")
        names |= dict(self._named_others)
        return tuple(names[j] for j in range(n_columns))


def roles_of(args: argparse.Namespace, names: Sequence[str]) -> Roles:
    """Find the columns that the options name, and raise if the options contradict each other."""

    def one(option: str, text: str | None) -> int | None:
        return None if text is None else find_one(option, text, names)

    roles = Roles(
        targets=_targets(args, names),
        weights=one("--weights", getattr(args, "weights", None)),
        offset=one("--offset", getattr(args, "offset", None)),
        strata=one("--strata", getattr(args, "strata", None)),
        row_groups=one("--groups-column", getattr(args, "groups_column", None)),
        exclude=find_all("--exclude", args.exclude, names),
        include=find_all("--include", args.include, names),
        categorical=find_all("--categorical", args.categorical, names),
        groups=tuple(find_all("--groups", [text], names) for text in args.groups or ()),
    )
    _check(roles, names)
    return roles


def _targets(args: argparse.Namespace, names: Sequence[str]) -> tuple[int, ...]:
    """The columns of --target; for Cox regression those of --time and --event."""
    survival = {option: getattr(args, option, None) for option in ("time", "event")}
    is_cox = getattr(args.model, "kind", args.model) == "cox"
    if is_cox and (None in survival.values() or args.target is not None):
        raise ValueError("--model cox needs --time and --event, in place of --target")
    if is_cox:
        return tuple(find_one(f"--{option}", str(text), names) for option, text in survival.items())
    if given := [option for option, text in survival.items() if text is not None]:
        raise ValueError(f"--{given[0]} applies to --model cox only; add --model cox, or omit it")
    return find_all("--target", [args.target], names)


def _check(roles: Roles, names: Sequence[str]) -> None:
    if not roles.targets:
        raise ValueError("--target is empty; name the target column")
    features = set(roles.candidates(len(names)))
    if both := [names[j] for j in roles.targets if j in {*roles.exclude, *roles.others}]:
        raise ValueError(f"--target names {listed(both)}, which another option names as well")
    for option, chosen in (("--include", roles.include), *(("--groups", group) for group in roles.groups)):
        if wrong := [names[j] for j in chosen if j not in features]:
            raise ValueError(
                f"{option} names {listed(wrong)}, which the target, --exclude or another option names already"
            )
    grouped = [j for group in roles.groups for j in group]
    if twice := [names[j] for j in sorted(set(grouped)) if grouped.count(j) > 1]:
        raise ValueError(f"--groups names {listed(twice)} in more than one group")
