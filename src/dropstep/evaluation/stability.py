"""Stability: how often each feature, and each pair of features, is selected on random halves of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dropstep.data.sample import Rows
from dropstep.evaluation.bounds import Assumption, bound
from dropstep.evaluation.halves import Half, half_samples, repeated
from dropstep.parameters import checked_seed, with_parameters
from dropstep.result import STABLE, feature_names, import_pandas
from dropstep.wording import counted, plain_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_PAIRS = 20  # pairs of features that `pairs` returns by default


class Pair(NamedTuple):
    """How often two features are selected together.

    Attributes
    ----------
    first, second : int
        Indices of the features, the first of a group for each group.
    together : float
        Share of the half-samples on which both are selected.
    either : float
        Share on which at least one is. Two features that replace each other have a large `either` and a small
        `together`.
    """

    first: int
    second: int
    together: float
    either: float


MIN_LISTED = 0.1  # frequency from which a feature is printed


@dataclass(frozen=True, eq=False)
class Stability:
    """Selections on complementary half-samples.

    Attributes
    ----------
    selections : ndarray of bool of shape (2 * n_pairs, n_units)
        Which units (features or groups) were selected on each half; rows 2 i and 2 i + 1 are complementary halves.
    path : ndarray of shape (max_size + 1, n_units)
        Frequency with which a unit is in the last selection of at most k units, for k from 0.
    members : tuple of tuple of int
        Features of each unit.
    candidates : ndarray of bool of shape (n_units,)
        Units that could be chosen; included and excluded ones are not.
    included : tuple of int
        Units that were selected from the start.
    n_features : int
    feature_names : tuple of str or None
    from_blocks : bool
        Whether halves were sums of the moments of blocks of rows.
    n_empty : int
        Half-samples on which the target does not vary, or has a single row of all classes but one, so that nothing was
        selected there.
    params : mapping of str to object
        Parameters of the selection.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import stability
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> result = stability(X, y, n_pairs=50, random_state=0)
    >>> result.names(result.selected(0.9))
    ('bmi', 's5')
    >>> print(result)
    selected on 100 half-samples: bmi ...
    """

    selections: Bools = field(repr=False)
    path: Floats = field(repr=False)
    members: tuple[tuple[int, ...], ...] = field(repr=False)
    candidates: Bools = field(repr=False)
    included: tuple[int, ...] = field(repr=False)
    n_features: int
    feature_names: tuple[str, ...] | None = field(repr=False)
    from_blocks: bool
    n_empty: int
    params: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        order = np.argsort(-self.frequencies, kind="stable")
        often = order[self.frequencies[order] >= MIN_LISTED]
        shares = [
            f"{name} {self.frequencies[j]:.0%}" for name, j in zip(self.names(often.tolist()), often, strict=True)
        ]
        found = plain_names(shares) if shares else f"no feature on {MIN_LISTED:.0%} of them or more"
        return f"selected on {counted(2 * self.n_pairs, 'half-sample')}: {found}"

    @property
    def n_pairs(self) -> int:
        """Number of complementary pairs."""
        return len(self.selections) // 2

    @cached_property
    def unit_frequencies(self) -> Floats:
        """Share of the half-samples on which each unit is selected."""
        return np.asarray(self.selections.mean(axis=0))

    @cached_property
    def frequencies(self) -> Floats:
        """Share of the half-samples on which each feature is selected."""
        return self._per_feature(self.unit_frequencies)

    @cached_property
    def in_both(self) -> Floats:
        """Share of the pairs in which both halves select the feature."""
        return self._per_feature((self.selections[0::2] & self.selections[1::2]).mean(axis=0))

    @cached_property
    def mean_size(self) -> float:
        """Mean number of candidates that a half selects; included ones are not counted."""
        return float(self.selections[:, self.candidates].sum(axis=1).mean())

    def _per_feature(self, values: Floats) -> Floats:
        found = np.zeros(self.n_features)
        for value, features in zip(values, self.members, strict=True):
            found[list(features)] = value
        return found

    def names(self, features: Sequence[int]) -> tuple[str, ...]:
        """Names of features; x0, x1, ... if the table has none.

        Parameters
        ----------
        features : sequence of int
            Indices of the features.

        Returns
        -------
        tuple of str
        """
        return feature_names(self.feature_names, features)

    def selected(self, threshold: float = STABLE) -> tuple[int, ...]:
        """Features that are selected on at least a share of the half-samples; no selection is repeated for this.

        Parameters
        ----------
        threshold : float, default=0.75
            Share of the half-samples, above 0 and up to 1.

        Returns
        -------
        tuple of int
            Indices of the features, by descending frequency; included ones are always among them.
        """
        if not 0 < threshold <= 1:
            raise ValueError(f"threshold must be above 0 and at most 1; got {threshold!r}")
        kept = self.unit_frequencies >= threshold - 1e-9
        kept[list(self.included)] = True
        order = np.argsort(-self.unit_frequencies, kind="stable")
        return tuple(j for u in order if kept[u] for j in self.members[u])

    def false_selections(self, threshold: float = STABLE, assumption: Assumption = "unimodal") -> float:
        """Bound on the expected number of false selections at a threshold.

        A false selection is a unit whose probability of being selected on a half is at most the average, q / p: no
        better than a random choice. The halves are assumed to be random halves of independent rows.

        Parameters
        ----------
        threshold : float, default=0.75
            Above 0.5.
        assumption : {"none", "unimodal", "r-concave"}, default="unimodal"
            What is assumed of the distribution of the share of pairs whose halves both select such a unit.

        Returns
        -------
        float
        """
        n_candidates = int(self.candidates.sum())
        return bound(self.mean_size, n_candidates, threshold, self.n_pairs, assumption)

    def threshold_for(self, max_false: float, assumption: Assumption = "unimodal") -> float | None:
        """The smallest threshold whose bound on the expected number of false selections is at most `max_false`.

        Parameters
        ----------
        max_false : float
        assumption : {"none", "unimodal", "r-concave"}, default="unimodal"

        Returns
        -------
        float or None
            None if no threshold suffices.
        """
        for k in range(self.n_pairs + 1, 2 * self.n_pairs + 1):
            if self.false_selections(k / (2 * self.n_pairs), assumption) <= max_false:
                return k / (2 * self.n_pairs)
        return None

    def pairs(self, limit: int = MAX_PAIRS) -> tuple[Pair, ...]:
        """The pairs of features that are selected most often, together or in place of each other.

        Parameters
        ----------
        limit : int, default=20
            Maximum number of pairs.

        Returns
        -------
        tuple of Pair
            By descending `either`, then by descending `together`.
        """
        at = np.flatnonzero(self.candidates & (self.unit_frequencies > 0))
        chosen = self.selections[:, at].astype(np.float64)
        together = chosen.T @ chosen / len(chosen)
        own = np.diagonal(together)
        first, second = np.triu_indices(len(at), 1)
        both = together[first, second]
        either = own[first] + own[second] - both
        order = np.lexsort((-both, -either))[:limit]
        return tuple(
            Pair(self.members[at[first[i]]][0], self.members[at[second[i]]][0], float(both[i]), float(either[i]))
            for i in order
        )

    def to_frame(self) -> Any:
        """Convert the frequencies to a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            Columns frequency (share of the half-samples) and both_halves (share of the pairs in which both halves
            select the feature), indexed by feature name, by descending frequency.
        """
        pd = import_pandas()
        order = np.argsort(-self.frequencies, kind="stable")
        index = pd.Index(self.names(order.tolist()), name="feature")
        values = {"frequency": self.frequencies[order], "both_halves": self.in_both[order]}
        return pd.DataFrame(values, index=index)

    def plot(self, ax: Axes | None = None, *, threshold: float = STABLE, limit: int = 12) -> Axes:
        """Plot the stability path, frequencies by number of features; requires matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None creates a figure.
        threshold : float, default=0.75
            Drawn as a line; features above it are coloured.
        limit : int, default=12
            Maximum number of features that are named.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.
        """
        from dropstep.report.plots import plot_stability

        firsts = [features[0] for features in self.members]
        return plot_stability(self.path, self.names(firsts), threshold, limit, ax)


@with_parameters
def stability(
    X: Any,
    y: Any,
    n_pairs: int = 50,
    random_state: int | None = None,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    strata: Any = None,
    sample_groups: Any = None,
    metadata: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Stability:
    """How often each feature, and each pair of features, is selected on random halves of the rows.

    Complementary pairs stability selection (Shah and Samworth 2013): the rows are split at random into two halves, the
    selection is made on each, and this is repeated. Rows are dealt at random, stratified by class (Cox: by event). In a
    half, classes of a single row are omitted.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        As in `select`.
    y : array-like of shape (n_samples,) or (n_samples, n_targets), str or list of str
        As in `select`.
    n_pairs : int, default=50
        Number of complementary pairs; the selection is made on twice as many half-samples.
    random_state : int or None, default=None
        Seed of the halves, and of estimators; None is 0.
    {parameters}
    sample_weight, offset, strata, metadata : array-like of shape (n_samples,), default=None
        As in `select`. A row with a weight of 3 is three observations, which are dealt to the halves one by one;
        weights that are not whole numbers, and those of an estimator, stay with their row.
    sample_groups : array-like of shape (n_samples,) or str, default=None
        Groups of dependent rows, which stay in one half.

    Returns
    -------
    Stability

    Notes
    -----
    `n_jobs` is the number of processes that search pairs; `max_time` and `checkpoint` do not apply.

    For least squares with many more rows than features, the moments of 32 random blocks of rows are computed once, and
    a half is the sum of 16 blocks: every half is a random half of the rows, and the rows are read once.
    """
    if not isinstance(n_pairs, Integral) or isinstance(n_pairs, bool) or n_pairs < 1:
        raise ValueError(f"n_pairs must be a whole number from 1; got {n_pairs!r}")
    seed = checked_seed(random_state)
    n_jobs = parameters.pop("n_jobs", None)
    rows = Rows(sample_weight, offset, strata, sample_groups, {} if metadata is None else metadata)
    work = repeated(X, y, rows, {**parameters, "random_state": random_state}, "stability")
    halves, from_blocks = half_samples(work, int(n_pairs), seed, n_jobs)
    return _result(work.sample, halves, from_blocks, parameters)


def _result(sample: Any, halves: Sequence[Half], from_blocks: bool, params: Mapping[str, Any]) -> Stability:
    choice = sample.choice
    members = choice.members or tuple((j,) for j in range(sample.n_features))
    candidates = np.ones(len(members), dtype=bool)
    candidates[[*choice.include, *choice.exclude]] = False
    selections = np.zeros((len(halves), len(members)), dtype=bool)
    sizes = max(len(half.by_size) for half in halves)
    path = np.zeros((sizes, len(members)))
    for i, half in enumerate(halves):
        selections[i, list(half.selected)] = True
        for k in range(sizes):
            path[k, list(half.by_size[min(k, len(half.by_size) - 1)])] += 1
    return Stability(
        selections=selections,
        path=path / len(halves),
        members=members,
        candidates=candidates,
        included=choice.include,
        n_features=sample.n_features,
        feature_names=sample.names,
        from_blocks=from_blocks,
        n_empty=sum(not half.estimable for half in halves),
        params=dict(params),
    )
