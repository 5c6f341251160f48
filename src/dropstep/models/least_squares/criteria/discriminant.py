"""Criteria of discriminant analysis: four functions of the eigenvalues of inv(Sw) Sb."""

from __future__ import annotations

from typing import Any

import numpy as np

from dropstep.models.least_squares.criteria.base import OfDeterminant, OfMatrix, OfTrace, Size
from dropstep.models.least_squares.problem import Problem


class Trace(OfTrace):
    """trace(inv(Sw) Sb), the paper's criterion (Lawley-Hotelling)."""

    name, kind, better, monotone = "trace", "discriminant", 1, True

    def score(self, trace: Any, size: Size, problem: Problem) -> Any:
        return trace - problem.n_targets


class Wilks(OfDeterminant):
    """Wilks' lambda, det(Sw) / det(Sw + Sb): less is better."""

    name, kind, monotone = "wilks", "discriminant", True

    def score(self, logdet: Any, size: Size, problem: Problem) -> Any:
        return np.exp(-logdet)


class Pillai(OfMatrix):
    """trace(inv(Sw + Sb) Sb)."""

    name, kind, better, monotone = "pillai", "discriminant", 1, True

    def score(self, M: Any, size: Size, problem: Problem) -> Any:
        return (1 - 1 / np.maximum(np.linalg.eigvalsh(M), 1.0)).sum(axis=-1)


class Roy(OfMatrix):
    """The largest eigenvalue of inv(Sw) Sb."""

    name, kind, better, monotone = "roy", "discriminant", 1, True

    def score(self, M: Any, size: Size, problem: Problem) -> Any:
        return np.linalg.eigvalsh(M)[..., -1] - 1
