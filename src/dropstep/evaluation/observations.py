"""Observations: what is drawn when a selection is repeated on parts of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.response import Survival
from dropstep.data.sample import Sample
from dropstep.data.target import Categorical

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]

MAX_OBSERVATIONS = 2**24  # beyond which an observation stands for several of the same row
MIN_OBSERVATIONS = 4  # of a regression
MIN_CLASS = 2  # observations of a class


@dataclass(frozen=True, eq=False)
class Observations:
    """The observations of a sample, as they are divided into parts.

    Weights are frequencies: a row with a weight of 3 is three observations, which may be in different parts. Weights
    that are not whole numbers stay with their row, and so do those of an estimator. Rows of weight 0 are none.

    Attributes
    ----------
    row : ndarray of int of shape (n_observations,)
        Row of each observation.
    weights : ndarray of shape (n_samples,) or None
        Weight of a single observation of each row.
    stratum : ndarray of int of shape (n_observations,) or None
        Classes or events, which parts share alike.
    group : ndarray of int of shape (n_observations,) or None
        Groups of dependent observations, numbered from 0, which stay in one part.
    """

    row: Indices
    weights: Floats | None
    stratum: Indices | None
    group: Indices | None

    @classmethod
    def of(cls, sample: Any) -> Observations:
        """The observations of a sample."""
        weights = sample.weights if isinstance(sample, Sample) else None
        row = np.arange(sample.n_rows)
        if weights is not None:
            row, weights = _copies(weights)
        stratum, group = sample.stratum, None
        if sample.groups is not None:
            group = np.unique(np.asarray(sample.groups).astype(str)[row], return_inverse=True)[1].ravel()
        return cls(row, weights, None if stratum is None else stratum[row], group)

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.row)

    @property
    def has_copies(self) -> bool:
        """Whether a row is several observations."""
        return bool(self.n > 1 and (np.diff(self.row) == 0).any())

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None if there are none."""
        return None if self.group is None else int(self.group.max()) + 1

    @property
    def n_rarest(self) -> int:
        """Number of observations, or of groups that have some, in the smallest stratum."""
        stratum = np.zeros(self.n, dtype=np.intp) if self.stratum is None else self.stratum
        if self.group is not None:
            stratum = np.unique(np.column_stack([stratum, self.group]), axis=0)[:, 0]
        return int(np.bincount(stratum).min())

    def deal(self, n_parts: int, rng: np.random.Generator) -> Indices:
        """The part of each observation: parts are random, and differ by at most one observation or group."""
        first, stratum = self._first()
        return self._spread(deal(len(first), stratum, n_parts, rng))

    def share(self, share: float, rng: np.random.Generator) -> Bools:
        """A random share of the observations or groups, the same in each stratum."""
        first, stratum = self._first()
        order = _shuffled(len(first), stratum, rng)
        steps = np.floor(np.arange(len(first) + 1) * share + rng.random())
        inside = np.empty(len(first), dtype=bool)
        inside[order] = np.diff(steps) > 0
        return self._spread(inside)

    def _first(self) -> tuple[Indices, Indices | None]:
        """What is drawn as a whole, observations or the first ones of each group, and their strata."""
        first = np.arange(self.n) if self.group is None else np.unique(self.group, return_index=True)[1]
        return first, None if self.stratum is None else self.stratum[first]

    def _spread(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.group is None else values[self.group]

    def at(self, sample: Any, drawn: Indices) -> Any:
        """The sample of some observations, which may be drawn several times."""
        if self.weights is None:
            return sample.at(self.row[drawn])
        rows, counts = np.unique(self.row[drawn], return_counts=True)
        return replace(sample.at(rows), weights=counts * self.weights[rows])


def are_counts(weights: Floats) -> bool:
    """True if weights are whole numbers, so that each of them counts observations."""
    return np.array_equal(weights, np.floor(weights))


def _copies(weights: Floats) -> tuple[Indices, Floats]:
    """The row of each observation, and the weight of one observation of each row."""
    if are_counts(weights):
        n_copies = np.ceil(weights * min(1.0, MAX_OBSERVATIONS / weights.sum()))
    else:
        n_copies = np.ceil(np.minimum(weights, 1.0))
    return np.repeat(np.arange(len(weights)), n_copies.astype(np.intp)), weights / np.maximum(n_copies, 1.0)


def _shuffled(n: int, stratum: Indices | None, rng: np.random.Generator) -> Indices:
    """A random order, by stratum."""
    return np.lexsort((rng.random(n), np.zeros(n) if stratum is None else stratum))


def deal(n: int, stratum: Indices | None, n_parts: int, rng: np.random.Generator) -> Indices:
    """The part of each of n items: parts are random, and differ by at most one item, and by two in each stratum."""
    order = _shuffled(n, stratum, rng)
    runs = rng.random((-(-n // n_parts), n_parts)).argsort(axis=1)
    part = np.empty(n, dtype=np.intp)
    part[order] = runs.ravel()[:n]
    return part


def estimable(sample: Any) -> Any:
    """A part of the rows without classes of a single observation; None if no model can be fitted to its target."""
    if (target := getattr(sample, "target", None)) is None:
        return sample
    if not isinstance(target, Categorical):
        return sample if varies(target, sample.weights) else None
    counts = np.bincount(target.codes, sample.weights, minlength=len(target.labels))
    kept = counts >= MIN_CLASS - 1e-9
    if kept.sum() < 2 or counts[kept].sum() - kept.sum() < 2:
        return None
    return sample if kept.all() else sample.at(np.flatnonzero(kept[target.codes]))


def varies(target: Any, weights: Floats | None) -> bool:
    """Whether there are enough observations of a target, and none of its columns is constant or follows from others."""
    event = target.event if isinstance(target, Survival) else None
    values = getattr(target, "values", target) if event is None else event[:, None].astype(np.float64)
    values = values.reshape(len(values), -1)
    if weights is not None:
        values = values[weights > 0]
    if (len(values) if weights is None else weights.sum()) < MIN_OBSERVATIONS:
        return False
    if event is not None:
        return bool(values.any())
    if not np.ptp(values, axis=0).all():
        return False
    centred = values - values.mean(axis=0)
    return values.shape[1] == 1 or bool(np.linalg.matrix_rank(centred / np.ptp(values, axis=0)) == values.shape[1])
