"""Stability: how often each feature, and each pair of features, is selected on random halves of the rows.

Complementary pairs stability selection (Shah and Samworth 2013), with its bounds on the number of false selections.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from dropstep.data.sample import PerRow
from dropstep.data.target import Categorical
from dropstep.models.base import Problem
from dropstep.models.capabilities import RowBlocks, SumsBlocks
from dropstep.parameters import checked_parameters, checked_seed, with_parameters
from dropstep.resampling.resampler import Resampler
from dropstep.result import STABLE, feature_names, import_pandas, is_stable
from dropstep.search.rules import Permutation
from dropstep.search.search import Search
from dropstep.wording import counted, plain_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]

Assumption = Literal["none", "unimodal", "r-concave"]
ASSUMPTIONS: tuple[str, ...] = get_args(Assumption)

MAX_PAIRS = 20  # pairs of features that `pairs` returns by default
MIN_LISTED = 0.1  # frequency from which a feature is printed
N_BLOCKS = 32  # of which a half has 16: 300 million pairs of halves
MIN_PER_BLOCK = 2  # rows of every class, or groups of rows, on average
MAX_UNIMODAL = 1 / math.sqrt(3)  # selection probability up to which the unimodal bound holds
SMALLEST, LARGEST = 1e-5, 1e5  # parameters of the r-concave distributions


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
        kept = is_stable(self.unit_frequencies, threshold)
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
    n_jobs, metadata = parameters.pop("n_jobs", None), {} if metadata is None else metadata
    rows = PerRow(sample_weight, offset, strata, sample_groups, metadata)
    given = checked_parameters("stability", {**parameters, "random_state": random_state})
    resampler = Resampler.of(X, y, rows, given, "stability")
    return find_stability(resampler, int(n_pairs), checked_seed(random_state), n_jobs, parameters)


def find_stability(
    resampler: Resampler, n_pairs: int, seed: int, n_jobs: int | None, params: Mapping[str, Any]
) -> Stability:
    """Selections on complementary halves, and whether they are sums of blocks of rows."""
    if resampler.observations.n_groups == 1:
        raise ValueError("sample_groups has a single group, which cannot be divided into halves; pass several groups")
    streams = np.random.SeedSequence(seed).spawn(n_pairs + 1)
    blocks = _blocks(resampler, np.random.default_rng(streams[0]))
    tasks = (delayed(_select_pair)(resampler, blocks, stream) for stream in streams[1:])
    halves = [half for pair in Parallel(n_jobs=n_jobs)(tasks) for half in pair]
    if not any(half.estimable for half in halves):
        raise ValueError(
            "no half of the rows can be fitted: they are too few, the target does not vary there, or its classes have "
            "a single row; pass more rows"
        )
    return _summarise(resampler.sample, halves, blocks is not None, params)


def _summarise(sample: Any, halves: Sequence[Half], from_blocks: bool, params: Mapping[str, Any]) -> Stability:
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


# --- selections on halves --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Half:
    """The selection on one half-sample.

    Attributes
    ----------
    selected : tuple of int
        Selected units, in order of entry.
    by_size : tuple of tuple of int
        For each number of units from 0, the last selection of at most that size that the search visited.
    estimable : bool
        False if the target does not vary in this half, or classes have too few rows, so that nothing is selected.
    """

    selected: tuple[int, ...]
    by_size: tuple[tuple[int, ...], ...]
    estimable: bool


def _select_pair(resampler: Resampler, blocks: _Blocks | None, stream: np.random.SeedSequence) -> tuple[Half, Half]:
    """The selections on two complementary halves, which are unions of blocks if there are blocks."""
    rng, observations = np.random.default_rng(stream), resampler.observations
    if blocks is None:
        drawn = observations.halves(rng)
    else:
        chosen = np.sort(rng.permutation(N_BLOCKS)[: N_BLOCKS // 2])
        if blocks.vary(chosen):
            one, other = blocks.sums.halves(chosen)
            return _select_half(resampler, resampler.sample, one), _select_half(resampler, resampler.sample, other)
        inside = np.isin(blocks.block, chosen)[observations.row]
        drawn = np.flatnonzero(inside), np.flatnonzero(~inside)
    first, second = drawn
    return _select_half(resampler, resampler.part(first)), _select_half(resampler, resampler.part(second))


def _select_half(resampler: Resampler, part: Any, problem: Problem | None = None) -> Half:
    visited: dict[int, tuple[int, ...]] = {}

    def visit(search: Search) -> None:
        visited.pop(len(search.selected), None)  # sizes are kept in the order of the last visits
        visited[len(search.selected)] = tuple(search.selected)

    selected = resampler.select_on(part, problem, visit)
    return Half(selected, tuple(_by_size(visited, selected)) if part is not None else (selected,), part is not None)


def _by_size(visited: dict[int, tuple[int, ...]], final: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """For each size, the last of the selections of at most that size."""
    order = {size: at for at, size in enumerate(visited)}
    best: tuple[int, ...] = ()
    latest = -1
    for size in range(max([*visited, len(final)], default=0) + 1):
        if order.get(size, -1) > latest:
            best, latest = visited[size], order[size]
        yield best


class _Blocks(NamedTuple):
    """Blocks of rows: their sums, the block of each row, and the range of the target in each (of numbers)."""

    sums: RowBlocks
    block: Indices
    ranges: Floats | None

    def vary(self, chosen: Indices) -> bool:
        """Whether the target varies in the union of some blocks, and in that of the others."""
        if self.ranges is None:  # every block has rows of every class
            return True
        halves = self.ranges[chosen], np.delete(self.ranges, chosen, axis=0)
        return all(bool((half[:, 0].min(axis=0) < half[:, 1].max(axis=0)).all()) for half in halves)


def _blocks(resampler: Resampler, rng: np.random.Generator) -> _Blocks | None:
    """Blocks of rows, where sums over blocks cost less than the rows themselves."""
    family, sample, given = resampler.family, resampler.sample, resampler.given
    observations = resampler.observations
    if not isinstance(family, SumsBlocks) or not family.prefers_blocks(sample, given.criterion, given.solver, N_BLOCKS):
        return None
    if isinstance(given.enter, Permutation) or observations.has_copies:  # which need the rows
        return None
    if observations.n_rarest < MIN_PER_BLOCK * N_BLOCKS:
        return None
    block = np.zeros(sample.n_rows, dtype=np.intp)
    block[observations.row] = observations.deal(N_BLOCKS, rng)
    sums = family.blocks(sample, block, given.solver, given.max_features)
    return None if sums is None else _Blocks(sums, block, _ranges(sample, block[observations.row], observations.row))


def _ranges(sample: Any, block: Indices, row: Indices) -> Floats | None:
    """The least and the largest value of each target in each block; None for classes."""
    if isinstance(sample.target, Categorical):
        return None
    order = np.argsort(block, kind="stable")
    parts = np.split(sample.target.values[row[order]], np.searchsorted(block[order], np.arange(1, N_BLOCKS)))
    return np.array([(values.min(axis=0), values.max(axis=0)) for values in parts])


# --- bounds on the number of false selections ------------------------------------------------------------------------


def bound(mean_size: float, n_candidates: int, threshold: float, n_pairs: int, assumption: Assumption) -> float:
    """Bound on the expected number of selected units whose selection probability on a half is at most average.

    Parameters
    ----------
    mean_size : float
        Mean number of candidates selected on a half, q.
    n_candidates : int
        Number of candidates, p. Average is a selection probability of q / p.
    threshold : float
        Frequency from which a unit is selected, above 0.5.
    n_pairs : int
        Number of complementary pairs, B.
    assumption : {"none", "unimodal", "r-concave"}
        Shape of the distribution of the share of pairs whose halves both select a unit; "r-concave" also of the
        frequency itself. See Shah and Samworth (2013), theorems 1 and 2, and equation 8.

    Returns
    -------
    float
        At most `mean_size / threshold`, which holds without any theory.
    """
    if assumption not in ASSUMPTIONS:
        raise ValueError(f"assumption must be one of {', '.join(map(repr, ASSUMPTIONS))}; got {assumption!r}")
    if not 0.5 < threshold <= 1:
        raise ValueError(f"the bounds hold for thresholds above 0.5, up to 1; got {threshold:g}")
    if mean_size == 0 or n_candidates == 0:
        return 0.0
    average = min(mean_size / n_candidates, 1.0)
    tau = math.ceil(round(threshold * 2 * n_pairs, 6)) / (2 * n_pairs)  # frequencies are multiples of 1 / (2 B)
    bounds = [mean_size / tau, average * mean_size / (2 * tau - 1)]
    if assumption != "none" and average <= MAX_UNIMODAL:
        bounds.append(_unimodal(tau, average, n_pairs) * average * mean_size)
    if assumption == "r-concave":
        pairs = r_concave_tail(average**2, 2 * tau - 1, n_pairs, -1 / 2)
        halves = r_concave_tail(average, tau, 2 * n_pairs, -1 / 4)
        bounds.append(n_candidates * min(pairs, halves))
    return min(bounds)


def _unimodal(tau: float, theta: float, B: int) -> float:
    """C(tau, B) of theorem 2; infinite where it does not apply."""
    if tau > 3 / 4:
        return 4 * (1 - tau + 1 / (2 * B)) / (1 + 1 / B)
    if tau <= min(1 / 2 + theta**2, 1 / 2 + 1 / (2 * B) + 3 / 4 * theta**2):
        return math.inf
    room = 2 * tau - 1 - 1 / (2 * B)
    return 1 / (2 * room) if room > 0 else math.inf


def r_concave_tail(mean: float, tail: float, n: int, r: float) -> float:
    """The largest P(X >= tail) of r-concave distributions on 0, 1/n, ..., 1 with a mean of at most `mean`.

    The extremal distributions have f(i) proportional to (a + i)^(1/r) up to i = k, and a smaller atom at k + 1.
    """
    from scipy import optimize

    m, t = mean * n, math.ceil(round(tail * n, 6))
    start = math.ceil(2 * m) + 1
    if t < start or t > n:
        return 1.0 if t < start else 0.0

    def weights(a: float, k: int) -> Floats:
        return np.asarray((a + np.arange(k + 1)) ** (1 / r))

    def excess(a: float, k: int) -> float:
        w = weights(a, k)
        return float(np.arange(k + 1) @ w / w.sum()) - m

    def with_atom(a: float, k: int) -> float:
        w = weights(a, k)
        return 1 - (k + 1 - m) * float(w[:t].sum()) / float((k + 1 - np.arange(k + 1)) @ w)

    upper, best = LARGEST, 0.0
    roots: dict[int, float] = {}
    for k in range(start, n + 1):
        upper = roots[k] = optimize.brentq(excess, SMALLEST, upper, args=(k,)) if excess(SMALLEST, k) < 0 else SMALLEST
        if upper == SMALLEST:
            break
    for k in range(max(start, t - 1), max(roots)):
        limits = roots[k + 1], roots[k]
        found = optimize.minimize_scalar(lambda a, k=k: -with_atom(a, k), bounds=limits, method="bounded")
        best = max(best, -float(found.fun), *(with_atom(a, k) for a in limits))
    w = weights(roots[max(roots)], max(roots))
    return min(1.0, max(best, float(w[t:].sum() / w.sum())))
