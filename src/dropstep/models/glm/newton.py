"""Maximum likelihood by Newton's method with step halving: one loop for every likelihood."""

from __future__ import annotations

from dataclasses import dataclass

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
MAX_DOUBLINGS = 40
FEW_ITERATIONS = 10  # that a fit with a maximum rarely exceeds: after these, directions without a maximum are extended
SLACK = 1e-13  # relative increase of the deviance that counts as rounding
MAX_STEP = 1e3  # change of eta in one iteration, near the limits of exp
DIVERGING_STEP = 0.1  # change of eta that a fit with a maximum no longer makes when it stops
SINGULAR = 1e-13  # relative eigenvalue below which a direction of the information matrix is not followed


@dataclass(frozen=True, eq=False)
class Optimum:
    """The end of an iteration.

    Attributes
    ----------
    theta : ndarray of shape (n_columns, n_outputs)
    eta : ndarray of shape (n_rows, n_outputs)
    local : Local
        The likelihood at eta.
    converged : bool
    separated : bool
        Whether the likelihood has no maximum, because it never falls along the last step; the deviance is its infimum.
    """

    theta: Floats
    eta: Floats
    local: Local
    converged: bool
    separated: bool


def maximise(likelihood: Likelihood, Z: Floats, theta: Floats) -> Optimum:
    """Maximise a likelihood over the coefficients of the columns of Z, from theta."""
    eta = likelihood.offset + Z @ theta
    local, direction, converged, recedes = likelihood.at(eta), np.zeros_like(eta), not Z.shape[1], False
    for iteration in range(MAX_ITERATIONS):
        if converged:
            break
        gradient, information = (Z.T @ local.residual).ravel(), local.gram(Z, observed=True)
        if not np.isfinite(information).all():
            break
        step = solve(information, gradient).reshape(theta.shape)
        scale = max(local.deviance / likelihood.n, MIN_SCALE) if likelihood.has_dispersion else 1.0
        decrement = float(gradient @ step.ravel())
        converged = decrement <= TOLERANCE * scale
        direction = Z @ step
        if (largest := np.abs(direction).max()) > MAX_STEP:
            step, direction = step * (MAX_STEP / largest), direction * (MAX_STEP / largest)
        length, moved = _line_search(likelihood, local, eta, direction)
        if not length:
            converged = converged or decrement <= STALLED * local.deviance
            break
        if length == 1 and iteration >= FEW_ITERATIONS and largest > DIVERGING_STEP and likelihood.recedes(direction):
            recedes, (length, moved) = True, _extended(likelihood, moved, eta, direction)
        theta, eta, local = theta + length * step, eta + length * direction, moved
    separated = recedes or (np.abs(direction).max(initial=0.0) > DIVERGING_STEP and likelihood.recedes(direction))
    return Optimum(theta, eta, local, converged or bool(separated), bool(separated))


def _line_search(likelihood: Likelihood, local: Local, eta: Floats, direction: Floats) -> tuple[float, Local]:
    """The longest of the steps 1, 1/2, 1/4, ... that does not increase the deviance; 0 if none."""
    limit, length = local.deviance + SLACK * abs(local.deviance), 1.0
    for _ in range(MAX_HALVINGS):
        moved = likelihood.at(eta + length * direction)
        if moved.deviance <= limit:
            return length, moved
        length /= 2
    return 0.0, local


def _extended(likelihood: Likelihood, local: Local, eta: Floats, direction: Floats) -> tuple[float, Local]:
    """The longest of the steps 1, 2, 4, ... of which each lowers the deviance, where none of them can increase it."""
    length = 1.0
    for _ in range(MAX_DOUBLINGS):
        moved = likelihood.at(eta + 2 * length * direction)
        if not moved.deviance < local.deviance - TOLERANCE:
            break
        length, local = 2 * length, moved
    return length, local


def solve(information: Floats, gradient: Floats) -> Floats:
    """inv(information) @ gradient; directions without information are not followed."""
    if not len(information):
        return np.zeros_like(gradient)
    scale = np.sqrt(np.maximum(information.diagonal(), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    scaled = information * inverse[:, None] * inverse
    right = gradient * (inverse if gradient.ndim == 1 else inverse[:, None])
    _, solution, failed = linalg.lapack.dposv(scaled, right)  # Cholesky
    if failed:
        values, vectors = np.linalg.eigh(scaled)
        kept = values > SINGULAR * values[-1]
        solution = vectors[:, kept] @ ((vectors[:, kept].T @ right).T / values[kept]).T
    return np.asarray(solution * (inverse if gradient.ndim == 1 else inverse[:, None]))
