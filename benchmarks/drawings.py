"""Figures of time against size; the only module here that imports matplotlib."""

from __future__ import annotations

from pathlib import Path

from benchmarks.growth import OURS, Grown


def draw(grown: Grown, folder: Path) -> list[Path]:
    """Time against size on log-log axes, with the slope of every tool, as PNG and SVG."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    growth = grown.growth
    figure = Figure(figsize=(6.4, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    for name, seconds in grown.seconds.items():
        if len(seconds) == len(growth.sizes):
            style = {"color": "0.5", "linestyle": ":"} if name == "one pass" else {"marker": "o", "markersize": 4}
            width = 2.4 if name == OURS else 1.4
            ax.loglog(growth.sizes, seconds, linewidth=width, label=f"{name}: slope {grown.slope(name):.2f}", **style)
    ax.set_xlabel({"n": "rows", "p": "features", "k": "features selected"}[growth.axis])
    ax.set_ylabel("seconds, best of several")
    ax.set_title(f"Time by {growth.name} ({growth.shape})", fontsize="medium")
    ax.set_xticks(growth.sizes, [f"{size:,}" for size in growth.sizes])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize="small", frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"growth-{growth.name.replace(' ', '-')}"
    paths = [folder / f"{stem}.{kind}" for kind in ("png", "svg")]
    with rc_context({"svg.hashsalt": stem}):  # the same numbers give an identical file
        for path in paths:
            figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths
