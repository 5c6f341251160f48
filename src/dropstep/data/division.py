"""How rows are divided: into folds, halves and shares, with groups, strata and weights.

Every division of rows is decided here: by the conventions of scikit-learn for folds, and observation by observation for
halves and shares. Models divide rows for cross-validation, and `resampling` for everything else; this module is below
both.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dropstep.data.response import Survival
from dropstep.data.sample import Sample
from dropstep.data.table import are_counts
from dropstep.data.target import Categorical
from dropstep.parameters import ENTRIES

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
Fold = tuple[Indices, Indices]

N_FOLDS = 5  # of cv=None
MAX_OBSERVATIONS = 2**24  # beyond which an observation stands for several of the same row
MIN_OBSERVATIONS = 4  # of a regression
MIN_CLASS = 2  # observations of a class


# --- folds -----------------------------------------------------------------------------------------------------------


def is_splitter(cv: Any) -> bool:
    """Whether folds can be made of any rows: by a number of folds or a splitter, not by a list of folds."""
    return cv is None or isinstance(cv, Integral) or hasattr(cv, "split")


def make_folds(
    cv: Any,
    X: Any,
    y: Any,
    *,
    classes: bool,
    groups: Any = None,
    split_params: Mapping[str, Any] | None = None,
    seed: Any = None,
    n_repeats: int = 1,
) -> tuple[Fold, ...]:
    """Folds, the same for all candidates.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        None is 5 folds. An integer stratifies classes, and keeps groups of rows together.
    X, y : array-like
        What the splitter splits.
    classes : bool
        Whether y contains class labels.
    groups : array-like of shape (n_samples,) or None
        Groups of dependent rows.
    split_params : mapping of str to array-like or None
        What is passed to a splitter; None is the groups, if there are any.
    seed : int, RandomState or None
        An integer `cv` is a number of folds of rows that are shuffled with this seed; None does not shuffle.
    n_repeats : int
        How often the rows are divided, shuffled each time.

    Returns
    -------
    tuple of (ndarray, ndarray)
        Training and test rows of each fold.
    """
    from sklearn.model_selection import StratifiedKFold, check_cv

    splitter, n_rows = N_FOLDS if cv is None else cv, X.shape[0]
    ENTRIES["cv"].check(cv)
    is_number = isinstance(splitter, Integral)
    if is_number or split_params is None:
        split_params = {} if groups is None else {"groups": groups}
    if is_number:
        _check_number(int(splitter), n_rows, groups)
        if classes and seed is not None:
            _check_classes(int(splitter), y)
        splitter = _by_number(int(splitter), classes=classes, grouped=groups is not None, seed=seed)
    splitter = check_cv(splitter, y, classifier=classes)
    if isinstance(splitter, StratifiedKFold):
        _check_classes(splitter.n_splits, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # a fold without it says so
        splits = [fold for _ in range(n_repeats) for fold in splitter.split(X, y, **split_params)]
    found = tuple((_row_numbers(train, n_rows), _row_numbers(test, n_rows)) for train, test in splits)
    if not found:
        raise ValueError("cv yields no folds; pass an integer from 2, a splitter or an iterable of folds")
    shuffled = is_number and seed is not None
    return tuple(fold for fold in found if len(fold[1])) if shuffled else found  # few groups may leave a fold empty


def sample_folds(sample: Sample, cv: Any, seed: Any = None, n_repeats: int = 1) -> tuple[Fold, ...]:
    """The folds of a sample, which stratify classes, and events of survival times."""
    n_rows, labels = sample.n_rows, fold_labels(sample)
    groups = None if sample.groups is None else np.asarray(sample.groups)
    if groups is not None and groups.shape != (n_rows,):
        raise ValueError(f"sample_groups must have one label per row ({n_rows}); its shape is {groups.shape}")
    y = np.zeros(n_rows, dtype=np.intp) if labels is None else labels
    X = sample.table.matrix.native()
    return make_folds(cv, X, y, classes=labels is not None, groups=groups, seed=seed, n_repeats=n_repeats)


def fold_labels(sample: Sample) -> Indices | None:
    """Classes, or events, by which the folds of a sample are stratified; None if there are none."""
    if isinstance(sample.target, Categorical):
        return sample.target.codes
    return sample.target.event.astype(np.intp) if isinstance(sample.target, Survival) else None


def _by_number(n_folds: int, *, classes: bool, grouped: bool, seed: Any) -> Any:
    """The splitter for a number of folds; without a seed, and without groups, scikit-learn chooses it by the target."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
    from sklearn.utils import check_random_state

    if seed is None:
        return GroupKFold(n_folds) if grouped else n_folds
    kinds = (StratifiedGroupKFold if classes else GroupKFold) if grouped else (StratifiedKFold if classes else KFold)
    return kinds(n_folds, shuffle=True, random_state=check_random_state(seed))


def _check_number(n_folds: int, n_rows: int, groups: Any) -> None:
    """Raise if there are fewer rows, or groups of rows, than folds."""
    n_units = n_rows if groups is None else len(np.unique(groups))
    if n_units < n_folds:
        unit = "rows" if groups is None else "groups of rows"
        raise ValueError(f"{n_folds} folds require at least {n_folds} {unit}; there are {n_units}")


def _check_classes(n_folds: int, labels: Any) -> None:
    """Raise if every class has fewer rows than there are folds, which cannot be stratified then."""
    most = int(np.unique(labels, return_counts=True)[1].max())
    if most < n_folds:
        raise ValueError(f"{n_folds} folds require a class of at least {n_folds} rows; the largest has {most}")


def _row_numbers(rows: Any, n_rows: int) -> Indices:
    """Rows of a part of a fold, which are given as row numbers or as a mask."""
    found = np.asarray(rows)
    if found.dtype == bool:
        if found.shape != (n_rows,):
            raise ValueError(f"cv yields masks of shape {found.shape}, but there are {n_rows} rows; pass one per row")
        return found.nonzero()[0]
    if found.ndim != 1 or (len(found) and found.dtype.kind not in "iu"):
        raise ValueError(f"cv must yield row numbers or masks; got an array of {found.dtype} of shape {found.shape}")
    if len(found) and (last := int(found.max())) >= n_rows:
        raise ValueError(f"cv yields row {last}, but there are {n_rows} rows; pass folds of these rows, or a splitter")
    return found.astype(np.intp, copy=False)


# --- halves and shares of observations -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Observations:
    """The observations of a sample, as they are divided into parts at random.

    Weights are frequencies: a row with a weight of 3 is three observations, which may be in different parts. Weights
    that are not whole numbers stay with their row, and so do those of an estimator. A weight of 0 is no observation.

    Attributes
    ----------
    row : ndarray of int of shape (n_observations,)
        Row of each observation.
    weights : ndarray of shape (n_samples,) or None
        Weight of a single observation of each row.
    stratum : ndarray of int of shape (n_observations,) or None
        Classes or events, which parts share alike.
    group : ndarray of int of shape (n_observations,) or None
        Groups of dependent observations, numbered from 0, which stay in one part.
    """

    row: Indices
    weights: Floats | None
    stratum: Indices | None
    group: Indices | None

    @classmethod
    def of(cls, sample: Any) -> Observations:
        """The observations of a sample."""
        weights = sample.weights if isinstance(sample, Sample) else None
        row = np.arange(sample.n_rows)
        if weights is not None:
            n_copies = _count_copies(weights)
            row, weights = np.repeat(row, n_copies), weights / np.maximum(n_copies, 1)
        stratum, group = sample.stratum, None
        if sample.groups is not None:
            group = np.unique(np.asarray(sample.groups).astype(str)[row], return_inverse=True)[1].ravel()
        return cls(row, weights, None if stratum is None else stratum[row], group)

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.row)

    @property
    def has_copies(self) -> bool:
        """Whether a row is several observations."""
        return bool(self.n > 1 and (np.diff(self.row) == 0).any())

    @property
    def n_groups(self) -> int | None:
        """Number of groups; None if there are none."""
        return None if self.group is None else int(self.group.max()) + 1

    @property
    def n_rarest(self) -> int:
        """Number of observations, or of groups that have some, in the smallest stratum."""
        stratum = np.zeros(self.n, dtype=np.intp) if self.stratum is None else self.stratum
        if self.group is not None:
            stratum = np.unique(np.column_stack([stratum, self.group]), axis=0)[:, 0]
        return int(np.bincount(stratum).min())

    def deal(self, n_parts: int, rng: np.random.Generator) -> Indices:
        """The part of each observation: parts are random, and differ by at most one observation or group."""
        first, stratum = self._units()
        return self._per_observation(deal(len(first), stratum, n_parts, rng))

    def halves(self, rng: np.random.Generator) -> tuple[Indices, Indices]:
        """The observations of two complementary halves."""
        part = self.deal(2, rng)
        return np.flatnonzero(part == 0), np.flatnonzero(part == 1)

    def share(self, share: float, rng: np.random.Generator) -> Bools:
        """A random share of the observations or groups, the same in each stratum."""
        first, stratum = self._units()
        order = _shuffled(len(first), stratum, rng)
        steps = np.floor(np.arange(len(first) + 1) * share + rng.random())
        inside = np.empty(len(first), dtype=bool)
        inside[order] = np.diff(steps) > 0
        return self._per_observation(inside)

    def _units(self) -> tuple[Indices, Indices | None]:
        """What is drawn as a whole, observations or the first ones of each group, and their strata."""
        first = np.arange(self.n) if self.group is None else np.unique(self.group, return_index=True)[1]
        return first, None if self.stratum is None else self.stratum[first]

    def _per_observation(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.group is None else values[self.group]

    def at(self, sample: Any, drawn: Indices) -> Any:
        """The sample of some observations, which may be drawn several times."""
        if self.weights is None:
            return sample.at(self.row[drawn])
        rows, counts = np.unique(self.row[drawn], return_counts=True)
        return replace(sample.at(rows), weights=counts * self.weights[rows])


def _count_copies(weights: Floats) -> Indices:
    """The number of observations of each row."""
    if are_counts(weights):
        n_copies = np.ceil(np.rint(weights) * min(1.0, MAX_OBSERVATIONS / weights.sum()))
    else:
        n_copies = np.ceil(np.minimum(weights, 1.0))
    return np.asarray(n_copies, dtype=np.intp)


def _shuffled(n: int, stratum: Indices | None, rng: np.random.Generator) -> Indices:
    """A random order, by stratum."""
    return np.lexsort((rng.random(n), np.zeros(n) if stratum is None else stratum))


def deal(n: int, stratum: Indices | None, n_parts: int, rng: np.random.Generator) -> Indices:
    """The part of each of n items: parts are random, and differ by at most one item, and by two in each stratum."""
    order = _shuffled(n, stratum, rng)
    runs = rng.random((-(-n // n_parts), n_parts)).argsort(axis=1)
    part = np.empty(n, dtype=np.intp)
    part[order] = runs.ravel()[:n]
    return part


# --- what can be fitted to a part ------------------------------------------------------------------------------------


def estimable(sample: Any) -> Any:
    """A part of the rows without classes of a single observation; None if no model can be fitted to its target."""
    if (target := getattr(sample, "target", None)) is None:
        return sample
    if not isinstance(target, Categorical):
        return sample if _varies(target, sample.weights) else None
    counts = np.bincount(target.codes, sample.weights, minlength=len(target.labels))
    kept = counts >= MIN_CLASS - 1e-9
    if kept.sum() < 2 or counts[kept].sum() - kept.sum() < 2:
        return None
    return sample if kept.all() else sample.at(np.flatnonzero(kept[target.codes]))


def _varies(target: Any, weights: Floats | None) -> bool:
    """Whether there are enough observations of a target, and none of its columns is constant or follows from others."""
    event = target.event if isinstance(target, Survival) else None
    values = getattr(target, "values", target) if event is None else event[:, None].astype(np.float64)
    values = values.reshape(len(values), -1)
    if weights is not None:
        values = values[weights > 0]
    if (len(values) if weights is None else weights.sum()) < MIN_OBSERVATIONS:
        return False
    if event is not None:
        return bool(values.any())
    if not np.ptp(values, axis=0).all():
        return False
    centred = values - values.mean(axis=0)
    return values.shape[1] == 1 or bool(np.linalg.matrix_rank(centred / np.ptp(values, axis=0)) == values.shape[1])
