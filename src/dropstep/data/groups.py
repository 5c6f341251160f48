"""Features by name or index: which are forced in, which are out, and which go together."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Choice:
    """What may be chosen: groups by ascending first feature (None: every feature by itself), and units in or out."""

    members: tuple[tuple[int, ...], ...] | None
    include: tuple[int, ...]
    exclude: tuple[int, ...]

    def features(self, units: tuple[int, ...]) -> list[int]:
        """The features of units."""
        return list(units) if self.members is None else [j for u in units for j in self.members[u]]

    def count(self, some: NDArray[np.bool_]) -> int:
        """Number of units with at least one of some features."""
        return int(some.sum()) if self.members is None else sum(bool(some[list(m)].any()) for m in self.members)


def as_choice(n_features: int, names: tuple[str, ...] | None, include: Any, exclude: Any, groups: Any) -> Choice:
    """Choice from the words include, exclude and groups."""
    features = _Features(n_features, names)
    included = features.found("include", include)
    excluded = features.found("exclude", exclude)
    if both := sorted(set(included) & set(excluded)):
        raise ValueError(f"include and exclude overlap: {features.label(both[0])} is in both")
    if groups is None:
        return Choice(None, tuple(included), tuple(excluded))
    members = _members(groups, features)
    unit_of = {j: u for u, unit in enumerate(members) for j in unit}
    for word, chosen in (("include", set(included)), ("exclude", set(excluded))):
        for u in {unit_of[j] for j in chosen}:
            if missing := [j for j in members[u] if j not in chosen]:
                raise ValueError(
                    f"{word} names a part of a group only: {features.label(missing[0])} belongs to it too; "
                    "a group is taken whole"
                )
    return Choice(members, _in_order(included, unit_of), _in_order(excluded, unit_of))


def _in_order(features: list[int], unit_of: dict[int, int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(unit_of[j] for j in features))


@dataclass(frozen=True)
class _Features:
    """How many features there are, and their names if they have any."""

    count: int
    names: tuple[str, ...] | None

    @cached_property
    def positions(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names or ())}

    def label(self, feature: int) -> str:
        return f"feature {feature}" if self.names is None else repr(self.names[feature])

    def found(self, word: str, features: Any) -> list[int]:
        """Indices of the features that a word of the user names."""
        if features is None:
            return []
        if isinstance(features, str | Integral):
            features = [features]
        if not isinstance(features, Iterable) or isinstance(features, bytes):
            raise ValueError(f"{word} must be features by name or index; got {features!r}")
        unordered = isinstance(features, set | frozenset)
        features = list(features)
        if features and all(isinstance(f, bool | np.bool_) for f in features):
            raise ValueError(
                f"{word} must be feature names or indices, not True and False; use numpy.flatnonzero(mask)"
            )
        found = [self._position(word, f) for f in features]
        if twice := _twice(found):
            raise ValueError(f"{word} has {self.label(twice[0])} more than once")
        return sorted(found) if unordered else found  # the order of a set of names differs from run to run

    def _position(self, word: str, feature: Any) -> int:
        if isinstance(feature, Integral):
            if not 0 <= int(feature) < self.count:
                raise ValueError(
                    f"{word} has index {feature}, but there are {self.count} features (0 to {self.count - 1})"
                )
            return int(feature)
        if not isinstance(feature, str):
            raise ValueError(f"{word} has {feature!r}, which is neither a name nor an index of a feature")
        if self.names is None:
            raise ValueError(f"{word} has the name {feature!r}, but the features of X have no names; use indices")
        if feature not in self.positions:
            near = difflib.get_close_matches(feature, self.names, n=1, cutoff=0.5)
            some = ", ".join(map(repr, self.names[:3]))
            hint = f"did you mean {near[0]!r}?" if near else f"there are e.g. {some}"
            raise ValueError(f"{word} has {feature!r}, which is no feature of X; {hint}")
        return self.positions[feature]


def _members(groups: Any, features: _Features) -> tuple[tuple[int, ...], ...]:
    """The features of each group, and of each feature that stands alone."""
    if isinstance(groups, str | bytes) or not isinstance(groups, Iterable):
        raise ValueError(f"groups must be one label a feature, or a list of lists of features; got {groups!r}")
    given = list(groups.values()) if isinstance(groups, dict) else list(groups)
    lists = [isinstance(g, list | tuple | set | frozenset | np.ndarray) for g in given]
    if isinstance(groups, dict) or (given and all(lists)):
        blocks = _blocks(given, features)
    elif any(lists):
        raise ValueError(
            f"groups mixes lists of features and single labels ({given[lists.index(False)]!r}); "
            "write a feature that stands alone as a list of one, or leave it out"
        )
    else:
        blocks = _by_label(given, features)
    return tuple(sorted((tuple(sorted(block)) for block in blocks if block), key=lambda block: block[0]))


def _blocks(groups: list[Any], features: _Features) -> list[list[int]]:
    """Groups given by their features; a feature that is in none stands alone."""
    blocks = [features.found("groups", group) for group in groups]
    named = [j for block in blocks for j in block]
    if twice := _twice(named):
        raise ValueError(f"groups overlap: {features.label(twice[0])} stands in more than one place")
    alone = sorted(set(range(features.count)) - set(named))
    return [*blocks, *([j] for j in alone)]


def _by_label(labels: list[Any], features: _Features) -> list[list[int]]:
    """Groups given by one label a feature."""
    if len(labels) != features.count:
        raise ValueError(f"groups must have one label a feature ({features.count}); it has {len(labels)}")
    blocks: dict[Any, list[int]] = {}
    for j, label in enumerate(labels):
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise ValueError(
                f"groups has no label for {features.label(j)} (it is {label!r}); give a feature that stands alone a "
                "label of its own"
            )
        blocks.setdefault(label, []).append(j)
    return list(blocks.values())


def _twice(features: list[int]) -> list[int]:
    return [j for j, count in Counter(features).items() if count > 1]
