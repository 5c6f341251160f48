"""Generalized linear models and Cox regression as a model that can be searched."""

from __future__ import annotations

import copy
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import Choices, CriterionInfo, Indices, Scan, Units
from dropstep.models.glm.coefficients import coefficients
from dropstep.models.glm.criteria import as_criterion
from dropstep.models.glm.design import Design, independent_columns
from dropstep.models.glm.likelihood import Likelihood, Local, Pointwise
from dropstep.models.glm.newton import Limit, maximise
from dropstep.models.glm.screening import Fitted, Statistics, UnitProducts, score_tests, wald_tests
from dropstep.models.tests import ScoreSum, StatisticTests
from dropstep.result import Coefficients, StopReason

if TYPE_CHECKING:
    from dropstep.models.glm.family import LikelihoodFamily

Floats = NDArray[np.float64]

EXACT = 1e-12  # deviance of an exact fit, relative to that of the empty selection
SEPARATED = 1e-6  # deviance above its infimum that a fit without a maximum may have; relative, if that is smaller


@dataclass(frozen=True, eq=False)
class Fit:
    """The maximum of a likelihood for some units; see `Optimum`.

    Attributes
    ----------
    columns : tuple of int
        Linearly independent columns of the units.
    theta : ndarray of shape (n_terms, n_outputs)
        Intercept, if there is one, and coefficients of the standardised columns.
    deviance, converged, limit
    changed : set of int
        Units in which the selection differs from that of the fit it started from.
    """

    columns: tuple[int, ...]
    theta: Floats
    deviance: float
    converged: bool
    limit: Limit | None
    changed: Set[int]


class GeneralizedLinear:
    """A selection of features of a design matrix, scored by a likelihood and a criterion.

    Scans screen by score tests (additions) and Wald tests (removals) of the present fit, which cost no fits; `confirm`
    refits. No selection is fitted twice.

    Parameters
    ----------
    family : LikelihoodFamily
        Its shortlist is the number of units that `confirm` refits.
    likelihood : Likelihood
    design : Design
    criterion : str or criterion
    units : Units
    choices : Choices
    labels : tuple or None, default=None
        Labels of classes.
    """

    greater_is_better = False
    solver = "columns"
    reads_tails, scans_cost_fits = True, False

    def __init__(
        self,
        family: LikelihoodFamily,
        likelihood: Likelihood,
        design: Design,
        criterion: Any,
        units: Units,
        choices: Choices,
        labels: tuple[Any, ...] | None = None,
    ) -> None:
        self.family, self.likelihood, self.design, self.units, self.labels = family, likelihood, design, units, labels
        self.criterion = as_criterion(criterion, family, likelihood, choices)
        self.max_rank = max(likelihood.n - 2, 0.0)
        self._fits: dict[tuple[int, ...], Fit] = {}
        self._last_scores: tuple[Fitted, Indices, Statistics] | None = None
        self.fitted = self._empty()

    def _empty(self) -> Fitted:
        """The fit without features."""
        like = self.likelihood
        Z = np.ones((len(like.offset), like.n_leading), order="F")
        try:
            with np.errstate(all="ignore"):
                found = maximise(like, Z, like.start(), like.start())
        except (ValueError, np.linalg.LinAlgError):
            raise ValueError("the likelihood without features cannot be maximised; check the offset") from None
        self._fits[()] = Fit((), *found.summary, set())
        return self._load((), None)

    # --- queries -----------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return self.family.kind

    @property
    def sample_unit(self) -> str:
        return self.likelihood.sample_unit

    @property
    def criterion_info(self) -> CriterionInfo:
        return self.criterion.info

    @property
    def n(self) -> float:
        return self.likelihood.n

    @property
    def fit(self) -> Fit:
        """The fit of the present selection."""
        return self._fits[self.fitted.units]

    @property
    def null_deviance(self) -> float:
        return self._fits[()].deviance

    @property
    def failed(self) -> tuple[Fit, ...]:
        """Fits that did not converge, without that of the present selection."""
        return tuple(fit for fit in self._fits.values() if not fit.converged and fit is not self.fit)

    @property
    def score(self) -> float:
        return self._score(self.fitted.units)

    def _score(self, units: tuple[int, ...]) -> float:
        fit = self._fits[units]
        return float(self.criterion.score(fit.deviance, len(fit.columns) * self._q, self._n_units(units)))

    def _n_units(self, units: tuple[int, ...]) -> int:
        """Units with an independent column; the others are redundant and not counted."""
        found = set(self._fits[units].columns)
        return sum(not found.isdisjoint(self.units.columns([u])) for u in units)

    @property
    def _q(self) -> int:
        return self.likelihood.n_outputs

    def rank(self, units: Sequence[int]) -> int:
        """Number of columns of some units that do not depend on others of the same unit; constant ones excluded."""
        if self.units.members is None:
            return int(np.count_nonzero(self.design.varying[list(units)]))
        return sum(len(self._independent(self.units.columns([u]))) for u in units)

    def saturated(self) -> StopReason | None:
        """Why no unit can be added: the fit is exact, or no residual degrees of freedom remain."""
        fit, null = self.fit, self.null_deviance
        if fit.deviance <= (EXACT * null if fit.limit is None else SEPARATED * min(1.0, null)):
            return StopReason.EXACT
        return StopReason.ROWS if len(fit.columns) + 1 > self.max_rank else None

    # --- scans -------------------------------------------------------------------------------------------------------

    def additions(self, units: Indices, without: int | None = None) -> Scan:
        """Screening gains of adding each unit, after removing the selected unit `without` if it is given."""
        base, n_fits = self._base(without)
        found = self._scores(base, units)
        n_columns = found.n_params // self._q
        room = len(base.columns) + n_columns <= self.max_rank
        feasible = found.feasible & room
        after = self._expected(base, -found.values)
        gains = self._score(base.units) - self.criterion.score(
            after, (len(base.columns) * self._q) + found.n_params, self._n_units(base.units) + 1
        )
        return Scan(
            units,
            np.where(feasible, gains, 0.0),
            feasible,
            exact=False,
            n_evaluations=len(units),
            n_fits=n_fits,
            tests=self._score_tests(base, units, found, feasible, ordered=True),
            reason=None if feasible.any() else StopReason.ROWS if (found.feasible & ~room).any() else StopReason.SPAN,
        )

    def removals(self, units: Indices) -> Scan:
        """Screening losses of removing each selected unit."""
        found = wald_tests(self.fitted, units)
        redundant = found.n_params == 0
        losses = self.criterion.score(
            self._expected(self.fitted, found.values),
            len(self.fitted.columns) * self._q - found.n_params,
            self._n_units(self.fitted.units) - ~redundant,
        )
        losses = np.where(redundant, 0.0, losses - self.score)
        tests = self._ratio_tests(self.fitted, found.values, found.n_params)
        return Scan(units, losses, np.ones(len(units), dtype=bool), exact=False, n_evaluations=len(units), tests=tests)

    def confirm(self, units: Indices, without: int | None = None) -> Scan:
        """Exact gains, or losses, of the first `shortlist` of some units in descending order of promise."""
        chosen = np.sort(units[: self.family.shortlist])
        removing = without is None and set(chosen.tolist()) <= set(self.fitted.units)
        return self._confirm_removals(chosen) if removing else self._confirm_additions(chosen, without)

    def _confirm_additions(self, chosen: Indices, without: int | None) -> Scan:
        base, n_fits = self._base(without)
        found, before = self._scores(base, chosen), self._score(base.units)
        gains, feasible = np.zeros(len(chosen)), np.zeros(len(chosen), dtype=bool)
        for i in np.flatnonzero(found.feasible):
            unit = int(chosen[i])
            units = with_unit(base.units, unit)
            n_fits += self._ensure(units, base, feasible=True)
            fit = self._fits[units]
            feasible[i] = fit.converged and len(fit.columns) > len(base.columns)
            if feasible[i]:
                gains[i] = before - self._score(units)
        tests = self._score_tests(base, chosen, found, feasible, ordered=False)
        reason = None if feasible.any() else StopReason.SPAN
        return Scan(chosen, gains, feasible, n_fits=n_fits, tests=tests, reason=reason)

    def _confirm_removals(self, chosen: Indices) -> Scan:
        n_fits, base, now = 0, self.fitted, self.score
        losses, ratios, n_params = np.zeros(len(chosen)), np.zeros(len(chosen)), np.zeros(len(chosen), dtype=np.intp)
        feasible = np.ones(len(chosen), dtype=bool)
        for i, unit in enumerate(chosen.tolist()):
            units = without_unit(base.units, unit)
            n_fits += self._ensure(units, base)
            fit = self._fits[units]
            feasible[i] = fit.converged
            losses[i] = self._score(units) - now
            ratios[i] = max(fit.deviance - self.fit.deviance, 0.0)
            n_params[i] = (len(base.columns) - len(fit.columns)) * self._q
        return Scan(chosen, losses, feasible, n_fits=n_fits, tests=self._ratio_tests(base, ratios, n_params))

    def _scores(self, base: Fitted, units: Indices) -> Statistics:
        """Score statistics of units; those of the last scan are reused."""
        if self._last_scores is not None and self._last_scores[0] is base:
            _, known, found = self._last_scores
            places = np.searchsorted(known, units)
            if len(known) and np.array_equal(known[np.minimum(places, len(known) - 1)], units):
                return found.at(places)
        self._last_scores = (base, units, found := self._score_statistics(base, units))
        return found

    def _score_statistics(self, base: Fitted, units: Indices) -> Statistics:
        return score_tests(self.design, self.units, units, base)

    def _expected(self, base: Fitted, change: Floats) -> Floats:
        """Deviances after changes that were estimated to second order."""
        deviance = self._fits[base.units].deviance
        if not self.likelihood.has_dispersion:
            return np.asarray(deviance + change)
        reduced = deviance**2 / (deviance + np.abs(change) + np.finfo(float).tiny)  # stays positive
        return np.where(change > 0, deviance + change, reduced)

    # --- tests -------------------------------------------------------------------------------------------------------

    def _score_tests(
        self, base: Fitted, units: Indices, found: Statistics, feasible: NDArray[np.bool_], *, ordered: bool
    ) -> StatisticTests:
        """Score tests; those of counts by an estimated dispersion where that exceeds 1.

        With a dispersion, it is the F test of the working regression, whose sum of squares is Pearson's. Without it,
        the weights of a fit that follows the rows are too small, which a test in the tails makes up for by the share of
        degrees of freedom that remain.
        """
        values, df, room = found.values, found.n_params.astype(np.float64), None
        residual_df = self.likelihood.df - len(base.columns)
        plain, in_tails = values, values * (max(residual_df, 0.0) / self.likelihood.df)
        if self._is_dispersed(base, residual_df):
            assert isinstance(base.local, Pointwise)
            room, pearson = residual_df - df, max(base.local.pearson, np.finfo(float).tiny)
            unexplained = np.maximum(pearson - values, np.finfo(float).eps * pearson)
            plain = in_tails = values / pearson * residual_df
            values = values / unexplained * np.maximum(room, 0.0)

        def log_tail(at: int) -> float | None:
            score = self._score_of(base, int(units[at]))
            return score.log_p_value(float(in_tails[at]), float(df[at]), float(plain[at]))

        return StatisticTests(values, df, feasible, room, ordered_by_gain=ordered, log_tail=log_tail)

    def _is_dispersed(self, base: Fitted, residual_df: float) -> bool:
        """True if tests use an estimated dispersion: always, or because counts vary more than the model says."""
        if not self.likelihood.may_overdisperse:
            return self.likelihood.has_dispersion
        assert isinstance(base.local, Pointwise)
        return self.likelihood.has_dispersion or base.local.pearson > residual_df

    def _score_of(self, base: Fitted, unit: int) -> ScoreSum:
        """The score of a unit along its own direction."""
        X = self.design.columns(self._independent(self.units.columns([unit])))
        return UnitProducts.of(X, base).direction(base).score(X, base.Z, self.likelihood, base.local)

    def _ratio_tests(self, base: Fitted, values: Floats, n_params: Indices) -> StatisticTests:
        """Tests of removals: values are Wald statistics or deviance differences."""
        df, feasible = n_params.astype(np.float64), np.ones(len(values), dtype=bool)
        room = self.likelihood.df - len(base.columns)
        if not self._is_dispersed(base, room):
            return StatisticTests(values, df, feasible, None, ordered_by_gain=True)
        assert isinstance(base.local, Pointwise)
        phi = base.local.pearson / room if room > 0 else np.inf
        return StatisticTests(values / phi, df, feasible, np.full(len(values), room), ordered_by_gain=True)

    # --- moves -------------------------------------------------------------------------------------------------------

    def add(self, units: Sequence[int]) -> None:
        """Select units."""
        self._move_to(tuple(sorted({*self.fitted.units, *units})))

    def remove(self, units: Sequence[int]) -> None:
        """Remove selected units."""
        self._move_to(tuple(u for u in self.fitted.units if u not in units))

    def _move_to(self, units: tuple[int, ...]) -> None:
        self._ensure(units, self.fitted)
        self.fitted = self._load(units, self.fitted)

    def copy(self) -> GeneralizedLinear:
        """An independent model with the same selection."""
        other = copy.copy(self)
        other._fits = dict(self._fits)
        return other

    def coefficients(self, columns: Sequence[int], names: Sequence[str]) -> Coefficients:
        """Coefficients of the selected columns, in the order given, with their names."""
        return coefficients(self, columns, names)

    def unequal_slopes(self) -> tuple[Floats, Floats]:
        """Gradient and information of an ordinal model whose thresholds have coefficients of their own."""
        local: Any = self.fitted.local
        gradient, information = local.unequal_slopes(self.fitted.Z)
        return np.asarray(gradient), np.asarray(information)

    def release(self) -> None:
        """Free the statistics of the last scan."""
        self._last_scores = None

    def independent(self, units: Indices) -> list[int]:
        """Units, in order, that do not depend on the selected ones or on the ones before."""
        chosen = self.units.columns(self.fitted.units)
        columns = [*chosen, *self.units.columns(units)]
        found = set(self._independent(columns))
        return [u for u in units.tolist() if not found.isdisjoint(self.units.columns([u]))]

    # --- fits --------------------------------------------------------------------------------------------------------

    def _base(self, without: int | None) -> tuple[Fitted, int]:
        """The present fit, or that without a unit, and the number of fits it took."""
        if without is None:
            return self.fitted, 0
        units = without_unit(self.fitted.units, without)
        if self._last_scores is not None and self._last_scores[0].units == units:
            return self._last_scores[0], 0
        n_fits = self._ensure(units, self.fitted)
        return self._load(units, self.fitted), n_fits

    def _independent(self, columns: Sequence[int]) -> tuple[int, ...]:
        """Columns, in order, that do not depend on the ones before; constant ones excluded."""
        varying = [j for j in columns if self.design.varying[j]]
        if len(varying) <= 1:
            return tuple(varying)
        Z = self.design.columns(varying)
        return tuple(varying[i] for i in independent_columns(Z.T @ Z))

    def _ensure(self, units: tuple[int, ...], base: Fitted, *, feasible: bool = False) -> int:
        """Fit units, starting from a fit of other units, unless they are known; returns the number of fits made.

        A feature that screening found feasible does not depend on the selected ones, nor do these on each other without
        one of them; what else is fitted is checked.
        """
        if units in self._fits:
            return 0
        columns = self.units.columns(units)
        single = self.units.members is None and len(base.columns) == len(base.units)
        if not (single and (feasible or set(units) <= set(base.units))):
            columns = self._independent(columns)
        Z, theta = self._terms(columns, base), self._start(columns, base)
        null = np.pad(self._fits[()].theta, ((0, len(columns)), (0, 0)))
        cold = base.limit is not None and not set(base.units) <= set(units)
        found = maximise(self.likelihood, Z, null if cold else theta, null, diverged=base.limit is not None)
        if not found.converged:
            found = maximise(self.likelihood, Z, null, null)
        self._fits[units] = Fit(columns, *found.summary, set(units) ^ set(base.units))
        return 1

    def _start(self, columns: tuple[int, ...], base: Fitted) -> Floats:
        """Parameters to start from: those of another fit, and 0 for columns that it does not have."""
        first = self.likelihood.n_leading
        theta = np.zeros((first + len(columns), self._q))
        theta[:first] = base.theta[:first]
        known = {j: first + i for i, j in enumerate(base.columns)}
        for i, j in enumerate(columns):
            if j in known:
                theta[first + i] = base.theta[known[j]]
        return theta

    def _terms(self, columns: tuple[int, ...], base: Fitted | None) -> Floats:
        """The terms of some columns; those of `base` are known."""
        first = self.likelihood.n_leading
        Z = np.empty((len(self.likelihood.offset), first + len(columns)), order="F")
        Z[:, :first] = 1.0
        known = {} if base is None else {j: base.Z[:, first + i] for i, j in enumerate(base.columns)}
        for i, j in enumerate(columns):
            if j in known:
                Z[:, first + i] = known[j]
        if new := [i for i, j in enumerate(columns) if j not in known]:
            Z[:, [first + i for i in new]] = self.design.columns([columns[i] for i in new])
        return Z

    def _load(self, units: tuple[int, ...], base: Fitted | None) -> Fitted:
        """What screening reads of a known fit."""
        fit = self._fits[units]
        Z = self._terms(fit.columns, base)
        return self._fitted(units, self.likelihood.at(Z, fit.theta), Z)

    def _fitted(self, units: tuple[int, ...], local: Local, Z: Floats) -> Fitted:
        fit = self._fits[units]
        unit_of = {j: u for u in units for j in self.units.columns([u])}
        owner = np.array([unit_of[j] for j in fit.columns], dtype=np.intp)
        like = self.likelihood
        return Fitted(units, fit.columns, owner, local.terms(Z), fit.theta, local, fit.limit, like.observed_errors)


def with_unit(units: tuple[int, ...], unit: int) -> tuple[int, ...]:
    return tuple(sorted({*units, unit}))


def without_unit(units: tuple[int, ...], unit: int) -> tuple[int, ...]:
    return tuple(u for u in units if u != unit)
