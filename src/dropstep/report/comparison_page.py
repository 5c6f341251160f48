"""The page of a comparison of strategies: the verdict first, then errors, features and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dropstep.report.html import Html, feature_names, tag, text
from dropstep.report.page import measured, page, section, table
from dropstep.report.text import number

MAX_NAMES = 12


@dataclass(frozen=True)
class ComparisonRow:
    """One line of a comparison.

    Attributes
    ----------
    strategy : str
        Name of the strategy, "all features" or "no features".
    n_features : int or None
        Number of features on all rows; None if the strategy was refused.
    features : sequence of str
        Names of the features on all rows.
    errors : sequence of float
        Error of each fold; empty if the strategy was refused.
    n_evaluations : int or None
        Number of gains computed.
    refusal : str
        Why the strategy did not run.
    """

    strategy: str
    n_features: int | None
    features: Sequence[str]
    errors: Sequence[float]
    n_evaluations: int | None
    refusal: str = ""

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return sum(self.errors) / len(self.errors)


def comparison_html(
    rows: Sequence[ComparisonRow],
    *,
    measure: str,
    verdict: str,
    title: str,
    command: str,
    data: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> str:
    """Render a comparison as a self-contained HTML page.

    Parameters
    ----------
    rows : sequence of ComparisonRow
        The strategies, with all features and with none.
    measure : str
        What the errors are.
    verdict : str
        What the errors show, in a sentence.
    title : str
        Heading.
    command : str
        Shell command that reproduces the comparison.
    data : mapping of str to object
        Facts about the table.
    notes : sequence of str, default=()
        What to know about the table.

    Returns
    -------
    str
        The page.
    """
    noted = tag("ul", *(tag("li", note) for note in notes), class_="notes") if notes else ""
    sentence = f"{verdict[:1].upper()}{verdict[1:]}."
    header = tag(
        "header",
        tag("p", "dropstep comparison", class_="kicker"),
        tag("h1", title),
        tag("p", sentence, class_="verdict"),
        noted,
        _errors(rows, measure),
    )
    facts = tag("dl", *(tag("div", tag("dt", k), tag("dd", str(v))) for k, v in data.items()), class_="facts")
    parts = [
        section("features", "Features", "Selected features", _features(rows)),
        section("data", "Data", "Data", facts),
        section("reproduce", "Reproduce", "How to reproduce it", tag("pre", tag("code", command), tabindex="0")),
    ]
    return page(title, header, parts)


def _errors(rows: Sequence[ComparisonRow], measure: str) -> Html:
    ran = [row for row in rows if row.errors]
    largest = max((abs(row.mean) for row in ran), default=0.0)
    n_folds = len(ran[0].errors) if ran else 0
    caption = (
        f"Cross-validated {measure} (smaller is better), mean over {n_folds} folds, with the selection repeated in "
        "every fold; ± is the standard deviation over the folds."
    )
    return table(caption, [("Features used", None), (measure, "num")], [_error(row, largest) for row in rows], "errors")


def _error(row: ComparisonRow, largest: float) -> Html:
    if not row.errors:
        return tag("tr", tag("th", row.strategy, scope="row"), tag("td", row.refusal))
    spread = (sum((e - row.mean) ** 2 for e in row.errors) / max(1, len(row.errors) - 1)) ** 0.5
    own = "" if row.strategy in ("all features", "no features") else " own"
    width = abs(row.mean) / largest if largest > 0 else 0.0
    bar = tag("span", class_=f"bar{own}", style=f"width:{width:.1%}")
    return tag(
        "tr",
        tag("th", measured(text(row.strategy), bar), scope="row"),
        tag("td", f"{number(row.mean, 3)} ± {number(spread, 2)}", class_="num"),
    )


def _features(rows: Sequence[ComparisonRow]) -> Html:
    ran = [row for row in rows if row.n_evaluations is not None]
    lines = [
        tag(
            "tr",
            tag("th", row.strategy, scope="row"),
            tag("td", feature_names(row.features, MAX_NAMES) if row.features else "none"),
            tag("td", f"{row.n_evaluations:,}", class_="num"),
        )
        for row in ran
    ]
    head: list[tuple[str, str | None]] = [("Strategy", None), ("Features, on all rows", None), ("Evaluations", "num")]
    return table("Features in order of entry, and number of gains computed.", head, lines, "steps")
