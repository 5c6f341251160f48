"""The plot of the score by number of features, with names at the points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dropstep.presentation.plots.axes import (
    COLOURS,
    GREY,
    axes_of,
    count_features,
    draw_moves,
    ink,
    label_numbers,
    legend_below,
    set_title,
    short_name,
)
from dropstep.presentation.summary import best_by_size, moves
from dropstep.presentation.text import count
from dropstep.result import SelectionPath, Step

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LETTERS = 22  # of a name at a point


def plot_path(path: SelectionPath, ax: Axes | None = None) -> Axes:
    """Plot the score by number of features, with the name of the feature at each point.

    Additions are filled markers, removals hollow ones. Where the score is a mean over folds, the band is one standard
    error wide on each side of the best selection of each size. The final selection is circled.

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
    new, ax = ax is None, axes_of(ax, 4.8)
    made = [
        (size, step)
        for size, step in zip(path.sizes(), path.steps, strict=True)
        if step.action in ("add", "remove") and math.isfinite(step.score)
    ]
    started = bool(path.steps) and path.steps[0].phase == "start"
    points = [(size, step.score) for size, step in made]
    if not started and math.isfinite(path.start):
        points.insert(0, (0, path.start))
    ax.plot([n for n, _ in points], [score for _, score in points], color=GREY, lw=1.2, zorder=1)
    if best := best_by_size(path):
        sizes = [size.n_features for size in best]
        low, high = ([size.score + sign * size.std_error for size in best] for sign in (-1, 1))
        ax.fill_between(sizes, low, high, color=COLOURS["forward"], alpha=0.18, lw=0, zorder=0, label="± 1 std. error")
    draw_moves(ax, made)
    if points and math.isfinite(path.score):
        final: dict[str, Any] = {
            "facecolors": "none",
            "edgecolors": ink(),
            "linewidths": 1.2,
            "label": "selected",
            "zorder": 3,
        }
        ax.scatter([len(path.selected)], [path.score], s=150, **final)
    counts = [n for n, _ in points] or [0, 1]
    ax.set_xlim(min(counts) - 0.6, max(counts) + 0.6)
    count_features(ax)
    _names_at_points(ax, path, made, new)
    set_title(ax, f"{path.strategy}: {len(path.selected):,} of {count(path.n_features, 'feature')}")
    ax.set_ylabel(path.criterion, parse_math=False)
    label_numbers(ax.yaxis)
    legend_below(ax)
    return ax


def _labels(path: SelectionPath, made: Sequence[tuple[int, Step]]) -> dict[int, tuple[str, float]]:
    """By number of features: the names that entered there and stayed, and the score to write them at.

    On a path that only removes, they are the features that left.
    """
    found: dict[int, tuple[list[str], float]] = {}
    adds = any(step.action == "add" and step.phase != "start" for _, step in made)
    for (size, step), move in zip(made, [m for m in moves(path) if math.isfinite(m.step.score)], strict=True):
        stays = step.action == "add" and step.phase != "start" and len(move.removed) < len(step.features)
        if stays or (not adds and step.action == "remove"):
            names, score = found.get(size, ([], step.score))
            name = short_name(path, step.features, MAX_LETTERS)
            found[size] = ([*names, name if adds else f"\N{MINUS SIGN} {name}"], max(score, step.score))
    return {
        n: (names[0] + (f" +{len(names) - 1}" if len(names) > 1 else ""), score) for n, (names, score) in found.items()
    }


def _names_at_points(ax: Axes, path: SelectionPath, made: Sequence[tuple[int, Step]], new: bool) -> None:
    """Write names upwards from their points, in a font that fits between two of them; every k-th if there are many."""
    labels = _labels(path, made)
    if not labels:
        return
    width = (8.0 if new else ax.get_window_extent().width / ax.figure.dpi) * 72 * 0.82
    low, high = ax.get_xlim()
    room = width / (high - low)
    every = math.ceil(5.5 * 1.3 / room)
    size = min(8.5, max(5.0, room * every / 1.3))
    shown = {n: label for i, (n, label) in enumerate(sorted(labels.items())) if i % every == 0}
    height = (4.8 if new else ax.get_window_extent().height / ax.figure.dpi) * 72 * 0.7
    bottom, top = ax.get_ylim()
    heads = [(score - bottom, min(0.6, (len(name) * size * 0.62 + 14) / height)) for name, score in shown.values()]
    ax.set_ylim(bottom, max(top, *(bottom + above / (1 - head) for above, head in heads)))
    style: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": size, "parse_math": False}
    for n, (name, score) in shown.items():
        ax.annotate(name, (n, score), (0, 9), textcoords="offset points", color=ink(), **style)
