"""Notes on what makes any selection uncertain, each with its number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dropstep.models.base import FamilyModel
from dropstep.result import feature_names
from dropstep.search.rules import Significance
from dropstep.search.search import Search

MIN_ROWS_PER_CANDIDATE = 1
MAX_LISTED = 5  # features that a note names
NEAR_TIE = 0.005  # share of a gain within which a second candidate is nearly as good


def notes(search: Search, model: FamilyModel, n_excluded: int, names: Sequence[str] | None) -> Iterator[str]:
    """Few rows per candidate, and a near tie at a step with a unit that is not selected."""
    n_candidates = search.units.n - n_excluded
    if model.n < MIN_ROWS_PER_CANDIDATE * n_candidates:
        yield (
            f"{model.n:,g} {model.sample_unit} for {n_candidates:,} candidates ({model.n / n_candidates:.2g} per "
            "candidate): other rows may select other features; check the stability of the selection"
        )
    yield from _tails(search, model, names)
    near = search.closest
    if near is not None and near.margin < NEAR_TIE and near.second not in search.selected:
        first, second = (", ".join(feature_names(names, search.units.features([u]))) for u in (near.unit, near.second))
        yield (
            f"{first} entered with a gain of {near.gain:.4g}, and {second} would have brought {near.second_gain:.4g}: "
            "which of the two is selected is a matter of chance"
        )


def _tails(search: Search, model: FamilyModel, names: Sequence[str] | None) -> Iterator[str]:
    """What tests in the tails refused, and that none was made."""
    enter = search.rules.enter
    if not isinstance(enter, Significance) or not enter.in_tails:
        return
    if not model.reads_tails and search.size:
        yield (
            "the F tests assume that features or residuals are close to normal, which could not be checked without the "
            "rows: where both have heavy tails, their p-values are too small"
        )
    if refused := sorted(set(search.refused) - set(search.selected)):
        shown = [", ".join(feature_names(names, search.units.features([u]))) for u in refused[:MAX_LISTED]]
        more = f" and {len(refused) - MAX_LISTED} more" if len(refused) > MAX_LISTED else ""
        smallest = min(search.refused[u] for u in refused)
        yield (
            f"{', '.join(shown)}{more}: not selected although the plain test is significant, because it does not hold: "
            "feature and residual are both far from normal, or few degrees of freedom remain; the p-value that "
            f"accounts for it is at least {smallest:.2g} (enter=Significance(0.05, 'fdr') decides by the plain test)"
        )
