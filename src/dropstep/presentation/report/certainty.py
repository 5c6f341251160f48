"""How sure a selection is, and what may be claimed of it: sentences, and sections of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dropstep.presentation.html import Html, tag
from dropstep.presentation.report.section import Section, section, table
from dropstep.presentation.text import number
from dropstep.result import STABLE, SelectionPath

if TYPE_CHECKING:
    from dropstep.evaluation.holdout import HeldOut
    from dropstep.evaluation.stability import Stability

METRICS = {
    "r2": "the share of the variance that is predicted (R²)",
    "accuracy": "the share of rows whose class is predicted correctly",
    "explained deviance": "the share of the deviance that is predicted",
    "concordance": "the share of pairs of rows whose order of events is predicted correctly",
}


def stability_sentences(found: Stability, path: SelectionPath) -> str:
    """The result of repeating the selection on half-samples, in plain words."""
    stable = found.selected(STABLE)
    named = {
        f"Selected on at least {STABLE:.0%} of them": [j for j in path.selected if j in stable],
        "Selected less often, so that other rows might not select them": [j for j in path.selected if j not in stable],
        "Selected as often, but not on all rows together": [j for j in stable if j not in path.selected],
    }
    sentences = [f"The selection was repeated on {2 * found.n_pairs} random halves of the rows."]
    if found.n_empty:
        sentences.append(
            f"On {found.n_empty} of them nothing could be fitted, because the target hardly varies there; they count "
            "as halves that select nothing."
        )
    sentences += [f"{text}: {', '.join(found.names(features))}." for text, features in named.items() if features]
    if not stable:
        return " ".join([*sentences, f"No feature is selected on at least {STABLE:.0%} of them."])
    sentences.append(
        f"Among the features that reach {STABLE:.0%}, at most {number(found.false_selections(STABLE))} false ones are "
        "expected, which are selected no more often than by a random choice (bound of Shah and Samworth 2013 for a "
        "unimodal distribution)."
    )
    return " ".join(sentences)


def holdout_sentences(found: HeldOut) -> str:
    """The result on held-out rows, in plain words."""
    text = (
        f"On {found.n_rows} rows that took no part in the selection, {METRICS[found.metric]} is {number(found.score)}."
    )
    if found.metric == "accuracy":
        text += f" The most frequent class has a share of {number(found.baseline)}."
    elif found.score < found.baseline:
        without = "a random order" if found.metric == "concordance" else "their mean"
        text += f" This is worse than {without}, which needs no features."
    if found.inference is not None and found.inference.rows:
        text += (
            f" Coefficients and {found.inference.level:.0%} intervals fitted on these rows, with "
            f"{found.inference.standard_errors}, are not biased by the selection."
        )
        text += "".join(f" Note: {note}." for note in found.inference.notes)
    return text


def sections(path: SelectionPath, stability: Any = None, holdout: Any = None) -> list[Section]:
    """The sections of a report on stability and held-out rows; none for what was not computed."""
    found = []
    if stability is not None:
        order = sorted(range(stability.n_features), key=lambda j: (-stability.frequencies[j], j))
        shown = [j for j in order if j in path.selected or stability.frequencies[j] >= 0.25]
        rows = [_row(stability.names([j])[0], [f"{stability.frequencies[j]:.0%}"], j in path.selected) for j in shown]
        head: list[tuple[str, str | None]] = [("Feature", None), ("Frequency", "num"), ("Selected", None)]
        caption = "Share of the half-samples on which each feature is selected."
        found.append(
            section(
                "stability",
                "Stability",
                "How sure is the selection?",
                tag("p", stability_sentences(stability, path)),
                table(caption, head, rows, "steps"),
            )
        )
    if holdout is not None:
        parts: list[Html] = [tag("p", holdout_sentences(holdout))]
        if holdout.inference is not None and holdout.inference.rows:
            names = ("Estimate", "Std. error", "Lower", "Upper", "p-value")
            numbers = [_row(r.name, [number(v) for v in r[1:]]) for r in holdout.inference.rows]
            columns: list[tuple[str, str | None]] = [("Feature", None), *((name, "num") for name in names)]
            parts.append(table("Coefficients on held-out rows, with intervals.", columns, numbers, "steps"))
        found.append(section("holdout", "Held-out rows", "What holds on other rows?", *parts))
    return found


def _row(name: str, numbers: list[str], selected: bool | None = None) -> Html:
    last = [] if selected is None else [tag("td", "yes" if selected else "")]
    return tag("tr", tag("th", name, scope="row"), *(tag("td", text, class_="num") for text in numbers), *last)
