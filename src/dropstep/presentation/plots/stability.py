"""The plot of a stability path with matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dropstep.presentation.plots.axes import COLOURS, GREY, PALE, axes_of, count_features, ink, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT_SIZE, LINE_HEIGHT = 8.0, 10.0  # of names, in points


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
    ax.axhline(threshold, color=GREY, lw=1, ls="--")
    ax.set_ylim(-0.02, 1.04)
    _name_lines(ax, [(names[unit], final[unit]) for unit in order[:limit] if final[unit] >= threshold], len(sizes) - 1)
    count_features(ax)
    ax.set_ylabel("selection frequency")
    set_title(ax, f"{int((final >= threshold).sum())} of {len(final):,} features reach {threshold:g}")
    return ax


def _name_lines(ax: Axes, ends: Sequence[tuple[str, float]], x: float) -> None:
    """Write names at the ends of lines, the highest first; each is moved down as far as the one above it requires."""
    low, high = ax.get_ylim()
    points = ax.get_window_extent().height / ax.figure.dpi * 72 / (high - low)  # per unit of the y axis
    style: dict[str, Any] = {"va": "center", "fontsize": FONT_SIZE, "color": ink(), "parse_math": False}
    ceiling = math.inf
    for name, value in ends:
        ceiling = min(value * points, ceiling)
        ax.annotate(name, (x, value), (6, ceiling - value * points), textcoords="offset points", **style)
        ceiling -= LINE_HEIGHT
