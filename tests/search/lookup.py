"""A tiny model family: a table of scores for all subsets of a few features, with or without tests and screening."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from dropstep.models.base import Scan
from dropstep.result import PartialTest, StopReason

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Scores of subsets, and p-values of units given subsets.

    Parameters
    ----------
    scores : ndarray of shape (2 ** n,)
        Entry b is the score of the subset whose members are the bits of b.
    p_values : ndarray of shape (2 ** n, n)
        p-value of each unit given the subset without it.
    """

    scores: Floats
    p_values: Floats
    greater_is_better: bool = True

    @property
    def n(self) -> int:
        return self.p_values.shape[1]

    @classmethod
    def random(cls, seed: int, n: int = 8, *, greater_is_better: bool = True) -> Table:
        """Additive effects with interactions, less a charge per feature; most effects are too small to pay for it."""
        rng = np.random.default_rng([30, seed])
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        effects = rng.exponential(1.0, size=n)
        interactions = np.triu(0.4 * rng.normal(size=(n, n)), 1)
        scores = bits @ effects + np.einsum("bi,ij,bj->b", bits, interactions, bits) - bits.sum(axis=1)
        scores = scores + 0.05 * rng.normal(size=2**n)
        p_values = np.clip(rng.uniform(size=(2**n, n)) * np.exp(-2 * effects), 1e-12, 1.0)
        return cls(scores if greater_is_better else -scores, p_values, greater_is_better)

    def score(self, units: Sequence[int] | set[int]) -> float:
        return float(self.scores[sum(1 << u for u in units)])

    def value(self, units: Sequence[int] | set[int]) -> float:
        """The score, signed so that larger is better."""
        return self.score(units) if self.greater_is_better else -self.score(units)

    def p_value(self, units: Sequence[int] | set[int], unit: int) -> float:
        return float(self.p_values[sum(1 << u for u in units), unit])


class LookupTests:
    """p-values of a scan."""

    def __init__(self, p_values: Floats) -> None:
        self._p_values = p_values

    ordered_by_gain = False

    @property
    def log_p_values(self) -> Floats:
        return np.log(self._p_values)

    def significant(self, level: float) -> NDArray[np.bool_]:
        return self._p_values <= level

    def is_significant(self, at: int, level: float) -> bool:
        return bool(self._p_values[at] <= level)

    def one(self, at: int) -> PartialTest:
        """A chi-squared statistic on one degree of freedom with the p-value of the unit."""
        return PartialTest(float(chdtri(1, self._p_values[at])), (1.0,))


class Lookup:
    """The model of a table; every score that is read counts as a fit.

    Parameters
    ----------
    table : Table
    tests : bool
        Whether scans have p-values.
    screening : bool
        Whether scans only screen: gains are off by noise, and `confirm` gives the exact ones.
    """

    scans_cost_fits = True

    def __init__(self, table: Table, *, tests: bool = True, screening: bool = False) -> None:
        self.table, self._tests, self._screening = table, tests, screening
        self._selected: list[int] = []

    @property
    def greater_is_better(self) -> bool:
        return self.table.greater_is_better

    @property
    def score(self) -> float:
        return self.table.score(self._selected)

    def additions(self, units: NDArray[np.intp], without: int | None = None) -> Scan:
        others = [u for u in self._selected if u != without]
        gains = [self.table.value([*others, int(u)]) - self.table.value(others) for u in units]
        return self._scan(units, gains, [self.table.p_value(others, int(u)) for u in units], not self._screening)

    def removals(self, units: NDArray[np.intp]) -> Scan:
        remaining = [[v for v in self._selected if v != u] for u in units]
        losses = [self.table.value(self._selected) - self.table.value(others) for others in remaining]
        p_values = [self.table.p_value(others, int(u)) for others, u in zip(remaining, units, strict=True)]
        return self._scan(units, losses, p_values, exact=True)

    def confirm(self, units: NDArray[np.intp], without: int | None = None) -> Scan:
        units, others = np.sort(units), [u for u in self._selected if u != without]
        gains = [self.table.value([*others, int(u)]) - self.table.value(others) for u in units]
        return self._scan(units, gains, [self.table.p_value(others, int(u)) for u in units], exact=True)

    def _scan(self, units: NDArray[np.intp], gains: list[float], p_values: list[float], exact: bool) -> Scan:
        values = np.array(gains, dtype=float)
        if not exact:
            values = values + 0.01 * np.sin(np.arange(len(values)) + len(self._selected))
        tests = LookupTests(np.array(p_values)) if self._tests else None
        feasible = np.ones(len(units), dtype=bool)
        return Scan(units, values, feasible, exact, n_evaluations=len(units), n_fits=len(units), tests=tests)

    def add(self, units: Sequence[int]) -> None:
        self._selected.extend(units)

    def remove(self, units: Sequence[int]) -> None:
        self._selected = [u for u in self._selected if u not in units]

    def copy(self) -> Lookup:
        other = Lookup(self.table, tests=self._tests, screening=self._screening)
        other.add(self._selected)
        return other

    def release(self) -> None:
        pass

    def saturated(self) -> StopReason | None:
        return None
