"""Screening: score tests of all candidates from one pass over the columns, Wald tests from the information matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import Bools, Units
from dropstep.models.glm.design import DEPENDENT, Design
from dropstep.models.glm.likelihood import Likelihood, Local, Pointwise
from dropstep.models.glm.newton import Limit, solve
from dropstep.models.tests import ScoreSum

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit with what screening reads of it.

    Attributes
    ----------
    units : tuple of int
        Selected units, ascending.
    columns : tuple of int
        Their linearly independent columns.
    owner : ndarray of shape (n_columns,)
        Unit of each column.
    Z : ndarray of shape (n_rows, n_terms)
        The terms, see `Local.terms`: those of nuisance parameters and the intercept, and standardised columns.
    theta : ndarray of shape (n_terms, n_outputs)
    local : Local
        The likelihood at the fit.
    limit : Limit or None
        See `Optimum`.
    observed_errors : bool
        Whether the covariance is that of the observed information.
    """

    units: tuple[int, ...]
    columns: tuple[int, ...]
    owner: Indices
    Z: Floats
    theta: Floats
    local: Local
    limit: Limit | None
    observed_errors: bool = False

    @cached_property
    def information(self) -> Floats:
        """Expected information about theta, by term and output."""
        return self.local.information(self.Z)

    @cached_property
    def covariance(self) -> Floats:
        """Inverse of an information: the covariance of theta in units of the dispersion, in the limit if need be."""
        if self.limit is not None:
            return self.limit.covariance
        own = self.local.information(self.Z, observed=True) if self.observed_errors else self.information
        return solve(own, np.eye(len(own)))

    def solve(self, right: Floats) -> Floats:
        """inv(information) @ right, in the limit if need be."""
        return solve(self.information, right) if self.limit is None else self.limit.covariance @ right

    def params(self, unit: int) -> Indices:
        """Positions in theta, flattened, of the parameters of a unit."""
        q = self.theta.shape[1]
        first = self.Z.shape[1] - len(self.columns)
        terms = first + np.flatnonzero(self.owner == unit)
        return np.asarray((terms[:, None] * q + np.arange(q)).ravel(), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Statistics:
    """Test statistics of units, in units of the dispersion.

    Attributes
    ----------
    values : ndarray of shape (n_units,)
    n_params : ndarray of shape (n_units,)
        Independent parameters, the degrees of freedom.
    """

    values: Floats
    n_params: Indices

    @property
    def feasible(self) -> Bools:
        return self.n_params > 0

    def at(self, positions: Indices) -> Statistics:
        """The statistics of some of the units."""
        return Statistics(self.values[positions], self.n_params[positions])


def score_tests(design: Design, units: Units, chosen: Indices, fitted: Fitted) -> Statistics:
    """Score (Rao) statistics of adding each unit to a fit."""
    members = [units.columns([int(u)]) for u in chosen] if units.members is not None else None
    if members is None:
        return _single(design, chosen, fitted)
    widths = np.array([len(columns) for columns in members])
    values, n_params = np.zeros(len(chosen)), np.zeros(len(chosen), dtype=np.intp)
    alone = np.flatnonzero(widths == 1)
    if len(alone):
        found = _single(design, np.array([members[i][0] for i in alone], dtype=np.intp), fitted)
        values[alone], n_params[alone] = found.values, found.n_params
    for i in np.flatnonzero(widths > 1):
        values[i], n_params[i] = UnitProducts.of(design.columns(members[i]), fitted).statistic(fitted)
    return Statistics(values, n_params)


def _single(design: Design, columns: Indices, fitted: Fitted) -> Statistics:
    """Score statistics of single columns: c' inv(D) c, where D is the residual of x' W x given the selected."""
    residual, q = fitted.local.residual, fitted.theta.shape[1]
    V = np.column_stack([residual, fitted.local.weighted(fitted.Z).reshape(len(residual), -1)])
    products, squares = design.products(columns, V, fitted.local)
    c, cross = products[:, :q], products[:, q:].reshape(len(columns), q, -1)
    return of_products(c, cross, squares, fitted)


def of_products(c: Floats, cross: Floats, squares: Floats, fitted: Fitted) -> Statistics:
    """Score statistics of single columns x from their products.

    Parameters
    ----------
    c : ndarray of shape (n_columns, n_outputs)
        x' times the residual.
    cross : ndarray of shape (n_columns, n_outputs, n_terms * n_outputs)
        x' W Z.
    squares : ndarray of shape (n_columns, n_outputs, n_outputs)
        x' W x.
    fitted : Fitted

    Returns
    -------
    Statistics
    """
    q = c.shape[1]
    projected = fitted.solve(cross.reshape(len(c) * q, -1).T).T.reshape(cross.shape)
    D = squares - np.einsum("jal,jbl->jab", cross, projected)
    if q > 1:
        return _quadratic_forms(c, D, squares)
    d, own = D[:, 0, 0], squares[:, 0, 0]
    feasible = d > DEPENDENT * own
    return Statistics(np.divide(c[:, 0] ** 2, d, out=np.zeros(len(d)), where=feasible), feasible.astype(np.intp))


@dataclass(frozen=True, eq=False)
class UnitProducts:
    """Products of the columns X of one unit with a fit.

    Attributes
    ----------
    c : ndarray of shape (n_columns, n_outputs)
        X' times the residual.
    cross : ndarray of shape (n_terms * n_outputs, n_columns * n_outputs)
        Z' W X.
    own : ndarray of shape (n_columns * n_outputs, n_columns * n_outputs)
        X' W X.
    """

    c: Floats
    cross: Floats
    own: Floats

    @classmethod
    def of(cls, X: Floats, fitted: Fitted) -> UnitProducts:
        size, WX = X.shape[1] * fitted.theta.shape[1], fitted.local.weighted(X)
        own = np.tensordot(X, WX, axes=(0, 0)).reshape(size, size)
        return cls(X.T @ fitted.local.residual, np.tensordot(fitted.Z, WX, axes=(0, 0)).reshape(-1, size), own)

    def residual(self, fitted: Fitted) -> Floats:
        """X' W X given the selected."""
        return np.asarray(self.own - self.cross.T @ fitted.solve(self.cross))

    def statistic(self, fitted: Fitted) -> tuple[float, int]:
        """The score statistic, and its number of independent parameters."""
        found = _quadratic_forms(self.c.reshape(1, -1), self.residual(fitted)[None], self.own[None])
        return float(found.values[0]), int(found.n_params[0])

    def direction(self, fitted: Fitted) -> Direction:
        """The combination of columns and of outputs along which the score is largest, given the selected."""
        (m, q), columns, outputs = self.c.shape, np.ones(1), np.ones(1)
        if m * q > 1:
            gradient = np.linalg.pinv(self.residual(fitted), hermitian=True) @ self.c.ravel()
            U, _, V = np.linalg.svd(gradient.reshape(m, q), full_matrices=False)
            columns, outputs = U[:, 0], V[0]
        k = len(fitted.information) // q
        if q == 1:
            return Direction(columns, outputs, fitted.solve(self.cross @ columns))
        information = np.einsum("kalb,a,b->kl", fitted.information.reshape(k, q, k, q), outputs, outputs)
        cross = np.einsum("kajb,a,j,b->k", self.cross.reshape(k, q, m, q), outputs, columns, outputs)
        return Direction(columns, outputs, solve(information, cross))


@dataclass(frozen=True, eq=False)
class Direction:
    """One combination of the columns of a unit, and one of the outputs.

    Attributes
    ----------
    columns : ndarray of shape (n_columns,)
    outputs : ndarray of shape (n_outputs,)
    projection : ndarray of shape (n_terms,)
        Coefficients of the combination of columns on the selected terms.
    """

    columns: Floats
    outputs: Floats
    projection: Floats

    def score(self, X: Floats, Z: Floats, likelihood: Likelihood, local: Local) -> ScoreSum:
        """The score of rows along the direction, as a sum of products."""
        candidate, frequencies = X @ self.columns - Z @ self.projection, likelihood.w
        residual = local.residual @ self.outputs / frequencies
        if local.is_bernoulli:
            y = (residual > 0).astype(np.float64)
            return ScoreSum.of(candidate, residual, frequencies, np.clip(y - residual, 0.0, 1.0))
        if not isinstance(local, Pointwise):
            return ScoreSum.of(candidate, residual, frequencies, exchangeable=True)
        weights = np.einsum("nab,a,b->n", local.weights, self.outputs, self.outputs)
        root = np.sqrt(np.maximum(weights, 0.0) / frequencies)  # nearly certain rows: negative by rounding
        pearson = np.divide(residual, root, out=np.zeros_like(residual), where=root > 0)
        return ScoreSum.of(candidate * root, pearson, frequencies)


def _quadratic_forms(c: Floats, D: Floats, own: Floats) -> Statistics:
    """c' pinv(D) c and the rank of D, with eigenvalues relative to the diagonals before projection."""
    diagonal = np.sqrt(np.maximum(np.einsum("jaa->ja", own), 0.0))
    scale = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
    values, vectors = np.linalg.eigh(D * scale[:, :, None] * scale[:, None, :])
    kept = values > DEPENDENT * D.shape[1]
    coordinates = np.einsum("jab,ja->jb", vectors, c * scale)
    powers = np.divide(coordinates**2, values, out=np.zeros_like(values), where=kept)
    return Statistics(powers.sum(axis=1), kept.sum(axis=1))


def wald_tests(fitted: Fitted, chosen: Indices) -> Statistics:
    """Wald statistics of selected units; 0 for a unit without an independent column."""
    theta, limit = fitted.theta.ravel(), fitted.limit
    values, n_params = np.zeros(len(chosen)), np.zeros(len(chosen), dtype=np.intp)
    for i, unit in enumerate(chosen.tolist()):
        at = fitted.params(unit)
        own = fitted.covariance[np.ix_(at, at)]
        values[i] = theta[at] @ solve(own, theta[at]) if limit is None else limit.wald(theta, at)
        n_params[i] = len(at)
    return Statistics(values, n_params)
