"""Likelihoods of row sources: sums over blocks of rows that a fit and a score test need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.factor import Unusable
from dropstep.data.source import Block
from dropstep.data.summary import Layout, Part, class_codes
from dropstep.models.glm.exponential import Bernoulli, PoissonCounts
from dropstep.models.glm.likelihood import Pointwise
from dropstep.models.glm.multinomial import Multinomial
from dropstep.models.glm.newton import Point, Trial
from dropstep.models.glm.screening import Direction
from dropstep.models.tests import NO_ROWS, ScoreSum

Floats = NDArray[np.float64]
RowLikelihood = Bernoulli | PoissonCounts | Multinomial

BLOCK_SIZE = 2**21  # numbers of the design matrix of a block that are in memory at a time


@dataclass(frozen=True, eq=False)
class Totals:
    """Arrays of sums and maxima over rows; those of disjoint rows can be added.

    Attributes
    ----------
    sums : tuple of ndarray
    largest : tuple of float
    """

    sums: tuple[Floats, ...]
    largest: tuple[float, ...] = ()

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            tuple(a + b for a, b in zip(self.sums, other.sums, strict=True)),
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
        part, index = self.layout.part(block), np.asarray(columns, dtype=np.intp)
        present = np.arange(part.n_rows) if part.weights is None else np.flatnonzero(part.weights > 0)
        step = max(64, BLOCK_SIZE // max(len(index), 1))
        for start in range(0, len(present), step):
            rows = present[start : start + step]
            values = part.design(self.layout, self.encoding, columns, rows)
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
        codes = class_codes(column, self.labels)[rows]
        if len(self.labels) == 2:
            return Bernoulli(codes.astype(np.float64), w, offset)
        return Multinomial(codes.astype(np.intp), len(self.labels), w, offset)


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
class Evaluate:
    """Deviance, Pearson's statistic, gradient and information of several fits, in one pass.

    Attributes
    ----------
    recipe : Recipe
    selected : tuple of tuple of int
        Columns of each fit.
    trials : tuple of Trial
    """

    recipe: Recipe
    selected: tuple[tuple[int, ...], ...]
    trials: tuple[Trial, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns that the trials need."""
        return tuple(sorted({c for columns in self.selected for c in columns}))

    def __call__(self, block: Block) -> Totals:
        sums = []
        for trial in self.trials:
            k, q = trial.theta.shape
            sums += [np.zeros(()), np.zeros(()), np.zeros((k, q)), np.zeros((k * q, k * q))]
        columns = self.columns
        nothing = Totals(tuple(sums), (0.0,) * len(self.trials))
        place = {c: i for i, c in enumerate(columns)}
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # of trials that are rejected
            return _added((self._of(like, X, place) for like, X in self.recipe.parts(block, columns)), nothing)

    def _of(self, like: RowLikelihood, X: Floats, place: dict[int, int]) -> Totals:
        sums: list[Floats] = []
        largest = []
        for selected, trial in zip(self.selected, self.trials, strict=True):
            Z = np.ones((len(X), len(trial.theta)), order="F")
            Z[:, 1:] = X[:, [place[c] for c in selected]]
            point = Point(like, Z, trial)
            assert isinstance(point.local, Pointwise)
            largest.append(point.reach)
            sums += [np.asarray(point.deviance), np.asarray(point.local.pearson), point.gradient, point.information]
        return Totals(tuple(sums), tuple(largest))


@dataclass(frozen=True, eq=False)
class Score:
    """What score tests of candidates need of a fit, in one pass.

    Attributes
    ----------
    recipe : Recipe
    selected : tuple of int
        Columns of the present fit.
    theta : ndarray of shape (1 + n_selected, n_outputs)
        Its intercept, and coefficients of the standardised columns.
    units : tuple of tuple of int
        Columns of each candidate.
    """

    recipe: Recipe
    selected: tuple[int, ...]
    theta: Floats
    units: tuple[tuple[int, ...], ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns of the fit and of the candidates, in order."""
        return tuple(sorted({*self.selected, *(c for unit in self.units for c in unit)}))

    def __call__(self, block: Block) -> Totals:
        columns = self.columns
        (k, q), p = self.theta.shape, len(columns)
        wide = [np.zeros((len(unit) * q, len(unit) * q)) for unit in self.units if len(unit) > 1]
        products = [np.zeros((p, q)), np.zeros((p, q, k * q)), np.zeros((p, q, q)), *wide]
        place = {c: i for i, c in enumerate(columns)}
        parts = self.recipe.parts(block, columns)
        return _added((self._of(like, X, place) for like, X in parts), Totals(tuple(products)))

    def _of(self, like: RowLikelihood, X: Floats, place: dict[int, int]) -> Totals:
        q = self.theta.shape[1]
        Z = np.ones((len(X), len(self.theta)), order="F")
        Z[:, 1:] = X[:, [place[c] for c in self.selected]]
        local, wide = like.at(like.offset + Z @ self.theta), [unit for unit in self.units if len(unit) > 1]
        cross = (X.T @ local.weighted(Z).reshape(len(X), -1)).reshape(X.shape[1], q, -1)
        sums = [X.T @ local.residual, cross, local.squares(X, slice(None))]
        for unit in wide:
            own, size = X[:, [place[c] for c in unit]], len(unit) * q
            sums.append(np.tensordot(own, local.weighted(own), axes=(0, 0)).reshape(size, size))
        return Totals(tuple(sums))


@dataclass(frozen=True, eq=False)
class Along:
    """The score of one unit along a direction, in one pass.

    Attributes
    ----------
    recipe : Recipe
    selected : tuple of int
        Columns of the present fit.
    theta : ndarray of shape (1 + n_selected, n_outputs)
    unit : tuple of int
        Columns of the unit.
    direction : Direction
    """

    recipe: Recipe
    selected: tuple[int, ...]
    theta: Floats
    unit: tuple[int, ...]
    direction: Direction

    def __call__(self, block: Block) -> ScoreSum:
        columns = tuple(sorted({*self.selected, *self.unit}))
        place = {c: i for i, c in enumerate(columns)}
        scores = []
        for like, X in self.recipe.parts(block, columns):
            Z = np.ones((len(X), len(self.theta)), order="F")
            Z[:, 1:] = X[:, [place[c] for c in self.selected]]
            local = like.at(like.offset + Z @ self.theta)
            scores.append(self.direction.score(X[:, [place[c] for c in self.unit]], Z, like, local))
        return reduce(add, scores, NO_ROWS)
