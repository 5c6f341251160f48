"""Plots with one row per feature or group: gains on entry, and states by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dropstep.presentation.plots.axes import (
    COLOURS,
    PALE,
    axes_of,
    count_steps,
    ink,
    label_numbers,
    legend_below,
    set_title,
    short_name,
)
from dropstep.presentation.summary import entries, ranked
from dropstep.presentation.text import number
from dropstep.result import SelectionPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_gains(path: SelectionPath, ax: Axes | None = None, *, limit: int = 50) -> Axes:
    """Plot the gain on entry of the selected features or groups, in order of entry.

    Included features are omitted: they enter together and have no gains of their own.

    Parameters
    ----------
    path : SelectionPath
        Path to plot.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None creates a figure.
    limit : int, default=50
        Maximum number of features or groups to show.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    entered = [(entry, entry.gain) for entry in entries(path) if entry.gain is not None]
    shown = entered[:limit]
    new, ax = ax is None, axes_of(ax, _height(len(shown)))
    gains = [gain for _, gain in shown]
    bars = ax.barh(range(len(shown)), gains, color=[COLOURS[entry.step.phase] for entry, _ in shown], height=0.72)
    size = _label_rows(ax, [short_name(path, entry.features) for entry, _ in shown], new)
    ax.bar_label(bars, [number(gain, 3) for gain in gains], padding=3, fontsize=size * 0.9, color=ink())
    ax.margins(x=0.14)
    ax.set_xlabel(f"gain in {path.criterion} on entry", parse_math=False)
    label_numbers(ax.xaxis)
    set_title(ax, _partly("Gains in order of entry", len(shown), len(entered)))
    _legend_of_phases(ax, dict.fromkeys(entry.step.phase for entry, _ in shown))
    return ax


def plot_ranking(path: SelectionPath, ax: Axes | None = None, *, limit: int = 50) -> Axes:
    """Plot the state of the best features or groups by step, one row each: in the pool, dropped (blank) or selected.

    Parameters
    ----------
    path : SelectionPath
        Path to plot.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None creates a figure.
    limit : int, default=50
        Maximum number of features or groups to show.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    every = ranked(path)
    shown = every[:limit]
    new, ax = ax is None, axes_of(ax, _height(len(shown)))
    for row, features in enumerate(shown):
        for state, first, last in _states(path, features[0]):
            if state != "dropped":
                colour = PALE if state == "pool" else COLOURS[state]
                ax.broken_barh([(first - 0.5, last - first + 1)], (row - 0.36, 0.72), facecolors=colour)
    _label_rows(ax, [f"{short_name(path, features)}  {rank}" for rank, features in enumerate(shown, start=1)], new)
    count_steps(ax, path)
    ax.set_xlim(-0.5, max(1, len(path.steps)) + 0.5)
    set_title(ax, _partly("Ranking: from the pool to the selection", len(shown), len(every)))
    entered = dict.fromkeys(step.phase for step in path.steps if step.action == "add")
    _legend_of_phases(ax, entered, pool=True)
    return ax


def _states(path: SelectionPath, feature: int) -> list[tuple[str, int, int]]:
    """States of a feature with their first and last steps: "pool", "dropped", or the phase that selected it."""
    state, since, found = "pool", 0, []
    for i, step in enumerate(path.steps, start=1):
        if feature in step.features:
            after = {"add": str(step.phase), "drop": "dropped"}.get(step.action, "pool")
            found.append((state, since, i - 1))
            state, since = after, i
    return [*found, (state, since, max(len(path.steps), since))]


def _height(rows: int) -> float:
    return 1.6 + 0.21 * max(3, rows)


def _label_rows(ax: Axes, labels: list[str], new: bool) -> float:
    """Label one row per feature, the first on top, in a font that fits; returns its size in points."""
    size = 9.0
    if not new and labels:
        points = ax.get_window_extent().height / ax.figure.dpi * 72
        size = max(2.0, min(size, points / len(labels) / 1.4))
    ax.set_yticks(range(len(labels)), labels, fontsize=size, parse_math=False)
    ax.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)
    return size


def _legend_of_phases(ax: Axes, phases: Iterable[str], pool: bool = False) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(color=COLOURS[phase], label=f"entered in {phase}") for phase in phases]
    patches += [Patch(color=PALE, label="in the pool")] if pool else []
    legend_below(ax, handles=patches)


def _partly(title: str, shown: int, total: int) -> str:
    return title if shown == total else f"{title}, the first {shown} of {total:,}"
