"""Growth of time with the rows, the features and the number selected: a decade each, and the slope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import interleaved, yardsticks
from benchmarks.rivals import Rival, Task
from benchmarks.simulated import Simulated
from benchmarks.workloads import Workload

OURS = "dropstep dropping"
LINES = (OURS, "dropstep forward", "fastcan", "abess", "scikit-learn OMP")


@dataclass(frozen=True)
class Growth:
    """Workloads that differ in one number: n, p or k.

    linear : whether the work is proportional to that number, so that the slope should be 1.
    """

    name: str
    axis: str
    workloads: tuple[Simulated, ...]
    linear: bool = True

    @property
    def sizes(self) -> list[int]:
        return [getattr(workload, self.axis) for workload in self.workloads]

    @property
    def shape(self) -> str:
        first = self.workloads[0]
        return ", ".join(f"{axis} = {getattr(first, axis):,}" for axis in "npk" if axis != self.axis)


@dataclass(frozen=True)
class Grown:
    """Best time of every tool at every size."""

    growth: Growth
    seconds: dict[str, list[float]]

    def slope(self, name: str) -> float:
        """Slope of log time on log size, by least squares."""
        return float(np.polyfit(np.log(self.growth.sizes), np.log(self.seconds[name]), 1)[0])

    def sentence(self) -> str:
        sizes, seconds = self.growth.sizes, self.seconds[OURS]
        return f"{self.growth.axis} from {sizes[0]:,} to {sizes[-1]:,}: {seconds[0]:.3g} to {seconds[-1]:.3g} s"


def _decade(first: int) -> list[int]:
    return [round(first * 10 ** (i / 4)) for i in range(5)]


# Sizes that exceed every cache, so that the slope does not reflect cache misses.
GROWTHS = (
    Growth("rows of a tall table", "n", tuple(Simulated(n, 200, 20) for n in _decade(40_000))),
    Growth("rows of a wide table", "n", tuple(Simulated(n, 20_000, 10) for n in _decade(500))),
    Growth("features of a wide table", "p", tuple(Simulated(1_000, p, 10) for p in _decade(10_000))),
    Growth("features selected", "k", tuple(Simulated(2_000, 10_000, k) for k in _decade(5)), linear=False),
)
QUICK_GROWTHS = (
    Growth("rows of a tall table", "n", tuple(Simulated(n, 50, 10) for n in _decade(4_000))),
    Growth("features of a wide table", "p", tuple(Simulated(200, p, 10) for p in _decade(1_000))),
    Growth("features selected", "k", tuple(Simulated(500, 2_000, k) for k in _decade(5)), linear=False),
)


def grown(
    growth: Growth, repeats: int, rivals: Sequence[Rival], budget: float = 10.0, short_budget: float = 1.0
) -> Grown:
    """Time every size in turn: dropping, one pass, and the other tools."""
    seconds: dict[str, list[float]] = {}
    for make in growth.workloads:
        X, y = make()
        workload = Workload(growth.name, make, make.k, "")
        task = Task(workload, len(X), X.shape[1], targets=1)
        calls: dict[str, Callable[[], Any]] = {
            rival.name: partial(rival.call(workload), X, y, make.k) for rival in rivals if not rival.unable(task)
        }
        for name, timing in interleaved(calls | yardsticks(X), repeats, budget, {"one pass": 3}, short_budget).items():
            seconds.setdefault(name, []).append(timing.best)
    return Grown(growth, seconds)
