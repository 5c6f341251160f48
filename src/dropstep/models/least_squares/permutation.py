"""Null distributions by permutation: the largest partial statistic over all candidates, for permuted residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.models.least_squares.row_residuals import RowResiduals, normalised, orthonormal
from dropstep.models.least_squares.wilks import WilksTest

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK_SIZE = 2**21  # values of X that are centred and projected at a time


@dataclass(frozen=True, eq=False)
class PermutedResiduals:
    """Largest statistics over all candidates, for permutations of the residuals of a selection.

    The statistic of a unit is 1 - partial Wilks' lambda, the share of the residual that it explains; where units differ
    in rank, it is minus the logarithm of the p-value of its partial F test. For classes, the targets are indicators.

    Attributes
    ----------
    rows : RowResiduals
    candidates : ndarray of int
        Columns of the units that could be chosen.
    test : WilksTest
    """

    rows: RowResiduals
    candidates: Indices
    test: WilksTest
    _known: dict[Any, tuple[dict[int, float], Floats]] = field(default_factory=dict)

    def given(self, selected: Sequence[int]) -> GivenSelection:
        """The null distribution under a selection, computed when it is needed."""
        return GivenSelection(self, tuple(selected))

    def p_value(self, unit: int, selected: tuple[int, ...], n_permutations: int, seed: int) -> float:
        """Share of the permutations, the identity included, whose largest statistic reaches that of a unit."""
        key = frozenset(selected), n_permutations, seed
        if key not in self._known:
            self._known.clear()
            self._known[key] = self._statistics(selected, n_permutations, seed)
        own, largest = self._known[key]
        reached = largest >= own.get(unit, -np.inf) * (1 - 1e-12)
        return float((1 + np.count_nonzero(reached)) / (1 + n_permutations))

    def _statistics(self, selected: tuple[int, ...], n_permutations: int, seed: int) -> tuple[dict[int, float], Floats]:
        """The statistic of each candidate, and the largest one for each permutation."""
        rows = self.rows
        if rows.weights is not None:
            raise ValueError("Permutation exchanges rows, which weights make unlike; use Significance, or repeat rows")
        basis, residual = rows.given(selected).basis, rows.given(selected).residual
        rng, n = np.random.default_rng(seed), len(residual)
        orders = [np.arange(n), *(rng.permutation(n) for _ in range(n_permutations))]
        R = _whitened(residual[np.array(orders)], basis)  # permutations x rows x targets
        out = set(selected)
        eligible = np.zeros(rows.sample.table.n_features, dtype=bool)
        eligible[self.candidates] = True
        units = rows.units
        pool = [u for u in range(units.n) if u not in out and eligible[list(units.columns([u]))].any()]
        flat = np.ascontiguousarray(np.moveaxis(R, 1, 0).reshape(n, -1))
        shares, ranks = self._shares(pool, basis, flat, R.shape[2])
        if len(set(ranks.tolist()) - {0}) > 1:
            size = float(basis.shape[1] - 1)
            pairs = zip(shares, ranks.tolist(), strict=True)
            shares = -np.array([self.test.log_p_value(1 - s, size, float(m)) if m else 0 * s for s, m in pairs])
        own = dict(zip(pool, shares[:, 0].tolist(), strict=True))
        return own, shares[:, 1:].max(axis=0, initial=0.0)

    def _shares(self, pool: list[int], basis: Floats, R: Floats, n_targets: int) -> tuple[Floats, Indices]:
        """Share of the permuted residuals that each unit explains, by one product per block of columns; its rank."""
        rows, single = self.rows, self.rows.units.members is None
        found, ranks = np.zeros((len(pool), R.shape[1] // n_targets)), np.zeros(len(pool), dtype=np.intp)
        step = max(1, BLOCK_SIZE // len(R)) if single else 1
        for start in range(0, len(pool), step):
            here = pool[start : start + step]
            X = rows.columns(rows.units.columns(here))
            E, kept = normalised(X, basis) if single else (orthonormal(X, basis), None)
            if not E.shape[1]:
                continue
            explained = ((E.T @ R) ** 2).reshape(E.shape[1], -1, n_targets).sum(axis=2)
            if single:
                found[start : start + step][kept], ranks[start : start + step][kept] = explained, 1
            elif n_targets == 1 or E.shape[1] == 1:
                found[start], ranks[start] = explained.sum(axis=0), E.shape[1]
            else:  # 1 - det(I - B'B)
                B = np.moveaxis((E.T @ R).reshape(E.shape[1], -1, n_targets), 1, 0)
                found[start] = 1 - np.linalg.det(np.eye(n_targets) - np.swapaxes(B, 1, 2) @ B)
                ranks[start] = E.shape[1]
        return np.clip(found, 0.0, 1.0), ranks


@dataclass(frozen=True, eq=False)
class GivenSelection:
    """The null distribution under a selection."""

    residuals: PermutedResiduals
    selected: tuple[int, ...]

    def p_value(self, unit: int, n_permutations: int, seed: int) -> float:
        """Share of the permutations, the data themselves counted as one, whose largest statistic reaches the unit's."""
        return self.residuals.p_value(unit, self.selected, n_permutations, seed)


def _whitened(R: Floats, basis: Floats) -> Floats:
    """Permuted residuals, orthogonal to a basis and with unit scatter: R' R = I for each permutation."""
    R = R - np.einsum("nk,pkt->pnt", basis, np.einsum("nk,pnt->pkt", basis, R))
    if R.shape[2] == 1:
        length = np.sqrt(np.einsum("pnt,pnt->p", R, R))
        return np.asarray(R / np.where(length > 0, length, 1.0)[:, None, None])
    return np.linalg.qr(R)[0]
