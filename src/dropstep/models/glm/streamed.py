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
from dropstep.data.scale import CONSTANT
from dropstep.data.sources import RowSource
from dropstep.data.sources.sample import SourceSample
from dropstep.models.base import Bools, Indices, Scan, Units
from dropstep.models.glm.criteria import Penalised, as_criterion
from dropstep.models.glm.design import independent_columns
from dropstep.models.glm.likelihood import RECEDES
from dropstep.models.glm.model import Fit, GeneralizedLinear, with_unit, without_unit
from dropstep.models.glm.newton import (
    DIVERGING_STEP,
    MAX_HALVINGS,
    MAX_ITERATIONS,
    MAX_STEP,
    SLACK,
    STALLED,
    TOLERANCE,
    solve,
)
from dropstep.models.glm.notes import notes
from dropstep.models.glm.rows import Constants, Evaluate, Recipe, Score, Totals, Trial
from dropstep.models.glm.screening import Fitted, Statistics, of_block, of_products
from dropstep.models.glm.summed import SummedDesign, SummedLikelihood, SummedLocal

Floats = NDArray[np.float64]

MIN_ROWS = 3


class StreamedGLM(GeneralizedLinear):
    """A generalized linear model whose rows are read in blocks.

    Fits are those of `GeneralizedLinear`: Newton's method with step halving from the same start. All fits of a
    shortlist take their steps in the same pass.

    Parameters
    ----------
    source : RowSource
    recipe : Recipe
        How blocks are read.
    likelihood : SummedLikelihood
    design : SummedDesign
    criterion, units, shortlist, labels
        As those of `GeneralizedLinear`.
    """

    def __init__(
        self,
        source: RowSource,
        recipe: Recipe,
        likelihood: SummedLikelihood,
        design: SummedDesign,
        criterion: Penalised,
        units: Units,
        shortlist: int | None,
        labels: tuple[Any, ...] | None,
    ) -> None:
        self.source, self.recipe = source, recipe
        self._locals: dict[tuple[int, ...], SummedLocal] = {}
        super().__init__(likelihood, design, criterion, units, shortlist, labels)  # type: ignore[arg-type]

    def _empty(self) -> Fitted:
        (found,) = self._maximised([Trial((), self.likelihood.start(), np.zeros_like(self.likelihood.start()))])
        self._record((), found)
        return self._load((), None)

    # --- screening ---------------------------------------------------------------------------------------------------

    def _score_statistics(self, base: Fitted, units: Indices) -> Statistics:
        members = tuple(self.units.columns([int(u)]) for u in units)
        used = tuple(tuple(c for c in unit if self.design.varying[c]) for unit in members)
        values, n_params = np.zeros(len(units)), np.zeros(len(units), dtype=np.intp)
        if not any(used):
            return Statistics(values, n_params)
        score = Score(self.recipe, Trial(base.columns, base.theta, np.zeros_like(base.theta)), used)
        score = replace(score, recipe=self.recipe.reading(score.columns))
        total = self.source.total(score, score.recipe.layout.columns)
        (c, cross, squares), wide = total.sums[:3], list(total.sums[3:])
        place = {column: i for i, column in enumerate(score.columns)}
        alone = [i for i, unit in enumerate(used) if len(unit) == 1]
        if alone:
            at = [place[used[i][0]] for i in alone]
            found = of_products(c[at], cross[at], squares[at], base)
            values[alone], n_params[alone] = found.values, found.n_params
        for i, unit in enumerate(used):
            if len(unit) > 1:
                at = [place[column] for column in unit]
                both = cross[at].reshape(-1, cross.shape[2]).T
                values[i], n_params[i] = of_block(c[at], both, wide.pop(0), base)
        return Statistics(values, n_params)

    def _explained(self, base: Fitted, added: tuple[int, ...], score: float) -> float:
        return base.local.explained(base.Z, np.empty((0, len(added))), score)

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
        starts = [self._start(c, base) for c in columns]
        nulls = [self._start(c, None) for c in columns]
        diverged = self._fits[base.units].separated
        first = [
            Trial(c, null if diverged and len(units) < len(base.units) else theta, np.zeros_like(theta))
            for units, c, theta, null in zip(new, columns, starts, nulls, strict=True)
        ]
        found = self._maximised(first)
        again = [i for i, optimum in enumerate(found) if not optimum.converged]
        retried = self._maximised([Trial(columns[i], nulls[i], np.zeros_like(nulls[i])) for i in again])
        for i, optimum in zip(again, retried, strict=True):
            found[i] = optimum
        for units, optimum in zip(new, found, strict=True):
            self._record(units, optimum)
        return len(new)

    def _record(self, units: tuple[int, ...], optimum: _Optimum) -> None:
        trial, local = optimum.trial, optimum.local
        self._fits[units] = Fit(trial.columns, trial.theta, local.deviance, optimum.converged, optimum.separated)
        self._locals[units] = local

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
        return Fitted(units, fit.columns, owner, np.empty((0, len(fit.theta))), fit.theta, self._locals[units])

    def _maximised(self, trials: Sequence[Trial]) -> list[_Optimum]:
        """Maximise several likelihoods, each step of all in one pass."""
        states = [_State(trial) for trial in trials]
        while active := [state for state in states if not state.done]:
            evaluate = Evaluate(self.recipe, tuple(state.trial for state in active))
            evaluate = replace(evaluate, recipe=self.recipe.reading(evaluate.columns))
            total = self.source.total(evaluate, evaluate.recipe.layout.columns)
            for i, state in enumerate(active):
                state.advance(_local(total, i), total.least[i], total.largest[i])
        return [state.optimum() for state in states]


def _local(total: Totals, i: int) -> SummedLocal:
    deviance, pearson, gradient, information = total.sums[4 * i : 4 * i + 4]
    return SummedLocal(float(deviance), float(pearson), gradient, information)


@dataclass(frozen=True, eq=False)
class _Optimum:
    """The end of an iteration; see `newton.Optimum`."""

    trial: Trial
    local: SummedLocal
    converged: bool
    separated: bool


class _State:
    """Newton's method of one fit, which advances when a pass has evaluated its trial; see `newton.maximise`."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial  # what the next pass evaluates
        self.done = False
        self._theta = trial.theta
        self._local: SummedLocal | None = None
        self._converged = False
        self._length, self._decrement, self._n_halvings, self._n_iterations = 1.0, 0.0, 0, 0
        self._reach, self._recession = 0.0, 0.0

    def advance(self, local: SummedLocal, least: float, largest: float) -> None:
        """Use the evaluation of the trial: accept the step, shorten it, or end."""
        if self._local is None:
            self._accept(local)
            return
        if largest > MAX_STEP:
            self._shorten(self.trial.step * (MAX_STEP / largest * (1 - SLACK)), 1.0)
            return
        self._reach, self._recession = largest, least
        if local.deviance <= self._local.deviance + SLACK * abs(self._local.deviance):
            self._accept(local)
            return
        self._n_halvings += 1
        if self._n_halvings >= MAX_HALVINGS:
            self._converged = self._converged or self._decrement <= STALLED * self._local.deviance
            self.done = True
            return
        self._shorten(self.trial.step, self._length / 2)

    def _shorten(self, step: Floats, length: float) -> None:
        self._length = length
        self.trial = Trial(self.trial.columns, self._theta + length * step, step)

    def _accept(self, local: SummedLocal) -> None:
        """Move to the trial, and propose the next step."""
        self._theta, self._local = self.trial.theta, local
        gradient, information = local.gradient.ravel(), local.gram(np.empty((0, 0)))
        self._n_iterations += 1
        if self._converged or self._n_iterations > MAX_ITERATIONS or not np.isfinite(information).all():
            self.done = True
            return
        step = solve(information, gradient).reshape(self._theta.shape)
        self._decrement = float(gradient @ step.ravel())
        self._converged = self._decrement <= TOLERANCE
        self._n_halvings = 0
        self.trial = Trial(self.trial.columns, self._theta, step)
        self._shorten(step, 1.0)

    def optimum(self) -> _Optimum:
        assert self._local is not None
        separated = self._reach > DIVERGING_STEP and self._recession >= -RECEDES * self._reach
        trial = Trial(self.trial.columns, self._theta, self.trial.step)
        return _Optimum(trial, self._local, self._converged or separated, separated)


# --- the problem -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StreamedProblem:
    """A likelihood of a row source.

    Attributes
    ----------
    sample : SourceSample
    kind : {"logistic", "poisson"}
    shortlist : int or None
    """

    sample: SourceSample
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

    def model(self, criterion: Any, units: Units, candidates: NDArray[np.intp], n_candidates: int) -> StreamedGLM:
        """A model of candidate columns that form a number of units."""
        likelihood = self._likelihood()
        resolved = as_criterion(criterion, likelihood, n_candidates)  # type: ignore[arg-type]
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
