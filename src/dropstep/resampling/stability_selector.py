"""StabilitySelector: stability selection as a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dropstep.parameters import Parameters, documented
from dropstep.resampling.stability import Stability, stability
from dropstep.result import STABLE
from dropstep.selector import Selector, input_attributes


@dataclass(eq=False, repr=False)
class StabilityParameters(Parameters):
    """Parameters of a selection, and those of its repetition on half-samples."""

    n_pairs: int = 50
    threshold: float = STABLE


OWN = tuple(field.name for field in fields(StabilityParameters)[len(fields(Parameters)) :])


@documented
class StabilitySelector(Selector, StabilityParameters):
    """Feature selection by the frequency of selection on random halves of the rows (Shah and Samworth 2013).

    Parameters
    ----------
    {parameters}
    n_pairs : int, default=50
        Number of complementary pairs of halves.
    threshold : float, default=0.75
        Share of the half-samples on which a feature must be selected. It can be changed after `fit` with
        ``set_params(threshold=...)``; no selection is repeated.

    Attributes
    ----------
    stability_ : Stability
        Frequencies of features and pairs, the stability path, and bounds on the number of false selections.
    frequencies_ : ndarray of shape (n_features,)
        Share of the half-samples on which each feature is selected.
    selected_ : ndarray of int
        Indices of the selected features, by descending frequency.
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected features.
    ranking_ : ndarray of int of shape (n_features,)
        1 for the most frequent feature; ties are ranked by index.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has feature names.

    Notes
    -----
    The parameters of `Selector` are those of the selection on each half. `n_jobs` is the number of processes that
    search pairs, `random_state` also seeds the halves; `max_time` and `checkpoint` do not apply.

    A row with a weight of 2 is two observations, which may be in different halves. Observations are dealt in the order
    of the table, so that another order of the rows, as another seed, gives other halves.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from dropstep import StabilitySelector
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = StabilitySelector(threshold=0.9).fit(X, y)
    >>> selector.get_feature_names_out()
    array(['bmi', 's5'], dtype=object)
    >>> selector.set_params(threshold=0.6).get_feature_names_out()
    array(['bmi', 'bp', 's5'], dtype=object)
    """

    stability_: Stability

    _needs_all_rows = True

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        strata: Any = None,
        sample_groups: Any = None,
        **metadata: Any,
    ) -> StabilitySelector:
        """Select on complementary halves of the rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight, offset, strata : array-like of shape (n_samples,), default=None
            As in `Selector.fit`.
        sample_groups : array-like of shape (n_samples,), default=None
            Groups of dependent rows, which stay in one half.
        **metadata : object
            Passed to the `fit` of an estimator.

        Returns
        -------
        StabilitySelector
        """
        with self._refitted() as fitted:
            if isinstance(y, str):
                raise ValueError(f"y must contain target values, not the name {y!r}; pass the column, or use stability")
            parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in OWN}
            fitted["stability_"] = stability(
                X,
                y,
                self.n_pairs,
                sample_weight=sample_weight,
                offset=offset,
                strata=strata,
                sample_groups=sample_groups,
                metadata=metadata,
                **parameters,
            )
            fitted |= input_attributes(X)
        return self

    def _of_fit(self) -> Stability:
        check_is_fitted(self, "stability_")
        return self.stability_

    @property
    def frequencies_(self) -> NDArray[np.float64]:
        """Share of the half-samples on which each feature is selected."""
        return self._of_fit().frequencies

    @property
    def selected_(self) -> NDArray[np.intp]:  # type: ignore[override]
        """Indices of the selected features, by descending frequency."""
        return np.array(self._of_fit().selected(self.threshold), dtype=np.intp)

    @property
    def support_(self) -> NDArray[np.bool_]:  # type: ignore[override]
        """Mask of the selected features."""
        return np.isin(np.arange(self._of_fit().n_features), self.selected_)

    @property
    def ranking_(self) -> NDArray[np.intp]:  # type: ignore[override]
        """1 for the most frequent feature."""
        ranks = np.empty(self._of_fit().n_features, dtype=np.intp)
        ranks[np.argsort(-self.frequencies_, kind="stable")] = np.arange(1, len(ranks) + 1)
        return ranks
