"""Best subsets: what an exhaustive search found for each number of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Subset:
    """A set of features and its score.

    Attributes
    ----------
    features : tuple of int
        Indices of the features, in ascending order; those in `include` are part of every set.
    size : int
        Number of features, or of groups.
    score : float
        Criterion of the set, in its own sign.
    """

    features: tuple[int, ...]
    size: int
    score: float


@dataclass(frozen=True)
class Subsets:
    """The best sets of each size.

    Attributes
    ----------
    sets : tuple of Subset
        By size, the best of each size first.
    gap : float
        By how much a set that was not examined could be better than the selected one, in units of the criterion: 0 if
        the selection is proven to be the best, infinite if nothing is known of the sets that were not examined.
    feature_names : tuple of str or None
        Names of all features, or None if the table has none.
    """

    sets: tuple[Subset, ...]
    gap: float
    feature_names: tuple[str, ...] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.sets)

    def __getitem__(self, at: int) -> Subset:
        return self.sets[at]

    def of_size(self, size: int) -> tuple[Subset, ...]:
        """The sets of one size, best first.

        Parameters
        ----------
        size : int
            Number of features, or of groups.

        Returns
        -------
        tuple of Subset
            Empty if no set of this size was found.
        """
        return tuple(one for one in self.sets if one.size == size)

    def to_frame(self) -> Any:
        """Convert the sets to a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per set, with columns size, place (1 for the best set of its size), features and score.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install 'dropstep[frames]'") from None
        rows, place, size = [], 0, None
        for one in self.sets:
            place, size = (place + 1 if one.size == size else 1), one.size
            rows.append((one.size, place, ", ".join(self._names(one.features)), one.score))
        return pd.DataFrame(rows, columns=["size", "place", "features", "score"])

    def _names(self, features: Sequence[int]) -> list[str]:
        return [f"x{j}" if self.feature_names is None else self.feature_names[j] for j in features]
