"""Exchanges: a selected unit for a candidate, as one move, and candidates that could replace a selected unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dropstep.models.base import Indices, Scan, additions_of
from dropstep.models.evaluation import Resampled
from dropstep.result import StopReason
from dropstep.search.search import Move, Search, exceeds, feasible_gains, first_best, removal_of


def best_exchange(search: Search, pool: Indices | None = None) -> tuple[Move, Move] | None:
    """The removal, and the addition (of the pool) in its place, that together gain most, if the score improves."""
    pool = search.pool if pool is None else pool
    if search.resampled is not None:
        return _best_pair(search, search.resampled, pool)
    removals = search.all_removals()
    search.n_evaluations -= removals.n_evaluations  # an exchange is evaluated as a pair
    if search.model.saturated() is StopReason.EXACT or not len(removals.units) or not len(pool):
        return None
    scans = [additions_without(search, int(u), pool) for u in removals.units]
    totals = np.stack([feasible_gains(scan) for scan in scans]) - removals.gains[:, None]
    among = np.isfinite(totals).ravel()
    while (best := first_best(totals.ravel(), among)) is not None:
        if not exceeds(search.value + float(totals.flat[best]), search.value):
            return None
        out, into = divmod(best, len(pool))
        addition = search.exchanged_move(scans[out], into, int(removals.units[out]))
        if isinstance(addition, Move):
            return removal_of(removals, out), addition
        if addition is not None:
            search.remember([addition])
        among[best] = False
    return None


def _best_pair(search: Search, model: Resampled, pool: Indices) -> tuple[Move, Move] | None:
    """The best exchange, where each is evaluated as one move."""
    removable = search.removable
    if not len(removable) or not len(pool):
        return None
    scan = model.exchanges(removable, pool)
    search.count(scan)
    best = first_best(scan.gains, scan.eligible, scan.tie)
    if best is None or not exceeds(search.value + float(scan.gains[best]), search.value):
        return None
    out, into = divmod(best, len(pool))
    return Move(int(removable[out])), Move(int(pool[into]))


def best_replacement(search: Search) -> tuple[Move, Move] | None:
    """At `max_features`: the best candidate, in the place of the least useful unit, if the score improves."""
    if not search.full or search.model.saturated() is StopReason.EXACT or not len(search.pool):
        return None
    decision = search.entering()
    search.remember(decision.refused)
    return None if decision.move is None else best_exchange(search, np.array([decision.move.unit]))


def additions_without(search: Search, unit: int, pool: Indices) -> Scan:
    """Exact gains of candidates if a selected unit were removed.

    Where scans only screen, gains are those of the most promising candidates; the others are not feasible.
    """
    scan = additions_of(search.model, pool, unit)
    search.count(scan)
    if scan.exact:
        return scan
    exact = search.confirmed(scan, unit)
    gains, feasible = np.zeros(len(pool)), np.zeros(len(pool), dtype=bool)
    at = np.searchsorted(pool, exact.units)
    gains[at], feasible[at] = exact.gains, exact.feasible
    return replace(scan, gains=gains, feasible=feasible, exact=True)


def equivalents(
    search: Search, most: int = 50, near: int = 3, share: float = 0.2
) -> tuple[dict[int, float], dict[int, tuple[tuple[int, float], ...]]]:
    """Losses without each of the first `most` units, and candidates that could replace it.

    An exchange costs the loss less what the candidate gains once the unit is removed; at most `near` are returned,
    cheapest first, whose exchange costs up to `share` of the loss. Units are named by their first feature.
    """
    search = search.copy()  # counts evaluations of its own
    pool, removals = np.sort(np.concatenate([search.pool, search.dropped])), search.all_removals()
    known = dict(zip(removals.units.tolist(), removals.gains.tolist(), strict=True))
    first = {u: search.units.features([u])[0] for u in [v for v in search.selected if v in known][:most]}
    found: dict[int, tuple[tuple[int, float], ...]] = {}
    for unit, feature in first.items():
        loss = known[unit]
        gains = feasible_gains(additions_without(search, unit, pool)) if len(pool) and loss > 0 else np.empty(0)
        costs = loss - gains
        cheapest = [i for i in np.argsort(costs, kind="stable")[:near] if costs[i] <= share * loss]
        found[feature] = tuple((search.units.features([int(pool[i])])[0], float(costs[i])) for i in cheapest)
    return {feature: known[unit] for unit, feature in first.items()}, found
