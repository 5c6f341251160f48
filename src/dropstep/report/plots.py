"""Plots with matplotlib. Each function draws on the given axes, or on new ones, and returns them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dropstep.report.quantities import best_by_size, entries, moves, phases, ranked, scores
from dropstep.report.text import number, short
from dropstep.result import SelectionPath, Step
from dropstep.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The palette of Okabe and Ito, which is safe for colour-blind readers; phases differ in shape as well.
COLOURS = {
    "start": "#595959",
    "forward": "#0072B2",
    "re-forward": "#E69F00",
    "backward": "#D55E00",
    "swap": "#009E73",
}
SHAPES = {"start": "|", "forward": "o", "re-forward": "s", "backward": "v", "swap": "D"}
GREY, PALE = "#999999", "#9999994D"  # visible on white and on black; the other colours are those of the style


def axes_of(ax: Axes | None, height: float) -> Axes:
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'dropstep[plot]'") from None
    return plt.subplots(figsize=(8.0, height), layout="constrained")[1]


def ink() -> str:
    """The colour of text in the style in use, light or dark."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def set_title(ax: Axes, title: str) -> None:
    ax.set_title(title, fontsize=11, loc="left", parse_math=False)


def label_numbers(axis: Any) -> None:
    """Label an axis with 2,010 rather than 2.01e+03."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def legend_below(ax: Axes, **entries: Any) -> None:
    """Legend below the axis label, where it covers nothing; none if it would have a single entry."""
    from matplotlib.transforms import ScaledTranslation

    if len(entries.get("handles", ax.get_legend_handles_labels()[0])) > 1:
        below = ax.transAxes + ScaledTranslation(0, -38 / 72, ax.figure.dpi_scale_trans)
        style: dict[str, Any] = {"ncols": 3, "frameon": False, "fontsize": 9, "borderaxespad": 0}
        ax.legend(loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, **style, **entries)


def draw_moves(ax: Axes, moves: Sequence[tuple[int, Step]]) -> None:
    """Draw the score of each move: filled markers are additions, hollow ones removals; shapes are phases."""
    size = 36.0 if len(moves) <= 60 else 14.0
    for phase, action in dict.fromkeys((step.phase, step.action) for _, step in moves):
        at = [(x, step.score) for x, step in moves if (step.phase, step.action) == (phase, action)]
        style: dict[str, Any] = {"marker": SHAPES[phase], "s": size, "zorder": 2, "label": f"{phase}: {action}"}
        if SHAPES[phase] == "|":  # an unfilled marker
            style |= {"color": COLOURS[phase], "linewidths": 2.5, "s": 120.0}
        elif action == "remove":
            style |= {"facecolors": ax.get_facecolor(), "edgecolors": COLOURS[phase], "linewidths": 1.4}
        else:
            style |= {"facecolors": COLOURS[phase], "edgecolors": ink(), "linewidths": 0.6 if size > 20 else 0.0}
        ax.scatter(*zip(*at, strict=True), **style)


def count_features(ax: Axes) -> None:
    """Make the number of features the x axis."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
    ax.set_xlabel("number of features")
    ax.spines[["top", "right"]].set_visible(False)


def count_steps(ax: Axes, path: SelectionPath) -> None:
    """Make the steps of a path the x axis."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))
    ax.set_xlim(-0.5, len(path.steps) + 0.5)
    ax.set_xlabel("step")
    ax.spines[["top", "right"]].set_visible(False)


def short_name(path: SelectionPath, features: tuple[int, ...], limit: int = 36) -> str:
    """A label that fits: the middle of a long name is omitted."""
    name = " ".join(", ".join(path.names(features)).split())
    half = (limit - 1) // 2
    return name if len(name) <= limit else f"{name[:half].rstrip()}…{name[-half:].lstrip()}"


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
    set_title(ax, f"{path.strategy}: {len(path.selected):,} of {counted(path.n_features, 'feature')}")
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
    set_title(ax, f"{path.strategy}: {counted(path.n_evaluations, 'evaluation')}")
    return ax


def _shade_phases(ax: Axes, path: SelectionPath) -> None:
    busy = {step.phase for step in path.steps if step.action in ("add", "remove")}
    for phase, first, last in phases(path):
        label = None if phase in busy else f"{phase}: nothing added"
        ax.axvspan(first - 0.5, last + 0.5, color=COLOURS[phase], alpha=0.1, lw=0, zorder=0, label=label)


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
    set_title(ax, f"{counted(chosen, 'feature')} chosen, {counted(len(losses), 'fold')}")
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


PLOTS = {"path": plot_path, "steps": plot_steps, "gains": plot_gains, "ranking": plot_ranking, "dropping": plot_pool}

__all__ = [
    "PLOTS",
    "plot_errors",
    "plot_gains",
    "plot_path",
    "plot_pool",
    "plot_ranking",
    "plot_sizes",
    "plot_stability",
    "plot_steps",
]
