"""The table of coefficients that text, notebook and report share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dropstep.report.text import number, p_value, plain, table
from dropstep.result import CAVEAT, Coefficient, Coefficients

DEPENDENT = "linear combination of the others"
INFINITE = "infinite: the likelihood has no maximum"
SCORES = (
    "Linear score of each class, with the shares of the classes in the rows as prior probabilities; a row is assigned "
    "to the class with the largest score."
)


class Line(NamedTuple):
    """One line of the table: a coefficient, or for classes the coefficients of a column in all scores.

    Attributes
    ----------
    target : str
        Name of the target; empty unless there are several.
    name : str
        Name of the column, or "(intercept)".
    remark : str
        Why the coefficient has no standard error; empty if it has one.
    numbers : tuple of str
        Formatted numbers; empty text for what does not exist.
    """

    target: str
    name: str
    remark: str
    numbers: tuple[str, ...]


def heads(fit: Coefficients) -> tuple[str, ...]:
    """Names of the numbers in a line: one per class, or estimate, standard error, statistic, p-value and ratio."""
    if fit.std_error is None:
        return tuple(map(label, fit.targets))
    ratio = () if fit.effect is None else (fit.effect, "95 % interval")
    return "estimate", "std. error", fit.statistic, "p", *ratio


def lines(
    fit: Coefficients, form: Callable[[float], str] = number, form_p: Callable[[float], str] = p_value
) -> list[Line]:
    """The lines of the table, with the intercept first.

    Parameters
    ----------
    fit : Coefficients
        The coefficients.
    form, form_p : callable
        Format a number and a p-value.

    Returns
    -------
    list of Line
        One line per target and column; for classes one line per column.
    """
    rows = fit.rows()
    if fit.std_error is None:
        size = len(rows) // len(fit.targets)
        columns = [rows[i::size] for i in range(size)]
        return [Line("", own[0].name, "", tuple(form(row.estimate) for row in own)) for own in columns]
    several = len(fit.targets) > 1
    forms, ratios = (form, form, form, form_p), fit.ratios()
    return [
        Line(
            label(row.target) if several else "",
            row.name,
            _remark(fit, row),
            (
                *(_cell(value, form) for value, form in zip(row[2:], forms, strict=True)),
                *(() if ratios is None else _ratio(ratios[i].tolist(), form)),
            ),
        )
        for i, row in enumerate(rows)
    ]


def columns(fit: Coefficients) -> tuple[list[str], list[list[str]], str]:
    """Head, rows and sides of the table as plain text, as `text.table` takes them."""
    rows = [
        [*filter(None, (line.target,)), line.name, *line.numbers]
        for line in lines(fit, lambda value: plain(value, 5), "{:.2g}".format)
    ]
    names = heads(fit)
    n_texts = len(rows[0]) - len(names)
    return [*("target", "coefficient")[-n_texts:], *names], rows, "<" * n_texts + ">" * len(names)


def as_text(fit: Coefficients) -> str:
    """The table, and what it shows."""
    return f"{table(*columns(fit))}\n{sentences(fit)}"


def _remark(fit: Coefficients, row: Coefficient) -> str:
    """Why a coefficient has no standard error: one of a likelihood is infinite, unless it is 0."""
    if row.std_error is None or not math.isnan(row.std_error):
        return ""
    return INFINITE if fit.effect is not None and row.estimate else DEPENDENT


def _ratio(numbers: list[float], form: Callable[[float], str]) -> tuple[str, str]:
    """A ratio, and its interval."""
    ratio, lower, upper = numbers
    return form(ratio), "" if math.isnan(lower) else f"{form(lower)} to {form(upper)}"


def _cell(value: float | None, form: Callable[[float], str]) -> str:
    return "" if value is None or math.isnan(value) else form(value)


def sentences(fit: Coefficients) -> str:
    """What the table shows: goodness of fit, and what it cannot claim."""
    if fit.std_error is None:
        return f"{SCORES} {CAVEAT}"
    if fit.effect is not None:
        against = "" if fit.classes is None else f" {_compared(fit.classes)}"
        return f"The {fit.effect}{against} is the exponential of the estimate. {CAVEAT}"
    goodness = (
        "" if fit.r2 is None or fit.adj_r2 is None else f"R² {number(fit.r2)}, adjusted R² {number(fit.adj_r2)}, "
    )
    return f"{goodness}{number(fit.df_resid)} residual degrees of freedom. {CAVEAT}"


def _compared(classes: Sequence[Any]) -> str:
    """Which classes a ratio of odds compares."""
    first, *others = map(label, classes)
    return f"of {others[0]} against {first}" if len(others) == 1 else f"of each class against {first}"


def label(target: Any) -> str:
    """Name of a target, or a class label; whole numbers without decimals."""
    return f"{target:g}" if isinstance(target, float) else str(target)
