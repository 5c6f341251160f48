"""Best subsets of each size by branch and bound, as leaps and bounds (Furnival and Wilson 1974)."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import TIE, Indices, additions_of
from dropstep.models.capabilities import BestSets
from dropstep.models.least_squares.criteria import OfTrace
from dropstep.models.least_squares.moves import block_cholesky
from dropstep.models.least_squares.subset_candidates import (
    DEPENDENT,
    LOSS_ROUNDING,
    Candidates,
    IndependentPart,
    Scale,
    SubsetFit,
    candidates_of,
    fit_of,
    independent_parts,
)

if TYPE_CHECKING:
    from dropstep.models.least_squares.model import LeastSquares

Floats = NDArray[np.float64]
HALVINGS = 60  # of an interval of losses
Bools = NDArray[np.bool_]
BATCH = 2**19  # numbers in the inverse matrices of a batch of nodes
MAX_GROWN = 5000  # sets that are grown one by one, if these are all that can grow
BEAM = 64  # nodes per size in the backward search for incumbents


Places = tuple[int, ...]


class Incumbents:
    """The `n_best` best sets of each size.

    Parameters
    ----------
    candidates : Candidates
    scale : Scale
    limits : tuple of int and float
        Largest size, and largest rank, of a set.
    n_best : int
    """

    def __init__(self, candidates: Candidates, scale: Scale, limits: tuple[int, float], n_best: int) -> None:
        self._candidates, self._scale, self._n_best = candidates, scale, n_best
        self.max_size, self._max_rank = limits
        wanted = (np.arange(candidates.n + 1) <= limits[0]) & (candidates.least_ranks <= limits[1] + TIE)
        self.limit = np.where(wanted, np.inf, -np.inf)  # largest loss of a set of each size that may join
        self._found: list[list[tuple[float, Places]]] = [[] for _ in self.limit]
        self._known: set[Places] = set()
        self._n_known = np.zeros(len(self.limit), dtype=np.intp)

    @property
    def sizes(self) -> list[int]:
        """Sizes of which a set was found."""
        return [size for size, found in enumerate(self._found) if found]

    def sets(self, size: int) -> list[Places]:
        """The best sets of a size, best first."""
        return [places for _, places in self._found[size]]

    def may_join(self, losses: Floats, sizes: Indices) -> NDArray[np.bool_]:
        """Whether sets of these sizes, with at least these losses, may join."""
        inside = sizes >= 0
        return np.asarray(inside & (losses <= self.limit[np.where(inside, sizes, 0)]))

    def offer(self, places: Places) -> None:
        """Add a set if it is among the best of its size; of equal sets, the lowest indices come first."""
        size = len(places)
        if places in self._known or self.limit[size] == -np.inf:
            return
        self._known.add(places)
        self._n_known[size] += 1
        self._insert(places)
        if self._n_known[size] == math.comb(self._candidates.n, size):
            self.limit[size] = -np.inf  # there is no other set of this size
        elif len(self._found[size]) == self._n_best:
            self.limit[size] = self._largest_loss(self._found[size][-1][0], size)

    def _insert(self, places: Places) -> None:
        contribution = self._candidates.contribution(np.array(places, dtype=np.intp))
        if contribution.redundant or contribution.rank > self._max_rank + TIE:
            return
        found = self._found[len(places)]
        value = self._scale.value(self._scale.loss(contribution.G), contribution.rank, len(places))
        equal = [v for v, _ in found if abs(v - value) <= TIE * max(abs(v), abs(value))]
        bisect.insort(found, (equal[0] if equal else value, places), key=lambda one: (-one[0], one[1]))
        del found[self._n_best :]

    def _largest_loss(self, value: float, size: int) -> float:
        """The largest loss with which a set of a size can have a value, whatever its rank, and rounding errors."""
        low, high = self._scale.interval
        slack, rank = LOSS_ROUNDING * max(abs(low), abs(high)), int(self._candidates.least_ranks[size])
        if self._scale.equal_ranks:
            return -value + TIE * abs(value) + slack
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._scale.value(middle, rank, size) >= value else (low, middle)
        return high + TIE * abs(high) + slack


@dataclass(frozen=True, eq=False)
class _Grown:
    """A set: Gram matrix and cross products of all candidates given it, and its M."""

    gram: Floats
    cross: Floats
    M: Floats
    places: Places = ()

    def plus(self, place: int, width: int, sign: int) -> _Grown:
        """The set with one more unit."""
        gram, cross, M = self.gram, self.cross, self.M
        for column in range(place * width, (place + 1) * width):
            if gram[column, column] > DEPENDENT:
                w, z = gram[column] / math.sqrt(gram[column, column]), cross[column] / math.sqrt(gram[column, column])
                gram, cross, M = gram - np.outer(w, w), cross - np.outer(w, z), M + sign * np.outer(z, z)
        return _Grown(gram, cross, M, (*self.places, place))


def n_to_grow(n: int, max_size: int) -> int:
    """Number of sets that can grow to a size."""
    return sum(math.comb(n, size) for size in range(max_size))


class Growing:
    """All sets up to the largest size of the incumbents, in lexicographic order."""

    def __init__(self, scale: Scale, candidates: Candidates, incumbents: Incumbents) -> None:
        self._scale, self._candidates, self._incumbents = scale, candidates, incumbents
        self.n_evaluations = 0

    def run(self, ended: Callable[[], object]) -> bool:
        """Offer every set to the incumbents; False if the search ended before."""
        c, scale = self._candidates, self._scale
        empty = _Grown(c.gram, c.cross, scale.M)
        stack = [(empty, place) for place in reversed(self._offer_additions(empty))]
        while stack:
            if ended():
                return False
            parent, place = stack.pop()
            if len(parent.places) + 1 < self._incumbents.max_size:
                child = parent.plus(place, c.width, scale.sign)
                stack += [(child, further) for further in reversed(self._offer_additions(child))]
        return True

    def _offer_additions(self, grown: _Grown) -> list[int]:
        """Offer a set with each later unit, best first, and return the units that add to it."""
        c = self._candidates
        later = np.arange(grown.places[-1] + 1 if grown.places else 0, c.n)
        if not len(later) or not self._incumbents.max_size:
            return []
        at = later[:, None] * c.width + np.arange(c.width)
        blocks, cross = grown.gram[at[:, :, None], at[:, None, :]], grown.cross[at]
        update, _ = block_cholesky(blocks, cross, np.full(at.shape, DEPENDENT))
        V = update.vectors
        losses = np.where(
            update.feasible, self._scale.fit.loss(grown.M + self._scale.sign * np.swapaxes(V, 1, 2) @ V), np.inf
        )
        self.n_evaluations += len(later)
        size = len(grown.places) + 1
        for i in np.argsort(losses, kind="stable"):
            if not losses[i] <= self._incumbents.limit[size]:
                break
            self._incumbents.offer((*grown.places, int(later[i])))
        return [int(place) for place in later[update.feasible]]


@dataclass(frozen=True, eq=False)
class Tree:
    """What all nodes share.

    With b = inv(S) C of the units that are present and A = inv(S), deleting the units D takes b_D' inv(A_DD) b_D from
    G. Let D0 be the diagonal blocks of A at the root and `spread` the largest eigenvalue of A relative to them. Since
    deletions only decrease A, inv(A_DD) >= inv(D0_DD) / spread at every node, so that the powers of single deletions
    relative to D0, over `spread`, add up to a bound for the deletion of several.
    """

    candidates: Candidates
    fit: SubsetFit
    sign: int

    @cached_property
    def root_factors(self) -> Floats:
        """Cholesky factors of D0."""
        return np.asarray(self.factors(self.candidates.inverse[None], np.ones((1, self.candidates.n), dtype=bool))[0])

    @cached_property
    def spread(self) -> float:
        n, g = self.candidates.n, self.candidates.width
        half = solve(self.root_factors, self.candidates.inverse.reshape(n, g, n * g)).reshape(n * g, n, g)
        both = solve(self.root_factors, half.transpose(1, 2, 0)).reshape(n * g, n * g)
        return float(np.linalg.eigvalsh((both + both.T) / 2)[-1])

    def root(self, M: Floats) -> Nodes:
        """All candidates, of which every one may be deleted; M is that of all of them."""
        c = self.candidates
        everything = np.ones((1, c.n), dtype=bool)
        b = (c.inverse @ c.cross)[None]
        return Nodes(self, c.inverse[None], b, M[None], self.fit.loss(M[None]), everything, everything)

    def factors(self, A: Floats, present: Bools) -> Floats:
        """Cholesky factors of the diagonal blocks; identity for deleted units."""
        n, g = self.candidates.n, self.candidates.width
        blocks = np.einsum("bigih->bigh", A.reshape(len(A), n, g, n, g))
        blocks = np.where(present[:, :, None, None], blocks, np.eye(g))
        return np.sqrt(blocks) if g == 1 else _cholesky(blocks)


@dataclass(frozen=True, eq=False)
class Nodes:
    """A batch of nodes: a node stands for the subsets of its units that contain all units that are not free.

    Attributes
    ----------
    A : ndarray of shape (n_nodes, n_columns, n_columns)
        Inverse Gram matrix of the units present; 0 elsewhere.
    b : ndarray of shape (n_nodes, n_columns, n_targets)
        Coefficients of the units present; 0 elsewhere.
    M : ndarray of shape (n_nodes, n_targets, n_targets)
    loss : ndarray of shape (n_nodes,)
    present, free : ndarray of shape (n_nodes, n_units)
        Which units are in the set, and which of them may be deleted.
    """

    tree: Tree
    A: Floats
    b: Floats
    M: Floats
    loss: Floats
    present: Bools
    free: Bools

    def __len__(self) -> int:
        return len(self.A)

    @cached_property
    def sizes(self) -> Indices:
        return np.asarray(self.present.sum(axis=1))

    @cached_property
    def _by_unit(self) -> Floats:
        c = self.tree.candidates
        return self.b.reshape(len(self), c.n, c.width, -1)

    @cached_property
    def _factors(self) -> Floats:
        return self.tree.factors(self.A, self.present)

    @cached_property
    def vectors(self) -> Floats:
        """V of each deletion."""
        return solve(self._factors, self._by_unit)

    @cached_property
    def increments(self) -> Floats:
        """Increase of the loss by each single deletion."""
        return self.tree.fit.increments(self.M[:, None], self.vectors)

    @cached_property
    def powers(self) -> Floats:
        """Powers of single deletions relative to the root, over `spread`; infinite for what may not be deleted."""
        V = solve(self.tree.root_factors, self._by_unit)
        return np.where(self.free, self.tree.fit.powers(self.M[:, None], V) / self.tree.spread, np.inf)

    @cached_property
    def _least_sums(self) -> Floats:
        """Sums of the 0, 1, 2, ... smallest powers."""
        return np.concatenate([np.zeros((len(self), 1)), np.cumsum(np.sort(self.powers, axis=1), axis=1)], axis=1)

    @cached_property
    def followers(self) -> Indices:
        """Number of free units whose deletion increases the loss less, and may follow; -1 for what is not free."""
        order = np.argsort(np.where(self.free, self.increments, np.inf), axis=1, kind="stable")
        places = np.empty_like(order)
        np.put_along_axis(places, order, np.arange(order.shape[1])[None], axis=1)
        return np.where(self.free, places, -1)

    def bounds(self, at: Indices, units: Indices) -> Floats:
        """Lower bounds of the loss after deleting a unit and 1, 2, ... followers; infinite where there are fewer.

        The loss is at least that of the worst single deletion, and increases by at least what the powers add up to.
        """
        more = np.arange(1, self.free.shape[1])
        increase = self.tree.fit.increase_from(self.powers[at, units][:, None] + self._least_sums[at][:, 1:-1])
        bound = self.loss[at][:, None] + np.maximum(increase, self.increments[at, units][:, None])
        return np.where(more <= self.followers[at, units][:, None], bound, np.inf)

    def deleted(self, at: Indices, units: Indices, *, every: bool = False) -> Nodes:
        """Nodes after the deletion of a unit of each node in `at`.

        Units whose deletion increases the loss more may not be deleted later, unless `every` unit may.
        """
        c, rows = self.tree.candidates, np.arange(len(at))
        column = self.A.reshape(len(self), -1, c.n, c.width)[at, :, units]
        w = np.swapaxes(solve(self._factors[at, units], np.swapaxes(column, 1, 2)), 1, 2)
        V = self.vectors[at, units]
        present = self.present[at]
        present[rows, units] = False
        return Nodes(
            self.tree,
            self.A[at] - w @ np.swapaxes(w, 1, 2),
            self.b[at] - w @ V,
            self.M[at] - self.tree.sign * np.swapaxes(V, 1, 2) @ V,
            self.loss[at] + self.increments[at, units],
            present,
            present if every else self.free[at] & (self.followers[at] < self.followers[at, units][:, None]),
        )


def _cholesky(blocks: Floats) -> Floats:
    """Lower triangular factors; eigenvalues that rounding has made negative are raised."""
    try:
        return np.asarray(np.linalg.cholesky(blocks))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(blocks)
        least = np.finfo(np.float64).eps * np.abs(values).max(axis=-1, keepdims=True)
        half = np.sqrt(np.maximum(values, least))[..., :, None] * np.swapaxes(vectors, -1, -2)
        return np.asarray(np.swapaxes(np.linalg.qr(half)[1], -1, -2))


def solve(L: Floats, x: Floats) -> Floats:
    """inv(L) x for lower triangular factors."""
    return np.asarray(x / L if L.shape[-1] == 1 else np.linalg.solve(L, x))


def best_sets(
    model: LeastSquares, pool: Indices, max_size: int, n_best: int, ended: Callable[[], object]
) -> BestSets | None:
    """The best sets of each size that can be added to a model; None if its criterion has no bounds."""
    problem, criterion = model.problem, model.criterion
    candidates = candidates_of(model.projection, model.units, pool)
    if not criterion.ordered_by_fit(float(model.projection.size + candidates.ranks.sum()), problem):
        return None
    M = model.matrix.M
    transform = criterion.transform if isinstance(criterion, OfTrace) and problem.n_targets > 1 else None
    if transform is not None:
        candidates, M = candidates.transformed(transform), transform @ M @ transform.T
    full = M + problem.sign * candidates.contribution(np.arange(candidates.n)).G
    fit = fit_of(criterion, problem, full)
    if fit is None:
        return None
    scale = Scale(model, fit, M, full, equal_ranks=bool((candidates.ranks == 1).all()))
    limits = min(max_size, candidates.n), problem.max_rank - model.projection.size
    return _Search(scale, candidates, Incumbents(candidates, scale, limits, n_best), ended).run()


@dataclass(eq=False)
class _OpenNodes:
    """Nodes, and which of their children are not visited yet."""

    nodes: Nodes
    at: Indices
    units: Indices

    def take(self, count: int) -> tuple[Indices, Indices]:
        """The last children."""
        taken = self.at[-count:], self.units[-count:]
        self.at, self.units = self.at[:-count], self.units[:-count]
        return taken


class _Search:
    """A depth-first search over batches of nodes; incumbents come from forward and backward searches.

    Parameters
    ----------
    scale : Scale
    candidates : Candidates
        All candidates; those that are linearly dependent are searched in parts.
    incumbents : Incumbents
    ended : callable
        Whether the search is to end now.
    """

    def __init__(
        self, scale: Scale, candidates: Candidates, incumbents: Incumbents, ended: Callable[[], object]
    ) -> None:
        self.scale, self.candidates, self.incumbents, self.ended = scale, candidates, incumbents, ended
        self.n_evaluations = 0
        self.frames: list[_OpenNodes] = []
        self._place = {unit: place for place, unit in enumerate(candidates.units.tolist())}
        self._chosen: tuple[int, ...] = ()  # of the present part
        self._places: Indices = np.empty(0, dtype=np.intp)

    def run(self) -> BestSets:
        """Visit every node that its bounds do not exclude."""
        self.incumbents.offer(())
        self._forward()
        if n_to_grow(self.candidates.n, self.incumbents.max_size) <= MAX_GROWN:
            growing = Growing(self.scale, self.candidates, self.incumbents)
            complete = growing.run(self.ended)
            self.n_evaluations = growing.n_evaluations
        else:
            complete = self._visit_parts()
        return self._result(complete=complete)

    def _visit_parts(self) -> bool:
        """Search all parts; False if the search ended before."""
        for part in independent_parts(self.candidates, self.incumbents.max_size):
            self._visit(part)
            if self.ended():
                return False
        return True

    def _visit(self, part: IndependentPart) -> None:
        """Search the sets of one part."""
        self._chosen = tuple(self._place[unit] for unit in part.chosen)
        self._places = np.array([self._place[unit] for unit in part.candidates.units.tolist()], dtype=np.intp)
        everything = self.candidates.contribution(np.array([*self._chosen, *self._places], dtype=np.intp))
        tree = Tree(part.candidates, self.scale.fit, self.scale.sign)
        root = tree.root(self.scale.M + self.scale.sign * everything.G)
        self._offer(root.present[0])
        sizes = len(self._chosen) + np.arange(part.candidates.n)
        if not self.incumbents.may_join(np.full(len(sizes), root.loss[0]), sizes).any():
            return
        self._backward(root)
        self._expand(root)
        batch = max(1, BATCH // root.A.size)
        while self.frames and not self.ended():
            frame = self.frames[-1]
            if not len(frame.at):
                self.frames.pop()
                continue
            at, units = self._viable(frame.nodes, *frame.take(batch))
            if len(at):
                self._expand(frame.nodes.deleted(at, units))

    def _expand(self, nodes: Nodes) -> None:
        """Offer the sets after single deletions, and keep the children that may lead to incumbents."""
        self.n_evaluations += int(nodes.free.sum())
        self._offer_deletions(nodes, nodes.free)
        at, units = self._viable(nodes, *np.nonzero(nodes.free & (nodes.followers > 0)))
        order = np.argsort(-(nodes.loss[at] + nodes.increments[at, units]), kind="stable")
        self.frames.append(_OpenNodes(nodes, at[order], units[order]))

    def _viable(self, nodes: Nodes, at: Indices, units: Indices) -> tuple[Indices, Indices]:
        """Children, of which some proper subset may join the incumbents."""
        joins = self.incumbents.may_join(nodes.bounds(at, units), self._sizes(nodes, at)).any(axis=1)
        return at[joins], units[joins]

    def _sizes(self, nodes: Nodes, at: Indices) -> Indices:
        """Sizes of the proper subsets of children: after 1, 2, ... further deletions."""
        before = len(self._chosen) + nodes.sizes[at][:, None] - 1
        return np.asarray(before - np.arange(1, nodes.free.shape[1]))

    # --- incumbents --------------------------------------------------------------------------------------------------

    def _offer(self, present: NDArray[np.bool_]) -> None:
        self.incumbents.offer(tuple(sorted([*self._chosen, *self._places[present].tolist()])))

    def _offer_deletions(self, nodes: Nodes, allowed: NDArray[np.bool_]) -> None:
        """Offer the sets after single deletions, best first."""
        after = nodes.loss[:, None] + nodes.increments
        sizes = np.broadcast_to(len(self._chosen) + nodes.sizes[:, None] - 1, allowed.shape)
        at, units = np.nonzero(allowed & self.incumbents.may_join(after, sizes))
        order = np.argsort(after[at, units], kind="stable")
        for i, j in zip(at[order].tolist(), units[order].tolist(), strict=True):
            if after[i, j] <= self.incumbents.limit[sizes[i, j]]:
                present = nodes.present[i].copy()
                present[j] = False
                self._offer(present)

    def _forward(self) -> None:
        """Offer the sets of a forward search."""
        model, chosen, pool = self.scale.model.copy(), [], self.candidates.units.copy()
        while len(pool) and model.saturated() is None and (scan := additions_of(model, pool)).feasible.any():
            at = int(np.where(scan.feasible, scan.gains, -np.inf).argmax())
            model.add([int(pool[at])])
            chosen.append(self._place[int(pool[at])])
            pool = np.delete(pool, at)
            self.incumbents.offer(tuple(sorted(chosen)))

    def _backward(self, nodes: Nodes) -> None:
        """Offer the sets of a backward search that keeps the `BEAM` best nodes of each size."""
        for _ in range(nodes.free.shape[1] - 1):
            if self.ended():
                return
            self._offer_deletions(nodes, nodes.present)
            after = np.where(nodes.present, nodes.loss[:, None] + nodes.increments, np.inf)
            at, units = np.unravel_index(np.argsort(after, axis=None, kind="stable")[: 4 * BEAM], after.shape)
            present = nodes.present[at]
            present[np.arange(len(at)), units] = False
            first = np.sort(np.unique(present, axis=0, return_index=True)[1])
            first = first[np.isfinite(after[at[first], units[first]])][:BEAM]
            nodes = nodes.deleted(at[first], units[first], every=True)

    # --- the result --------------------------------------------------------------------------------------------------

    def _result(self, *, complete: bool) -> BestSets:
        """The incumbents, and the scores that no set that was not visited exceeds."""
        units, sizes = self.candidates.units, self.incumbents.sizes
        sets = {size: [tuple(units[list(places)].tolist()) for places in self.incumbents.sets(size)] for size in sizes}
        losses = self._open_losses()
        if not complete:  # parts were not visited
            losses = np.minimum(losses, np.where(self.incumbents.limit > -np.inf, self.scale.interval[0], np.inf))
        ranks = self.candidates.least_ranks
        finite = np.flatnonzero(np.isfinite(losses)).tolist()
        bounds = {size: self.scale.best_score(float(losses[size]), int(ranks[size]), size) for size in finite}
        return BestSets(sets, bounds, self.n_evaluations)

    def _open_losses(self) -> Floats:
        """Lower bounds of the losses of sets of each size that were not visited; infinite if all were."""
        least = np.full(self.candidates.n + 1, np.inf)
        for frame in self.frames:
            bounds, sizes = frame.nodes.bounds(frame.at, frame.units), self._sizes(frame.nodes, frame.at)
            may = self.incumbents.may_join(bounds, sizes)
            np.minimum.at(least, sizes[may], bounds[may])
        return least
