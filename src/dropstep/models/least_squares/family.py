"""Least squares as a family: linear regression and discriminant analysis, from rows or from moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.moments import Moments
from dropstep.data.table import as_table, as_weights
from dropstep.data.target import as_target
from dropstep.models.base import Bools, Rows, Units
from dropstep.models.least_squares.criteria import as_criterion
from dropstep.models.least_squares.model import LeastSquares
from dropstep.models.least_squares.notes import notes
from dropstep.models.least_squares.problem import Problem, from_moments, problem_of


@dataclass(frozen=True)
class LeastSquaresFamily:
    """Linear regression or discriminant analysis.

    Parameters
    ----------
    kind : {"auto", "linear", "discriminant"}
        "auto" decides from the values of the target.
    """

    kind: Literal["auto", "linear", "discriminant"]

    def problem(self, X: Any, y: Any, rows: Rows, solver: Any, max_features: int | None) -> LeastSquaresProblem:
        """Validate data and make them a problem."""
        for name, value in (("offset", rows.offset), ("strata", rows.strata)):
            if value is not None:
                owners = "'poisson', 'gamma', 'logistic' or 'cox'" if name == "offset" else "'cox'"
                raise ValueError(f"{name} does not apply to model {self.kind!r}; use model={owners}, or omit {name}")
        if isinstance(X, Moments):
            if y is not None or rows.weights is not None:
                raise ValueError("Moments carry their y and their weights; omit y and sample_weight")
            problem = from_moments(X)
            if self.kind not in ("auto", problem.kind):
                raise ValueError(f"these Moments are those of model {problem.kind!r}, not {self.kind!r}")
            return LeastSquaresProblem(problem, X.feature_names)
        table = as_table(X)
        weights = as_weights(rows.weights, len(table.values))
        target = as_target(y, len(table.values), self.kind, weights)
        return LeastSquaresProblem(problem_of(table, target, weights, solver, max_features), table.names)


@dataclass(frozen=True, eq=False)
class LeastSquaresProblem:
    """Normal equations, and the names of the features."""

    equations: Problem
    names: tuple[str, ...] | None

    @property
    def n_features(self) -> int:
        return self.equations.n_features

    @property
    def varying(self) -> Bools:
        return self.equations.equations.diagonal > 0

    def model(self, criterion: Any, units: Units, candidates: NDArray[np.intp], n_candidates: int) -> LeastSquares:
        """A model of candidate columns that form a number of units."""
        problem = self.equations
        resolved = as_criterion(criterion, problem.kind).resolve(problem, candidates, n_candidates)
        return LeastSquares(problem, resolved, units)

    def notes(self, model: LeastSquares, excluded: set[int]) -> Iterator[str]:
        """Notes on the data and on the digits of the numbers."""
        return notes(model, self.names, excluded)
