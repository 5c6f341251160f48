"""The first screen of the report: which features, how sure, and what now."""

from __future__ import annotations

from collections.abc import Sequence

from dropstep.evidence import ALL, NONE, SELECTION, Evidence, HeldOut
from dropstep.presentation import summary
from dropstep.presentation.effects import effect
from dropstep.presentation.html import Html, feature_names, join, tag
from dropstep.presentation.report.section import table
from dropstep.presentation.text import count, number
from dropstep.presentation.verdict import amount, next_step, verdict
from dropstep.result import SelectionPath

MAX_ROWS = 12  # features of the first screen; the others are in a fold
MAX_IN_ROW = 4  # names of a group


def lead(path: SelectionPath, evidence: Evidence | None) -> Html:
    """The answer in a paragraph: the features by name, and the verdict."""
    if path.selected:
        names = join(["Selected: ", feature_names(path.selected_names, 10), "."])
    else:
        names = join([f"None of the {count(path.n_features, 'feature')} was selected: {path.why}."])
    said = verdict(path, evidence) if evidence is not None else ""
    return join([tag("p", names, class_="lead"), tag("p", said, class_="verdict") if said else ""])


def answers(path: SelectionPath, evidence: Evidence | None) -> Html:
    """The table of features with stability, effect and stand-ins; the errors; and what to do next."""
    parts: list[Html] = []
    if path.selected:
        parts.append(_features(path, evidence))
    if evidence is not None and evidence.errors:
        parts.append(_errors(path, evidence))
    omitted = [] if evidence is None else [tag("p", sentence, class_="quiet") for sentence in evidence.omitted]
    following = tag("p", tag("b", "What now? "), next_step(path, evidence), class_="next")
    return tag("div", *parts, *omitted, following, class_="answers")


# --- features --------------------------------------------------------------------------------------------------------


def _features(path: SelectionPath, evidence: Evidence | None) -> Html:
    found = summary.entries(path)
    stable = evidence is not None and evidence.frequencies is not None
    head: list[tuple[str, str | None]] = [("Feature", None)]
    head += [("Stability", None)] if stable else [("Gain", "num")]
    head += [("Effect", None), ("Stand-ins", None)]
    rows = [_row(path, entry, evidence) for entry in found]
    caption = _caption(path, evidence)
    shown = table(caption, head, rows[:MAX_ROWS], "first")
    if len(rows) <= MAX_ROWS:
        return shown
    rest = table("The other features.", head, rows[MAX_ROWS:], "first")
    more = tag("details", tag("summary", f"{count(len(rows) - MAX_ROWS, 'more feature')}"), rest)
    return join([shown, more])


def _caption(path: SelectionPath, evidence: Evidence | None) -> str:
    what = "In order of entry."
    if evidence is not None and evidence.frequencies is not None:
        what += f" Stability: share of {evidence.n_halves} half-samples on which the feature is selected again."
    if path.equivalents is not None:
        what += " Stand-ins: candidates that could take its place at a small loss."
    return what


def _row(path: SelectionPath, entry: summary.Entry, evidence: Evidence | None) -> Html:
    features = entry.features
    names = feature_names(path.names(features), MAX_IN_ROW)
    included = tag("span", " included", class_="quiet") if entry.gain is None else ""
    stable = evidence is not None and evidence.frequencies is not None
    second = (
        tag("td", _stability(evidence, features[0]), class_="share", data_label="Stability")
        if stable and evidence is not None
        else tag("td", "" if entry.gain is None else number(entry.gain), class_="num", data_label="Gain")
    )
    return tag(
        "tr",
        tag("th", names, included, scope="row"),
        second,
        tag("td", effect(path, features) or "none", data_label="Effect"),
        tag("td", _stand_ins(path, features), data_label="Stand-ins"),
    )


def _stability(evidence: Evidence, feature: int) -> Html:
    assert evidence.frequencies is not None
    share = evidence.frequencies[feature]
    bar = tag("span", tag("span", style=f"width:{share:.1%}"), class_="whole", aria_hidden="true")
    return join([f"{share:.0%}", bar])


def _stand_ins(path: SelectionPath, features: summary.Unit) -> Html:
    if path.equivalents is None:
        return tag("span", "not computed", class_="quiet")
    near = path.equivalents.get(features[0], ())
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
    n_folds = len(ordered[0].folds)
    caption = (
        f"Cross-validated {evidence.measure} (smaller is better), {n_folds} folds, with the selection repeated in "
        "every fold; ± is the standard deviation over the folds."
    )
    head: Sequence[tuple[str, str | None]] = [("Features used", None), (evidence.measure, "num")]
    return table(caption, head, rows, "errors")


def _error(path: SelectionPath, evidence: Evidence, error: HeldOut, largest: float) -> Html:
    size = f" ({error.n_features:.3g} on average)" if error.name == SELECTION else ""
    name = {ALL: f"all {path.n_features:,} features"}.get(error.name, error.name)
    own = " own" if error.name == SELECTION else ""
    width = max(0.0, error.mean / largest) if largest > 0 else 0.0
    bar = tag("span", class_=f"bar{own}", style=f"width:{width:.1%}")
    return tag(
        "tr",
        tag("th", name, tag("span", size, class_="quiet"), bar, scope="row"),
        tag("td", f"{amount(evidence, error.mean)} ± {amount(evidence, error.deviation)}", class_="num"),
        class_="own" if own else None,
    )
