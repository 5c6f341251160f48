"""Audit: whether dropping candidates early changed the answer, and what it saved."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dropstep.data.sample import PerRow
from dropstep.models.base import Indices
from dropstep.resampling.refits import parameters_of
from dropstep.resampling.resampler import Resampler
from dropstep.result import SelectionPath, feature_names, import_pandas
from dropstep.search.rules import Significance, Threshold
from dropstep.search.search import Move, Search

DROPPING = ("dropping", "fbed")


class Drop(NamedTuple):
    """A candidate that was dropped.

    Attributes
    ----------
    features : tuple of int
        Indices of the features of the candidate.
    size : int
        Number of features or groups that were selected when its gain was computed.
    gain : float
        Its gain in that scan.
    p_value : float or None
        Its p-value, where `drop` is a test.
    missed_by : float
        What was missing: the threshold minus the gain, or the p-value minus the level.
    came_back : bool
        Whether it was selected in the end, after it was recalled.
    """

    features: tuple[int, ...]
    size: int
    gain: float
    p_value: float | None
    missed_by: float
    came_back: bool


@dataclass(frozen=True)
class Audit:
    """A search with early dropping compared with the same search without it.

    Attributes
    ----------
    drops : tuple of Drop
        Every candidate that was dropped, in the order of the drops.
    selected, selected_without : tuple of int
        Indices of the selected features, with and without dropping.
    score, score_without : float
        Scores of both, in the criterion's own sign.
    better_by : float
        By how much the score without dropping is better; negative if it is worse.
    n_evaluations, n_evaluations_without : int
        Gains computed.
    n_fits, n_fits_without : int
        Models fitted.
    feature_names : tuple of str
        Names of all features.
    """

    drops: tuple[Drop, ...] = field(repr=False)
    selected: tuple[int, ...]
    selected_without: tuple[int, ...]
    score: float
    score_without: float
    better_by: float
    n_evaluations: int
    n_evaluations_without: int
    n_fits: int
    n_fits_without: int
    feature_names: tuple[str, ...] = field(repr=False)

    @property
    def same(self) -> bool:
        """Whether the same features are selected without dropping."""
        return set(self.selected) == set(self.selected_without)

    @property
    def saved(self) -> float:
        """Share of the fits that dropping saved; of the gains computed, where gains need no fit."""
        pairs = ((self.n_fits, self.n_fits_without), (self.n_evaluations, self.n_evaluations_without))
        used, without = pairs[0] if self.n_fits_without else pairs[1]
        return 1 - used / without if without else 0.0

    def to_frame(self) -> Any:
        """Convert the drops to a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per drop, with the columns of `Drop`, indexed by feature name (names of a group are joined).
        """
        pd = import_pandas()
        names = [", ".join(self.feature_names[j] for j in drop.features) for drop in self.drops]
        frame = pd.DataFrame(self.drops, columns=list(Drop._fields), index=pd.Index(names, name="feature"))
        return frame.drop(columns="features")

    def __str__(self) -> str:
        back = sum(drop.came_back for drop in self.drops)
        answer = (
            "the same features" if self.same else f"a score that differs by {self.better_by:.4g} (positive: better)"
        )
        return (
            f"{len(self.drops)} candidates were dropped, {back} of which came back; without dropping the search finds "
            f"{answer}; dropping saved {self.saved:.0%} of the {'fits' if self.n_fits_without else 'evaluations'}"
        )


class _Recorded(Search):
    """A search that records what it drops."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.drops: list[tuple[int, Drop]] = []

    def droppable(self, chosen: Move) -> Indices:
        """Candidates, except the chosen one, whose gain in the scan that chose it does not pass `drop`."""
        units, scan, rule = super().droppable(chosen), self.additions(), self.rules.drop
        places = np.searchsorted(scan.units, units).tolist()
        p_values = None if scan.tests is None or not isinstance(rule, Significance) else np.exp(scan.tests.log_p_values)
        for unit, at in zip(units.tolist(), places, strict=True):
            gain = float(scan.gains[at])
            if p_values is not None and isinstance(rule, Significance):
                p, missed = float(p_values[at]), float(p_values[at]) - rule.level
            elif isinstance(rule, Threshold):
                p, missed = None, rule.value - gain
            else:
                p, missed = None, math.nan if scan.std_errors is None else float(scan.std_errors[at]) - gain
            drop = Drop(self.units.features([unit]), len(self.selected), gain, p, missed, came_back=False)
            self.drops.append((unit, drop))
        return units


def audit(
    path: SelectionPath,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    strata: Any = None,
    sample_groups: Any = None,
) -> Audit:
    """Whether dropping candidates early changed the answer: where each was dropped, and the search without dropping.

    Parameters
    ----------
    path : SelectionPath
        A path of strategy "dropping" or "fbed".
    X : array-like or frame of shape (n_samples, n_features)
        The rows of the selection.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), or str
        Their target.
    sample_weight, offset, strata, sample_groups : array-like of shape (n_samples,) or str, default=None
        As in `select`.

    Returns
    -------
    Audit

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import audit, select
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = audit(select(X, y), X, y)
    >>> found.same, found.n_evaluations, found.n_evaluations_without
    (False, 40, 55)
    """
    if path.strategy not in DROPPING:
        raise ValueError(
            f"strategy {path.strategy!r} drops nothing; audit a path of {' or '.join(map(repr, DROPPING))}"
        )
    rows = PerRow(sample_weight, offset, strata, sample_groups)
    resampler = Resampler.of(X, y, rows, parameters_of(path), "audit", on_parts=False)
    sample = resampler.sample
    search = resampler.run(sample, make=_Recorded)
    assert isinstance(search, _Recorded)
    selected = search.units.features(search.selected)
    if set(selected) != set(path.selected):
        raise ValueError("X and y do not reproduce the path; pass the rows of the selection, with its weights")
    without = resampler.run(sample, given=replace(resampler.given, drop=-math.inf))
    kept = set(search.selected)
    return Audit(
        drops=tuple(drop._replace(came_back=unit in kept) for unit, drop in search.drops),
        selected=selected,
        selected_without=without.units.features(without.selected),
        score=search.score,
        score_without=without.score,
        better_by=without.value - search.value,
        n_evaluations=search.n_evaluations,
        n_evaluations_without=without.n_evaluations,
        n_fits=search.n_fits,
        n_fits_without=without.n_fits,
        feature_names=feature_names(sample.names, range(sample.n_features)),
    )
