"""The plot of a stability path with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dropstep.presentation.plots.axes import COLOURS, GREY, PALE, axes_of, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_HEIGHT = 0.045  # of a frequency: labels of features that are selected equally often do not overlap


def plot_stability(
    frequencies: NDArray[np.float64], names: Sequence[str], threshold: float, limit: int, ax: Axes | None
) -> Axes:
    """Plot selection frequencies by number of features; those that reach the threshold are coloured and named.

    Parameters
    ----------
    frequencies : ndarray of shape (max_size + 1, n_units)
        Frequency of each unit among the selections of at most k units.
    names : sequence of str
        Name of each unit.
    threshold : float
        Drawn as a line.
    limit : int
        Maximum number of units that are named.
    ax : matplotlib.axes.Axes or None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_of(ax, 4.2)
    sizes, final = np.arange(len(frequencies)), frequencies[-1]
    order = np.argsort(-final, kind="stable")
    for unit in order[final[order] > 0][::-1]:
        chosen = final[unit] >= threshold
        style: dict[str, Any] = {"color": COLOURS["forward"], "lw": 1.8} if chosen else {"color": PALE, "lw": 1.0}
        ax.plot(sizes, frequencies[:, unit], zorder=2 if chosen else 1, **style)
    height = np.inf
    for unit in order[:limit]:
        if final[unit] >= threshold:
            height = min(float(final[unit]), height - LABEL_HEIGHT)  # below the label above it
            ax.annotate(
                names[unit],
                (sizes[-1], height),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=ink(),
                parse_math=False,
            )
    ax.axhline(threshold, color=GREY, lw=1, ls="--")
    ax.set_ylim(-0.02, 1.04)
    ax.set_xlabel("number of features")
    ax.set_ylabel("selection frequency")
    ax.set_title(f"{int((final >= threshold).sum())} of {len(final)} features reach {threshold:g}")
    return ax
