"""A path in a notebook: small, in the colours of the page around it, light or dark."""

from __future__ import annotations

from dropstep.path import Path
from dropstep.report import findings
from dropstep.report.markup import Html, count, join, names, number, tag

MOST_ROWS = 12
MOST_STEPS = 200
BLUE = "#3a8fc4"  # seen on white and on black
CELL = "padding:.15em .7em;vertical-align:top;text-align:"


def path_html(path: Path) -> str:
    """What was found, the first features with their gains, and the steps behind a fold."""
    return tag("div", _summary(path), _entries(path), _notes(path), _steps(path), style="max-width:48em")


def _summary(path: Path) -> Html:
    return tag(
        "p",
        tag("b", f"{len(path.selected):,} of {count(path.n_features, 'feature')}"),
        f" selected by {path.strategy}, {path.criterion} {number(path.score)} (from {number(path.start)}), "
        f"{count(path.n_evaluations, 'evaluation')}. Stopped because {path.stop}.",
        style="margin:.4em 0",
    )


def _entries(path: Path) -> Html:
    entries = findings.entries(path)
    if not entries:
        return Html("")
    most = max((entry.gain for entry in entries if entry.gain is not None), default=0.0)
    rows = [_entry(path, i, entry, most) for i, entry in enumerate(entries[:MOST_ROWS], start=1)]
    left = entries[MOST_ROWS:]
    more = tag("p", "then ", names((n for e in left for n in path.names(e.features)), 24), style="margin:.4em 0")
    return join([_table(("", "feature", "gain on entry", path.criterion), rows), more if left else ""])


def _entry(path: Path, order: int, entry: findings.Entry, most: float) -> Html:
    gain, step = entry.gain, entry.step
    width = max(0.0, 100 * gain / most) if gain is not None and most > 0 else 0.0
    bar = tag("div", style=f"height:3px;margin-top:2px;width:{width:.3g}%;background:{BLUE}")
    shown = ("", "") if gain is None or step is None else (number(gain), number(step.score))
    return tag(
        "tr",
        tag("td", order, style=CELL + "right;opacity:.7"),
        tag("td", names(path.names(entry.features)), bar, style=CELL + "left;min-width:12em;overflow-wrap:anywhere"),
        *(tag("td", cell, style=CELL + "right;font-variant-numeric:tabular-nums") for cell in shown),
    )


def _notes(path: Path) -> Html:
    return join(tag("p", tag("b", "Note: "), note, style="margin:.4em 0") for note in path.notes)


def _steps(path: Path) -> Html:
    if not path.steps:
        return Html("")
    rows = []
    for i, step in enumerate(path.steps[:MOST_STEPS], start=1):
        gain = number(step.gain) if step.action in ("add", "remove") else ""
        numbers = (gain, number(step.score), f"{step.pool:,}")
        rows.append(
            tag(
                "tr",
                tag("td", i, style=CELL + "right;opacity:.7"),
                tag("td", f"{step.phase}: {step.action}", style=CELL + "left;white-space:nowrap"),
                tag("td", names(path.names(step.features), 5), style=CELL + "left;overflow-wrap:anywhere"),
                *(tag("td", cell, style=CELL + "right") for cell in numbers),
            )
        )
    table = _table(("", "step", "features", "gain", path.criterion, "pool"), rows)
    left = len(path.steps) - MOST_STEPS
    more = tag("p", f"and {count(left, 'more step', 'more steps')}: see to_frame() or report()") if left > 0 else ""
    return tag("details", tag("summary", count(len(path.steps), "step"), style="cursor:pointer"), table, more)


def _table(head: tuple[str, ...], rows: list[Html]) -> Html:
    texts = {"feature", "features", "step"}
    heads = [tag("th", word, style=CELL + ("left" if word in texts else "right"), scope="col") for word in head]
    style = "border-collapse:collapse;margin:.4em 0"
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), style=style)
