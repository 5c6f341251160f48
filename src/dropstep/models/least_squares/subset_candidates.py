"""Candidates of an exhaustive search: their Gram matrix given the selected ones, and the scale that compares sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import Units
from dropstep.models.least_squares.criteria import Criterion, OfDeterminant, OfTrace, Size
from dropstep.models.least_squares.criterion_matrix import CriterionMatrix
from dropstep.models.least_squares.moves import BlockUpdate, block_cholesky
from dropstep.models.least_squares.problem import ScatterProblem
from dropstep.projection.projection import Projection

if TYPE_CHECKING:
    from dropstep.models.least_squares.model import LeastSquares

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
DEPENDENT = 1e-8  # relative pivot of a Gram matrix up to which a column is linearly dependent
WELL_CONDITIONED = 1e-10  # smallest relative eigenvalue of M for which its inverse is used
LOSS_ROUNDING = 1e-12  # error of a loss relative to that of the empty set


class Contribution(NamedTuple):
    """What a set of candidates adds to G, and its rank; redundant if a unit depends on the others of the set."""

    G: Floats
    rank: int
    redundant: bool


@dataclass(frozen=True, eq=False)
class Candidates:
    """Units, each with orthonormal columns given the selected features, padded to the same number of columns.

    Attributes
    ----------
    units : ndarray of shape (n_units,)
        Units that have an independent column; a place is an index of this array.
    gram : ndarray of shape (n_units * width, n_units * width)
        Gram matrix, with identity blocks along the diagonal; columns that pad a unit are orthogonal to all others.
    cross : ndarray of shape (n_units * width, n_targets)
        Products with the residuals of the targets; 0 for columns that pad a unit.
    ranks : ndarray of shape (n_units,)
        Number of independent columns of each unit.
    width : int
        Columns per unit.
    """

    units: Indices
    gram: Floats
    cross: Floats
    ranks: Indices
    width: int

    @property
    def n(self) -> int:
        return len(self.units)

    @cached_property
    def dependent(self) -> list[int]:
        """Places of the units that depend, at least in part, on earlier ones."""
        pivots = self._factored(np.arange(self.n))[1]
        places: list[int] = np.unique(np.repeat(np.arange(self.n), self.ranks)[pivots <= DEPENDENT]).tolist()
        return places

    @cached_property
    def inverse(self) -> Floats:
        """Inverse of the Gram matrix of independent units."""
        return np.asarray(np.linalg.inv(self.gram))

    @cached_property
    def least_ranks(self) -> Indices:
        """Lower bound of the rank of 0, 1, 2, ... units."""
        ranks = np.ones_like(self.ranks) if self.dependent else np.sort(self.ranks)
        return np.concatenate([[0], np.cumsum(ranks)]).astype(np.intp)

    def transformed(self, T: Floats) -> Candidates:
        """The same candidates, with other coordinates of the targets."""
        return replace(self, cross=self.cross @ T.T)

    def contribution(self, places: Indices) -> Contribution:
        """What a set adds, from its part of the Gram matrix."""
        update, pivots = self._factored(places)
        rank = int(update.rank[0])
        redundant = rank < len(pivots) and any(
            int(self._factored(np.delete(places, i))[0].rank[0]) == rank for i in range(len(places))
        )
        vectors = update.vectors[0]
        return Contribution(vectors.T @ vectors, rank, redundant)

    def _factored(self, places: Indices) -> tuple[BlockUpdate, Floats]:
        inside = np.arange(self.width) < self.ranks[places][:, None]
        at = (places[:, None] * self.width + np.arange(self.width))[inside]
        least = np.full((1, len(at)), DEPENDENT)
        update, pivots = block_cholesky(self.gram[np.ix_(at, at)][None], self.cross[at][None], least)
        return update, pivots[0]

    def without(self, places: Sequence[int], given: int | None = None) -> Candidates:
        """The candidates except some, and given that one of these is selected."""
        gram, cross = self.gram, self.cross
        if given is not None:
            one = slice(given * self.width, (given + 1) * self.width)
            gram, cross = gram - gram[:, one] @ gram[one], cross - gram[:, one] @ cross[one]
        kept = np.delete(np.arange(self.n), list(places))
        blocks = [np.arange(i * self.width, i * self.width + self.ranks[i]) for i in kept]
        return orthonormalised(self.units[kept], gram, cross, blocks)


class IndependentPart(NamedTuple):
    """Sets that contain the chosen units and any of some linearly independent candidates."""

    chosen: tuple[int, ...]
    candidates: Candidates


def independent_parts(candidates: Candidates, max_size: int, chosen: tuple[int, ...] = ()) -> Iterator[IndependentPart]:
    """Partition all sets without a redundant unit: by the first dependent unit that they contain, if any."""
    dependent = candidates.dependent
    yield IndependentPart(chosen, candidates.without(dependent))
    for i, place in enumerate(dependent if len(chosen) < max_size else []):
        others = candidates.without(dependent[: i + 1], given=place)
        yield from independent_parts(others, max_size, (*chosen, int(candidates.units[place])))


def candidates_of(projection: Projection, units: Units, pool: Indices) -> Candidates:
    """The candidates of a pool, given the features that are selected in a projection."""
    members = [np.array(units.columns([int(u)]), dtype=np.intp) for u in pool]
    columns = np.concatenate([np.empty(0, dtype=np.intp), *members])
    projection.update(columns)
    equations, W = projection.equations, projection.W[:, columns]
    varies = equations.diagonal[columns] > 0
    scale = np.sqrt(np.where(varies, equations.diagonal[columns], 1.0))
    gram = np.where(np.outer(varies, varies), equations.block(columns) - W.T @ W, 0.0) / np.outer(scale, scale)
    ends = np.cumsum([len(m) for m in members], dtype=np.intp)
    blocks = [np.arange(end - len(m), end) for end, m in zip(ends, members, strict=True)]
    return orthonormalised(pool, gram, projection.residual_cross[columns] / scale[:, None], blocks)


def orthonormalised(units: Indices, gram: Floats, cross: Floats, blocks: Sequence[Indices]) -> Candidates:
    """Candidates from a Gram matrix, in which each unit has a block of columns."""
    roots = [_orthonormal_columns(gram[np.ix_(block, block)]) for block in blocks]
    kept = [i for i, root in enumerate(roots) if root.shape[1]]
    ranks = np.array([roots[i].shape[1] for i in kept], dtype=np.intp)
    width = int(ranks.max(initial=1))
    T = np.zeros((len(gram), len(kept) * width))
    for place, i in enumerate(kept):
        T[blocks[i], place * width : place * width + ranks[place]] = roots[i]
    whole = T.T @ gram @ T
    padding = np.flatnonzero(np.arange(width) >= ranks[:, None])
    whole[padding, padding] = 1.0
    return Candidates(units[kept], whole, T.T @ cross, ranks, width)


def _orthonormal_columns(block: Floats) -> Floats:
    """T with T' block T = I, one column per independent column of a Gram matrix of columns of length 1 at most."""
    basis = np.empty((len(block), 0))
    for column in np.eye(len(block)):
        for _ in range(2):
            column = column - basis @ (basis.T @ (block @ column))
        length = float(column @ block @ column)
        if length > DEPENDENT:
            basis = np.column_stack([basis, column / np.sqrt(length)])
    return basis


class SubsetFit(Protocol):
    """A loss that orders sets of the same size and rank as the criterion does; no deletion improves it.

    A deletion of a unit changes M to M - sign V'V, where V has shape (width, n_targets). All arguments are arrays of
    matrices, with any number of axes before the last two.
    """

    def loss(self, M: Floats) -> Floats:
        """Losses of sets."""
        ...

    def increments(self, M: Floats, V: Floats) -> Floats:
        """Increases of the loss by each deletion."""
        ...

    def powers(self, M: Floats, V: Floats) -> Floats:
        """Sizes of deletions, whose sum bounds the increase by several (`increase_from`)."""
        ...

    def increase_from(self, power: Floats) -> Floats:
        """The smallest increase of the loss by deletions whose powers, if they were orthogonal, have this sum."""
        ...


@dataclass(frozen=True)
class TraceFit:
    """The trace of M, or its only element; transformed by `root`, if the criterion weights the targets."""

    sign: int

    def loss(self, M: Floats) -> Floats:
        return np.asarray(-self.sign * np.trace(M, axis1=-2, axis2=-1))

    def increments(self, M: Floats, V: Floats) -> Floats:
        return np.asarray(np.einsum("...gt,...gt->...", V, V))

    def powers(self, M: Floats, V: Floats) -> Floats:
        return self.increments(M, V)

    def increase_from(self, power: Floats) -> Floats:
        return power


@dataclass(frozen=True)
class DeterminantFit:
    """The log determinant of M."""

    sign: int

    def loss(self, M: Floats) -> Floats:
        return np.asarray(-self.sign * np.linalg.slogdet(M)[1])

    def increments(self, M: Floats, V: Floats) -> Floats:
        inner = V @ np.linalg.solve(M, np.swapaxes(V, -1, -2))  # det(M - sign V'V) = det(M) det(I - sign V inv(M) V')
        if inner.shape[-1] == 1:
            inside = np.maximum(-self.sign * inner[..., 0, 0], -1 + np.finfo(np.float64).eps)
            return np.asarray(-self.sign * np.log1p(inside))
        return np.asarray(-self.sign * np.linalg.slogdet(np.eye(inner.shape[-1]) - self.sign * inner)[1])

    def powers(self, M: Floats, V: Floats) -> Floats:
        return np.asarray(np.einsum("...gt,...tg->...", V, np.linalg.solve(M, np.swapaxes(V, -1, -2))))

    def increase_from(self, power: Floats) -> Floats:
        """log det(I + K) >= log(1 + trace K), and -log det(I - K) >= trace K."""
        return np.log1p(power) if self.sign < 0 else power


@dataclass(frozen=True)
class AnyFit:
    """Any function of M that no deletion improves; without a bound for several deletions."""

    sign: int
    function: Callable[[Floats], Floats]

    def loss(self, M: Floats) -> Floats:
        return self.function(M)

    def increments(self, M: Floats, V: Floats) -> Floats:
        return np.maximum(self.function(M - self.sign * np.swapaxes(V, -1, -2) @ V) - self.function(M), 0.0)

    def powers(self, M: Floats, V: Floats) -> Floats:
        return np.zeros(V.shape[:-2])

    def increase_from(self, power: Floats) -> Floats:
        return power


def fit_of(criterion: Criterion, problem: ScatterProblem, full: Floats) -> SubsetFit | None:
    """The fit that a criterion orders sets of one size by; None if it has none. `full` is M of all candidates."""
    if problem.n_targets == 1 or isinstance(criterion, OfTrace):
        return TraceFit(problem.sign)
    if isinstance(criterion, OfDeterminant):
        scale = np.sqrt(np.diagonal(problem.base))
        if np.linalg.eigvalsh(full / np.outer(scale, scale))[0] > WELL_CONDITIONED:
            return DeterminantFit(problem.sign)
        return AnyFit(problem.sign, lambda M: -problem.sign * _floored_logdet(M, scale, problem.exact_fit))
    if criterion.monotone:
        return AnyFit(
            problem.sign, lambda M: np.asarray(-criterion.better * criterion.score(M, Size(0.0, 0.0), problem))
        )
    return None


def _floored_logdet(M: Floats, scale: Floats, least: float) -> Floats:
    """Log determinants, up to a constant, of residuals whose eigenvalues are raised to the exact-fit tolerance."""
    values = np.linalg.eigvalsh(M / np.outer(scale, scale))
    return np.asarray(np.log(np.maximum(values, least)).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Scale:
    """Losses (less is better), and values and scores (more is better) of sets that are added to a model.

    Attributes
    ----------
    model : LeastSquares
    fit : SubsetFit
    M, full : ndarray of shape (n_targets, n_targets)
        M of the model, and with all candidates.
    equal_ranks : bool
        True if all units have rank 1, so that the loss orders the sets of one size.
    """

    model: LeastSquares
    fit: SubsetFit
    M: Floats
    full: Floats
    equal_ranks: bool

    @property
    def sign(self) -> int:
        return self.model.problem.sign

    def loss(self, G: Floats) -> float:
        """The loss of a set that adds to G; residuals at rounding level of the Gram matrix are equal."""
        loss = float(self.fit.loss((self.M + self.sign * G)[None])[0])
        return max(loss, LOSS_ROUNDING * self.interval[1]) if self.sign < 0 and isinstance(self.fit, TraceFit) else loss

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Losses of all candidates and of none."""
        return float(self.fit.loss(self.full[None])[0]), float(self.fit.loss(self.M[None])[0])

    def value(self, loss: float, rank: int, size: int) -> float:
        """What orders the sets of one size."""
        return -loss if self.equal_ranks else self.score(loss, rank, size)

    def score(self, loss: float, rank: int, size: int) -> float:
        """The score of a set of a rank and size that is added to the model, signed so that larger is better."""
        model, criterion = self.model, self.model.criterion
        if isinstance(self.fit, AnyFit) and not isinstance(criterion, OfDeterminant):
            return -loss
        then = Size(float(model.size.rank + rank), float(model.size.units + size))
        return criterion.better * float(criterion.score(self._read(-self.sign * loss), then, model.problem))

    def best_score(self, loss: float, rank: int, size: int) -> float:
        """The score that sets of at least a loss cannot exceed; a residual at rounding level may be 0."""
        rounding = self.sign < 0 and isinstance(self.fit, TraceFit) and loss <= LOSS_ROUNDING * self.interval[1]
        return self.score(0.0 if rounding else loss, rank, size)

    def _read(self, measure: float) -> float | Floats:
        """What the criterion reads of M, of which the fit measures the trace or the log determinant."""
        criterion, problem = self.model.criterion, self.model.problem
        if problem.n_targets > 1:
            return measure
        read: float | Floats = criterion.of(CriterionMatrix.of(np.array([[measure]]), problem))
        return read
