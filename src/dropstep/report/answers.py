"""The first screen of the report: which features, how sure, and what now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dropstep.report import quantities as summary
from dropstep.report.effects import effect
from dropstep.report.html import Html, feature_names, join, tag
from dropstep.report.page import measured, table
from dropstep.report.text import number
from dropstep.report.verdict import amount, next_step, verdict
from dropstep.result import ALL, NONE, SELECTION, Evidence, HeldOut, SelectionPath
from dropstep.wording import counted

MAX_ROWS = 12  # features of the first screen; the others are in a fold
MAX_IN_ROW = 4  # names of a group
MAX_NOTES = 4  # that are not folded


def lead(path: SelectionPath, evidence: Evidence | None) -> Html:
    """The answer in three paragraphs: the features by name, the verdict, and what to do next."""
    if path.selected:
        names = join(["Selected: ", feature_names(path.selected_names, 10), "."])
    else:
        names = join([f"None of the {counted(path.n_features, 'feature')} was selected: {path.why}."])
    said = verdict(path, evidence) if evidence is not None else ""
    following = tag("p", tag("b", "What now? "), next_step(path, evidence), class_="next")
    return join([tag("p", names, class_="lead"), tag("p", said, class_="verdict") if said else "", following])


def notes(path: SelectionPath, data: Mapping[str, Any]) -> Html:
    """What to know about the table before the selection is used; empty if there is nothing."""
    items = [*path.notes, *_sentences(data.get("notes"))]
    listed = [tag("li", _sentence(path, item)) for item in items]
    if len(listed) <= MAX_NOTES:
        return tag("ul", *listed, class_="notes") if listed else Html("")
    first, others = tag("ul", *listed[:MAX_NOTES], class_="notes"), tag("ul", *listed[MAX_NOTES:], class_="notes")
    return join([first, tag("details", tag("summary", counted(len(listed) - MAX_NOTES, "more note")), others)])


def _sentence(path: SelectionPath, note: str) -> str:
    """A note as a sentence of its own; the name of a feature, X and y keep their case."""
    named = note.startswith(("X ", "y ", *path.names(tuple(range(path.n_features)))))
    first = note[:1] if named else note[:1].upper()
    return f"{first}{note[1:]}{'' if note.endswith(('.', '!', '?', '…')) else '.'}"


def _sentences(notes: object) -> list[str]:
    if not notes:
        return []
    return [notes] if isinstance(notes, str) else [str(note) for note in notes] if isinstance(notes, Sequence) else []


def answers(path: SelectionPath, evidence: Evidence | None) -> Html:
    """The table of features with stability, effect and stand-ins, and the errors."""
    parts: list[Html] = []
    if path.selected:
        parts.append(_features(path, evidence))
    if evidence is not None and evidence.errors:
        parts.append(_errors(path, evidence))
    omitted = [] if evidence is None else [tag("p", sentence, class_="quiet") for sentence in evidence.omitted]
    return tag("div", *parts, *omitted, class_="answers")


# --- features --------------------------------------------------------------------------------------------------------


def _features(path: SelectionPath, evidence: Evidence | None) -> Html:
    entries = summary.entries(path)
    columns: list[tuple[str, str | None, Callable[[summary.Entry], object]]] = [_certainty(evidence)]
    effects = {entry.features: effect(path, entry.features) for entry in entries}
    if any(effects.values()):
        columns.append(("Effect", None, lambda entry: effects[entry.features] or "none"))
    if path.equivalents is not None:
        columns.append(("Stand-ins", None, lambda entry: _stand_ins(path, entry.features)))
    head = [("Feature", None), *((name, "num" if kind == "num" else None) for name, kind, _ in columns)]
    rows = [
        tag(
            "tr",
            _name(path, entry),
            *(tag("td", cell(entry), class_=kind, data_label=name) for name, kind, cell in columns),
        )
        for entry in entries
    ]
    shown = table(_caption(path, evidence), head, rows[:MAX_ROWS], "first")
    if len(rows) <= MAX_ROWS:
        return shown
    rest = table("The other features.", head, rows[MAX_ROWS:], "first")
    more = tag("details", tag("summary", f"{counted(len(rows) - MAX_ROWS, 'more feature')}"), rest)
    return join([shown, more])


def _certainty(evidence: Evidence | None) -> tuple[str, str, Callable[[summary.Entry], object]]:
    """The column of the stability of each feature; where that is not known, of its gain."""
    if evidence is None or evidence.frequencies is None:
        return "Gain", "num", lambda entry: "" if entry.gain is None else number(entry.gain)
    shares = evidence.frequencies
    return "Stability", "share", lambda entry: _stability(shares[entry.features[0]])


def _name(path: SelectionPath, entry: summary.Entry) -> Html:
    included = tag("span", " included", class_="quiet") if entry.gain is None else ""
    return tag("th", feature_names(path.names(entry.features), MAX_IN_ROW), included, scope="row")


def _caption(path: SelectionPath, evidence: Evidence | None) -> str:
    what = "In order of entry."
    if evidence is not None and evidence.frequencies is not None:
        what += f" Stability: share of {evidence.n_halves} half-samples on which the feature is selected again."
    if path.equivalents is not None:
        what += " Stand-ins: candidates that could take its place at a small loss."
    return what


def _stability(share: float) -> Html:
    bar = tag("span", tag("span", style=f"width:{share:.1%}"), class_="whole", aria_hidden="true")
    return join([tag("span", f"{share:.0%}", class_="percent"), bar])


def _stand_ins(path: SelectionPath, features: summary.Unit) -> Html:
    near = (path.equivalents or {}).get(features[0], ())
    unit_of = {unit[0]: unit for unit in summary.units(path)}
    if not near:
        return tag("span", "none", class_="quiet")
    return join((feature_names(path.names(unit_of[j]), 2) for j, _ in near), ", ")


# --- errors ----------------------------------------------------------------------------------------------------------


def _errors(path: SelectionPath, evidence: Evidence) -> Html:
    """The three errors as bars, with the same numbers as text."""
    ordered = [error for name in (NONE, SELECTION, ALL) if (error := evidence.error_of(name)) is not None]
    largest = max(error.mean for error in ordered)
    rows = [_error(path, evidence, error, largest) for error in ordered]
    repeats = f" x {evidence.n_repeats} repetitions" if evidence.n_repeats > 1 else ""
    caption = (
        f"Cross-validated {evidence.measure} (smaller is better), {evidence.n_folds} folds{repeats}, with the "
        "selection repeated in every fold; ± is the standard deviation over the folds."
    )
    head: list[tuple[str, str | None]] = [("Features used", None), (evidence.measure, "num")]
    if ordered[0].concordance:
        head.append(("concordance", "num"))
        caption += " Concordance: share of pairs of rows whose order of events is predicted correctly (Harrell's c)."
    return table(caption, head, rows, "errors")


def _error(path: SelectionPath, evidence: Evidence, error: HeldOut, largest: float) -> Html:
    about = [f"{error.n_features:.3g} on average"] * (error.name == SELECTION) + [error.model] * bool(error.model)
    size = f" ({', '.join(about)})" if about else ""
    c = error.mean_concordance
    name = {ALL: f"all {path.n_features:,} features"}.get(error.name, error.name)
    own = " own" if error.name == SELECTION else ""
    width = max(0.0, error.mean / largest) if largest > 0 else 0.0
    bar = tag("span", class_=f"bar{own}", style=f"width:{width:.1%}")
    return tag(
        "tr",
        tag("th", measured(join([name, tag("span", size, class_="quiet")]), bar), scope="row"),
        tag("td", f"{amount(evidence, error.mean)} ± {amount(evidence, error.deviation)}", class_="num"),
        "" if c is None else tag("td", f"{c:.3f}", class_="num"),
        class_="own" if own else None,
    )
