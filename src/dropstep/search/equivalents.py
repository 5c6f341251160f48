"""Equivalents: candidates that could replace a selected unit at little loss."""

from __future__ import annotations

import numpy as np

from dropstep.search.exchanges import additions_without
from dropstep.search.moves import feasible_gains
from dropstep.search.search import Search


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
