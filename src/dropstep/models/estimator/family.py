"""Any scikit-learn estimator as a family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.moments import Moments
from dropstep.data.table import Table, frame_names, listed
from dropstep.models.base import Bools, Rows, Units
from dropstep.models.resampling import Evaluation

N_FOLDS = 5  # of cv=None


@dataclass(frozen=True)
class Estimator:
    """A scikit-learn estimator whose features are selected by cross-validation.

    Parameters
    ----------
    estimator : estimator
        Cloned for every fit. A `random_state` of None is set from that of the search, the same for every fit.
    racing : bool, default=True
        Whether candidates that a paired test shows to be worse than the leader stop before the last fold.
    error_score : {"drop", "raise"}, default="drop"
        What happens to a candidate whose fit raises: it is set aside with a note, or the error is raised.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from dropstep import Estimator, select
    >>> path = select(*load_iris(return_X_y=True), model=Estimator(GaussianNB(), racing=False))
    >>> path.selected, round(path.score, 3)
    ((3,), 0.96)
    """

    estimator: Any
    racing: bool = True
    error_score: Literal["drop", "raise"] = "drop"
    evaluation: Evaluation = field(default=Evaluation(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not is_estimator(self.estimator):
            raise ValueError(f"estimator must have fit and get_params, as scikit-learn's do; got {self.estimator!r}")
        if self.error_score not in ("drop", "raise"):
            raise ValueError(f"error_score must be 'drop' or 'raise'; got {self.error_score!r}")

    def evaluated(self, evaluation: Evaluation) -> Estimator:
        """The family with its evaluation."""
        family = replace(self)
        object.__setattr__(family, "evaluation", evaluation)
        return family

    def problem(self, X: Any, y: Any, rows: Rows, solver: str, max_features: int | None) -> EstimatorProblem:
        """Validate data and make them a problem."""
        for name, value in (("offset", rows.offset), ("strata", rows.strata)):
            if value is not None:
                raise ValueError(f"{name} does not apply to an estimator; omit {name}, or use a model that has it")
        if isinstance(X, Moments):
            raise ValueError("Moments do not suffice for an estimator, which is fitted on rows; pass X and y")
        if solver != "auto":
            raise ValueError(f"solver={solver!r} does not apply to an estimator, which is fitted; use solver='auto'")
        names = X.names if isinstance(X, Table) else frame_names(X)
        values = X.values if isinstance(X, Table) else X if hasattr(X, "shape") else np.asarray(X)
        if len(values.shape) != 2 or 0 in values.shape:
            raise ValueError(f"X must have rows and features, one column per feature; its shape is {values.shape}")
        if y is None:
            raise ValueError("y is None, but an estimator requires a target; pass target values or class labels")
        n_rows, n_targets = values.shape[0], np.shape(y)[0]
        if n_targets != n_rows:
            raise ValueError(f"X and y must have the same number of rows; X has {n_rows}, y has {n_targets}")
        return EstimatorProblem(self, values, y, rows, names)


def is_estimator(model: Any) -> bool:
    """Whether an object is an instance with the methods that every estimator of scikit-learn has."""
    return not isinstance(model, type) and hasattr(model, "fit") and hasattr(model, "get_params")


@dataclass(frozen=True, eq=False)
class EstimatorProblem:
    """A table as it is, a target, and what is given per row."""

    family: Estimator
    X: Any
    y: Any
    rows: Rows
    names: tuple[str, ...] | None

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def varying(self) -> Bools:
        """All columns: what is constant is left to the estimator."""
        return np.ones(self.n_features, dtype=bool)

    def model(self, criterion: Any, units: Units, candidates: NDArray[np.intp], n_candidates: int) -> Any:
        """A model of candidate columns."""
        from dropstep.models.estimator.build import build_model

        return build_model(self, criterion, units)

    def notes(self, model: Any, excluded: set[int]) -> Iterator[str]:
        """Notes on failed fits, warnings, and the score without features."""
        table = Table(np.empty((0, self.n_features)), self.names)
        if model.failures:
            columns = sorted(model.units.columns(list(model.failures)))
            cause = next(iter(model.failures.values()))
            yield f"{listed(table, columns)}: set aside, because the estimator cannot be fitted with it ({cause})"
        for warning, count in model.fits.warnings.items():
            yield f"{count:,} of {model.fits.n_fits:,} fits: {warning}"
        yield from model.notes
