"""Features by name or index, and the units (features, or groups of features) in which a search moves."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Units:
    """What may be added and removed whole: `members` by ascending first feature, and the units in and out for good."""

    members: tuple[tuple[int, ...], ...]
    include: tuple[int, ...]
    exclude: tuple[int, ...]

    def candidates(self) -> list[int]:
        """Features that are not excluded."""
        out = set(self.exclude)
        return [j for u, members in enumerate(self.members) if u not in out for j in members]


def as_units(n_features: int, names: tuple[str, ...] | None, include: Any, exclude: Any, groups: Any) -> Units:
    """Units from the words include, exclude and groups."""
    included = _positions("include", include, n_features, names)
    excluded = _positions("exclude", exclude, n_features, names)
    if both := sorted(set(included) & set(excluded)):
        raise ValueError(f"include and exclude overlap: {_name(both[0], names)} is in both")
    if groups is None:
        return Units(tuple((j,) for j in range(n_features)), tuple(included), tuple(excluded))
    members = _members(groups, n_features, names)
    unit_of = {j: u for u, unit in enumerate(members) for j in unit}
    for word, chosen in (("include", included), ("exclude", excluded)):
        for u in {unit_of[j] for j in chosen}:
            if missing := [j for j in members[u] if j not in set(chosen)]:
                raise ValueError(
                    f"{word} names a part of a group only: {_name(missing[0], names)} belongs to it too; "
                    "a group is taken whole"
                )
    return Units(members, _in_order(included, unit_of), _in_order(excluded, unit_of))


def _in_order(features: list[int], unit_of: dict[int, int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(unit_of[j] for j in features))


def _members(groups: Any, n_features: int, names: tuple[str, ...] | None) -> tuple[tuple[int, ...], ...]:
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise ValueError(f"groups must be one label a feature, or a list of lists of features; got {groups!r}")
    groups = list(groups.values()) if isinstance(groups, dict) else list(groups)
    if groups and all(isinstance(g, list | tuple | set | frozenset | np.ndarray) for g in groups):
        blocks = [_positions("groups", g, n_features, names) for g in groups]
        named = [j for block in blocks for j in block]
        if len(set(named)) < len(named):
            twice = next(j for j in named if named.count(j) > 1)
            raise ValueError(f"groups overlap: {_name(twice, names)} stands in more than one place")
        blocks += [[j] for j in range(n_features) if j not in set(named)]
    else:
        if len(groups) != n_features:
            raise ValueError(f"groups must have one label a feature ({n_features}); it has {len(groups)}")
        by_label: dict[Any, list[int]] = {}
        for j, label in enumerate(groups):
            by_label.setdefault(label, []).append(j)
        blocks = list(by_label.values())
    return tuple(sorted((tuple(sorted(block)) for block in blocks if block), key=lambda block: block[0]))


def _positions(word: str, features: Any, n_features: int, names: Sequence[str] | None) -> list[int]:
    if features is None:
        return []
    if isinstance(features, str | Integral):
        features = [features]
    features = list(features)
    if features and all(isinstance(f, bool | np.bool_) for f in features):
        raise ValueError(f"{word} must be feature names or indices, not True and False; use numpy.flatnonzero(mask)")
    found = [_position(word, f, n_features, names) for f in features]
    if len(set(found)) < len(found):
        twice = next(j for j in found if found.count(j) > 1)
        raise ValueError(f"{word} has {_name(twice, names)} more than once")
    return found


def _position(word: str, feature: Any, n_features: int, names: Sequence[str] | None) -> int:
    if isinstance(feature, Integral):
        if not 0 <= int(feature) < n_features:
            raise ValueError(f"{word} has index {feature}, but there are {n_features} features (0 to {n_features - 1})")
        return int(feature)
    if names is None:
        raise ValueError(f"{word} has the name {feature!r}, but the features of X have no names; use indices")
    if feature not in names:
        near = difflib.get_close_matches(str(feature), names, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else f"; there are e.g. {', '.join(map(repr, names[:3]))}"
        raise ValueError(f"{word} has {feature!r}, which is no feature of X{hint}")
    return list(names).index(feature)


def _name(j: int, names: Sequence[str] | None) -> str:
    return f"feature {j}" if names is None else repr(names[j])
