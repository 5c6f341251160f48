"""Tests in the tails for tables that are read in blocks of rows: several candidates in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.rearrange import pooled
from dropstep.data.sample import Sample
from dropstep.data.source import Block
from dropstep.data.summary import Layout, class_codes, numbers_of
from dropstep.models.base import Units
from dropstep.models.least_squares.row_residuals import Ahead
from dropstep.models.tests import NO_ROWS, ScoreSum

Floats = NDArray[np.float64]

DEPENDENT = 1e-10  # relative eigenvalue below which a direction counts as linearly dependent
BLOCK_SIZE = 2**21  # numbers of the design matrix that are in memory at a time


@dataclass(frozen=True, eq=False)
class Combinations:
    """Linear combinations of centred columns, one per candidate: the candidate and the residual given a selection.

    Attributes
    ----------
    candidate, residual : ndarray of shape (n_columns + n_targets, n_candidates)
        Coefficients of the columns of the design matrix, followed by the targets.
    """

    candidate: Floats
    residual: Floats


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of several candidates; those of disjoint rows can be added."""

    of: tuple[ScoreSum, ...]

    def __add__(self, other: Scores) -> Scores:
        return Scores(tuple(a + b for a, b in zip(self.of, other.of, strict=True)))


@dataclass(frozen=True, eq=False)
class Pass:
    """The scores of a block of rows.

    Attributes
    ----------
    layout : Layout
    encoding : Encoding
    labels : ndarray or None
        Class labels; None for numbers.
    columns : tuple of int
        Columns of the design matrix that are read.
    means : ndarray of shape (n_columns + n_targets,)
    combinations : Combinations
    """

    layout: Layout
    encoding: Encoding
    labels: NDArray[np.generic] | None
    columns: tuple[int, ...]
    means: Floats
    combinations: Combinations

    def __call__(self, block: Block) -> Scores:
        part = self.layout.part(block)
        present = np.arange(part.n_rows) if part.weights is None else np.flatnonzero(part.weights > 0)
        if self.labels is None:
            targets = np.column_stack([numbers_of(column) for column in part.targets])
        else:
            targets = class_codes(part.targets[0], self.labels)[:, None] == np.arange(1, len(self.labels))
        scores = Scores((NO_ROWS,) * self.combinations.candidate.shape[1])
        step = max(64, BLOCK_SIZE // len(self.means))
        for start in range(0, len(present), step):
            rows = present[start : start + step]
            values = np.hstack([part.design(self.layout, self.encoding, self.columns, rows), targets[rows]])
            values -= self.means
            candidates, residuals = values @ self.combinations.candidate, values @ self.combinations.residual
            weights = None if part.weights is None else part.weights[rows]
            pairs = zip(candidates.T, residuals.T, strict=True)
            scores = scores + Scores(tuple(ScoreSum.of(g, e, weights) for g, e in pairs))
        return scores


@dataclass(frozen=True, eq=False)
class BlockResiduals:
    """Tests in the tails of a row source. See `RowResiduals.log_tail`.

    One pass reads the columns of a candidate, of the selected ones, and of those that are likely to be added next.

    Attributes
    ----------
    sample : Sample
    units : Units
    """

    sample: Sample
    units: Units
    _known: dict[tuple[frozenset[int], int], ScoreSum] = field(default_factory=dict)

    def log_tail(
        self, unit: int, selected: Sequence[int], statistic: float, df: float, ahead: Ahead | None = None
    ) -> float | None:
        """Logarithm of the p-value of adding a unit in the tails; None where its partial F test holds."""
        key = frozenset(selected), unit
        if key not in self._known:
            self._read([*selected], [unit, *(() if ahead is None else ahead())])
        return self._known[key].log_p_value(statistic, df, statistic)

    def _read(self, selected: list[int], chain: Sequence[int]) -> None:
        """The scores of units that are added one after the other, in one pass."""
        sample, known = self.sample, self.sample.moments
        steps = [([*selected, *chain[:i]], unit) for i, unit in enumerate(chain)]
        columns = tuple(sorted(self.units.columns([*selected, *chain])))
        pairs = [self._directions(columns, *step) for step in steps]
        combinations = Combinations(*(np.column_stack(some) for some in zip(*pairs, strict=True)))
        names = sample.names or tuple(f"x{j}" for j in range(sample.n_features))
        encoding = sample.encoding or Encoding(names, (None,) * sample.n_features)
        layout = sample.layout
        if layout.missing != "drop":
            used = {encoding.owners[c] for c in columns}
            layout = layout.without([j for j in layout.read if j not in used])
        means = self._means[[*columns, *range(known.n_features, len(self._means))]]
        read = Pass(layout, encoding, known.labels, columns, means, combinations)
        scores = sample.source.total(read, layout.columns)
        for (before, unit), score in zip(steps, scores.of, strict=True):
            self._known[frozenset(before), unit] = score

    @cached_property
    def _means(self) -> Floats:
        """Means of the columns and the targets."""
        moments = self.sample.moments
        if moments.labels is None:
            return np.asarray(moments.means[0])
        return np.concatenate([pooled(moments).means[0], moments.counts[1:] / moments.n_rows])

    @cached_property
    def _scatter(self) -> Floats:
        """The scatter matrix of the columns and the targets."""
        moments = self.sample.moments
        if moments.labels is None:
            return moments.scatter
        X, counts, means = pooled(moments), moments.counts[1:], moments.means[1:, : moments.n_features]
        cross = (counts[:, None] * (means - X.means[0])).T
        return np.block([[X.scatter, cross], [cross.T, np.diag(counts) - np.outer(counts, counts) / moments.n_rows]])

    def _directions(self, columns: tuple[int, ...], selected: list[int], unit: int) -> tuple[Floats, Floats]:
        """Coefficients of the candidate and of the residual along the pair of directions of the unit's score."""
        p = self.sample.moments.n_features
        every = np.array([*columns, *range(p, len(self._scatter))])
        S = self._scatter[np.ix_(every, every)]
        scale = np.sqrt(np.where(np.diagonal(S) > 0, np.diagonal(S), 1.0))
        S = S / np.outer(scale, scale)
        at = {c: i for i, c in enumerate(columns)}
        A, U = ([at[c] for c in self.units.columns(some)] for some in (selected, [unit]))
        Y = list(range(len(columns), len(every)))
        projection = np.linalg.pinv(S[np.ix_(A, A)], rcond=DEPENDENT, hermitian=True) @ S[A]
        residual = S - S[:, A] @ projection
        whiten_unit, whiten_targets = (_whitening(residual[np.ix_(some, some)]) for some in (U, Y))
        if not whiten_unit.size or not whiten_targets.size:  # nothing remains to be tested
            return np.zeros(len(every)), np.zeros(len(every))
        left, _, right = np.linalg.svd(whiten_unit.T @ residual[np.ix_(U, Y)] @ whiten_targets, full_matrices=False)
        found = []
        for some, direction in ((U, whiten_unit @ left[:, 0]), (Y, whiten_targets @ right[0])):
            coefficients = np.zeros(len(every))
            coefficients[some] = direction
            coefficients[A] -= projection[:, some] @ direction
            found.append(coefficients / scale)
        return found[0], found[1]


def _whitening(S: Floats) -> Floats:
    """A matrix T with T' S T = I on the span of S."""
    values, vectors = np.linalg.eigh(S)
    kept = values > DEPENDENT * max(values[-1], 1.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
