"""Cox's partial likelihood, with Efron's or Breslow's treatment of ties, and strata.

Rows are sorted by stratum and descending time, so that a risk set is a range of rows and its sums are cumulative sums.
At a time with D tied events, Efron's denominators are S0 - f S0d for f = 0, 1/D, ..., (D - 1)/D, where S0 is the sum
of exp(eta) over the risk set and S0d the sum over the tied events; Breslow's are S0, D times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold
from dropstep.data.response import Survival, as_columns, as_offset, as_strata, as_survival
from dropstep.data.sample import PerRow, Sample
from dropstep.models.evaluation import Losses, predictor, row_weights
from dropstep.models.glm.family import About, LikelihoodFamily, present
from dropstep.models.glm.likelihood import Likelihood, Local
from dropstep.parameters import Parameters
from dropstep.result import Coefficients

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Ties = Literal["efron", "breslow"]

DENSE_SIZE = 2**20  # values of sparse columns that are made dense at a time
WHOLE = 1e-9  # difference from an integer that counts as rounding
MAX_SPREAD = 500.0  # of the running maximum of eta in a segment, below the limits of exp


class RiskSets:
    """Which rows are at risk when events happen.

    Attributes
    ----------
    strata : list of slice
        Rows of each stratum.
    end : ndarray of shape (n_groups,)
        The risk set of a group of tied events ends before this row, and starts where its stratum does.
    event, event_group : ndarray of shape (n_events,)
        Rows that are events, and their groups.
    denominator_group, fraction, count : ndarray of shape (n_denominators,)
        Group of each denominator, its fraction f, and how often it occurs.
    """

    def __init__(self, time: Floats, event: NDArray[np.bool_], stratum: Indices, weights: Floats, ties: Ties) -> None:
        starts = np.flatnonzero(np.r_[True, stratum[1:] != stratum[:-1]])
        self.strata = [slice(int(a), int(b)) for a, b in zip(starts, np.r_[starts[1:], len(time)], strict=True)]
        self.event = np.flatnonzero(event)
        new = np.r_[True, (time[1:] != time[:-1]) | (stratum[1:] != stratum[:-1])]
        moment = np.cumsum(new) - 1  # distinct times of each stratum
        distinct, self.event_group = np.unique(moment[self.event], return_inverse=True)
        last = np.r_[np.flatnonzero(new)[1:], len(time)]
        self.end = last[distinct]
        deaths = np.bincount(self.event_group, weights[self.event])
        if ties == "breslow":
            self.denominator_group = np.arange(len(deaths))
            self.fraction, self.count = np.zeros(len(deaths)), deaths.astype(np.float64)
        else:
            whole = np.rint(deaths).astype(np.intp)
            self.denominator_group = np.repeat(np.arange(len(deaths)), whole)
            first = np.repeat(np.cumsum(whole) - whole, whole)
            self.fraction = (np.arange(whole.sum()) - first) / whole[self.denominator_group]
            self.count = np.ones(len(self.fraction))

    def events(self, values: Floats) -> Floats:
        """Sums over the events of each group, from values of the events."""
        return np.asarray(np.add.reduceat(values, self._first_events, axis=0))

    @cached_property
    def _first_events(self) -> Indices:
        return np.searchsorted(self.event_group, np.arange(len(self.end)))

    # --- what sparse columns need ------------------------------------------------------------------------------------

    @property
    def _n_rows(self) -> int:
        return int(self.strata[-1].stop)

    @cached_property
    def stratum(self) -> Indices:
        """Stratum of each row."""
        return np.repeat(np.arange(len(self.strata)), [rows.stop - rows.start for rows in self.strata])

    @cached_property
    def first_group(self) -> Indices:
        """The first group at whose time each row is at risk."""
        return np.searchsorted(self.end, np.arange(self._n_rows), side="right")

    @cached_property
    def is_event(self) -> NDArray[np.bool_]:
        return np.isin(np.arange(self._n_rows), self.event)

    @cached_property
    def group_of_event(self) -> Indices:
        """Group of each row that is an event; 0 for others."""
        groups = np.zeros(self._n_rows, dtype=np.intp)
        groups[self.event] = self.event_group
        return groups

    def sums_of_later(self, values: Floats) -> Floats:
        """For each group, the sum over it and the later groups of its stratum; small terms are added first."""
        sums = np.empty(len(values))
        bounds = np.searchsorted(self.end, [rows.start for rows in self.strata], side="right")
        for start, stop in pairwise([*bounds, len(values)]):
            sums[start:stop] = np.cumsum(values[start:stop][::-1])[::-1]
        return sums


def _cumulative(values: Floats, starts: Indices) -> Floats:
    """Cumulative sums that begin again at some positions."""
    if not len(values):
        return values
    lengths = np.diff(np.r_[starts, len(values)])
    total = np.cumsum(values, dtype=np.longdouble)  # the sums of other columns are large compared with a small one
    return np.asarray(total - np.repeat((total - values)[starts], lengths), dtype=np.float64)


class Scaled:
    """Sums of multiples of exp(eta) over risk sets that neither overflow nor underflow, however far eta spreads.

    The rows of a stratum are divided into segments, and exp(eta - shift) is taken instead of exp(eta), where the shift
    of a segment is the largest eta up to its first row. The sum of exp(eta - shift) over a risk set is then at least 1
    where its last row is, and what earlier segments contribute is rescaled by a factor below 1.

    Attributes
    ----------
    segments : list of (slice, float)
        Rows, and the factor exp(shift of the segment before - shift); 0 for the first of a stratum.
    shift : ndarray of shape (n_rows,)
    """

    def __init__(self, sets: RiskSets, eta: Floats) -> None:
        self._sets, self.shift = sets, np.empty(len(eta))
        self.segments: list[tuple[slice, float]] = []
        for rows in sets.strata:
            largest, start, before = np.maximum.accumulate(eta[rows]), 0, np.inf
            while start < len(largest):
                shift = float(largest[start])
                stop = int(np.searchsorted(largest, shift + MAX_SPREAD, side="right"))
                here = slice(rows.start + start, rows.start + stop)
                self.segments.append((here, float(np.exp(before - shift)) if start else 0.0))
                self.shift[here] = before = shift
                start = stop

    def at_risk(self, values: Floats) -> Floats:
        """Sums over the risk set of each group, of values relative to exp(shift); relative to that of its last row."""
        total = np.empty_like(values)
        for rows, factor in self.segments:
            np.cumsum(values[rows], axis=0, out=total[rows])
            if factor:
                total[rows] += factor * total[rows.start - 1]
        return np.asarray(total[self._sets.end - 1])

    def spread(self, values: Floats) -> Floats:
        """For each row, the sum over the groups at whose times it is at risk; the adjoint of `at_risk`."""
        placed = np.zeros((len(self.shift), *values.shape[1:]))
        np.add.at(placed, self._sets.end - 1, values)
        carried: Floats | float = 0.0
        for rows, factor in reversed(self.segments):
            placed[rows] = np.cumsum(placed[rows][::-1], axis=0)[::-1] + carried
            carried = factor * placed[rows.start]
        return placed


class CoxLocal(Local):
    """The partial likelihood at one eta."""

    def __init__(self, sets: RiskSets, weights: Floats, eta: Floats) -> None:
        self._sets, self._w, self._eta, self._scaled = sets, weights, eta, Scaled(sets, eta)
        self._risk = weights * np.exp(eta - self._scaled.shift)

    @cached_property
    def _group_shift(self) -> Floats:
        """Shift of each group: that of the last row at risk."""
        return np.asarray(self._scaled.shift[self._sets.end - 1])

    @cached_property
    def _event_factor(self) -> Floats:
        """exp(shift of the row - shift of the group) of the events."""
        sets = self._sets
        return np.asarray(np.exp(self._scaled.shift[sets.event] - self._group_shift[sets.event_group]))

    def _events(self, values: Floats) -> Floats:
        """Sums over the events of each group, relative to its shift."""
        factor = self._event_factor
        return self._sets.events(values[self._sets.event] * factor.reshape(-1, *[1] * (values.ndim - 1)))

    @cached_property
    def _total(self) -> Floats:
        """Sum of exp(eta) over the risk set of each group, relative to its shift."""
        return self._scaled.at_risk(self._risk)

    @cached_property
    def _denominators(self) -> Floats:
        """Denominators relative to the sum over the risk set."""
        sets = self._sets
        tied = (self._events(self._risk) / self._total)[sets.denominator_group]
        return np.asarray(1 - sets.fraction * tied)

    @cached_property
    def deviance(self) -> float:  # type: ignore[override]
        sets, w, at = self._sets, self._w, self._sets.event
        logs = np.log(self._denominators) + np.log(self._total)[sets.denominator_group]
        return 2 * float(sets.count @ logs - w[at] @ (self._eta[at] - self._group_shift[sets.event_group]))

    def _sums(self, values: Floats) -> Floats:
        """Sums over the denominators of each group."""
        sets = self._sets
        return np.bincount(sets.denominator_group, sets.count * values, minlength=len(sets.end)).astype(np.float64)

    @cached_property
    def _hazard(self) -> Floats:
        """exp(eta) times the cumulative hazard of each row: the expected number of events."""
        sets = self._sets
        cumulative = self._scaled.spread(self._sums(1 / self._denominators) / self._total)
        tied = self._sums(sets.fraction / self._denominators) / self._total
        cumulative[sets.event] -= self._event_factor * tied[sets.event_group]
        return np.asarray(self._risk * cumulative)

    @cached_property
    def residual(self) -> Floats:
        """Martingale residuals."""
        residual = -self._hazard
        residual[self._sets.event] += self._w[self._sets.event]
        return residual[:, None]

    def scores(self, Z: Floats) -> Floats:
        """Score residuals: those of Z' residual, because sums over risk sets have terms of several rows.

        An event adds z minus the mean over its risk set, averaged over the denominators of ties; the compensator of a
        row, the sum of its hazard times the same difference over the times at which it is at risk, is its row of W Z.
        """
        sets, (mean, tied) = self._sets, self._means(Z)
        ones, fractions = (self._sums(f / self._denominators)[:, None] for f in (1.0, sets.fraction))
        means = (ones * mean - fractions * tied) / self._sums(np.ones(len(sets.count)))[:, None]
        scores = -self.weighted(Z)[:, 0, :, 0]
        scores[sets.event] += self._w[sets.event, None] * (Z[sets.event] - means[sets.event_group])
        return np.asarray(scores)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Sums over denominators of 1, f and f^2, over the denominators' squares."""
        f, square = self._sets.fraction, self._denominators**2
        return self._sums(1 / square), self._sums(f / square), self._sums(f * f / square)

    def _means(self, Z: Floats) -> tuple[Floats, Floats]:
        """Sums of exp(eta) z over the risk set and over the tied events, relative to that of exp(eta)."""
        risk, total = self._risk[:, None] * Z, self._total[:, None]
        return self._scaled.at_risk(risk) / total, self._events(risk) / total

    def weighted(self, Z: Floats) -> Floats:
        """W Z. With S1 and S1d the sums of exp(eta) z, the mean of z is (S1 - f S1d) / (S0 - f S0d)."""
        sets, (a, b, c) = self._sets, (m[:, None] for m in self._moments)
        mean, tied = self._means(Z)
        means = self._scaled.spread((a * mean - b * tied) / self._total[:, None])
        within = ((b * mean - c * tied) / self._total[:, None])[sets.event_group]
        means[sets.event] -= self._event_factor[:, None] * within
        return np.asarray(self._hazard[:, None] * Z - self._risk[:, None] * means)[:, None, :, None]

    def gram(self, Z: Floats, *, observed: bool = False) -> Floats:
        a, b, c = (m[:, None] for m in self._moments)
        mean, tied = self._means(Z)
        cross = tied.T @ (b * mean)
        own = Z.T @ (self._hazard[:, None] * Z)
        return np.asarray(own - mean.T @ (a * mean) + cross + cross.T - tied.T @ (c * tied))

    def squares(self, block: Floats, rows: slice) -> Floats:
        a, b, c = self._moments
        mean, tied = self._means(block)
        own = self._hazard @ (block * block)
        return np.asarray(own - a @ mean**2 + 2 * (b @ (mean * tied)) - c @ tied**2)[:, None, None]

    def sparse_squares(self, X: Any) -> Floats:
        """x' W x of the columns x of a sparse array in CSC format with sorted indices, read once.

        The mean of x over the risk sets changes only at stored values: between two of them, the terms of the groups
        are the square of a cumulative sum times a sum over groups. Where eta spreads so far that exp(eta) has no common
        scale, columns are made dense, a few at a time.
        """
        sets, (a, b, c), total, p = self._sets, self._moments, self._total, X.shape[1]
        if len(self._scaled.segments) > len(sets.strata):
            width = max(1, DENSE_SIZE // X.shape[0])
            parts = [self.squares(X[:, at : at + width].toarray(), slice(None)) for at in range(0, p, width)]
            return np.concatenate(parts)[:, 0, 0]
        later = sets.sums_of_later(a / total**2)
        column = np.repeat(np.arange(p), np.diff(X.indptr))
        row, risk = X.indices, self._risk[X.indices] * X.data
        group, stratum = sets.first_group[row], sets.stratum[row]
        new = np.r_[True, (column[1:] != column[:-1]) | (stratum[1:] != stratum[:-1])][: len(row)]
        sums = _cumulative(risk, np.flatnonzero(new))
        after = np.r_[np.where(new[1:], 0.0, later[group[1:]]), 0.0][: len(row)]
        own = self._hazard[row] * X.data**2 - sums**2 * (later[group] - after)
        squares = np.bincount(column, own, p).astype(np.float64)
        at = np.flatnonzero(sets.is_event[row])
        if not len(at):
            return squares
        group, column_at = sets.group_of_event[row[at]], column[at]
        first = np.flatnonzero(np.r_[True, (group[1:] != group[:-1]) | (column_at[1:] != column_at[:-1])])
        tied, group, column_at = np.add.reduceat(risk[at], first) / total[group[first]], group[first], column_at[first]
        n = X.shape[0]
        last = np.searchsorted(column * n + row, column_at * n + sets.end[group]) - 1
        terms = 2 * b[group] * tied * sums[last] / total[group] - c[group] * tied**2
        return np.asarray(squares + np.bincount(column_at, terms, p))


class CoxRegression(Likelihood):
    """Proportional hazards.

    Parameters
    ----------
    time : ndarray of shape (n_rows,)
    event : ndarray of bool of shape (n_rows,)
    stratum : ndarray of shape (n_rows,)
        Codes of the strata; rows are sorted by stratum and descending time.
    weights : ndarray of shape (n_rows,)
        Frequencies, all positive; whole numbers at the events for Efron's ties.
    offset : ndarray of shape (n_rows,)
    ties : {"efron", "breslow"}
    """

    absorbs = ()
    sample_unit = "events"

    def __init__(
        self,
        time: Floats,
        event: NDArray[np.bool_],
        stratum: Indices,
        weights: Floats,
        offset: Floats,
        ties: Ties,
    ) -> None:
        super().__init__(weights, offset)
        self.sets = RiskSets(time, event, stratum, weights, ties)
        self.constants = np.array([weights[event].sum(), weights.sum()])

    @property
    def df(self) -> float:
        return float(self.constants[1]) - len(self.sets.strata)

    def local(self, eta: Floats, nuisance: Floats) -> CoxLocal:
        return CoxLocal(self.sets, self.w, eta[:, 0])

    def start(self) -> Floats:
        return np.empty((0, 1))


@dataclass(frozen=True)
class Cox(LikelihoodFamily):
    """Cox regression of survival times: proportional hazards.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan; None refits all.
    ties : {"efron", "breslow"}, default="efron"
        Treatment of events at the same time.
    """

    kind = "cox"
    synonyms = ("coxph", "survival", "proportional_hazards")
    title = "Cox regression"
    description = "Cox regression of survival times"
    effect = "hazard ratio"
    metric = "concordance"
    r = "coxph()"
    target = "times"
    in_blocks = False
    why_in_memory = (
        "its risk sets are sums over rows that are sorted by time; pass a table, or model='logistic' or 'poisson' for "
        "events in periods"
    )

    ties: Ties = "efron"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties not in ("efron", "breslow"):
            raise ValueError(f"ties must be 'efron' or 'breslow'; got {self.ties!r}")

    def sample(self, X: Any, y: Any, rows: PerRow, given: Parameters) -> Sample:
        """Validate data; a structured y becomes two columns."""
        return super().sample(X, as_columns(y), rows, given)

    def read_target(self, y: Any, n_rows: int, weights: Floats | None) -> Survival:
        return as_survival(y, n_rows)

    def likelihood(self, y: Any, weights: Floats, offset: Floats, about: About) -> CoxRegression:
        raise NotImplementedError  # rows are sorted first; see `likelihood_of`

    def likelihood_of(self, sample: Sample) -> tuple[CoxRegression, Indices, Indices]:
        target, n = sample.target, sample.table.n_rows
        stratum = as_strata(sample.strata, n)
        rows, w = present(sample.weights, n)
        time, event, stratum = target.time[rows], target.event[rows], stratum[rows]
        if self.ties == "efron" and np.abs(w[event] - np.rint(w[event])).max(initial=0.0) > WHOLE:
            raise ValueError(
                "sample_weight counts rows, and Efron's ties need whole numbers at the events; "
                "use Cox(ties='breslow') for other weights"
            )
        order = np.lexsort((-time, stratum))
        first = np.full(stratum.max() + 1, np.inf)
        np.minimum.at(first, stratum[event], time[event])
        order = order[time[order] >= first[stratum[order]]]  # rows censored before the first event are never at risk
        if not event.any():
            raise ValueError("y has no events: every time is censored; at least one event is required")
        codes = np.unique(stratum[order], return_inverse=True)[1].astype(np.intp)
        offset = as_offset(sample.offset, n)[rows][order]
        likelihood = CoxRegression(time[order], event[order], codes, w[order], offset, self.ties)
        return likelihood, rows[order], codes

    def losses(self, sample: Sample, fold: Fold, columns: Sequence[int], fit: Coefficients) -> Losses:
        """The partial-likelihood deviance of all rows minus that of the training rows, per event.

        Risk sets of the test rows alone would be small (Verweij and van Houwelingen 1993).
        """
        (train, test), n = fold, sample.table.n_rows
        eta = predictor(sample, np.arange(n), fit).reshape(n) + as_offset(sample.offset, n)
        both = np.concatenate([train, test])
        gone, used = (self.local(sample.at(rows), eta[rows])[0].deviance for rows in (train, both))
        events = float(row_weights(sample, test) @ sample.target.event[test])
        return {"partial_deviance": (used - gone) / max(events, 1.0)}

    def measure(self, sample: Sample, eta: Floats, fit: Coefficients) -> float:
        return concordance(sample.target, eta[:, 0], sample.weights, sample.strata)


def concordance(target: Survival, risk: Floats, weights: Floats | None = None, strata: Any = None) -> float:
    """Harrell's c: share of the usable pairs in which the row with the earlier event has the larger risk.

    A row that is censored at the time of an event has outlived it. Pairs of different strata are not usable.
    """
    w, stratum = np.ones(len(risk)) if weights is None else weights, as_strata(strata, len(risk))
    concordant = usable = 0.0
    for i in np.flatnonzero(target.event):
        outlives = (target.time > target.time[i]) | ((target.time == target.time[i]) & ~target.event)
        outlives &= stratum == stratum[i]
        usable += w[i] * w[outlives].sum()
        concordant += w[i] * w[outlives] @ ((risk[outlives] < risk[i]) + 0.5 * (risk[outlives] == risk[i]))
    return float(concordant / usable) if usable else 0.5
