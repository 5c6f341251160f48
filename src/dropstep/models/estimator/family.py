"""Any scikit-learn estimator as a family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold
from dropstep.data.frame import Frame, frame_names
from dropstep.data.groups import as_choice
from dropstep.data.matrices.sparse import is_sparse
from dropstep.data.moments import Moments
from dropstep.data.sample import Features, PerRow, Sample, refuse_missing_labels, sample_of
from dropstep.data.source import Source
from dropstep.data.table import Table, listed
from dropstep.data.target import MAX_CLASSES, Categorical, Target, as_target, as_values
from dropstep.models.base import Bools, Choices, Units
from dropstep.models.evaluation import Evaluation, Losses
from dropstep.parameters import Parameters
from dropstep.result import Coefficients


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

    def sample(self, X: Any, y: Any, rows: PerRow, given: Parameters) -> EstimatorSample | Sample:
        """Validate data: the table as it is; a table that was read from a file is encoded."""
        for name, value in (("offset", rows.offset), ("strata", rows.strata)):
            if value is not None:
                raise ValueError(f"{name} does not apply to an estimator; omit {name}, or use a model that has it")
        if isinstance(X, Moments):
            raise ValueError("Moments do not suffice for an estimator, which is fitted on rows; pass X and y")
        if isinstance(X, Source):
            raise ValueError("an estimator needs all rows in memory, but X is read in blocks of rows; pass a table")
        if isinstance(X, Table | Frame):
            return sample_of(X, y, rows, given, self._target)
        X, y, others = rows.split_from(X, y)
        names = frame_names(X)
        values: Any = X if hasattr(X, "shape") else np.asarray(X)
        if is_sparse(values) and values.format not in ("csr", "csc"):
            values = values.tocsr()  # the others have no rows and columns by index
        if len(values.shape) != 2 or 0 in values.shape:
            raise ValueError(f"X must have rows and features, one column per feature; its shape is {values.shape}")
        if y is None:
            raise ValueError("y is None, but an estimator requires a target; pass target values or class labels")
        n_rows, n_targets = values.shape[0], np.shape(y)[0]
        if n_targets != n_rows:
            raise ValueError(f"X and y must have the same number of rows; X has {n_rows}, y has {n_targets}")
        refuse_missing_labels("sample_groups", others["sample_groups"], n_rows)
        choice = as_choice(values.shape[1], names, given.include, given.exclude, given.groups)
        given_per_row = PerRow(others["sample_weight"], groups=others["sample_groups"], metadata=rows.metadata)
        return EstimatorSample(names, values.shape[1], None, choice, None, (), values, y, given_per_row)

    def _target(self, y: Any, n_rows: int, weights: Any) -> Target:
        from dropstep.models.estimator.scoring import predicts_classes

        kind: Literal["discriminant", "linear"] = "discriminant" if predicts_classes(self.estimator) else "linear"
        return as_target(y, n_rows, kind, weights)

    def problem(
        self, sample: EstimatorSample | Sample, solver: str, max_features: int | None, *, from_all: bool = False
    ) -> EstimatorProblem:
        """The problem of a sample."""
        if solver != "auto":
            raise ValueError(f"solver={solver!r} does not apply to an estimator, which is fitted; use solver='auto'")
        if isinstance(sample, EstimatorSample):
            return EstimatorProblem(self, sample.X, sample.y, sample.rows, sample.names)
        target, rows = sample.target, PerRow(sample.weights, groups=sample.groups)
        if isinstance(target, Categorical):
            y = target.labels[target.codes]
        else:
            y = target.values[:, 0] if target.values.shape[1] == 1 else target.values
        return EstimatorProblem(self, sample.table.matrix.native(), y, rows, sample.table.names)

    def folds(self, sample: EstimatorSample | Sample, cv: Any, seed: Any = None) -> tuple[Fold, ...]:
        """The folds of a sample; an integer stratifies the labels of a classifier."""
        from dropstep.models.estimator.build import estimator_folds

        return estimator_folds(self._all_rows(sample), cv, seed)

    def losses(
        self, sample: EstimatorSample | Sample, fold: Fold, columns: Sequence[int], fit: Coefficients | None
    ) -> Losses:
        """The score of the estimator, fitted on the training rows, with its sign changed."""
        from dropstep.models.estimator.build import held_out_score

        name, score = held_out_score(self._all_rows(sample), fold, columns)
        return {name.removeprefix("neg_") if name.startswith("neg_") else f"negative_{name}": -score}

    def _all_rows(self, sample: EstimatorSample | Sample) -> EstimatorProblem:
        return self.problem(sample, "auto", None)


@dataclass(frozen=True, eq=False)
class EstimatorSample(Features):
    """A table as it is.

    Attributes
    ----------
    X : array or frame of shape (n_samples, n_features)
    y : array-like
    rows : PerRow
        Weights, groups and metadata.
    """

    X: Any
    y: Any
    rows: PerRow

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def groups(self) -> Any:
        """Groups of dependent rows; None if there are none."""
        return self.rows.groups

    @property
    def stratum(self) -> NDArray[np.intp] | None:
        """Classes, that parts of the rows should share alike; None for numbers."""
        target = as_values(self.y)
        if target.ndim != 1 or target.dtype.kind == "f" or not 1 < len(labels := np.unique(target)) <= MAX_CLASSES:
            return None
        return np.searchsorted(labels, target)

    def at(self, rows: NDArray[np.intp]) -> EstimatorSample:
        """A part of the rows."""
        from sklearn.utils import _safe_indexing

        def part(values: Any) -> Any:
            return (
                values if np.ndim(values) == 0 or np.shape(values)[0] != self.n_rows else _safe_indexing(values, rows)
            )

        metadata = {name: part(value) for name, value in self.rows.metadata.items()}
        per_row = PerRow(part(self.rows.weights), groups=part(self.rows.groups), metadata=metadata)
        return replace(self, X=_safe_indexing(self.X, rows), y=_safe_indexing(self.y, rows), rows=per_row)


def is_estimator(model: Any) -> bool:
    """Whether an object is an instance with the methods that every estimator of scikit-learn has."""
    return not isinstance(model, type) and hasattr(model, "fit") and hasattr(model, "get_params")


@dataclass(frozen=True, eq=False)
class EstimatorProblem:
    """A table as it is, a target, and what is given per row."""

    sizes_by = "auto"

    family: Estimator
    X: Any
    y: Any
    rows: PerRow
    names: tuple[str, ...] | None

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @property
    def varying(self) -> Bools:
        """All columns: what is constant is left to the estimator."""
        return np.ones(self.n_columns, dtype=bool)

    def model(self, criterion: Any, units: Units, candidates: NDArray[np.intp], choices: Choices) -> Any:
        """A model of candidate columns."""
        from dropstep.models.estimator.build import build_model

        return build_model(self, criterion, units)

    def notes(self, model: Any, excluded: set[int]) -> Iterator[str]:
        """Notes on failed fits, warnings, and the score without features."""
        table = Table(np.empty((0, self.n_columns)), self.names)
        if model.failures:
            columns = sorted(model.units.columns(list(model.failures)))
            cause = next(iter(model.failures.values()))
            yield f"{listed(table, columns)}: set aside, because the estimator cannot be fitted with it ({cause})"
        for warning, count in model.fits.warnings.items():
            yield f"{count:,} of {model.fits.n_fits:,} fits: {warning}"
        yield from model.notes
