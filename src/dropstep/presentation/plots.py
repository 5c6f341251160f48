"""Pictures of a path, with matplotlib: each draws on the axes it is given, or on new ones, and returns them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from dropstep.result import SelectionPath, Step

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which the colour-blind can tell apart; a shape for each as well.
COLOURS = {
    "start": "#595959",
    "forward": "#0072B2",
    "re-forward": "#E69F00",
    "backward": "#D55E00",
    "swap": "#009E73",
}
SHAPES = {"start": "|", "forward": "o", "re-forward": "s", "backward": "v", "swap": "D"}
INK, GREY, PALE = "#333333", "#999999", "#DDDDDD"


# --- what is drawn ---------------------------------------------------------------------------------------------------


def phases(path: SelectionPath) -> list[tuple[str, int, int]]:
    """Runs of steps of one phase: the phase, its first and its last step, counted from 1."""
    runs, first = [], 1
    for phase, steps in groupby(path.steps, key=lambda step: step.phase):
        last = first + len(list(steps)) - 1
        runs.append((phase, first, last))
        first = last + 1
    return runs


def scored(path: SelectionPath) -> list[tuple[int, float]]:
    """The score after each addition and removal, and before them unless features were in from the start."""
    moves = [(i, step.score) for i, step in enumerate(path.steps, start=1) if step.action in ("add", "remove")]
    return moves if path.steps and path.steps[0].phase == "start" else [(0, path.start), *moves]


class Move(NamedTuple):
    """An addition or removal of a path.

    Attributes
    ----------
    step : the step itself.
    gone : those of its features that are not selected because of a removal, this one or a later one.
    label : the phase, and whether the features were removed.
    """

    step: Step
    gone: frozenset[int]
    label: str


def moves(path: SelectionPath) -> list[Move]:
    """Every addition and removal in the order made, so that path.start and the gains add up to path.score."""
    found: list[Move] = []
    removed: set[int] = set()
    for step in reversed(path.steps):
        features = frozenset(step.features)
        if step.action == "remove":
            removed |= features
            found.append(Move(step, features, f"{step.phase}, removed"))
        elif step.action == "add":
            found.append(Move(step, features & removed, _label(step, features & removed)))
            removed -= features
    return found[::-1]


def _label(step: Step, gone: frozenset[int]) -> str:
    if not gone:
        return step.phase
    return f"{step.phase}, {f'{len(gone):,} ' if len(gone) < len(step.features) else ''}removed later"


def pools(path: SelectionPath) -> list[int]:
    """How many candidates were in the pool before the first step, and after each."""
    if not path.steps:
        return [path.n_evaluations]
    first = path.steps[0]
    return [first.pool + int(first.phase != "start"), *(step.pool for step in path.steps)]


def ranked(path: SelectionPath) -> list[tuple[int, ...]]:
    """Features (groups together) by rank, the excluded left out: selected first, then by the gain they would bring."""
    units: dict[int, list[int]] = {}
    for j, rank in enumerate(path.ranking):
        units.setdefault(rank, []).append(j)
    dropped = 0
    for before, step in zip(pools(path), path.steps, strict=False):
        dropped = {"drop": dropped + before - step.pool, "recall": 0}.get(step.action, dropped)
    known = len({path.ranking[j] for j in path.selected}) + pools(path)[-1] + dropped
    return [tuple(units[rank]) for rank in sorted(units) if rank <= known]


# --- pictures --------------------------------------------------------------------------------------------------------


def plot_path(path: SelectionPath, ax: Axes | None = None) -> Axes:
    """Score by step, a tint for each phase; additions are full marks, removals hollow ones."""
    ax = _axes(ax, 4.2)
    moves = [(i, step) for i, step in enumerate(path.steps, start=1) if step.action in ("add", "remove")]
    ax.plot(*zip(*scored(path), strict=True), color=GREY, lw=1.2, zorder=1)
    size = 36.0 if len(moves) <= 60 else 14.0
    for kind in dict.fromkeys((step.phase, step.action) for _, step in moves):
        at = [(i, step.score) for i, step in moves if (step.phase, step.action) == kind]
        _marks(ax, at, *kind, size)
    _tint(ax, path)
    _steps(ax, path)
    _entitle(ax, f"{path.strategy}: {len(path.selected):,} of {path.n_features:,} features")
    ax.set_ylabel(path.criterion, parse_math=False)
    if moves:
        ax.legend(frameon=False)
    return ax


def plot_pool(path: SelectionPath, ax: Axes | None = None) -> Axes:
    """How many candidates are in the pool after each step; drops make it fall, a recall makes it rise."""
    ax = _axes(ax, 3.2)
    sizes = pools(path)
    edges = [i - 0.5 for i in range(len(sizes) + 1)]
    ax.stairs(sizes, edges, fill=True, color=COLOURS["forward"], alpha=0.25, lw=0)
    ax.stairs(sizes, edges, color=COLOURS["forward"], lw=1.5)
    _tint(ax, path)
    _steps(ax, path)
    ax.set_ylim(0, max(1, *sizes) * 1.05)
    ax.set_ylabel("candidates in the pool")
    _entitle(ax, f"{path.strategy}: {path.n_evaluations:,} evaluations")
    return ax


def plot_gains(path: SelectionPath, ax: Axes | None = None, *, most: int = 50) -> Axes:
    """What each selected feature (or group) brought when it entered, in order of entry: the first `most` of them."""
    entered = [(step, step.features) for step in _entries(path)]
    shown = entered[:most]
    new, ax = ax is None, _axes(ax, _height(len(shown)))
    gains = [step.gain for step, _ in shown]
    bars = ax.barh(range(len(shown)), gains, color=[COLOURS[step.phase] for step, _ in shown], height=0.72)
    size = _rows(ax, [_name(path, features) for _, features in shown], new)
    ax.bar_label(bars, [f"{gain:.3g}" for gain in gains], padding=3, fontsize=size * 0.9, color=INK)
    ax.margins(x=0.14)
    ax.set_xlabel(f"gain in {path.criterion} on entry", parse_math=False)
    _entitle(ax, _partly("Gains in order of entry", len(shown), len(entered)))
    _key(ax, dict.fromkeys(step.phase for step, _ in shown))
    return ax


def plot_ranking(path: SelectionPath, ax: Axes | None = None, *, most: int = 50) -> Axes:
    """What became of the best `most` features (or groups), a row each: in the pool, dropped (blank), or selected."""
    every = ranked(path)
    shown = every[:most]
    new, ax = ax is None, _axes(ax, _height(len(shown)))
    for row, features in enumerate(shown):
        for state, first, last in _states(path, features[0]):
            if state != "dropped":
                colour = PALE if state == "pool" else COLOURS[state]
                ax.broken_barh([(first - 0.5, last - first + 1)], (row - 0.36, 0.72), facecolors=colour)
    _rows(ax, [f"{_name(path, features)}  {rank}" for rank, features in enumerate(shown, start=1)], new)
    _steps(ax, path)
    ax.set_xlim(-0.5, max(1, len(path.steps)) + 0.5)
    _entitle(ax, _partly("Ranking: from the pool to the selection", len(shown), len(every)))
    entered = dict.fromkeys(step.phase for step in path.steps if step.action == "add")
    _key(ax, entered, pool=True)
    return ax


# --- parts of pictures -----------------------------------------------------------------------------------------------


def _axes(ax: Axes | None, height: float) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'dropstep[plot]'") from None
    return plt.subplots(figsize=(8.0, height), layout="constrained")[1]


def _height(rows: int) -> float:
    return 1.6 + 0.21 * max(3, rows)


def _marks(ax: Axes, at: Sequence[tuple[int, float]], phase: str, action: str, size: float) -> None:
    style: dict[str, Any] = {"marker": SHAPES[phase], "s": size, "zorder": 2, "label": f"{phase}: {action}"}
    if SHAPES[phase] == "|":  # a stroke has no face
        ax.scatter(*zip(*at, strict=True), color=COLOURS[phase], linewidths=2.5, **{**style, "s": 120.0})
        return
    hollow = action == "remove"
    face, edge, width = ("white", COLOURS[phase], 1.4) if hollow else (COLOURS[phase], INK, 0.6 if size > 20 else 0.0)
    ax.scatter(*zip(*at, strict=True), facecolors=face, edgecolors=edge, linewidths=width, **style)


def _tint(ax: Axes, path: SelectionPath) -> None:
    busy = {step.phase for step in path.steps if step.action in ("add", "remove")}
    for phase, first, last in phases(path):
        label = None if phase in busy else f"{phase}: nothing added"
        ax.axvspan(first - 0.5, last + 0.5, color=COLOURS[phase], alpha=0.1, lw=0, zorder=0, label=label)


def _steps(ax: Axes, path: SelectionPath) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))
    ax.set_xlim(-0.5, len(path.steps) + 0.5)
    ax.set_xlabel("step")
    ax.spines[["top", "right"]].set_visible(False)


def _rows(ax: Axes, labels: list[str], new: bool) -> float:
    """One row a label, the first on top; letters as large as the rows allow. Returns their size in points."""
    size = 9.0
    if not new and labels:
        points = ax.get_window_extent().height / ax.figure.dpi * 72
        size = max(2.0, min(size, points / len(labels) / 1.4))
    ax.set_yticks(range(len(labels)), labels, fontsize=size, parse_math=False)
    ax.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)
    return size


def _key(ax: Axes, entered: dict[Any, None], pool: bool = False) -> None:
    """Which colour is which phase, under the axes, where no bar can be in its way."""
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    patches = [Patch(color=COLOURS[phase], label=f"entered in {phase}") for phase in entered]
    patches += [Patch(color=PALE, label="in the pool")] if pool else []
    if len(patches) > 1:
        below = ax.transAxes + ScaledTranslation(0, -38 / 72, ax.figure.dpi_scale_trans)  # past the label of the axis
        style: dict[str, Any] = {"ncols": 3, "frameon": False, "fontsize": 9, "borderaxespad": 0}
        ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, **style)


def _entitle(ax: Axes, title: str) -> None:
    ax.set_title(title, fontsize=11, loc="left", parse_math=False)


def _partly(title: str, shown: int, there: int) -> str:
    return title if shown == there else f"{title}, the first {shown} of {there:,}"


def _name(path: SelectionPath, features: tuple[int, ...], most: int = 36) -> str:
    """A label that fits: the middle of a long name gives way."""
    name = " ".join(", ".join(path.names(features)).split())
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half].rstrip()}…{name[-half:].lstrip()}"


def _entries(path: SelectionPath) -> list[Step]:
    """The steps that brought the selected features in, in order of entry; those in from the start have no gain."""
    came = {j: step for step in path.steps if step.action == "add" for j in step.features}
    steps = [came[j] for j in path.selected if came[j].phase != "start"]
    return list({step.features: step for step in steps}.values())


def _states(path: SelectionPath, feature: int) -> list[tuple[str, int, int]]:
    """What a feature was, from which step to which: "pool", "dropped", or the phase that selected it."""
    state, since, found = "pool", 0, []
    for i, step in enumerate(path.steps, start=1):
        if feature in step.features:
            after = {"add": str(step.phase), "drop": "dropped"}.get(step.action, "pool")
            found.append((state, since, i - 1))
            state, since = after, i
    return [*found, (state, since, max(len(path.steps), since))]
