"""Likelihoods of row sources: sums over blocks of rows that a fit and a score test need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.factor import Factor, Unusable
from dropstep.data.frame import Frame
from dropstep.data.sources import Block
from dropstep.data.sources.layout import Layout, Part
from dropstep.models.glm.exponential import Bernoulli, PoissonCounts
from dropstep.models.glm.multinomial import Multinomial

Floats = NDArray[np.float64]
RowLikelihood = Bernoulli | PoissonCounts | Multinomial

BLOCK_SIZE = 2**21  # numbers of the design matrix of a block that are in memory at a time


@dataclass(frozen=True, eq=False)
class Totals:
    """Arrays of sums, minima and maxima over rows; those of disjoint rows can be added.

    Attributes
    ----------
    sums, least, largest : tuple of ndarray
    """

    sums: tuple[Floats, ...]
    least: tuple[float, ...] = ()
    largest: tuple[float, ...] = ()

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)),
            tuple(min(a, b) for a, b in zip(self.least, other.least, strict=True)),
            tuple(max(a, b) for a, b in zip(self.largest, other.largest, strict=True)),
        )


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a block of rows becomes a likelihood and standardised columns.

    Attributes
    ----------
    layout : Layout
    encoding : Encoding
        Of all features.
    centre, scale : ndarray of shape (n_columns,)
        Columns of the design matrix are (x - centre) / scale.
    labels : ndarray of shape (n_classes,) or None
        Class labels; None for counts.
    """

    layout: Layout
    encoding: Encoding
    centre: Floats
    scale: Floats
    labels: NDArray[np.generic] | None

    def reading(self, columns: Sequence[int]) -> Recipe:
        """The recipe that reads only the features that some columns encode; all, if rows with gaps are dropped."""
        if self.layout.missing == "drop":
            return self
        used = {self.encoding.owners[c] for c in columns}
        return replace(self, layout=self.layout.without([j for j in self.layout.read if j not in used]))

    def parts(self, block: Block, columns: Sequence[int]) -> Iterator[tuple[RowLikelihood, Floats]]:
        """The likelihood of some rows and their standardised columns, for a limited number of rows at a time."""
        part = self.layout.part(block)
        used = sorted({self.encoding.owners[c] for c in columns})
        encoding = self.encoding.take(used)
        at = {j: i for i, j in enumerate(self.layout.read)}
        frame = Frame(tuple(part.features[at[j]] for j in used), part.n_rows, encoding.names)
        place = {c: i for i, c in enumerate(c for j in used for c in self.encoding.columns(j))}
        taken, index = [place[c] for c in columns], np.asarray(columns, dtype=np.intp)
        present = np.arange(part.n_rows) if part.weights is None else np.flatnonzero(part.weights > 0)
        step = max(64, BLOCK_SIZE // max(encoding.n_columns, 1))
        for start in range(0, len(present), step):
            rows = present[start : start + step]
            values = encoding.encode(_at(frame, rows))[:, taken] if used else np.empty((len(rows), 0))
            values -= self.centre[index]
            values /= self.scale[index]
            yield self._likelihood(part, rows), values

    def _likelihood(self, part: Part, rows: NDArray[np.intp]) -> RowLikelihood:
        """The likelihood of some rows."""
        w = np.ones(len(rows)) if part.weights is None else part.weights[rows]
        offset = np.zeros(len(rows)) if part.offset is None else part.offset[rows]
        column = part.targets[0]
        assert not isinstance(column, Unusable)
        if self.labels is None:
            assert isinstance(column, np.ndarray)
            y = np.asarray(column[rows], dtype=np.float64)
            if len(y) and y.min() < 0:
                where = part.row(int(rows[np.argmin(y)]))
                raise ValueError(
                    f"{where}: y must contain counts, which are not negative; it is {y.min():g}; use model='linear'"
                )
            return PoissonCounts(y, w, offset)
        if isinstance(column, Factor):
            levels = np.array(column.levels)
            levels = levels if levels.dtype.kind in "biuf" else levels.astype(str)
            codes = np.searchsorted(self.labels, levels)[column.codes[rows]]
        else:
            codes = np.searchsorted(self.labels, column[rows])
        if len(self.labels) == 2:
            return Bernoulli(codes.astype(np.float64), w, offset)
        return Multinomial(codes.astype(np.intp), len(self.labels), w, offset)


def _at(frame: Frame, rows: NDArray[np.intp]) -> Frame:
    """Some rows of a frame; factors keep their levels."""
    columns = tuple(
        Factor(c.codes[rows], c.levels, c.declared) if isinstance(c, Factor) else c[rows]
        for c in frame.columns
        if not isinstance(c, Unusable)
    )
    return Frame(columns, len(rows), frame.names)


def _added(results: Iterator[Totals], nothing: Totals) -> Totals:
    total = nothing
    for result in results:
        total = total + result
    return total


@dataclass(frozen=True, eq=False)
class Constants:
    """Sums that do not depend on a fit: weights, those of y and of the offset, rows, and the saturated likelihood."""

    recipe: Recipe

    def __call__(self, block: Block) -> Totals:
        nothing = Totals(tuple(np.zeros(()) for _ in range(6)))
        return _added((self._of(like) for like, _ in self.recipe.parts(block, ())), nothing)

    def _of(self, like: RowLikelihood) -> Totals:
        w, offset = like.w, like.offset[:, 0]
        y = np.zeros(len(w)) if isinstance(like, Multinomial) else like.y
        saturated = like._saturated if isinstance(like, PoissonCounts) else 0.0
        with np.errstate(over="ignore"):
            sums = (w.sum(), w @ y, w @ offset, w @ np.exp(offset), float(len(w)), saturated)
        return Totals(tuple(np.asarray(value) for value in sums))


@dataclass(frozen=True, eq=False)
class Trial:
    """Coefficients at which a likelihood is evaluated.

    Attributes
    ----------
    columns : tuple of int
    theta : ndarray of shape (1 + n_columns, n_outputs)
        Intercept, and coefficients of the standardised columns.
    step : ndarray of the same shape
        A direction, whose largest change of eta and recession are evaluated as well.
    """

    columns: tuple[int, ...]
    theta: Floats
    step: Floats


@dataclass(frozen=True, eq=False)
class Evaluate:
    """Deviance, Pearson's statistic, gradient and information of several fits, in one pass.

    Attributes
    ----------
    recipe : Recipe
    trials : tuple of Trial
    """

    recipe: Recipe
    trials: tuple[Trial, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns that the trials need."""
        return tuple(sorted({c for trial in self.trials for c in trial.columns}))

    def __call__(self, block: Block) -> Totals:
        sums = []
        for trial in self.trials:
            k, q = trial.theta.shape
            sums += [np.zeros(()), np.zeros(()), np.zeros((k, q)), np.zeros((k * q, k * q))]
        n, columns = len(self.trials), self.columns
        nothing = Totals(tuple(sums), (np.inf,) * n, (0.0,) * n)
        place = {c: i for i, c in enumerate(columns)}
        parts = self.recipe.parts(block, columns)
        return _added((self._of(like, X, place) for like, X in parts), nothing)

    def _of(self, like: RowLikelihood, X: Floats, place: dict[int, int]) -> Totals:
        sums: list[Floats] = []
        least, largest = [], []
        for trial in self.trials:
            Z = np.ones((len(X), len(trial.theta)), order="F")
            Z[:, 1:] = X[:, [place[c] for c in trial.columns]]
            local = like.at(like.offset + Z @ trial.theta)
            direction = Z @ trial.step
            least.append(like.recession(direction))
            largest.append(float(np.abs(direction).max()))
            sums += [np.asarray(local.deviance), np.asarray(local.pearson), Z.T @ local.residual, local.gram(Z)]
        return Totals(tuple(sums), tuple(least), tuple(largest))


@dataclass(frozen=True, eq=False)
class Score:
    """What score tests of candidates need of a fit, in one pass.

    Attributes
    ----------
    recipe : Recipe
    fit : Trial
        The present fit.
    units : tuple of tuple of int
        Columns of each candidate.
    """

    recipe: Recipe
    fit: Trial
    units: tuple[tuple[int, ...], ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns of the fit and of the candidates, in order."""
        return tuple(sorted({*self.fit.columns, *(c for unit in self.units for c in unit)}))

    def __call__(self, block: Block) -> Totals:
        columns = self.columns
        (k, q), p = self.fit.theta.shape, len(columns)
        wide = [np.zeros((len(unit) * q, len(unit) * q)) for unit in self.units if len(unit) > 1]
        nothing = Totals((np.zeros((p, q)), np.zeros((p, q, k * q)), np.zeros((p, q, q)), *wide))
        place = {c: i for i, c in enumerate(columns)}
        parts = self.recipe.parts(block, columns)
        return _added((self._of(like, X, place) for like, X in parts), nothing)

    def _of(self, like: RowLikelihood, X: Floats, place: dict[int, int]) -> Totals:
        q = self.fit.theta.shape[1]
        Z = np.ones((len(X), len(self.fit.theta)), order="F")
        Z[:, 1:] = X[:, [place[c] for c in self.fit.columns]]
        local = like.at(like.offset + Z @ self.fit.theta)
        cross = X.T @ local.weighted(Z).reshape(len(X), -1)
        wide = []
        for unit in self.units:
            if len(unit) > 1:
                own = X[:, [place[c] for c in unit]]
                size = len(unit) * q
                wide.append(np.tensordot(own, local.weighted(own), axes=(0, 0)).reshape(size, size))
        squares = local.squares(X, slice(None))
        return Totals((X.T @ local.residual, cross.reshape(X.shape[1], q, -1), squares, *wide))
