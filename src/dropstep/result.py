"""The path: what a search did, step by step, and why it ended."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Phase = Literal["start", "forward", "re-forward", "backward", "swap"]
Action = Literal["add", "remove", "drop", "recall"]


class StopReason(enum.Enum):
    """Why a path ended; the value says it in a sentence."""

    ENTER = "no candidate's gain is large enough to enter"
    LEAVE = "no selected feature is useless enough to leave"
    POOL = "no candidate is left"
    SPAN = "every candidate left is constant or a combination of the selected features"
    MAX_FEATURES = "max_features is reached"
    ROWS = "the rows are used up: one more feature would leave no degree of freedom to judge it by"
    EXACT = "the selected features explain the target exactly; nothing is left to gain"
    CONSTANT = "every feature is constant"
    CYCLE = "a set of features came back: tests to enter and to leave disagree, and would for ever"
    CALLBACK = "a callback asked to stop"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path.

    Attributes
    ----------
    phase : "start", "forward", "re-forward", "backward" or "swap".
    action : "add", "remove", "drop" (from the pool) or "recall" (to the pool).
    features : the features concerned, by index.
    gain : score after minus score before, turned so that more is better; 0 for drop and recall.
    score : the criterion after the step, in its own sign.
    pool : how many candidates (features or groups) are in the pool after the step.
    """

    phase: Phase
    action: Action
    features: tuple[int, ...]
    gain: float
    score: float
    pool: int


@dataclass(frozen=True)
class SelectionPath:
    """The result of a search.

    Attributes
    ----------
    selected : indices of the selected features, in order of entry.
    steps : every step, in the order made.
    score : the criterion of the selected features, in its own sign.
    stop : why the search ended; for a search that goes forward, why it stopped adding.
    n_evaluations : number of gains computed.
    start : the criterion of the empty selection.
    ranking : the rank of each feature: 1 for the first that entered, and so on; features that are not selected follow
        by the gain they would bring now. The features of a group share a rank, and excluded features share the last.
    n_features : number of features in the table.
    feature_names : names of the features, or None if the table has none.
    strategy, model, criterion : the parameters of that name, with "auto" resolved.
    solver : "gram" or "columns": whether the Gram matrix was precomputed or its rows were computed on demand.
    notes : warnings about the data and the precision of the result, one sentence each.
    losses : for each selected feature (of a group: its first) that could be removed, the loss of score without it.
    equivalents : for the same features, the candidates that could replace them at the smallest loss, and that loss
        (negative: the score would improve).
    params : non-default parameters, or None if not recorded.
    weighted : whether `sample_weight` was given.
    from_moments : whether `Moments` were given instead of rows.
    """

    selected: tuple[int, ...]
    steps: tuple[Step, ...]
    score: float
    stop: StopReason
    n_evaluations: int
    start: float
    ranking: tuple[int, ...] = field(repr=False)
    n_features: int
    feature_names: tuple[str, ...] | None = field(repr=False)
    strategy: str
    model: str
    criterion: str
    solver: str
    notes: tuple[str, ...] = ()
    losses: Mapping[int, float] = field(default_factory=dict, repr=False, compare=False)
    equivalents: Mapping[int, tuple[tuple[int, float], ...]] = field(default_factory=dict, repr=False, compare=False)
    params: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    weighted: bool = field(default=False, repr=False, compare=False)
    from_moments: bool = field(default=False, repr=False, compare=False)

    @property
    def selected_names(self) -> tuple[str, ...]:
        """Names of the selected features, in order of entry."""
        return self.names(self.selected)

    def names(self, features: tuple[int, ...]) -> tuple[str, ...]:
        """Names of features; x0, x1, ... when the table had none."""
        return tuple(f"x{j}" if self.feature_names is None else self.feature_names[j] for j in features)

    def to_frame(self) -> Any:
        """The steps as a pandas DataFrame, one row per step, counted from 1 as in the plot and in the report."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install 'dropstep[frames]'") from None
        rows = [
            (s.phase, s.action, ", ".join(self.names(s.features)), s.gain, s.score, s.pool, size)
            for s, size in zip(self.steps, self.sizes(), strict=True)
        ]
        columns = ["phase", "action", "features", "gain", "score", "pool", "selected"]
        return pd.DataFrame(rows, columns=columns, index=pd.RangeIndex(1, len(rows) + 1, name="step"))

    def sizes(self) -> list[int]:
        """How many features are selected after each step."""
        sizes, size = [], 0
        for step in self.steps:
            size += {"add": 1, "remove": -1}.get(step.action, 0) * len(step.features)
            sizes.append(size)
        return sizes

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the score by step, coloured by phase (needs matplotlib)."""
        from dropstep.presentation.plots import plot_path

        return plot_path(self, ax)

    def __str__(self) -> str:
        names = ", ".join(self.selected_names) or "nothing"
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        return (
            f"{self.strategy} by {self.criterion} ({self.model}): {len(self.selected)} of {self.n_features} features, "
            f"score {self.score:.6g}, {self.n_evaluations} evaluations; stopped because {self.stop}.\n"
            f"selected: {names}{notes}"
        )

    def report(self, file: str | os.PathLike[str] | None = None, **context: Any) -> str | None:
        """The path as one HTML page: returned as text, or written to a file.

        `context` may hold a `title`, the `command` that made the path, and `data`, a mapping of facts about the table.
        """
        from dropstep.presentation.report import report_html, save_report

        if file is None:
            return report_html(self, **context)
        save_report(self, file, **context)
        return None

    def _repr_html_(self) -> str:
        from dropstep.presentation.report import path_html

        return path_html(self)
