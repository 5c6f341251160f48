"""Features by name or index: which are included, which are excluded, and which form groups."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

LISTS = (list, tuple, set, frozenset, np.ndarray)  # how the features of a group can be given


@dataclass(frozen=True)
class Choice:
    """The units of a search, a unit being a feature or a group of features.

    Attributes
    ----------
    members : tuple of tuple of int or None
        Features of each unit, sorted by their first feature; None if every feature is a unit.
    include : tuple of int
        Units that are selected from the start and never removed.
    exclude : tuple of int
        Units that are never considered.
    """

    members: tuple[tuple[int, ...], ...] | None
    include: tuple[int, ...]
    exclude: tuple[int, ...]

    def features(self, units: tuple[int, ...]) -> list[int]:
        """Features of the given units."""
        return list(units) if self.members is None else [j for u in units for j in self.members[u]]

    def without(self, features: Collection[int]) -> Choice:
        """The choice that also excludes features which are units by themselves."""
        out = set(features)
        units = out if self.members is None else {u for u, unit in enumerate(self.members) if out.issuperset(unit)}
        return replace(self, exclude=(*self.exclude, *sorted(units.difference(self.exclude))))


def as_choice(n_features: int, names: tuple[str, ...] | None, include: Any, exclude: Any, groups: Any) -> Choice:
    """Resolve the parameters `include`, `exclude` and `groups`.

    Parameters
    ----------
    n_features : int
        Number of features.
    names : tuple of str or None
        Feature names.
    include, exclude : int, str, iterable of int or str, or None
        Features by index or name.
    groups : array-like of shape (n_features,), list of lists, dict of lists, str, list of str, callable or None
        One label per feature; the features of each group; prefixes of names, each of which makes a group; or a function
        that returns the label of a name (of an index, if there are no names), None for a feature without a group.

    Returns
    -------
    Choice
    """
    features = _Features(n_features, names)
    included = features.indices("include", include)
    excluded = features.indices("exclude", exclude)
    if both := sorted(set(included) & set(excluded)):
        raise ValueError(f"include and exclude overlap: {features.label(both[0])} is in both")
    if groups is None:
        return Choice(None, tuple(included), tuple(excluded))
    members = _members(groups, features)
    if not included and not excluded:
        return Choice(members, (), ())
    unit_of = {j: u for u, unit in enumerate(members) for j in unit}
    for parameter, chosen in (("include", set(included)), ("exclude", set(excluded))):
        for u in {unit_of[j] for j in chosen}:
            if missing := [j for j in members[u] if j not in chosen]:
                raise ValueError(
                    f"{parameter} contains only part of a group: {features.label(missing[0])} belongs to the same "
                    "group; list all of its features or none"
                )
    return Choice(members, _units(included, unit_of), _units(excluded, unit_of))


def _units(features: list[int], unit_of: dict[int, int]) -> tuple[int, ...]:
    """Units of features, each once, in the order of the features."""
    return tuple(dict.fromkeys(unit_of[j] for j in features))


@dataclass(frozen=True)
class _Features:
    """Number of features, and their names if they have any."""

    count: int
    names: tuple[str, ...] | None

    @cached_property
    def positions(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names or ())}

    def label(self, feature: int) -> str:
        return f"feature {feature}" if self.names is None else repr(self.names[feature])

    def indices(self, parameter: str, features: Any) -> list[int]:
        """Indices of the features that a parameter lists."""
        if features is None:
            return []
        if isinstance(features, str | Integral):
            features = [features]
        if not isinstance(features, Iterable) or isinstance(features, bytes):
            raise ValueError(f"{parameter} must be feature names or indices; got {features!r}")
        unordered = isinstance(features, set | frozenset)
        features = list(features)
        if features and all(isinstance(f, bool | np.bool_) for f in features):
            raise ValueError(
                f"{parameter} must be feature names or indices, not a boolean mask; use numpy.flatnonzero(mask)"
            )
        indices = [self._index(parameter, f) for f in features]
        if duplicates := _duplicates(indices):
            raise ValueError(f"{parameter} contains {self.label(duplicates[0])} more than once")
        return sorted(indices) if unordered else indices  # the order of a set of strings differs between runs

    def _index(self, parameter: str, feature: Any) -> int:
        if isinstance(feature, Integral):
            if not 0 <= int(feature) < self.count:
                raise ValueError(
                    f"{parameter} contains index {feature}, but there are {self.count} features (0 to {self.count - 1})"
                )
            return int(feature)
        if not isinstance(feature, str):
            raise ValueError(f"{parameter} contains {feature!r}, which is neither a feature name nor an index")
        if self.names is None:
            raise ValueError(
                f"{parameter} contains the name {feature!r}, but the features of X have no names; use indices"
            )
        if feature not in self.positions:
            near = difflib.get_close_matches(feature, self.names, n=1, cutoff=0.5)
            examples = ", ".join(map(repr, self.names[:3]))
            hint = f"did you mean {near[0]!r}?" if near else f"valid names are e.g. {examples}"
            raise ValueError(f"{parameter} contains {feature!r}, which is not a feature of X; {hint}")
        return self.positions[feature]


def _members(groups: Any, features: _Features) -> tuple[tuple[int, ...], ...]:
    """Features of each group; an ungrouped feature is a group of one."""
    given = _listed(groups)
    lists = {kind: issubclass(kind, LISTS) for kind in map(type, given)}
    if callable(groups):
        blocks = _from_labels(_called(groups, features), features)
    elif isinstance(groups, dict) or (given and all(lists.values())):
        blocks = _from_lists(given, features)
    elif given and len(given) != features.count and all(isinstance(g, str) for g in given):
        blocks = _from_labels(_prefixed(given, features), features)
    elif any(lists.values()):
        label = next(g for g in given if not lists[type(g)])
        raise ValueError(
            f"groups mixes lists of features and single labels ({label!r}); "
            "write a single feature as a list of one, or omit it"
        )
    else:
        blocks = _from_labels(given, features)
    return tuple(sorted((tuple(sorted(block)) for block in blocks if block), key=lambda block: block[0]))


def _listed(groups: Any) -> list[Any]:
    """The elements of `groups`: labels, lists of features or prefixes; none for a callable."""
    if isinstance(groups, str):
        return [groups]
    if callable(groups):
        return []
    if isinstance(groups, bytes) or not isinstance(groups, Iterable):
        raise ValueError(
            "groups must be one label per feature, a list of lists of features, prefixes of names or a callable; "
            f"got {groups!r}"
        )
    return list(groups.values()) if isinstance(groups, dict) else list(groups)


def _called(function: Callable[[Any], Any], features: _Features) -> list[Any]:
    """One label per feature, from a function of its name or index; None makes a group of one."""
    labels = [function(feature) for feature in features.names or range(features.count)]
    return [object() if label is None else label for label in labels]


def _prefixed(prefixes: list[str], features: _Features) -> list[Any]:
    """One label per feature: the longest prefix of its name, or its index if there is none."""
    if features.names is None:
        raise ValueError(
            f"groups contains the prefix {prefixes[0]!r}, but the features of X have no names; use indices"
        )
    longest_first = sorted(prefixes, key=len, reverse=True)
    labels = [next((p for p in longest_first if name.startswith(p)), j) for j, name in enumerate(features.names)]
    if unused := [prefix for prefix in prefixes if prefix not in labels]:
        raise ValueError(
            f"groups must be one label per feature ({features.count}), a list of lists of features, or prefixes of "
            f"names, but no name starts with {unused[0]!r}"
        )
    return labels


def _from_lists(groups: list[Any], features: _Features) -> list[list[int]]:
    """Groups given as lists of features."""
    blocks = [features.indices("groups", group) for group in groups]
    grouped = [j for block in blocks for j in block]
    if duplicates := _duplicates(grouped):
        raise ValueError(f"groups overlap: {features.label(duplicates[0])} is in more than one group")
    ungrouped = sorted(set(range(features.count)) - set(grouped))
    return [*blocks, *([j] for j in ungrouped)]


def _from_labels(labels: list[Any], features: _Features) -> list[list[int]]:
    """Groups given by one label per feature."""
    if len(labels) != features.count:
        raise ValueError(f"groups must have one label per feature ({features.count}); it has {len(labels)}")
    blocks: dict[Any, list[int]] = {}
    for j, label in enumerate(labels):
        try:
            blocks.setdefault(label, []).append(j)
        except TypeError as error:
            raise ValueError(
                f"groups has the label {label!r} for {features.label(j)}; use text, numbers or other hashable labels"
            ) from error
    for label, block in blocks.items():
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise ValueError(
                f"groups has no label for {features.label(block[0])} (it is {label!r}); "
                "give an ungrouped feature a unique label"
            )
    return list(blocks.values())


def _duplicates(features: list[int]) -> list[int]:
    return [j for j, count in Counter(features).items() if count > 1]
