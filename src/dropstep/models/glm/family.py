"""What is common to the families of likelihoods: parameters, data, and what is said of a family.

A family is one class in one file: it reads the target, makes the likelihood of rows, and says what is particular to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dropstep.data.division import Fold
from dropstep.data.matrices.dense import Dense
from dropstep.data.matrices.matrix import Matrix
from dropstep.data.moments import Moments
from dropstep.data.response import as_offset
from dropstep.data.sample import PerRow, Sample, sample_of, sample_of_source
from dropstep.data.source import Source
from dropstep.data.target import Categorical, Continuous, as_target, constant_target, one_class
from dropstep.models.base import Bools, Choices, Units
from dropstep.models.evaluation import Losses, class_losses, predictor, row_weights
from dropstep.models.glm.design import Design, design_of
from dropstep.models.glm.likelihood import Likelihood, Local
from dropstep.models.glm.model import GeneralizedLinear
from dropstep.models.glm.notes import notes
from dropstep.parameters import Parameters
from dropstep.result import Coefficients

if TYPE_CHECKING:
    from dropstep.models.glm.passes import StreamedProblem

Floats = NDArray[np.float64]

MIN_ROWS = 3
MIN_CLASS = 5  # rows of a class, below which a note says how few they are


class RefusedTarget(NamedTuple):
    """A value that a target must not have.

    Attributes
    ----------
    row : int
    requirement, remedy : str
        What the target must be, and what to do instead.
    """

    row: int
    requirement: str
    remedy: str


@dataclass(frozen=True)
class About:
    """What the likelihood of some rows depends on besides them.

    Attributes
    ----------
    n_classes : int
        Number of classes, or levels; 0 for numbers.
    mean : float
        Mean of numbers.
    has_offset : bool
    """

    n_classes: int = 0
    mean: float = 0.0
    has_offset: bool = False


@dataclass(frozen=True)
class LikelihoodFamily(ABC):
    """A model whose candidates are ranked by score tests and confirmed by refits.

    Parameters
    ----------
    shortlist : int or None, default=8
        Number of candidates that are refitted per scan, the most promising ones by the score test (Wald test for
        removals); None refits all.

    Attributes
    ----------
    kind : str
        What `model` is called.
    synonyms : tuple of str
        Other names that users try.
    title : str
        Name in a sentence, such as "Poisson regression".
    description : str
        One line on the model.
    effect : str
        What the exponential of a coefficient is.
    metric : str
        How predictions of other rows are measured; larger is better.
    scikit_learn, r : str or None
        The same model there; None if there is none.
    in_blocks : bool
        Whether rows may be read in blocks.
    target : {"numbers", "classes", "times"}
        What the target consists of.
    leading : str
        What the parameters that are not coefficients of features are.
    remedy : str or None
        What to do if counts are overdispersed; None where the variance is not that of counts.
    """

    kind: ClassVar[str]
    synonyms: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str]
    description: ClassVar[str]
    effect: ClassVar[str]
    metric: ClassVar[str] = "explained deviance"
    scikit_learn: ClassVar[str | None] = None
    r: ClassVar[str | None] = None
    in_blocks: ClassVar[bool] = True
    target: ClassVar[Literal["numbers", "classes", "times"]]
    leading: ClassVar[str] = "the intercept"
    remedy: ClassVar[str | None] = None

    shortlist: int | None = 8

    def __post_init__(self) -> None:
        n = self.shortlist
        if n is not None and (not isinstance(n, Integral) or isinstance(n, bool) or n < 1):
            raise ValueError(f"shortlist must be None or a whole number from 1; got {n!r}")

    @property
    def name(self) -> str:
        """Name in a sentence, with what the parameters change."""
        return self.title

    @property
    def ratio(self) -> str | None:
        """What the exponential of a coefficient is; None where it has no name."""
        return self.effect

    # --- data --------------------------------------------------------------------------------------------------------

    def sample(self, X: Any, y: Any, rows: PerRow, given: Parameters) -> Sample:
        """Validate data."""
        if isinstance(X, Moments):
            raise ValueError(f"Moments do not suffice for model {self.kind!r}, whose weights change; pass X and y")
        if rows.strata is not None and self.target != "times":
            raise ValueError(f"strata does not apply to model {self.kind!r}; use model='cox', or omit strata")
        if isinstance(X, Source):
            return self._of_source(X, y, rows, given)
        return sample_of(X, y, rows, given, self.read_target)

    def _of_source(self, source: Source, y: Any, rows: PerRow, given: Parameters) -> Sample:
        """The first pass over a row source."""
        if not self.in_blocks:
            raise ValueError(
                f"model {self.kind!r} needs all rows in memory, but X is read in blocks of rows; {self.why_in_memory}"
            )
        if isinstance(y, list | tuple) and len(y) > 1:
            raise ValueError(f"y names {len(y)} columns, but model {self.kind!r} requires one")
        sample = sample_of_source(source, y, rows, given, "discriminant" if self.target == "classes" else "linear")
        labels, moments = sample.moments.labels, sample.moments
        if labels is not None:
            self.check_labels(labels)
        elif moments.scatter[-1, -1] <= 0:
            raise constant_target(0, 1, moments.means[0, -1])
        return sample

    why_in_memory: ClassVar[str] = "pass a table"

    @abstractmethod
    def read_target(self, y: Any, n_rows: int, weights: Floats | None) -> Any:
        """Validate a target in memory."""

    def check_labels(self, labels: NDArray[Any]) -> None:
        """Raise if a model of these classes cannot be fitted."""
        if len(labels) < 2:
            raise one_class(labels[0])

    def refused(self, y: Floats) -> RefusedTarget | None:
        """The first of some numbers that a target must not have; None if there is none."""
        return None

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
            from dropstep.models.glm.passes import StreamedProblem

            return StreamedProblem(self, sample)
        table, weights = sample.table, sample.weights
        self.check_rows(table.n_rows if weights is None else int(np.count_nonzero(weights)))
        likelihood, order, stratum = self.likelihood_of(sample)
        w = np.ones(len(order)) if weights is None else weights[order]
        design = design_of(_rows(table.matrix, order), table, w, stratum)
        labels, class_counts = None, None
        if isinstance(sample.target, Categorical):
            labels, class_counts = tuple(sample.target.labels.tolist()), np.bincount(sample.target.codes, weights)
        return LikelihoodProblem(self, likelihood, design, table.names, labels, class_counts)

    def check_rows(self, n_rows: int) -> None:
        """Raise if there are too few rows of positive weight."""
        if n_rows < MIN_ROWS:
            raise ValueError(
                f"model {self.kind!r} needs at least {MIN_ROWS} samples of positive weight; there are {n_rows}"
            )

    # --- the likelihood ----------------------------------------------------------------------------------------------

    @abstractmethod
    def likelihood(self, y: Any, weights: Floats, offset: Floats, about: About) -> Likelihood:
        """The likelihood of rows.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Numbers, or codes of classes.
        weights : ndarray of shape (n_rows,)
            Frequencies, all positive.
        offset : ndarray of shape (n_rows,)
        about : About

        Returns
        -------
        Likelihood
        """

    def likelihood_of(self, sample: Sample) -> tuple[Likelihood, NDArray[np.intp], NDArray[np.intp] | None]:
        """The likelihood of a sample, the rows that it uses in their order, and their strata."""
        target, n = sample.target, sample.table.n_rows
        order, w = present(sample.weights, n)
        y = (target.codes if isinstance(target, Categorical) else target)[order]
        offset = as_offset(sample.offset, n)[order]
        has_offset = sample.offset is not None
        if isinstance(target, Categorical):
            about = About(len(target.labels), has_offset=has_offset)
        else:
            about = About(mean=float(np.average(y, weights=w)), has_offset=has_offset)
        return self.likelihood(y, w, offset, about), order, None

    def local(self, sample: Sample, eta: Floats, fit: Coefficients | None = None) -> tuple[Local, NDArray[np.intp]]:
        """The likelihood of a sample at a linear predictor, offset included, and its rows in their order."""
        likelihood, order, _ = self.likelihood_of(sample)
        return likelihood.local(eta[order][:, None], self.nuisance(likelihood, fit)), order

    def nuisance(self, likelihood: Any, fit: Coefficients | None) -> Floats:
        """The nuisance parameters of a fit."""
        return np.empty(0)

    def notes(self, model: GeneralizedLinear) -> Iterator[str]:
        """What is particular to the family in the notes of a path."""
        yield from ()

    # --- evaluation --------------------------------------------------------------------------------------------------

    @abstractmethod
    def losses(self, sample: Sample, fold: Fold, columns: Sequence[int], fit: Coefficients) -> Losses:
        """Losses on the test rows of a fold by name: the one that is minimised, then others."""

    @abstractmethod
    def measure(self, sample: Sample, eta: Floats, fit: Coefficients) -> float:
        """How well a fit predicts other rows, by the metric of the family; larger is better.

        Parameters
        ----------
        sample : Sample
            The rows.
        eta : ndarray of shape (n_rows, n_functions)
            Their linear predictors, offset included.
        fit : Coefficients

        Returns
        -------
        float
        """


@dataclass(frozen=True)
class NumberFamily(LikelihoodFamily):
    """A family whose target consists of numbers."""

    target = "numbers"

    def read_target(self, y: Any, n_rows: int, weights: Floats | None) -> Floats:
        target = as_target(y, n_rows, "linear", weights)
        assert isinstance(target, Continuous)
        if target.values.shape[1] > 1:
            raise ValueError(
                f"y has {target.values.shape[1]} columns; model={self.kind!r} requires one column of numbers"
            )
        values = target.values[:, 0]
        used = values if weights is None else values[weights > 0]
        if (found := self.refused(used)) is not None:
            value = used[found.row]
            what = "its minimum is" if value == used.min() else "it contains"
            raise ValueError(f"{found.requirement}; {what} {value:g}; {found.remedy}")
        return values

    def losses(self, sample: Sample, fold: Fold, columns: Sequence[int], fit: Coefficients) -> Losses:
        """The mean deviance."""
        test, n = fold[1], sample.table.n_rows
        eta = predictor(sample, np.arange(n), fit) + as_offset(sample.offset, n)
        deviance = self.local(sample.at(test), eta[test], fit)[0].deviance
        return {"mean_deviance": float(deviance) / float(row_weights(sample, test).sum())}

    def measure(self, sample: Sample, eta: Floats, fit: Coefficients) -> float:
        """The share of the deviance without features, at the rate of these rows, that a fit explains."""
        n = sample.n_rows
        w, offset = row_weights(sample, np.arange(n)), as_offset(sample.offset, n)
        null = offset + self.null_log_rate(sample.target, w, np.exp(offset))
        with np.errstate(over="ignore"):  # of fits that diverge
            found, without = (self.local(sample, values, fit)[0].deviance for values in (eta[:, 0], null))
        return 1 - found / without

    def null_log_rate(self, y: Floats, weights: Floats, exposure: Floats) -> float:
        """The intercept of a fit without features, by rows and what they are exposed to."""
        return float(np.log(weights @ y / (weights @ exposure)))


@dataclass(frozen=True)
class ClassFamily(LikelihoodFamily):
    """A family whose target consists of classes."""

    target = "classes"
    metric = "accuracy"

    def read_target(self, y: Any, n_rows: int, weights: Floats | None) -> Any:
        return as_target(y, n_rows, "discriminant", weights)

    @abstractmethod
    def class_scores(self, eta: Floats, offset: Floats, fit: Coefficients) -> Floats:
        """Logarithms of the probabilities of the classes of a fit, up to a constant per row.

        Parameters
        ----------
        eta : ndarray of shape (n_rows, n_functions)
            Linear predictors without offset.
        offset : ndarray of shape (n_rows,)
        fit : Coefficients

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """

    def losses(self, sample: Sample, fold: Fold, columns: Sequence[int], fit: Coefficients) -> Losses:
        """The log loss and the error rate."""
        test = fold[1]
        eta = predictor(sample, test, fit).reshape(len(test), -1)
        scores = self.class_scores(eta, as_offset(sample.offset, sample.table.n_rows)[test], fit)
        assert fit.classes is not None
        return class_losses(sample, test, scores, fit.classes)

    def measure(self, sample: Sample, eta: Floats, fit: Coefficients) -> float:
        """The share of the rows whose class is the most probable one."""
        scores = self.class_scores(eta, np.zeros(len(eta)), fit)
        labels, target = np.array(fit.classes)[scores.argmax(axis=1)], sample.target
        weights = row_weights(sample, np.arange(sample.n_rows))
        return float(np.average(labels == target.labels[target.codes], weights=weights))


def present(weights: Floats | None, n: int) -> tuple[NDArray[np.intp], Floats]:
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


@dataclass(frozen=True, eq=False)
class LikelihoodProblem:
    """A likelihood and a design matrix."""

    sizes_by = "ebic"

    family: LikelihoodFamily
    likelihood: Likelihood
    design: Design
    names: tuple[str, ...] | None
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
        return GeneralizedLinear(self.family, self.likelihood, self.design, criterion, units, choices, self.labels)

    def notes(self, model: GeneralizedLinear, excluded: set[int]) -> Iterator[str]:
        """Notes on separation, convergence, collinearity, overdispersion and too few rows."""
        yield from notes(model, self.names)
        if self.class_counts is not None and self.labels is not None and self.class_counts.min() < MIN_CLASS:
            c = int(self.class_counts.argmin())
            yield f"class {str(self.labels[c])!r} has {self.class_counts[c]:g} rows; what separates it is uncertain"
