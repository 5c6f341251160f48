"""Axes, colours, labels and legends that the plots share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dropstep.presentation.text import short
from dropstep.result import SelectionPath, Step

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
