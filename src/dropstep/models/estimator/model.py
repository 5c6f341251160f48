"""An estimator as a model that can be searched: every evaluation is a cross-validated score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dropstep.models.base import CriterionInfo, Floats, Indices, Scan, Units
from dropstep.models.estimator.fits import Columns, Fits, Task
from dropstep.models.estimator.ordering import LinearOrdering
from dropstep.models.estimator.racing import Race, mean_differences, race
from dropstep.result import StopReason, standard_error


class CrossValidated:
    """A selection of features of an estimator, scored by the mean of a scorer over folds.

    Gains are means of paired differences: both selections are scored on the same folds. Columns are passed to the
    estimator in the order of the table, whatever the order of entry, so that a selection has one score.

    Parameters
    ----------
    fits : Fits
    units : Units
    kind : str
        Name of the model.
    criterion : CriterionInfo
    n_rows : int
    fold_order : sequence of int
        Folds in the order to run them.
    racing : bool
        Whether candidates that are shown to be worse than the leader stop early.
    ordering : LinearOrdering or None
        Breaks ties of races.
    notes : sequence of str
        What the reader should know about the scores.
    """

    greater_is_better = True
    solver = "fits"
    sample_unit, reads_tails, scans_cost_fits = "rows", True, True
    max_rank = math.inf

    def __init__(
        self,
        fits: Fits,
        units: Units,
        kind: str,
        criterion: CriterionInfo,
        n_rows: int,
        fold_order: Sequence[int],
        racing: bool,
        ordering: LinearOrdering | None,
        notes: Sequence[str] = (),
    ) -> None:
        self.fits, self.units, self.kind, self.criterion_info, self.n = fits, units, kind, criterion, float(n_rows)
        self._fold_order, self._racing, self._ordering = fold_order, racing, ordering
        self.notes = tuple(notes)
        self._selected: list[int] = []
        self.failures: dict[int, str] = {}  # units that are set aside, and why
        self._n_raced = 0

    # --- queries -----------------------------------------------------------------------------------------------------

    @property
    def score(self) -> float:
        return float(self._fold_scores(self._present).mean())

    @property
    def score_std_error(self) -> float | None:
        """Standard error of the mean over folds; None for a single fold."""
        return float(standard_error(self._fold_scores(self._present))) if self.n_folds > 1 else None

    @property
    def n_folds(self) -> int:
        return self.fits.n_folds

    @property
    def n_fits(self) -> int:
        return self.fits.n_fits

    @property
    def fits_saved(self) -> dict[str, int]:
        """Fits that racing and the cache made unnecessary."""
        return {"racing": self._n_raced, "cache": self.fits.n_cached}

    def rank(self, units: Sequence[int]) -> int:
        """Number of columns of units."""
        return len(self.units.columns(units))

    def release(self) -> None:
        """Do nothing: scores of fits are kept for all that may still be compared."""

    def saturated(self) -> StopReason | None:
        """Nothing prevents an estimator from taking another feature."""
        return None

    @property
    def _present(self) -> Columns:
        return self._columns(self._selected)

    def _columns(self, units: Sequence[int]) -> Columns:
        return tuple(sorted(self.units.columns(units)))

    def _fold_scores(self, columns: Columns) -> Floats:
        """Scores on all folds, which were computed when the selection became `columns`."""
        known = self.fits.known(columns)
        assert known is not None
        return np.array([outcome.score for outcome in known])

    # --- scans -------------------------------------------------------------------------------------------------------

    def additions(self, units: Indices, without: int | None = None) -> Scan:
        """Gains of adding each unit, after removing the selected unit `without` if it is given."""
        kept = [u for u in self._selected if u != without]
        base = self._columns(kept)
        self._evaluate(base)
        sets = [self._columns([*kept, u]) for u in units.tolist()]
        return self._scan(units, sets, base, ranks=self._ranks(units, base), culprits=units)

    def removals(self, units: Indices) -> Scan:
        """Losses of removing each selected unit."""
        sets = [self._columns([v for v in self._selected if v != u]) for u in units.tolist()]
        scan = self._scan(units, sets, self._present)
        return replace(scan, gains=-scan.gains)

    def exchanges(self, removals: Indices, additions: Indices) -> Scan:
        """Gains of all exchanges, in a race against the present selection."""
        kept = [[v for v in self._selected if v != u] for u in removals.tolist()]
        sets = [self._columns([*others, j]) for others in kept for j in additions.tolist()]
        pairs = np.arange(len(sets))
        champion = self._fold_scores(self._present)
        return self._scan(pairs, sets, self._present, champion=champion)

    def confirm(self, units: Indices, without: int | None = None) -> Scan:
        """Gains or losses of units; all scans are exact."""
        removing = without is None and set(units.tolist()) <= set(self._selected)
        return self.removals(units) if removing else self.additions(units, without)

    def _scan(
        self,
        units: Indices,
        sets: Sequence[Columns],
        base: Columns,
        *,
        ranks: Indices | None = None,
        culprits: Indices | None = None,
        champion: Floats | None = None,
    ) -> Scan:
        """Race sets of columns, and compare each with the base on the folds that it ran."""
        n_before, before = self.n_fits, self._fold_scores(base)
        ranks = np.arange(len(units)) if ranks is None else ranks
        found = self._race(sets, ranks, culprits, champion)
        gains, std_errors = mean_differences(found.scores - before)
        gains[found.finalists] = [row.mean() - before.mean() for row in found.scores[found.finalists]]
        feasible = np.asarray(~np.isnan(found.scores).all(axis=1))
        return Scan(
            units,
            gains,
            feasible,
            n_evaluations=len(units),
            n_fits=self.n_fits - n_before,
            std_errors=std_errors if self.n_folds > 1 else None,
            finalists=found.finalists,
            reason=None if feasible.any() else StopReason.FAILED,
            tie=0.0,  # scores are compared as they are, as scikit-learn does
        )

    def _race(self, sets: Sequence[Columns], ranks: Indices, culprits: Indices | None, champion: Floats | None) -> Race:
        """Race the sets, except those of units that are set aside."""
        aside = np.zeros(len(sets), dtype=bool) if culprits is None else np.isin(culprits, list(self.failures))
        entrants = np.flatnonzero(~aside)

        def run(some: Sequence[int], fold: int) -> Floats:
            return self._run([int(entrants[i]) for i in some], sets, fold, culprits)

        order = self._order()
        found = race(len(entrants), order, run, racing=self._racing, ranks=ranks[entrants], champion=champion)
        scored = ~np.isnan(found.scores).all(axis=1)
        if culprits is not None and len(entrants) and not scored.any() and not self._selected:
            cause = self.failures[int(culprits[entrants[0]])]
            raise ValueError(f"the estimator can be fitted on no candidate ({cause}); change it, or exclude columns")
        self._n_raced += int(np.isnan(found.scores[scored]).sum())
        scores, finalists = np.full((len(sets), self.n_folds), np.nan), np.zeros(len(sets), dtype=bool)
        scores[entrants], finalists[entrants] = found.scores, found.finalists
        return Race(scores, finalists)

    def _order(self) -> list[int]:
        """The folds in order, from another one for each size: no fold is always the first to judge."""
        at = len(self._selected) % self.n_folds
        return [*self._fold_order[at:], *self._fold_order[:at]]

    def _run(self, some: Sequence[int], sets: Sequence[Columns], fold: int, culprits: Indices | None) -> Floats:
        """Scores of some sets on a fold; NaN for those whose fit failed."""
        outcomes = self.fits.of([Task(sets[i], fold) for i in some])
        for i, outcome in zip(some, outcomes, strict=True):
            if outcome.error is not None and culprits is not None:
                self.failures.setdefault(int(culprits[i]), outcome.error)
        return np.array([outcome.score for outcome in outcomes])

    def _ranks(self, units: Indices, base: Columns) -> Indices:
        """Order of promise of units by their best column; that of the units where there is no linear gain."""
        if self._ordering is None or not len(units):
            return np.arange(len(units))
        gains = self._ordering.gains(base)
        best = np.array([gains[list(self.units.columns([u]))].max() for u in units.tolist()])
        ranks = np.empty(len(units), dtype=np.intp)
        ranks[np.argsort(-best.round(9), kind="stable")] = np.arange(len(units))
        return ranks

    # --- moves -------------------------------------------------------------------------------------------------------

    def add(self, units: Sequence[int]) -> None:
        """Select units; after a scan of them, this costs no fit."""
        self._evaluate(self._columns([*self._selected, *units]))
        self._selected.extend(units)

    def remove(self, units: Sequence[int]) -> None:
        """Remove selected units."""
        kept = [u for u in self._selected if u not in units]
        self._evaluate(self._columns(kept))
        self._selected = kept

    def copy(self) -> CrossValidated:
        """An independent model with the same selection, which shares the cache."""
        other = CrossValidated(
            self.fits, self.units, self.kind, self.criterion_info, int(self.n), self._fold_order, self._racing,
            self._ordering, self.notes,
        )  # fmt: skip
        other._selected, other.failures = list(self._selected), self.failures
        return other

    def _evaluate(self, columns: Columns) -> None:
        """Score columns on all folds, even after the end of the search: a selection has a score."""
        if self.fits.known(columns) is not None:
            return
        for outcome in self.fits.of([Task(columns, fold) for fold in range(self.n_folds)], always=True):
            if outcome.error is not None:
                raise ValueError(
                    f"the estimator cannot be fitted on columns {list(columns)} ({outcome.error}); "
                    "exclude those that it cannot handle"
                )

    def close(self) -> None:
        """Release the checkpoint and the shared rows."""
        self.fits.close()
