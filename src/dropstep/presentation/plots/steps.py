"""Plots by step: the score, and the size of the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dropstep.presentation.plots.axes import (
    COLOURS,
    GREY,
    axes_of,
    count_steps,
    draw_moves,
    label_numbers,
    set_title,
)
from dropstep.presentation.summary import phases, scores
from dropstep.presentation.text import count
from dropstep.result import SelectionPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_steps(path: SelectionPath, ax: Axes | None = None) -> Axes:
    """Plot the score by step; additions are filled markers, removals hollow ones, phases are shaded.

    Parameters
    ----------
    path : SelectionPath
        Path to plot.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    ax = axes_of(ax, 4.2)
    moves = [(i, step) for i, step in enumerate(path.steps, start=1) if step.action in ("add", "remove")]
    ax.plot(*zip(*scores(path), strict=True), color=GREY, lw=1.2, zorder=1)
    draw_moves(ax, moves)
    _shade_phases(ax, path)
    count_steps(ax, path)
    set_title(ax, f"{path.strategy}: {len(path.selected):,} of {path.n_features:,} features")
    ax.set_ylabel(path.criterion, parse_math=False)
    label_numbers(ax.yaxis)
    if moves:
        ax.legend(frameon=False)
    return ax


def plot_pool(path: SelectionPath, ax: Axes | None = None) -> Axes:
    """Plot the number of candidates in the pool by step.

    Parameters
    ----------
    path : SelectionPath
        Path to plot.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    ax = axes_of(ax, 3.2)
    sizes = path.pools()
    edges = [i - 0.5 for i in range(len(sizes) + 1)]
    ax.stairs(sizes, edges, fill=True, color=COLOURS["forward"], alpha=0.25, lw=0)
    ax.stairs(sizes, edges, color=COLOURS["forward"], lw=1.5)
    _shade_phases(ax, path)
    count_steps(ax, path)
    ax.set_ylim(0, max(1, *sizes) * 1.05)
    ax.set_ylabel("candidates in the pool")
    label_numbers(ax.yaxis)
    set_title(ax, f"{path.strategy}: {count(path.n_evaluations, 'evaluation')}")
    return ax


def _shade_phases(ax: Axes, path: SelectionPath) -> None:
    busy = {step.phase for step in path.steps if step.action in ("add", "remove")}
    for phase, first, last in phases(path):
        label = None if phase in busy else f"{phase}: nothing added"
        ax.axvspan(first - 0.5, last + 0.5, color=COLOURS[phase], alpha=0.1, lw=0, zorder=0, label=label)
