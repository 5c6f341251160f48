"""Quantities derived from a path that text, plots and report share: moves, entries, ranking and cost."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from dropstep.result import SelectionPath, Step

Unit = tuple[int, ...]  # the features of a group, or one feature


def units(path: SelectionPath) -> tuple[Unit, ...]:
    """Groups of features, or every feature by itself if no groups were given."""
    return tuple((j,) for j in range(path.n_features)) if path.groups is None else path.groups


def ranked(path: SelectionPath) -> list[Unit]:
    """Units by rank, excluded ones omitted: selected ones in order of entry, then the others by their current gain."""
    excluded = set(path.excluded)
    return sorted((unit for unit in units(path) if unit[0] not in excluded), key=lambda unit: path.ranking[unit[0]])


def runners_up(path: SelectionPath, limit: int = 5) -> tuple[int, ...]:
    """Features that are not selected, by descending current gain."""
    selected = set(path.selected)
    return tuple([j for unit in ranked(path) for j in unit if j not in selected][:limit])


def phases(path: SelectionPath) -> list[tuple[str, int, int]]:
    """Runs of steps of the same phase: the phase, and its first and last step, numbered from 1."""
    runs, first = [], 1
    for phase, steps in groupby(path.steps, key=lambda step: step.phase):
        last = first + len(list(steps)) - 1
        runs.append((phase, first, last))
        first = last + 1
    return runs


def scores(path: SelectionPath) -> list[tuple[int, float]]:
    """Step number and score of each addition and removal, preceded by the empty selection unless some were included."""
    made = [(i, step.score) for i, step in enumerate(path.steps, start=1) if step.action in ("add", "remove")]
    return made if path.steps and path.steps[0].phase == "start" else [(0, path.start), *made]


# --- moves and entries -----------------------------------------------------------------------------------------------


class MoveMade(NamedTuple):
    """An addition or removal of a path.

    Attributes
    ----------
    step : Step
        The step itself.
    removed : frozenset of int
        Those of its features that this removal or a later one removed from the selection.
    label : str
        The phase, and whether the features were removed.
    """

    step: Step
    removed: frozenset[int]
    label: str


def moves(path: SelectionPath) -> list[MoveMade]:
    """All additions and removals in the order made; `path.start` and their gains add up to `path.score`."""
    found: list[MoveMade] = []
    removed: set[int] = set()
    for step in reversed(path.steps):
        features = frozenset(step.features)
        if step.action == "remove":
            removed |= features
            found.append(MoveMade(step, features, f"{step.phase}, removed"))
        elif step.action == "add":
            found.append(MoveMade(step, features & removed, _label(step, features & removed)))
            removed -= features
    return found[::-1]


def _label(step: Step, removed: frozenset[int]) -> str:
    if not removed:
        return step.phase
    return f"{step.phase}, {f'{len(removed):,} ' if len(removed) < len(step.features) else ''}removed later"


@dataclass(frozen=True)
class Entry:
    """A selected feature or group, and the step that added it last.

    Attributes
    ----------
    features : tuple of int
        The feature, or the features of the group.
    step : Step
        The step that added it for the last time.
    """

    features: Unit
    step: Step

    @property
    def gain(self) -> float | None:
        """Gain on entry; None for included features, which enter together."""
        return None if self.step.phase == "start" else self.step.gain


def entries(path: SelectionPath) -> list[Entry]:
    """The selected features or groups, in order of entry."""
    added = {j: step for step in path.steps if step.action == "add" for j in step.features}
    unit_of = {j: unit for unit in units(path) for j in unit}
    return [Entry(unit, added[unit[0]]) for unit in dict.fromkeys(unit_of[j] for j in path.selected)]


# --- sizes -----------------------------------------------------------------------------------------------------------


class SizeScore(NamedTuple):
    """The best selection seen with a number of features: its score and standard error."""

    n_features: int
    score: float
    std_error: float


def best_by_size(path: SelectionPath) -> list[SizeScore]:
    """The best score by number of features, for a path whose scores have standard errors."""
    best: dict[int, SizeScore] = {}
    sign = 1 if path.greater_is_better else -1
    for step, n in zip(path.steps, path.sizes(), strict=True):
        if step.score_std_error is None or step.action not in ("add", "remove"):
            continue
        if n not in best or sign * step.score > sign * best[n].score:
            best[n] = SizeScore(n, step.score, step.score_std_error)
    return [best[n] for n in sorted(best)]


# --- dropping --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cost:
    """Number of gains computed, and of gains that dropping made unnecessary.

    Attributes
    ----------
    computed : int
        Number of gains computed.
    saved : int
        Number of gains not computed: one per addition and candidate that was dropped at the time.
    """

    computed: int
    saved: int

    @property
    def total(self) -> int:
        """Number of gains if every candidate had been in the pool at every addition."""
        return self.computed + self.saved

    @property
    def share(self) -> float:
        """Share of the evaluations that was saved."""
        return self.saved / self.total if self.total else 0.0


def cost(path: SelectionPath) -> Cost:
    """Number of evaluations, and how many of them dropping saved."""
    saved = dropped = 0
    for before, step in zip(path.pools(), path.steps, strict=False):
        if step.action == "drop":
            dropped += before - step.pool
        elif step.action == "recall":
            dropped = 0
        elif step.action == "add" and step.phase in ("forward", "re-forward"):
            saved += dropped
    return Cost(path.n_evaluations, saved)


@dataclass(frozen=True)
class Reversals:
    """Features that were dropped or removed, and what happened to them later.

    Attributes
    ----------
    dropped, recalled, entered : tuple of int
        Features that were dropped; recalled; and added after they were recalled.
    removed, returned : tuple of int
        Features that were removed; and added again after that.
    """

    dropped: tuple[int, ...]
    recalled: tuple[int, ...]
    entered: tuple[int, ...]
    removed: tuple[int, ...]
    returned: tuple[int, ...]


def reversals(path: SelectionPath) -> Reversals:
    """Features that were dropped, recalled, removed, or added after that."""
    seen: dict[str, dict[int, None]] = {key: {} for key in ("dropped", "recalled", "entered", "removed", "returned")}
    for step in path.steps:
        if step.action == "add":
            seen["entered"].update((j, None) for j in step.features if j in seen["recalled"])
            seen["returned"].update((j, None) for j in step.features if j in seen["removed"])
        else:
            key = {"drop": "dropped", "recall": "recalled", "remove": "removed"}[step.action]
            seen[key].update(dict.fromkeys(step.features))
    return Reversals(**{key: tuple(features) for key, features in seen.items()})
