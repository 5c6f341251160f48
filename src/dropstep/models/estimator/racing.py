"""Racing: folds are run in turn, and candidates that are shown to be worse than the leader run no further folds.

Maron and Moore (1993), Hoeffding races; Tsamardinos et al. (2019), early stopping of candidates in PFBP.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LEVEL = 0.1  # of the paired test that stops a candidate
KEPT = 0.2  # share of the candidates that runs a second fold
MIN_KEPT = 2

Run = Callable[[Sequence[int], int], Floats]


@dataclass(frozen=True, eq=False)
class Race:
    """Result of a race.

    Attributes
    ----------
    scores : ndarray of shape (n_candidates, n_folds)
        NaN where a fold was not run.
    finalists : ndarray of bool of shape (n_candidates,)
        Candidates that ran every fold.
    """

    scores: Floats
    finalists: NDArray[np.bool_]


def race(
    n_candidates: int, order: Sequence[int], run: Run, *, racing: bool, ranks: Indices, champion: Floats | None = None
) -> Race:
    """Run folds in order; decisions are made between folds, so that they do not depend on who finishes first.

    Parameters
    ----------
    n_candidates : int
    order : sequence of int
        Folds in the order to run them.
    run : callable
        Scores of some candidates on a fold; NaN for a candidate that failed, which runs no further folds.
    racing : bool
        False runs every fold for every candidate.
    ranks : ndarray of int of shape (n_candidates,)
        Order of promise, which breaks ties.
    champion : ndarray of shape (n_folds,) or None, default=None
        Scores to beat, where only a candidate that is better is of interest.
    """
    scores = np.full((n_candidates, len(order)), np.nan)
    alive = np.argsort(ranks, kind="stable")
    for n_done, fold in enumerate(order, start=1):
        if not len(alive):
            break
        scores[alive, fold] = run(alive.tolist(), fold)
        alive = alive[~np.isnan(scores[alive, fold])]
        if racing and n_done < len(order):
            done = list(order[:n_done])
            to_beat = None if champion is None else champion[done]
            alive = alive[survivors(scores[np.ix_(alive, done)], to_beat)]
    finalists = np.zeros(n_candidates, dtype=bool)
    finalists[alive] = True
    return Race(scores, finalists)


def survivors(scores: Floats, champion: Floats | None = None) -> Indices:
    """Which candidates run the next fold, in their order.

    After the first fold, the best fifth. After that, all but those whose mean is significantly below that of the
    leader, by a paired t test whose variance is pooled over the candidates: two folds then suffice for a test.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_folds)
        Scores on the folds run so far, candidates in order of promise.
    champion : ndarray of shape (n_folds,) or None, default=None
        Scores to beat.
    """
    n, n_folds = scores.shape
    if n_folds == 1:
        n_kept = max(math.ceil(KEPT * n), min(n, MIN_KEPT))
        return np.sort(np.argsort(-scores[:, 0], kind="stable")[:n_kept])
    rows = scores if champion is None else np.vstack([scores, champion])
    means = rows.mean(axis=1)
    leader = int(means.argmax())
    differences = rows[leader] - rows
    deficits = means[leader] - means
    degrees = (len(rows) - 1) * (n_folds - 1)  # the leader differs from itself by nothing
    if not degrees:
        return np.arange(n)
    variance = ((differences - deficits[:, None]) ** 2).sum() / degrees
    critical = float(stdtrit(degrees, 1 - LEVEL)) * math.sqrt(variance / n_folds)
    kept = np.flatnonzero(deficits <= critical)
    return np.asarray(kept[kept < n])


def mean_differences(differences: Floats) -> tuple[Floats, Floats]:
    """Row means of paired differences (NaN where a fold was not run), and their standard errors.

    A row with a single fold takes the variance pooled over the rows that have more; a row without any has mean 0.
    """
    n_folds = (~np.isnan(differences)).sum(axis=1)
    means = np.nansum(differences, axis=1) / np.maximum(n_folds, 1)
    squares = np.nansum((differences - means[:, None]) ** 2, axis=1)
    several = n_folds > 1
    degrees = int((n_folds[several] - 1).sum())
    pooled = squares[several].sum() / degrees if degrees else np.nan
    variances = np.where(several, squares / np.maximum(n_folds - 1, 1), pooled)
    return means, np.sqrt(variances / np.maximum(n_folds, 1))
