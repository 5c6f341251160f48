"""Maximum likelihood by Newton's method with step halving: one iteration for every likelihood and source of rows.

A likelihood without a maximum never falls along some directions (separation, a level without events). Then every Newton
step changes some eta by at least 1: with d such a direction, u = Z d and s the step, the normal equations imply
sum u_i (r_i - w_i (Z s)_i) = 0 for residuals r and weights w, where u_i r_i >= 0 and |r_i| >= w_i. Near a maximum steps
vanish. An iteration whose steps stay long therefore continues until the information along these directions has
vanished. The deviance is then its infimum, and the likelihood has a maximum over the other directions.

The iteration is a generator that is sent the evaluation of each trial: by `maximise` for rows in memory, and by passes
over blocks of rows, each of which evaluates the trials of several fits.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dropstep.models.glm.likelihood import Likelihood, Local

Floats = NDArray[np.float64]

TOLERANCE = 1e-10  # Newton decrement, in units of the deviance, after which the last step is taken
STALLED = 1e-9  # decrement, relative to the deviance, at which no step can improve it beyond rounding
MIN_SCALE = 1e-12  # deviance per row of an exact fit
MAX_ITERATIONS = 100
MAX_HALVINGS = 40
FEW_ITERATIONS = 10  # that a fit with a maximum rarely exceeds: after these, long steps are extended
MAX_DOUBLINGS = 40
SLACK = 1e-13  # relative increase of the deviance that counts as rounding
MAX_STEP = 1e3  # change of eta in one iteration, near the limits of exp
SINGULAR = 1e-13  # relative eigenvalue below which a direction of the information matrix is not followed
ILL_CONDITIONED = 1e-9  # reciprocal condition number below which columns are orthogonalised
INFIMUM = 1e-13  # decrement at which the deviance of a likelihood without a maximum is its infimum
ROUNDING = 1e-14  # information along a direction, relative to the largest, that is not distinguished from 0
FLAT = 1e-9  # information, relative to that of the null fit, along directions without a maximum, where there are any
TAKES_PART = 1e-8  # share of a coefficient's variance along directions without a maximum that makes it infinite
LEVEL = 1e-6  # derivative along a direction without information, in its null standard deviations, that counts as 0


@dataclass(frozen=True, eq=False)
class Trial:
    """Coefficients at which a likelihood is evaluated.

    Attributes
    ----------
    theta : ndarray of shape (n_terms, n_outputs)
    step : ndarray of the same shape
        A direction, whose largest change of eta is evaluated as well.
    basis : ndarray of shape (n_terms, n_terms) or None
        With a basis, gradient and expected information of the columns Z basis are evaluated; with None, gradient and
        observed information of the columns Z.
    """

    theta: Floats
    step: Floats
    basis: Floats | None = None


class TrialLikelihood(Protocol):
    """A likelihood at a trial."""

    @property
    def reach(self) -> float:
        """Largest change of eta along the step of the trial."""
        ...

    @property
    def deviance(self) -> float: ...

    @property
    def gradient(self) -> Floats:
        """Of shape (n_terms, n_outputs)."""
        ...

    @property
    def information(self) -> Floats:
        """Square, by term and output."""
        ...


@dataclass(frozen=True, eq=False)
class Limit:
    """The fit of a likelihood without a maximum, where it tends to its supremum.

    Attributes
    ----------
    directions : ndarray of shape (n_params, n_directions)
        Basis of the directions along which the likelihood has no maximum, each with unit information at the null fit.
    covariance : ndarray of shape (n_params, n_params)
        Covariance of theta along the other directions, in units of the dispersion.
    """

    directions: Floats
    covariance: Floats

    def infinite(self, functions: Floats) -> NDArray[np.bool_]:
        """Which linear functions of theta, one per row, change along a direction without a maximum."""
        along = np.sum((functions @ self.directions) ** 2, axis=1)
        others = np.einsum("ij,jk,ik->i", functions, self.covariance, functions)
        return np.asarray(along > TAKES_PART * (along + others))

    def wald(self, theta: Floats, params: NDArray[np.intp]) -> float:
        """Wald statistic of some parameters: 0 along directions without a maximum, whose variance is infinite."""
        along, own = self.directions[params], self.covariance[np.ix_(params, params)]
        scale = np.sqrt(own.diagonal() + np.sum(along**2, axis=1))[:, None]
        vectors, values, _ = np.linalg.svd(along / scale)
        finite = vectors[:, np.count_nonzero(values**2 > TAKES_PART) :] / scale
        projected = finite.T @ theta[params]
        return float(projected @ solve(finite.T @ own @ finite, projected))


E = TypeVar("E", bound=TrialLikelihood)


@dataclass(frozen=True, eq=False)
class Optimum(Generic[E]):
    """The end of an iteration.

    Attributes
    ----------
    theta : ndarray of shape (n_terms, n_outputs)
    at : TrialLikelihood
        The likelihood at theta, for the columns Z.
    converged : bool
    limit : Limit or None
        None if the likelihood has a maximum; otherwise the deviance is its infimum.
    """

    theta: Floats
    at: E
    converged: bool
    limit: Limit | None

    @property
    def summary(self) -> tuple[Floats, float, bool, Limit | None]:
        """theta, deviance, converged and limit."""
        return self.theta, self.at.deviance, self.converged, self.limit


Iteration = Generator[Trial, E, Optimum[E]]


def newton(start: Floats, null: Floats, likelihood: Likelihood, *, diverged: bool = False) -> Iteration[E]:
    """Newton's method, as a generator that is sent the evaluation of each trial that it yields.

    Parameters
    ----------
    start, null : ndarray of shape (n_terms, n_outputs)
        Parameters to start from, and those of the null fit.
    likelihood : Likelihood
        Its rows need not be in memory.
    diverged : bool, default=False
        Whether the start is a fit without a maximum.

    Returns
    -------
    Optimum
    """
    n = likelihood.n if likelihood.has_dispersion else None  # the decrement is measured in units of the dispersion
    theta, still, spectrum, converged = start, np.zeros_like(start), None, not start.size
    here = yield Trial(theta, still)
    long = False
    for iteration in range(MAX_ITERATIONS):
        if converged or not np.isfinite(here.information).all():
            break
        slope = likelihood.tamed(theta, here.gradient, here.information)
        move = None if diverged else _cholesky_step(*slope)
        if move is None:
            if spectrum is None:
                at_null = yield Trial(null, still, np.eye(len(theta)))
                diverged, spectrum = True, _Spectrum(at_null.information, theta.shape, likelihood)
                here = yield Trial(theta, still, spectrum.basis)
                slope = likelihood.tamed(theta, here.gradient, here.information)
            move = spectrum.step(*slope)
        step, decrement = move
        line = _Line(theta, step, None if spectrum is None else spectrum.basis, likelihood.lower)
        length, moved = yield from line.search(here)
        long = moved.reach > likelihood.long_step
        unit = 1.0 if n is None else max(here.deviance / n, MIN_SCALE)
        small = decrement <= max(TOLERANCE * unit, 0.0 if length else STALLED * here.deviance)
        ended = decrement <= INFIMUM * unit or not length
        converged = small and (not long or (ended and spectrum is not None))
        late = long and iteration >= FEW_ITERATIONS
        if length:
            if late:
                length, moved = yield from line.extended(length, moved)
            theta, here = line.at(length).theta, moved
        elif spectrum is not None:
            break
        diverged = diverged or small or late or not length
    if spectrum is None:
        return Optimum(theta, here, converged, None)
    level, limit = spectrum.limit(*likelihood.tamed(theta, here.gradient, here.information), long)
    return Optimum(theta, (yield Trial(theta, still)), converged and level, limit)


@dataclass(frozen=True, eq=False)
class _Line:
    """Trials theta + length * step."""

    theta: Floats
    step: Floats
    basis: Floats | None
    lower: Floats | None

    def at(self, length: float) -> Trial:
        theta = self.theta + length * self.step
        if self.lower is not None:
            theta[: len(self.lower), 0] = np.maximum(theta[: len(self.lower), 0], self.lower)
        return Trial(theta, self.step, self.basis)

    def search(self, here: E) -> Generator[Trial, E, tuple[float, E]]:
        """The longest of the steps 1, 1/2, 1/4, ... that does not increase the deviance, and its evaluation; 0 if none.

        The first one is shorter if it would change eta by more than `MAX_STEP`.
        """
        allowed, length = here.deviance + SLACK * abs(here.deviance), 1.0
        moved = yield self.at(length)
        if moved.reach > MAX_STEP:
            length = MAX_STEP / moved.reach
            moved = yield self.at(length)
        for _ in range(MAX_HALVINGS):
            if moved.deviance <= allowed:
                return length, moved
            length /= 2
            moved = yield self.at(length)
        return 0.0, moved

    def extended(self, length: float, here: E) -> Generator[Trial, E, tuple[float, E]]:
        """The longest of 1, 2, 4, ... times a step of which each lowers the deviance, and its evaluation."""
        for _ in range(MAX_DOUBLINGS):
            moved = yield self.at(2 * length)
            if not moved.deviance < here.deviance - TOLERANCE:
                break
            length, here = 2 * length, moved
        return length, here


def _cholesky_step(gradient: Floats, information: Floats) -> tuple[Floats, float] | None:
    """The Newton step and its decrement; None if the information is ill-conditioned."""
    scaled, inverse = _scaled(information)
    right = gradient.ravel() * inverse
    factor, solution, failed = linalg.lapack.dposv(scaled, right)
    if failed or linalg.lapack.dpocon(factor, np.linalg.norm(scaled, 1))[0] < ILL_CONDITIONED:
        return None
    return (solution * inverse).reshape(gradient.shape), float(right @ solution)


class _Spectrum:
    """Eigenvalues of the information relative to that of the null fit, in a basis of columns that are orthogonal there.

    Rounding in such a basis does not depend on scales or collinearity of the columns, so that a small eigenvalue is
    small because of the weights of the fit.

    Attributes
    ----------
    basis : ndarray of shape (n_terms, n_terms)
    """

    def __init__(self, null: Floats, shape: tuple[int, ...], likelihood: Likelihood) -> None:
        q, m = shape[1], likelihood.n_shapes
        own = null.reshape(shape + shape)
        scaled, inverse = _scaled(np.einsum("iaja->ij", own[m:, :, m:]))
        inverse[inverse == 0] = 1.0  # columns without information, whose coefficients are not determined
        values, vectors = np.linalg.eigh(scaled)
        self.basis = np.eye(len(own))  # shapes are orthogonal to the other parameters, and stay what they are
        self.basis[m:, m:] = inverse[:, None] * vectors / np.sqrt(np.maximum(values, SINGULAR * values[-1]))
        self._map = np.kron(self.basis, np.eye(q))  # of parameters
        outputs = np.einsum("iaib->ab", own)
        self._metric = np.kron(np.eye(len(own)), outputs / np.trace(outputs))
        # without an intercept or threshold, an information is computed by subtracting what is as large as that at null
        self._floor, self._all_followed = 0.0 if likelihood.has_intercept else 1.0, True

    def step(self, gradient: Floats, information: Floats) -> tuple[Floats, float]:
        """The Newton step along directions with information, and its decrement."""
        values, vectors = linalg.eigh(information, self._metric)
        kept = values > ROUNDING * max(values[-1], self._floor)
        self._all_followed = bool(kept.all())
        along = vectors[:, kept].T @ gradient.ravel()
        step = vectors[:, kept] @ (along / values[kept])
        return self.basis @ step.reshape(gradient.shape), float(along @ (along / values[kept]))

    def limit(self, gradient: Floats, information: Floats, diverging: bool) -> tuple[bool, Limit | None]:
        """Whether the likelihood is level along directions without a maximum, and the limit; None if there are none.

        A likelihood has such directions if its last step was long, or did not follow all directions.
        """
        values, vectors = linalg.eigh(information, self._metric)
        kept = values > FLAT * max(1.0, values[-1])
        if kept.all() or (self._all_followed and not diverging):
            return True, None
        level = np.abs(vectors[:, ~kept].T @ gradient.ravel()).max() <= LEVEL
        finite = self._map @ vectors[:, kept]
        return bool(level), Limit(self._map @ vectors[:, ~kept], (finite / values[kept]) @ finite.T)


def _scaled(information: Floats) -> tuple[Floats, Floats]:
    """The matrix with unit diagonal, and the factors of its rows and columns; 0 where the diagonal is."""
    scale = np.sqrt(np.maximum(information.diagonal(), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    return information * inverse[:, None] * inverse, inverse


def solve(information: Floats, right: Floats) -> Floats:
    """inv(information) @ right; directions without information are not followed."""
    if not len(information):
        return np.zeros_like(right)
    scaled, inverse = _scaled(information)
    factors = inverse if right.ndim == 1 else inverse[:, None]
    _, solution, failed = linalg.lapack.dposv(scaled, right * factors)  # Cholesky
    if failed:
        values, vectors = np.linalg.eigh(scaled)
        kept = values > SINGULAR * values[-1]
        solution = vectors[:, kept] @ ((vectors[:, kept].T @ (right * factors)).T / values[kept]).T
    return np.asarray(solution * factors)


class Point:
    """A likelihood whose rows are in memory, at a trial."""

    def __init__(self, likelihood: Likelihood, Z: Floats, trial: Trial) -> None:
        self._likelihood, self._Z, self._trial = likelihood, Z, trial

    @cached_property
    def reach(self) -> float:
        return self._likelihood.reach(self._Z, self._trial.step)

    @cached_property
    def local(self) -> Local:
        return cast(Local, self._likelihood.at(self._Z, self._trial.theta))

    @property
    def deviance(self) -> float:
        return self.local.deviance

    @cached_property
    def gradient(self) -> Floats:
        return self.local.gradient(self._Z, self._trial.basis)

    @cached_property
    def information(self) -> Floats:
        return self.local.information(self._Z, self._trial.basis, observed=self._trial.basis is None)


def maximise(
    likelihood: Likelihood, Z: Floats, start: Floats, null: Floats, *, diverged: bool = False
) -> Optimum[Point]:
    """Maximise a likelihood over the parameters of the terms Z; see `newton`."""
    iteration: Iteration[Point] = newton(start, null, likelihood, diverged=diverged)
    trial = next(iteration)
    while True:
        try:
            trial = iteration.send(Point(likelihood, Z, trial))
        except StopIteration as end:
            return cast(Optimum[Point], end.value)
