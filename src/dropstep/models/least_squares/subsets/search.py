"""Branch and bound over batches of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import Indices
from dropstep.models.capabilities import BestSets
from dropstep.models.least_squares.criteria import OfTrace
from dropstep.models.least_squares.subsets.candidates import Candidates, Part, candidates_of, independent_parts
from dropstep.models.least_squares.subsets.fit import fit_of
from dropstep.models.least_squares.subsets.growing import Growing, n_to_grow
from dropstep.models.least_squares.subsets.incumbents import Incumbents
from dropstep.models.least_squares.subsets.nodes import Nodes, Tree
from dropstep.models.least_squares.subsets.scale import Scale

if TYPE_CHECKING:
    from dropstep.models.least_squares.model import LeastSquares

Floats = NDArray[np.float64]

BATCH = 2**19  # numbers in the inverse matrices of a batch of nodes
MAX_GROWN = 5000  # sets that are grown one by one, if these are all that can grow
BEAM = 64  # nodes per size in the backward search for incumbents


def best_sets(
    model: LeastSquares, pool: Indices, max_size: int, n_best: int, ended: Callable[[], object]
) -> BestSets | None:
    """The best sets of each size that can be added to a model; None if its criterion has no bounds."""
    problem, criterion = model.problem, model.criterion
    candidates = candidates_of(model.projection, model.units, pool)
    if not criterion.ordered_by_fit(float(model.projection.size + candidates.ranks.sum()), problem):
        return None
    M = model.explained.M
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
class _Frame:
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
        self.frames: list[_Frame] = []
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

    def _visit(self, part: Part) -> None:
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
        self.frames.append(_Frame(nodes, at[order], units[order]))

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
        while len(pool) and model.saturated() is None and (scan := model.additions(pool)).feasible.any():
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
