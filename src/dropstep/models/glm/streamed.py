"""Logistic and Poisson regression of row sources: one pass per Newton step for a whole shortlist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dropstep.data.encoding import Encoding
from dropstep.data.rearrange import pooled
from dropstep.data.sample import Sample
from dropstep.data.scale import CONSTANT
from dropstep.data.source import Source
from dropstep.models.base import Bools, Choices, Indices, Scan, Units
from dropstep.models.glm.criteria import LikelihoodCriterion, as_criterion
from dropstep.models.glm.design import independent_columns
from dropstep.models.glm.model import Fit, GeneralizedLinear, with_unit, without_unit
from dropstep.models.glm.newton import Iteration, Optimum, newton
from dropstep.models.glm.notes import notes
from dropstep.models.glm.rows import Along, Constants, Evaluate, Recipe, Score, Totals
from dropstep.models.glm.screening import Fitted, Statistics, UnitProducts, of_products
from dropstep.models.glm.summed import SummedDesign, SummedLikelihood, SummedLocal
from dropstep.models.tests import ScoreSum

Floats = NDArray[np.float64]

MIN_ROWS = 3


class StreamedGLM(GeneralizedLinear):
    """A generalized linear model whose rows are read in blocks.

    Fits are those of `GeneralizedLinear`: Newton's method with step halving from the same start. All fits of a
    shortlist take their steps in the same pass.

    Parameters
    ----------
    source : Source
    recipe : Recipe
        How blocks are read.
    likelihood : SummedLikelihood
    design : SummedDesign
    criterion, units, shortlist, labels
        As those of `GeneralizedLinear`.
    """

    def __init__(
        self,
        source: Source,
        recipe: Recipe,
        likelihood: SummedLikelihood,
        design: SummedDesign,
        criterion: LikelihoodCriterion,
        units: Units,
        shortlist: int | None,
        labels: tuple[Any, ...] | None,
    ) -> None:
        self.source, self.recipe = source, recipe
        self._locals: dict[tuple[int, ...], SummedLocal] = {}
        super().__init__(likelihood, design, criterion, units, shortlist, labels)  # type: ignore[arg-type]

    def _empty(self) -> Fitted:
        start = self.likelihood.start()
        (found,) = self._maximised([()], [start], [start])
        self._fits[()], self._locals[()] = Fit((), *found.summary, set()), found.at
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

    # --- fits --------------------------------------------------------------------------------------------------------

    def confirm(self, units: Indices, without: int | None = None) -> Scan:
        """Exact gains, or losses, of the first `shortlist` of some units, which are fitted together."""
        chosen = np.sort(units[: self.shortlist]).tolist()
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
        nulls = [self._start(c, None) for c in columns]
        diverged = base.limit is not None
        cold = [diverged and not set(base.units) <= set(units) for units in new]
        starts = [self._start(c, None if far else base) for c, far in zip(columns, cold, strict=True)]
        found = self._maximised(columns, starts, nulls, diverged=diverged)
        again = [i for i, optimum in enumerate(found) if not optimum.converged]
        starts = [nulls[i] for i in again]
        for i, optimum in zip(again, self._maximised([columns[i] for i in again], starts, starts), strict=True):
            found[i] = optimum
        for units, c, optimum in zip(new, columns, found, strict=True):
            self._fits[units] = Fit(c, *optimum.summary, set(units) ^ set(base.units))
            self._locals[units] = optimum.at
        return len(new)

    def _start(self, columns: tuple[int, ...], base: Fitted | None) -> Floats:
        """Coefficients to start from: those of a fit, 0 for the others; those of the empty selection for None."""
        theta = np.zeros((1 + len(columns), self._q))
        theta[:1] = self._fits[()].theta[:1] if base is None else base.theta[:1]
        known = {} if base is None else {j: 1 + i for i, j in enumerate(base.columns)}
        for i, j in enumerate(columns):
            if base is not None and j in known:
                theta[1 + i] = base.theta[known[j]]
        return theta

    def _load(self, units: tuple[int, ...], base: Fitted | None) -> Fitted:
        fit = self._fits[units]
        unit_of = {j: u for u in units for j in self.units.columns([u])}
        owner = np.array([unit_of[j] for j in fit.columns], dtype=np.intp)
        Z = np.empty((0, len(fit.theta)))
        return Fitted(units, fit.columns, owner, Z, fit.theta, self._locals[units], fit.limit)

    def _maximised(
        self,
        columns: Sequence[tuple[int, ...]],
        starts: Sequence[Floats],
        nulls: Sequence[Floats],
        *,
        diverged: bool = False,
    ) -> list[Optimum[SummedLocal]]:
        """Maximise several likelihoods; one pass evaluates the next trial of each. See `newton`."""
        iterations: list[Iteration[SummedLocal]] = [
            newton(start, null, diverged=diverged) for start, null in zip(starts, nulls, strict=True)
        ]
        trials = {i: next(iteration) for i, iteration in enumerate(iterations)}
        found: dict[int, Optimum[SummedLocal]] = {}
        while trials:
            evaluate = Evaluate(self.recipe, tuple(columns[i] for i in trials), tuple(trials.values()))
            evaluate = replace(evaluate, recipe=self.recipe.reading(evaluate.columns))
            total = self.source.total(evaluate, evaluate.recipe.layout.columns)
            for at, i in enumerate(list(trials)):
                try:
                    trials[i] = iterations[i].send(_local(total, at))
                except StopIteration as end:
                    found[i] = end.value
                    del trials[i]
        return [found[i] for i in range(len(columns))]


def _local(total: Totals, i: int) -> SummedLocal:
    deviance, pearson, gradient, information = total.sums[4 * i : 4 * i + 4]
    return SummedLocal(float(deviance), float(pearson), gradient, information, total.largest[i])


# --- the problem -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StreamedProblem:
    """A likelihood of a row source.

    Attributes
    ----------
    sample : Sample
    kind : {"logistic", "poisson"}
    shortlist : int or None
    """

    sizes_by = "ebic"

    sample: Sample
    kind: str
    shortlist: int | None

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
    def recipe(self) -> Recipe:
        """How blocks are read."""
        sample = self.sample
        names = sample.names or tuple(f"x{j}" for j in range(sample.n_features))
        encoding = sample.encoding or Encoding(names, (None,) * sample.n_features)
        return Recipe(sample.layout, encoding, self.design.centre[0], self.design.scale, sample.moments.labels)

    def model(self, criterion: Any, units: Units, candidates: NDArray[np.intp], choices: Choices) -> StreamedGLM:
        """A model of candidate columns."""
        likelihood = self._likelihood()
        resolved = as_criterion(criterion, likelihood, choices)  # type: ignore[arg-type]
        labels = self.sample.moments.labels
        classes = None if labels is None else tuple(labels.tolist())
        source, design = self.sample.source, self.design
        return StreamedGLM(source, self.recipe, likelihood, design, resolved, units, self.shortlist, classes)

    def notes(self, model: StreamedGLM, excluded: set[int]) -> Iterator[str]:
        """Notes on separation, convergence, overdispersion and too few rows."""
        return notes(model, self.sample.column_names)

    def _likelihood(self) -> SummedLikelihood:
        """The likelihood, from one pass over target and offset."""
        recipe, labels = self.recipe.reading(()), self.sample.moments.labels
        total = self.sample.source.total(Constants(recipe), recipe.layout.columns)
        n, y, offset, exposure, n_rows, saturated = (float(value) for value in total.sums)
        if n_rows < MIN_ROWS:
            raise ValueError(
                f"model {self.kind!r} needs at least {MIN_ROWS} samples of positive weight; there are {n_rows:.0f}"
            )
        if labels is None:
            start = np.full((1, 1), np.log(y / exposure))
        elif len(labels) == 2:
            start = np.full((1, 1), special.logit(y / n) - offset / n)
        else:
            if self.sample.layout.offset is not None:
                raise ValueError(
                    f"offset is defined for two classes, but y has {len(labels)}; omit offset, or join classes"
                )
            counts = self.sample.moments.counts
            start = np.log(counts[None, 1:] / counts[0])
        return SummedLikelihood(self.kind, start.shape[1], n, saturated, start)
