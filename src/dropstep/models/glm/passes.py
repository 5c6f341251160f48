"""Fits of rows that are read in blocks: sums over the rows, one pass per Newton step for a whole shortlist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.encoding import Encoding
from dropstep.data.factor import Unusable
from dropstep.data.rearrange import pooled
from dropstep.data.sample import Sample
from dropstep.data.scale import CONSTANT
from dropstep.data.source import Block, Source
from dropstep.data.summary import Layout, Part, class_codes, numbers_of
from dropstep.models.base import Bools, Choices, Indices, Scan, Units
from dropstep.models.glm.design import independent_columns
from dropstep.models.glm.family import About, LikelihoodFamily
from dropstep.models.glm.likelihood import Likelihood, Pointwise, Summed
from dropstep.models.glm.model import Fit, GeneralizedLinear, with_unit, without_unit
from dropstep.models.glm.newton import Iteration, Optimum, Point, Trial, newton
from dropstep.models.glm.notes import notes
from dropstep.models.glm.screening import Direction, Fitted, Statistics, UnitProducts, of_products
from dropstep.models.tests import NO_ROWS, ScoreSum

Floats = NDArray[np.float64]

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
class BlockRecipe:
    """How a block of rows becomes a likelihood and standardised columns.

    Attributes
    ----------
    family : LikelihoodFamily
    about : About
        Of all rows.
    layout : Layout
    encoding : Encoding
        Of all features.
    centre, scale : ndarray of shape (n_columns,)
        Columns of the design matrix are (x - centre) / scale.
    labels : ndarray of shape (n_classes,) or None
        Class labels; None for numbers.
    """

    family: LikelihoodFamily
    about: About
    layout: Layout
    encoding: Encoding
    centre: Floats
    scale: Floats
    labels: NDArray[np.generic] | None

    def reading(self, columns: Sequence[int]) -> BlockRecipe:
        """The recipe that reads only the features that some columns encode; all, if rows with gaps are dropped."""
        if self.layout.missing == "drop":
            return self
        used = {self.encoding.owners[c] for c in columns}
        return replace(self, layout=self.layout.without([j for j in self.layout.read if j not in used]))

    def parts(self, block: Block, columns: Sequence[int]) -> Iterator[tuple[Likelihood, Floats]]:
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

    def without_rows(self) -> Likelihood:
        """The likelihood of no rows."""
        nothing = np.empty(0)
        y = nothing if self.labels is None else np.empty(0, dtype=np.intp)
        return self.family.likelihood(y, nothing, nothing, self.about)

    def _likelihood(self, part: Part, rows: NDArray[np.intp]) -> Likelihood:
        """The likelihood of some rows."""
        w = np.ones(len(rows)) if part.weights is None else part.weights[rows]
        offset = np.zeros(len(rows)) if part.offset is None else part.offset[rows]
        column = part.targets[0]
        assert not isinstance(column, Unusable)
        if self.labels is not None:
            y = class_codes(column, self.labels)[rows].astype(np.intp)
            return self.family.likelihood(y, w, offset, self.about)
        values = numbers_of(column)[rows]
        if (found := self.family.refused(values)) is not None:
            where = part.row(int(rows[found.row]))
            raise ValueError(f"{where}: {found.requirement}; it is {values[found.row]:g}; {found.remedy}")
        return self.family.likelihood(values, w, offset, self.about)


def _added(results: Iterator[Totals], nothing: Totals) -> Totals:
    total = nothing
    for result in results:
        total = total + result
    return total


@dataclass(frozen=True, eq=False)
class Constants:
    """Number of rows, and the constants of the likelihood."""

    recipe: BlockRecipe

    def __call__(self, block: Block) -> Totals:
        nothing = Totals((np.zeros(()), np.zeros_like(self.recipe.without_rows().constants)))
        parts = self.recipe.parts(block, ())
        return _added((Totals((np.asarray(float(len(like.w))), like.constants)) for like, _ in parts), nothing)


@dataclass(frozen=True, eq=False)
class Evaluate:
    """Deviance, Pearson's statistic, gradient and information of several fits, in one pass.

    Attributes
    ----------
    recipe : BlockRecipe
    selected : tuple of tuple of int
        Columns of each fit.
    trials : tuple of Trial
    """

    recipe: BlockRecipe
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
            square = np.zeros((k * q, k * q))
            sums += [
                np.zeros(()),
                np.zeros(()),
                np.zeros((k, q)),
                square,
                square if self._twice(trial) else np.empty(0),
            ]
        columns = self.columns
        nothing = Totals(tuple(sums), (0.0,) * len(self.trials))
        place = {c: i for i, c in enumerate(columns)}
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # of trials that are rejected
            return _added((self._of(like, X, place) for like, X in self.recipe.parts(block, columns)), nothing)

    def _twice(self, trial: Trial) -> bool:
        """Whether the expected information is not the one that the trial evaluates."""
        return trial.basis is None and not self.recipe.without_rows().is_canonical

    def _of(self, like: Likelihood, X: Floats, place: dict[int, int]) -> Totals:
        sums: list[Floats] = []
        largest = []
        for selected, trial in zip(self.selected, self.trials, strict=True):
            Z = terms(like, X[:, [place[c] for c in selected]])
            point = Point(like, Z, trial)
            assert isinstance(point.local, Pointwise)
            largest.append(point.reach)
            expected = point.local.information(Z) if self._twice(trial) else np.empty(0)
            sums += [np.asarray(point.deviance), np.asarray(point.local.pearson), point.gradient, point.information]
            sums.append(expected)
        return Totals(tuple(sums), tuple(largest))

    def evaluations(self, total: Totals) -> list[SummedPoint]:
        """The likelihood at each trial."""
        found = []
        for i, reach in enumerate(total.largest):
            deviance, pearson, gradient, information, expected = total.sums[5 * i : 5 * i + 5]
            known = expected if expected.size else information
            local = Summed(float(deviance), float(pearson), known, information, gradient.shape[1])
            found.append(SummedPoint(reach, gradient, information, local))
        return found


@dataclass(frozen=True, eq=False)
class SummedPoint:
    """A likelihood at a trial, from sums over all rows; see `TrialLikelihood`."""

    reach: float
    gradient: Floats
    information: Floats
    local: Summed

    @property
    def deviance(self) -> float:
        return self.local.deviance


def terms(like: Likelihood, X: Floats) -> Floats:
    """The terms of standardised columns."""
    Z = np.ones((len(X), like.n_leading + X.shape[1]), order="F")
    Z[:, like.n_leading :] = X
    return Z


@dataclass(frozen=True, eq=False)
class Score:
    """What score tests of candidates need of a fit, in one pass.

    Attributes
    ----------
    recipe : BlockRecipe
    selected : tuple of int
        Columns of the present fit.
    theta : ndarray of shape (n_terms, n_outputs)
        Its parameters, for standardised columns.
    units : tuple of tuple of int
        Columns of each candidate.
    """

    recipe: BlockRecipe
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

    def _of(self, like: Likelihood, X: Floats, place: dict[int, int]) -> Totals:
        q = self.theta.shape[1]
        Z = terms(like, X[:, [place[c] for c in self.selected]])
        local, wide = like.at(Z, self.theta), [unit for unit in self.units if len(unit) > 1]
        Z = local.terms(Z)
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
    recipe : BlockRecipe
    selected : tuple of int
        Columns of the present fit.
    theta : ndarray of shape (n_terms, n_outputs)
    unit : tuple of int
        Columns of the unit.
    direction : Direction
    """

    recipe: BlockRecipe
    selected: tuple[int, ...]
    theta: Floats
    unit: tuple[int, ...]
    direction: Direction

    def __call__(self, block: Block) -> ScoreSum:
        columns = tuple(sorted({*self.selected, *self.unit}))
        place = {c: i for i, c in enumerate(columns)}
        scores = []
        for like, X in self.recipe.parts(block, columns):
            Z = terms(like, X[:, [place[c] for c in self.selected]])
            local = like.at(Z, self.theta)
            own = X[:, [place[c] for c in self.unit]]
            scores.append(self.direction.score(own, local.terms(Z), like, local))
        return reduce(add, scores, NO_ROWS)


@dataclass(frozen=True, eq=False)
class Slopes:
    """Gradient and information of an ordinal model whose thresholds have coefficients of their own, in one pass.

    Attributes
    ----------
    recipe : BlockRecipe
    selected : tuple of int
        Columns of the present fit.
    theta : ndarray of shape (n_terms, 1)
    """

    recipe: BlockRecipe
    selected: tuple[int, ...]
    theta: Floats

    def __call__(self, block: Block) -> Totals:
        k = len(self.selected)
        size = (len(self.theta) - k) * (1 + k)
        nothing = Totals((np.zeros(size), np.zeros((size, size))))
        return _added((self._of(like, X) for like, X in self.recipe.parts(block, self.selected)), nothing)

    def _of(self, like: Likelihood, X: Floats) -> Totals:
        Z = terms(like, X)
        return Totals(like.at(Z, self.theta).unequal_slopes(Z))


@dataclass(frozen=True, eq=False)
class SummedDesign:
    """Means, standard deviations and Gram matrix of the columns of a source.

    Attributes
    ----------
    centre : ndarray of shape (1, n_columns)
    scale : ndarray of shape (n_columns,)
        Infinite for constant columns.
    correlation : ndarray of shape (n_columns, n_columns)
        Gram matrix of the standardised columns.
    """

    centre: Floats
    scale: Floats
    correlation: Floats

    @property
    def n_columns(self) -> int:
        return len(self.scale)

    @property
    def varying(self) -> Bools:
        return np.isfinite(self.scale)


class StreamedGLM(GeneralizedLinear):
    """A generalized linear model whose rows are read in blocks.

    Fits are those of `GeneralizedLinear`: Newton's method with step halving from the same start. All fits of a
    shortlist take their steps in the same pass.

    Parameters
    ----------
    source : Source
    recipe : BlockRecipe
        How blocks are read.
    others
        As those of `GeneralizedLinear`.
    """

    def __init__(self, source: Source, recipe: BlockRecipe, *others: Any) -> None:
        self.source, self.recipe = source, recipe
        self._locals: dict[tuple[int, ...], Summed] = {}
        super().__init__(recipe.family, *others)

    def _empty(self) -> Fitted:
        start = self.likelihood.start()
        (found,) = self._maximised([()], [start], [start])
        self._fits[()], self._locals[()] = Fit((), *found.summary, set()), found.at.local
        return self._load((), None)

    # --- screening ---------------------------------------------------------------------------------------------------

    def _score_statistics(self, base: Fitted, units: Indices) -> Statistics:
        members = tuple(self.units.columns([int(u)]) for u in units)
        used = tuple(tuple(c for c in unit if self.design.varying[c]) for unit in members)
        values, n_params = np.zeros(len(units)), np.zeros(len(units), dtype=np.intp)
        if not any(used):
            return Statistics(values, n_params)
        score, sums = self._products(base, used)
        c, cross, squares, *wide = sums
        place = {column: i for i, column in enumerate(score.columns)}
        alone = [i for i, unit in enumerate(used) if len(unit) == 1]
        if alone:
            at = [place[used[i][0]] for i in alone]
            found = of_products(c[at], cross[at], squares[at], base)
            values[alone], n_params[alone] = found.values, found.n_params
        for w, i in enumerate(i for i, unit in enumerate(used) if len(unit) > 1):
            at = [place[column] for column in used[i]]
            products = UnitProducts(c[at], cross[at].reshape(-1, cross.shape[2]).T, wide[w])
            values[i], n_params[i] = products.statistic(base)
        return Statistics(values, n_params)

    def _products(self, base: Fitted, units: tuple[tuple[int, ...], ...]) -> tuple[Score, tuple[Floats, ...]]:
        """The products of score tests of some columns, in one pass."""
        score = Score(self.recipe, base.columns, base.theta, units)
        score = replace(score, recipe=self.recipe.reading(score.columns))
        return score, self.source.total(score, score.recipe.layout.columns).sums

    def _score_of(self, base: Fitted, unit: int) -> ScoreSum:
        columns = self._independent(self.units.columns([unit]))
        score, (c, cross, squares, *wide) = self._products(base, (columns,))
        at = [score.columns.index(column) for column in columns]
        own = wide[0] if len(columns) > 1 else squares[at[0]]
        products = UnitProducts(c[at], cross[at].reshape(-1, cross.shape[2]).T, own)
        along = Along(score.recipe, base.columns, base.theta, columns, products.direction(base))
        return self.source.total(along, along.recipe.layout.columns)

    def unequal_slopes(self) -> tuple[Floats, Floats]:
        """See `GeneralizedLinear`; in one pass."""
        slopes = Slopes(self.recipe.reading(self.fitted.columns), self.fitted.columns, self.fitted.theta)
        gradient, information = self.source.total(slopes, slopes.recipe.layout.columns).sums
        return gradient, information

    # --- fits --------------------------------------------------------------------------------------------------------

    def confirm(self, units: Indices, without: int | None = None) -> Scan:
        """Exact gains, or losses, of the first `shortlist` of some units, which are fitted together."""
        chosen = np.sort(units[: self.family.shortlist]).tolist()
        removing = without is None and set(chosen) <= set(self.fitted.units)
        base, n_fits = self._base(without)
        if removing:
            n_fits += self._fit_all([without_unit(base.units, u) for u in chosen], base)
        else:
            feasible = self._scores(base, np.array(chosen, dtype=np.intp)).feasible
            wanted = [with_unit(base.units, u) for u, ok in zip(chosen, feasible, strict=True) if ok]
            n_fits += self._fit_all(wanted, base)
        scan = super().confirm(units, without)
        return replace(scan, n_fits=scan.n_fits + n_fits)

    def _independent(self, columns: Sequence[int]) -> tuple[int, ...]:
        varying = [j for j in columns if self.design.varying[j]]
        correlation = self.design.correlation  # type: ignore[attr-defined]
        return tuple(varying[i] for i in independent_columns(correlation[np.ix_(varying, varying)]))

    def _ensure(self, units: tuple[int, ...], base: Fitted, *, feasible: bool = False) -> int:
        return self._fit_all([units], base)

    def _fit_all(self, selections: Sequence[tuple[int, ...]], base: Fitted) -> int:
        """Fit selections that are not known, from a fit of other units; returns the number of fits made."""
        new = [units for units in dict.fromkeys(selections) if units not in self._fits]
        if not new:
            return 0
        columns = [self._independent(self.units.columns(units)) for units in new]
        nulls = [np.pad(self._fits[()].theta, ((0, len(c)), (0, 0))) for c in columns]
        diverged = base.limit is not None
        cold = [diverged and not set(base.units) <= set(units) for units in new]
        starts = [null if far else self._start(c, base) for c, far, null in zip(columns, cold, nulls, strict=True)]
        found = self._maximised(columns, starts, nulls, diverged=diverged)
        again = [i for i, optimum in enumerate(found) if not optimum.converged]
        starts = [nulls[i] for i in again]
        for i, optimum in zip(again, self._maximised([columns[i] for i in again], starts, starts), strict=True):
            found[i] = optimum
        for units, c, optimum in zip(new, columns, found, strict=True):
            self._fits[units] = Fit(c, *optimum.summary, set(units) ^ set(base.units))
            self._locals[units] = optimum.at.local
        return len(new)

    def _load(self, units: tuple[int, ...], base: Fitted | None) -> Fitted:
        return self._fitted(units, self._locals[units], np.empty((0, len(self._fits[units].theta))))

    def _maximised(
        self,
        columns: Sequence[tuple[int, ...]],
        starts: Sequence[Floats],
        nulls: Sequence[Floats],
        *,
        diverged: bool = False,
    ) -> list[Optimum[SummedPoint]]:
        """Maximise several likelihoods; one pass evaluates the next trial of each. See `newton`."""
        iterations: list[Iteration[SummedPoint]] = [
            newton(start, null, self.likelihood, diverged=diverged) for start, null in zip(starts, nulls, strict=True)
        ]
        trials = {i: next(iteration) for i, iteration in enumerate(iterations)}
        found: dict[int, Optimum[SummedPoint]] = {}
        while trials:
            evaluate = Evaluate(self.recipe, tuple(columns[i] for i in trials), tuple(trials.values()))
            evaluate = replace(evaluate, recipe=self.recipe.reading(evaluate.columns))
            evaluated = evaluate.evaluations(self.source.total(evaluate, evaluate.recipe.layout.columns))
            for i, evaluation in zip(list(trials), evaluated, strict=True):
                try:
                    trials[i] = iterations[i].send(evaluation)
                except StopIteration as end:
                    found[i] = end.value
                    del trials[i]
        return [found[i] for i in range(len(columns))]


# --- the problem -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StreamedProblem:
    """A likelihood of a row source."""

    sizes_by = "ebic"

    family: LikelihoodFamily
    sample: Sample

    @property
    def n_columns(self) -> int:
        return self.design.n_columns

    @property
    def varying(self) -> Bools:
        return self.design.varying

    @cached_property
    def design(self) -> SummedDesign:
        """Means and Gram matrix, from the moments."""
        moments = pooled(self.sample.moments)
        p = self.n_features
        mean, scatter = moments.means[0, :p], moments.scatter[:p, :p]
        sd = np.sqrt(np.diagonal(scatter) / moments.n_rows)
        scale = np.where(sd <= CONSTANT * np.abs(mean), np.inf, sd)
        return SummedDesign(mean[None, :], scale, scatter / np.outer(scale, scale))

    @property
    def n_features(self) -> int:
        return self.sample.moments.n_features

    @cached_property
    def recipe(self) -> BlockRecipe:
        """How blocks are read."""
        sample, moments = self.sample, self.sample.moments
        names = sample.names or tuple(f"x{j}" for j in range(sample.n_features))
        encoding = sample.encoding or Encoding(names, (None,) * sample.n_features)
        has_offset, labels = sample.layout.offset is not None, moments.labels
        mean = float(moments.means[0, -1]) if labels is None else 0.0
        about = About(0 if labels is None else len(labels), mean, has_offset)
        return BlockRecipe(
            self.family, about, sample.layout, encoding, self.design.centre[0], self.design.scale, labels
        )

    def model(self, criterion: Any, units: Units, candidates: NDArray[np.intp], choices: Choices) -> StreamedGLM:
        """A model of candidate columns."""
        labels = self.sample.moments.labels
        classes = None if labels is None else tuple(labels.tolist())
        likelihood = self._likelihood()
        return StreamedGLM(self.sample.source, self.recipe, likelihood, self.design, criterion, units, choices, classes)

    def notes(self, model: StreamedGLM, excluded: set[int]) -> Iterator[str]:
        """Notes on separation, convergence, overdispersion and too few rows."""
        return notes(model, self.sample.column_names)

    def _likelihood(self) -> Likelihood:
        """The likelihood, from one pass over target and offset."""
        recipe = self.recipe.reading(())
        likelihood = recipe.without_rows()
        n_rows, constants = self.sample.source.total(Constants(recipe), recipe.layout.columns).sums
        self.family.check_rows(int(n_rows))
        return likelihood.pooled(constants)
