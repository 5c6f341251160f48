"""Plots with matplotlib. Each function draws on the given axes, or on new ones, and returns them."""

from dropstep.presentation.plots.features import plot_gains, plot_ranking
from dropstep.presentation.plots.folds import plot_errors, plot_sizes
from dropstep.presentation.plots.path import plot_path
from dropstep.presentation.plots.stability import plot_stability
from dropstep.presentation.plots.steps import plot_pool, plot_steps

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
