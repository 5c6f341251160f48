"""The families by name: Logistic, Poisson, Gamma and Cox, with their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold
from dropstep.data.matrices.base import Matrix
from dropstep.data.matrices.dense import Dense
from dropstep.data.moments import Moments
from dropstep.data.response import Survival, as_columns, as_numbers, as_offset, as_strata, as_survival
from dropstep.data.sample import PerRow, Sample, sample_of, sample_of_source
from dropstep.data.source import Source
from dropstep.data.target import Categorical, Target, as_target, constant_target, one_class
from dropstep.models.base import Bools, Choices, Units
from dropstep.models.evaluation import Losses, class_losses, predictor, row_weights
from dropstep.models.glm.cox import CoxRegression, Ties
from dropstep.models.glm.criteria import as_criterion
from dropstep.models.glm.design import Design, design_of
from dropstep.models.glm.exponential import Bernoulli, GammaTimes, PoissonCounts
from dropstep.models.glm.likelihood import Likelihood, Local
from dropstep.models.glm.model import GeneralizedLinear
from dropstep.models.glm.multinomial import Multinomial
from dropstep.models.glm.notes import notes
from dropstep.parameters import Parameters
from dropstep.result import Coefficients

if TYPE_CHECKING:
    from dropstep.models.glm.streamed import StreamedProblem

Floats = NDArray[np.float64]

MIN_ROWS = 3
MIN_CLASS = 5  # rows of a class, below which a note says how few they are
WHOLE = 1e-9  # difference from an integer that counts as rounding


@dataclass(frozen=True)
class LikelihoodFamily:
    """A model whose candidates are ranked by score tests and confirmed by refits.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan, the most promising ones by the score test (Wald test for
        removals); None refits all.
    """

    kind: ClassVar[str]

    shortlist: int | None = 8

    def __post_init__(self) -> None:
        n = self.shortlist
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n < 1):
            raise ValueError(f"shortlist must be None or a whole number from 1; got {n!r}")

    def sample(self, X: Any, y: Any, rows: PerRow, given: Parameters) -> Sample:
        """Validate data."""
        if isinstance(X, Moments):
            raise ValueError(f"Moments do not suffice for model {self.kind!r}, whose weights change; pass X and y")
        if rows.strata is not None and self.kind != "cox":
            raise ValueError(f"strata does not apply to model {self.kind!r}; use model='cox', or omit strata")
        if isinstance(X, Source):
            return self._of_source(X, y, rows, given)
        return sample_of(X, y, rows, given, self._target)

    def _of_source(self, source: Source, y: Any, rows: PerRow, given: Parameters) -> Sample:
        """The first pass over a row source."""
        if self.kind not in ("logistic", "poisson"):
            raise ValueError(
                f"model {self.kind!r} needs all rows in memory, but X is read in blocks of rows; models 'linear', "
                "'discriminant', 'logistic' and 'poisson' can be read so, or pass a table"
            )
        if isinstance(y, list | tuple) and len(y) > 1:
            raise ValueError(f"y names {len(y)} columns, but model {self.kind!r} requires one")
        sample = sample_of_source(source, y, rows, given, "discriminant" if self.kind == "logistic" else "linear")
        labels, moments = sample.moments.labels, sample.moments
        if labels is not None and len(labels) < 2:
            raise one_class(labels[0])
        if labels is None and moments.scatter[-1, -1] <= 0:
            raise constant_target(0, 1, moments.means[0, -1])
        return sample

    def problem(
        self, sample: Sample, solver: str, max_features: int | None, *, from_all: bool = False
    ) -> LikelihoodProblem | StreamedProblem:
        """The likelihood and the design matrix of a sample."""
        if solver == "gram":
            raise ValueError(
                f"solver='gram' does not apply to model {self.kind!r}, whose Gram matrix changes with every fit; "
                "use solver='auto'"
            )
        if not sample.in_memory:
            from dropstep.models.glm.streamed import StreamedProblem

            return StreamedProblem(sample, self.kind, self.shortlist)
        table, weights = sample.table, sample.weights
        n_rows = table.n_rows if weights is None else int(np.count_nonzero(weights))
        if n_rows < MIN_ROWS:
            raise ValueError(
                f"model {self.kind!r} needs at least {MIN_ROWS} samples of positive weight; there are {n_rows}"
            )
        likelihood, order, stratum = self._likelihood(sample, weights, table.n_rows)
        w = np.ones(len(order)) if weights is None else weights[order]
        design = design_of(_rows(table.matrix, order), table, w, stratum)
        labels, class_counts = None, None
        if isinstance(sample.target, Categorical):
            labels, class_counts = tuple(sample.target.labels.tolist()), np.bincount(sample.target.codes, weights)
        return LikelihoodProblem(likelihood, design, table.names, self.shortlist, labels, class_counts)

    def losses(self, sample: Sample, fold: Fold, columns: Sequence[int], fit: Coefficients) -> Losses:
        """Log loss and error rate of classes, and the mean deviance of others.

        That of Cox regression is the partial-likelihood deviance of all rows minus that of the training rows, per event
        (Verweij and van Houwelingen 1993): risk sets of the test rows alone would be small.
        """
        (train, test), n = fold, sample.table.n_rows
        eta = predictor(sample, np.arange(n), fit)
        if isinstance(sample.target, Categorical):
            scores = eta[test].reshape(len(test), -1)
            if scores.shape[1] == 1:
                scores = scores + as_offset(sample.offset, n)[test, None]
            assert fit.classes is not None
            return class_losses(sample, test, np.column_stack([np.zeros(len(test)), scores]), fit.classes)
        eta = eta.reshape(n) + as_offset(sample.offset, n)
        if isinstance(sample.target, Survival):
            both = np.concatenate([train, test])
            gone, used = self._deviance(sample, train, eta), self._deviance(sample, both, eta)
            events = float(row_weights(sample, test) @ sample.target.event[test])
            return {"partial_deviance": (used - gone) / max(events, 1.0)}
        return {"mean_deviance": self._deviance(sample, test, eta) / float(row_weights(sample, test).sum())}

    def _deviance(self, sample: Sample, rows: NDArray[np.intp], eta: Floats) -> float:
        """The deviance of some rows at a linear predictor."""
        return float(self.local(sample.at(rows), eta[rows])[0].deviance)

    def local(self, sample: Sample, eta: Floats) -> tuple[Local, NDArray[np.intp]]:
        """The likelihood of a sample at a linear predictor, offset included, and its rows in their order."""
        likelihood, order, _ = self._likelihood(sample, sample.weights, len(eta))
        return likelihood.at(eta[order][:, None]), order

    def _target(self, y: Any, n_rows: int, weights: Floats | None) -> Any:
        """Validate the target."""
        raise NotImplementedError

    def _likelihood(
        self, sample: Sample, weights: Floats | None, n: int
    ) -> tuple[Likelihood, NDArray[np.intp], NDArray[np.intp] | None]:
        """The likelihood, the rows that it uses in their order, and their strata."""
        raise NotImplementedError


def _present(weights: Floats | None, n: int) -> tuple[NDArray[np.intp], Floats]:
    """Rows of positive weight, and their weights."""
    if weights is None:
        return np.arange(n), np.ones(n)
    rows = np.flatnonzero(weights > 0)
    return rows, weights[rows]


def _rows(X: Matrix, order: NDArray[np.intp]) -> Matrix:
    """Some rows of a matrix in their order; an array in C or Fortran order."""
    n = X.shape[0]
    if len(order) < n or (order != np.arange(n)).any():
        X = X.at(order)
        return Dense(np.asfortranarray(X.values), X.reads) if isinstance(X, Dense) else X
    if isinstance(X, Dense) and not (X.values.flags.c_contiguous or X.values.flags.f_contiguous):
        return Dense(np.ascontiguousarray(X.values), X.reads)
    return X


@dataclass(frozen=True)
class Logistic(LikelihoodFamily):
    """Logistic regression, multinomial for more than two classes.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan; None refits all.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from dropstep import Logistic, select
    >>> path = select(*load_breast_cancer(return_X_y=True), model=Logistic(shortlist=16), max_features=3)
    >>> path.selected
    (27, 20, 21)
    """

    kind = "logistic"

    def _target(self, y: Any, n_rows: int, weights: Floats | None) -> Target:
        return as_target(y, n_rows, "discriminant", weights)

    def _likelihood(self, sample: Sample, weights: Floats | None, n: int) -> tuple[Likelihood, NDArray[np.intp], None]:
        target = sample.target
        order, w = _present(weights, n)
        codes, offset = target.codes[order], as_offset(sample.offset, n)[order]
        if len(target.labels) == 2:
            return Bernoulli(codes.astype(np.float64), w, offset), order, None
        if sample.offset is not None:
            raise ValueError(
                f"offset is defined for two classes, but y has {len(target.labels)}; omit offset, or join classes"
            )
        return Multinomial(codes, len(target.labels), w, offset), order, None


@dataclass(frozen=True)
class Poisson(LikelihoodFamily):
    """Poisson regression of counts, with log link.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan; None refits all.
    """

    kind = "poisson"

    def _target(self, y: Any, n_rows: int, weights: Floats | None) -> Floats:
        return as_numbers(y, n_rows, self.kind, weights)

    def _likelihood(self, sample: Sample, weights: Floats | None, n: int) -> tuple[Likelihood, NDArray[np.intp], None]:
        values, (order, w) = sample.target, _present(weights, n)
        return PoissonCounts(values[order], w, as_offset(sample.offset, n)[order]), order, None


@dataclass(frozen=True)
class Gamma(LikelihoodFamily):
    """Gamma regression of positive numbers, with log link.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan; None refits all.
    """

    kind = "gamma"

    def _target(self, y: Any, n_rows: int, weights: Floats | None) -> Floats:
        return as_numbers(y, n_rows, self.kind, weights)

    def _likelihood(self, sample: Sample, weights: Floats | None, n: int) -> tuple[Likelihood, NDArray[np.intp], None]:
        values, (order, w) = sample.target, _present(weights, n)
        return GammaTimes(values[order], w, as_offset(sample.offset, n)[order]), order, None


@dataclass(frozen=True)
class Cox(LikelihoodFamily):
    """Cox regression of survival times: proportional hazards.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan; None refits all.
    ties : {"efron", "breslow"}, default="efron"
        Treatment of events at the same time.
    """

    kind = "cox"

    ties: Ties = "efron"

    def sample(self, X: Any, y: Any, rows: PerRow, given: Parameters) -> Sample:
        """Validate data; a structured y becomes two columns."""
        return super().sample(X, as_columns(y), rows, given)

    def _target(self, y: Any, n_rows: int, weights: Floats | None) -> Survival:
        return as_survival(y, n_rows)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties not in ("efron", "breslow"):
            raise ValueError(f"ties must be 'efron' or 'breslow'; got {self.ties!r}")

    def _likelihood(
        self, sample: Sample, weights: Floats | None, n: int
    ) -> tuple[Likelihood, NDArray[np.intp], NDArray[np.intp]]:
        target, stratum = sample.target, as_strata(sample.strata, n)
        present, w = _present(weights, n)
        time, event, stratum = target.time[present], target.event[present], stratum[present]
        if self.ties == "efron" and np.abs(w[event] - np.rint(w[event])).max(initial=0.0) > WHOLE:
            raise ValueError(
                "sample_weight counts rows, and Efron's ties need whole numbers at the events; "
                "use Cox(ties='breslow') for other weights"
            )
        order = np.lexsort((-time, stratum))
        first = np.full(stratum.max() + 1, np.inf)
        np.minimum.at(first, stratum[event], time[event])
        order = order[time[order] >= first[stratum[order]]]  # rows censored before the first event are never at risk
        if not event.any():
            raise ValueError("y has no events: every time is censored; at least one event is required")
        codes = np.unique(stratum[order], return_inverse=True)[1].astype(np.intp)
        offset = as_offset(sample.offset, n)[present][order]
        likelihood = CoxRegression(time[order], event[order], codes, w[order], offset, self.ties)
        return likelihood, present[order], codes


@dataclass(frozen=True, eq=False)
class LikelihoodProblem:
    """A likelihood and a design matrix."""

    sizes_by = "ebic"

    likelihood: Likelihood
    design: Design
    names: tuple[str, ...] | None
    shortlist: int | None
    labels: tuple[Any, ...] | None = None
    class_counts: NDArray[Any] | None = None

    @property
    def n_columns(self) -> int:
        return self.design.n_columns

    @property
    def varying(self) -> Bools:
        return self.design.varying

    def model(self, criterion: Any, units: Units, candidates: NDArray[np.intp], choices: Choices) -> GeneralizedLinear:
        """A model of candidate columns."""
        resolved = as_criterion(criterion, self.likelihood, choices)
        return GeneralizedLinear(self.likelihood, self.design, resolved, units, self.shortlist, self.labels)

    def notes(self, model: GeneralizedLinear, excluded: set[int]) -> Iterator[str]:
        """Notes on separation, convergence, collinearity, overdispersion and too few rows."""
        yield from notes(model, self.names)
        if self.class_counts is not None and self.labels is not None and self.class_counts.min() < MIN_CLASS:
            c = int(self.class_counts.argmin())
            yield f"class {str(self.labels[c])!r} has {self.class_counts[c]:g} rows; what separates it is uncertain"
