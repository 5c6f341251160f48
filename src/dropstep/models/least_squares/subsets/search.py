"""Branch and bound over batches of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dropstep.models.base import BestSets, Indices
from dropstep.models.least_squares.criteria import OfDeterminant, OfTrace, Size
from dropstep.models.least_squares.explained import Explained
from dropstep.models.least_squares.subsets.candidates import Candidates, candidates_of
from dropstep.models.least_squares.subsets.fit import AnyFit, Fit, fit_of
from dropstep.models.least_squares.subsets.incumbents import Incumbents
from dropstep.models.least_squares.subsets.nodes import Nodes, Tree

if TYPE_CHECKING:
    from dropstep.models.least_squares.model import LeastSquares

Floats = NDArray[np.float64]

BATCH = 2**19  # numbers in the inverse matrices of a batch of nodes
BEAM = 64  # nodes per size in the backward search for incumbents


def best_sets(
    model: LeastSquares, pool: Indices, max_size: int, n_best: int, ended: Callable[[], object]
) -> BestSets | None:
    """The best sets of each size that can be added to a model; None if its criterion has no bounds."""
    problem, criterion = model.problem, model.criterion
    candidates = candidates_of(model.projection, model.units, pool)
    if not criterion.ordered_by_fit(float(model.projection.size + candidates.ranks.sum()), problem):
        return None
    transform = criterion.transform if isinstance(criterion, OfTrace) and problem.n_targets > 1 else None
    M = model.explained.M
    if transform is not None:
        candidates = candidates.transformed(transform)
        M = transform @ M @ transform.T
    full = M + problem.sign * candidates.cross.T @ candidates.inverse @ candidates.cross
    fit = fit_of(criterion, problem, full)
    return None if fit is None else _Search(model, candidates, fit, M, full, max_size, n_best, ended).run()


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
    """A depth-first search over batches of nodes; incumbents come from forward and backward searches."""

    def __init__(
        self,
        model: LeastSquares,
        candidates: Candidates,
        fit: Fit,
        M: Floats,
        full: Floats,
        max_size: int,
        n_best: int,
        ended: Callable[[], object],
    ) -> None:
        self.model, self.candidates, self.fit, self.M, self.ended = model, candidates, fit, M, ended
        self.sign = model.problem.sign
        self.root = Tree(candidates, fit, self.sign).root(full)
        interval = float(self.root.loss[0]), float(fit.loss(M[None])[0])
        limits = min(max_size, candidates.n), model.problem.max_rank - model.projection.size
        self.incumbents = Incumbents(candidates, self._value, limits, n_best, interval)
        self.n_evaluations = 0
        self.batch = max(1, BATCH // max(1, len(candidates.gram) ** 2))
        self.frames: list[_Frame] = []

    def run(self) -> BestSets:
        """Visit every node that its bounds do not exclude."""
        n = self.candidates.n
        for places in ((), tuple(range(n))):
            self._offer(places)
        self._forward()
        self._backward()
        if n:
            self._expand(self.root)
        while self.frames and not self.ended():
            frame = self.frames[-1]
            if not len(frame.at):
                self.frames.pop()
                continue
            at, units = self._viable(frame.nodes, *frame.take(self.batch))
            if len(at):
                self._expand(frame.nodes.deleted(at, units))
        return self._result()

    def _expand(self, nodes: Nodes) -> None:
        """Offer the sets after single deletions, and keep the children that may lead to incumbents."""
        self.n_evaluations += int(nodes.free.sum())
        self._offer_deletions(nodes, nodes.free)
        at, units = self._viable(nodes, *np.nonzero(nodes.free & (nodes.followers > 0)))
        order = np.argsort(-(nodes.loss[at] + nodes.increments[at, units]), kind="stable")
        self.frames.append(_Frame(nodes, at[order], units[order]))

    def _offer_deletions(self, nodes: Nodes, allowed: NDArray[np.bool_]) -> None:
        after, sizes = nodes.loss[:, None] + nodes.increments, np.broadcast_to(nodes.sizes[:, None] - 1, allowed.shape)
        at, units = np.nonzero(allowed & self.incumbents.worth_visiting(after, sizes))
        order = np.argsort(after[at, units], kind="stable")
        for i, j in zip(at[order].tolist(), units[order].tolist(), strict=True):
            if after[i, j] <= self.incumbents.limit[sizes[i, j]]:
                present = nodes.present[i].copy()
                present[j] = False
                self._offer(tuple(np.flatnonzero(present).tolist()))

    def _viable(self, nodes: Nodes, at: Indices, units: Indices) -> tuple[Indices, Indices]:
        """Children, of which some proper subset may join the incumbents."""
        sizes = nodes.sizes[at][:, None] - 1 - np.arange(self.candidates.n)
        joins = self.incumbents.worth_visiting(nodes.bounds(at, units), sizes)[:, 1:].any(axis=1)
        return at[joins], units[joins]

    # --- incumbents --------------------------------------------------------------------------------------------------

    def _forward(self) -> None:
        """Offer the sets of a forward search."""
        model, places = self.model.copy(), {int(u): i for i, u in enumerate(self.candidates.units)}
        chosen: list[int] = []
        while len(chosen) < len(places) and model.saturated() is None:
            pool = np.array([u for u in places if u not in chosen], dtype=np.intp)
            scan = model.additions(pool)
            if not scan.feasible.any():
                return
            chosen.append(int(pool[np.where(scan.feasible, scan.gains, -np.inf).argmax()]))
            model.add(chosen[-1:])
            self._offer(tuple(sorted(places[u] for u in chosen)))

    def _backward(self) -> None:
        """Offer the sets of a backward search that keeps the `BEAM` best nodes of each size."""
        nodes = self.root
        for _ in range(self.candidates.n - 1):
            if self.ended():
                return
            self._offer_deletions(nodes, nodes.present)
            after = np.where(nodes.present, nodes.loss[:, None] + nodes.increments, np.inf)
            at, units = np.unravel_index(np.argsort(after, axis=None, kind="stable")[: 4 * BEAM], after.shape)
            present = nodes.present[at]
            present[np.arange(len(at)), units] = False
            first = np.sort(np.unique(present, axis=0, return_index=True)[1])[:BEAM]
            first = first[np.isfinite(after[at[first], units[first]])]
            nodes = nodes.deleted(at[first], units[first], every=True)

    # --- values ------------------------------------------------------------------------------------------------------

    def _offer(self, places: tuple[int, ...]) -> None:
        self.incumbents.offer(places, lambda G: float(self.fit.loss((self.M + self.sign * G)[None])[0]))

    def _value(self, loss: float, rank: int, size: int) -> float:
        """The value of a set; units of equal rank are compared by their loss."""
        if (self.candidates.ranks == 1).all():
            return -loss
        return self._score(loss, rank, size)

    def _score(self, loss: float, rank: int, size: int) -> float:
        """The score of a set, signed so that larger is better."""
        model = self.model
        problem, criterion = model.problem, model.criterion
        if isinstance(self.fit, AnyFit) and not isinstance(criterion, OfDeterminant):
            return -loss
        at = Size(float(model.size.rank + rank), float(model.size.units + size))
        return criterion.better * float(criterion.score(self._read(loss), at, problem))

    def _read(self, loss: float) -> float | Floats:
        """What the criterion reads of M, from the loss."""
        criterion, q = self.model.criterion, self.model.problem.n_targets
        value = -self.sign * loss
        if isinstance(criterion, OfTrace) or q > 1:
            return value
        read: float | Floats = criterion.of(Explained(np.array([[value]]), self.model.problem))
        return read

    def _result(self) -> BestSets:
        """The incumbents, and the scores that no set of their size can exceed."""
        units, sizes = self.candidates.units, self.incumbents.sizes
        sets = {size: [tuple(units[list(places)].tolist()) for places in self.incumbents.sets(size)] for size in sizes}
        open_losses = self._open_losses()
        least = self.candidates.least_ranks
        bounds = {
            size: self._score(open_losses[size], int(least[size]), size)
            for size in sizes
            if np.isfinite(open_losses[size])
        }
        return BestSets(sets, bounds, self.n_evaluations)

    def _open_losses(self) -> Floats:
        """Lower bounds of the losses of sets of each size that were not visited; infinite if all were."""
        least = np.full(self.candidates.n + 1, np.inf)
        for frame in self.frames:
            bounds = frame.nodes.bounds(frame.at, frame.units)[:, 1:]
            sizes = frame.nodes.sizes[frame.at][:, None] - 1 - np.arange(1, self.candidates.n)
            may = self.incumbents.worth_visiting(bounds, sizes)
            np.minimum.at(least, sizes[may], bounds[may])
        return least
