"""Plots of errors on the folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dropstep.presentation.plots.axes import (
    COLOURS,
    GREY,
    PALE,
    axes_of,
    count_features,
    label_numbers,
    set_title,
)
from dropstep.presentation.text import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_sizes(
    sizes: Sequence[int], losses: Any, std_error: Any, loss: str, chosen: int, ax: Axes | None = None
) -> Axes:
    """Plot the loss of every fold by number of features, and the mean with one standard error.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of features.
    losses : array of shape (n_folds, n_sizes)
        Losses on the test rows.
    std_error : array of shape (n_sizes,)
        Standard errors of the means.
    loss : str
        Name of the loss.
    chosen : int
        The number of features that was chosen.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    ax = axes_of(ax, 4.2)
    for fold in losses:
        ax.plot(sizes, fold, color=PALE, lw=1.0, zorder=1)
    ax.errorbar(sizes, losses.mean(axis=0), yerr=std_error, color=COLOURS["forward"], marker="o", ms=4, capsize=2)
    ax.axvline(chosen, color=COLOURS["backward"], lw=1.0, ls="--", zorder=0)
    set_title(ax, f"{count(chosen, 'feature')} chosen, {count(len(losses), 'fold')}")
    count_features(ax)
    ax.set_ylabel(f"held-out {loss}", parse_math=False)
    label_numbers(ax.yaxis)
    return ax


def plot_errors(
    names: Sequence[str], folds: Sequence[Sequence[float]], measure: str, title: str, ax: Axes | None = None
) -> Axes:
    """Plot cross-validated errors: one row per name, a dot per fold, and the mean.

    Parameters
    ----------
    names : sequence of str
        Names of the rows.
    folds : sequence of sequence of float
        Errors of the folds, one sequence per name.
    measure : str
        Name of the error.
    title : str
        Title of the axes.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    ax = axes_of(ax, 1.4 + 0.3 * len(names))
    for row, errors in enumerate(folds):
        ax.scatter(errors, [row] * len(errors), color=GREY, s=14, zorder=1)
        if len(errors):
            ax.scatter([sum(errors) / len(errors)], [row], color=COLOURS["forward"], marker="D", s=36, zorder=2)
    ax.set_yticks(range(len(names)), [*names], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel(measure, parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)
    label_numbers(ax.xaxis)
    set_title(ax, title)
    return ax
