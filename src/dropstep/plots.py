"""Pictures of a path, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dropstep.path import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = {
    "start": "#000000",
    "forward": "#0072B2",
    "re-forward": "#E69F00",
    "backward": "#D55E00",
    "swap": "#009E73",
}


def plot_path(path: Path, ax: Axes | None = None) -> Axes:
    """Score by step, one colour a phase; a removal is a hollow marker."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("plot needs matplotlib: pip install 'dropstep[plot]'") from None
        _, ax = plt.subplots(layout="constrained")
    moves = [step for step in path.steps if step.action in ("add", "remove")]
    scores = [path.start, *(step.score for step in moves)]
    ax.plot(range(len(scores)), scores, color="0.7", zorder=1)
    for phase, colour in COLOURS.items():
        for action, face in (("add", colour), ("remove", "white")):
            at = [i for i, step in enumerate(moves, start=1) if (step.phase, step.action) == (phase, action)]
            if at:
                label = f"{phase}: {action}"
                ax.scatter(at, [scores[i] for i in at], s=28, color=face, edgecolors=colour, label=label, zorder=2)
    ax.set_xlabel("step")
    ax.set_ylabel(path.criterion)
    ax.set_title(f"{path.strategy}: {len(path.selected)} of {path.n_features} features")
    if moves:
        ax.legend(frameon=False)
    return ax
