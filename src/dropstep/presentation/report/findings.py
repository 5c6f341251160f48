"""What a path says: which features came in and what they brought, what was dropped and came back, what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from dropstep.presentation.plots import pools, ranked
from dropstep.result import SelectionPath, Step

# For each selected feature (of a group: its first), the candidates that could take its place, and what that would cost.
Equivalents = Mapping[int, tuple[tuple[int, float], ...]]


@dataclass(frozen=True)
class Entry:
    """A selected feature or group, and the step that brought it in (None if the path does not tell)."""

    features: tuple[int, ...]
    step: Step | None

    @property
    def gain(self) -> float | None:
        """What it brought when it came in; None for features that were in from the start."""
        return None if self.step is None or self.step.phase == "start" else self.step.gain


def entries(path: SelectionPath) -> list[Entry]:
    """The selection in order of entry; a feature that left and came back counts from its last entry."""
    came = {j: step for step in path.steps if step.action == "add" for j in step.features}
    found: list[Entry] = []
    seen: set[int] = set()
    for j in path.selected:
        if j not in seen:
            step = came.get(j)
            unit = (j,) if step is None or step.phase == "start" else step.features
            seen.update(unit)
            found.append(Entry(unit, step))
    return found


@dataclass(frozen=True)
class Cost:
    """Gains computed, and gains that dropping saved.

    Had every candidate been in the pool at every addition, the same additions would have taken `whole` evaluations.
    """

    made: int
    saved: int

    @property
    def whole(self) -> int:
        return self.made + self.saved

    @property
    def share(self) -> float:
        """The share of the evaluations that was saved."""
        return self.saved / self.whole if self.whole else 0.0


def cost(path: SelectionPath) -> Cost:
    """An addition spares one evaluation for each candidate that was dropped when the pool was scanned for it."""
    saved = dropped = 0
    for before, step in zip(pools(path), path.steps, strict=False):
        if step.action == "drop":
            dropped += before - step.pool
        elif step.action == "recall":
            dropped = 0
        elif step.action == "add" and step.phase in ("forward", "re-forward"):
            saved += dropped
    return Cost(path.n_evaluations, saved)


@dataclass(frozen=True)
class Turns:
    """Features that did not go straight in: dropped, recalled and entered after that; removed, and returned."""

    dropped: tuple[int, ...]
    recalled: tuple[int, ...]
    entered: tuple[int, ...]
    removed: tuple[int, ...]
    returned: tuple[int, ...]


def turns(path: SelectionPath) -> Turns:
    """Features that were dropped, recalled, then entered; and features that were removed, then came back."""
    seen: dict[str, dict[int, None]] = {key: {} for key in ("dropped", "recalled", "entered", "removed", "returned")}
    for step in path.steps:
        if step.action == "add":
            seen["entered"].update((j, None) for j in step.features if j in seen["recalled"])
            seen["returned"].update((j, None) for j in step.features if j in seen["removed"])
        else:
            seen[{"drop": "dropped", "recall": "recalled", "remove": "removed"}[step.action]].update(
                dict.fromkeys(step.features)
            )
    return Turns(**{key: tuple(features) for key, features in seen.items()})


def next_in_line(path: SelectionPath, most: int = 5) -> tuple[int, ...]:
    """Features that are not selected, best first by the gain they would bring now."""
    chosen = set(path.selected)
    rest = [j for unit in ranked(path) for j in unit if j not in chosen]
    return tuple(rest[:most])


def more_is_better(path: SelectionPath) -> bool | None:
    """Whether the criterion grows when a step gains; None when no step tells."""
    before = path.start
    told = 0.0
    for step in path.steps:
        if step.action in ("add", "remove") and abs(step.gain) > 0:
            difference = (step.score - before) * step.gain
            told += difference if abs(difference) < float("inf") else 0.0
        before = step.score
    return None if not told else told > 0


def equivalents(path: SelectionPath) -> Equivalents | None:
    """Near-equivalents of the selected features, when the path holds them."""
    return cast("Equivalents | None", getattr(path, "equivalents", None))


def losses(path: SelectionPath) -> Mapping[int, float]:
    """What the score would lose without each selected feature now, when the path holds it."""
    return cast("Mapping[int, float]", getattr(path, "losses", None) or {})
