"""The forward path that a knockoff filter chooses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dropstep.models.base import Choices, Problem, Units
from dropstep.models.capabilities import WithKnockoffs, capability
from dropstep.search.rules import Knockoffs, Rules, Threshold
from dropstep.search.search import Search
from dropstep.search.strategies import Strategy, forward, in_order


def knockoff_path(
    rule: Knockoffs, search: Search, problem: Problem, refused: dict[str, Any], seed: int
) -> tuple[Strategy, tuple[str, ...]]:
    """A strategy that adds what the filter chose, in order of entry, and a note if nothing was.

    Parameters
    ----------
    rule : Knockoffs
    search : Search
        Its pool are the candidates.
    problem : Problem
    refused : dict
        Parameters that do not apply, by name; an error is raised if one is not None.
    seed : int
    """
    for name, value in refused.items():
        if value is not None:
            raise ValueError(f"{name} does not apply to {rule!r}, which judges single features; omit {name}")
    if search.units.members is not None:
        raise ValueError(f"{rule!r} judges single columns, and X has factors; exclude them, or use Permutation")
    if (extensible := capability(problem, WithKnockoffs)) is None:
        raise ValueError(f"{rule!r} needs model 'linear' or 'discriminant'; use Significance for other models")
    candidates = np.array([u for u in search.pool if problem.varying[u]], dtype=np.intp)
    if not len(candidates):
        return in_order(()), ()
    chosen = rule.chosen(_forward_order(extensible.with_knockoffs(candidates, seed)), len(candidates))
    note = (
        f"Knockoffs({rule.fdr:g}) selects at least {rule.fewest} features or none, because one false selection among "
        f"fewer would exceed the rate; there are {len(candidates)} candidates"
    )
    return in_order([int(candidates[j]) for j in chosen]), () if chosen else (note,)


def _forward_order(problem: Problem) -> list[int]:
    """The order in which all columns of a problem enter."""
    units, everything = Units(problem.n_columns), np.arange(problem.n_columns)
    always = Threshold(-math.inf)
    search = Search(problem.model("aic", units, everything, Choices(units.n, 0)), Rules(always, always, always), units)
    for _ in forward(search):
        pass
    return search.selected
