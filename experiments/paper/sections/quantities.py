"""Averages and quantiles of records, and the format of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.paper.page import Mark
from experiments.paper.parts import Records
from experiments.paper.procedures import Record

Floats = NDArray[np.float64]
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def values(records: Records, *path: str) -> Floats:
    """One number per record, at a path of keys; records without it are skipped."""
    found = []
    for record in records:
        at: Any = record
        for key in path:
            at = at.get(key) if isinstance(at, dict) else None
        if at is not None:
            found.append(float(at))
    return np.array(found)


def standard_error(x: Floats) -> float:
    return float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else float("nan")


def saved(records: Records, cost: Callable[[Record, str], float | None], over: str) -> float:
    """Median over records of the share that dropping saves over another procedure on the same rows."""
    pairs = [(cost(record, "dropping"), cost(record, over)) for record in records]
    shares = [1 - mine / other for mine, other in pairs if mine is not None and other]
    return float(np.median(shares)) if shares else float("nan")


def evaluations(record: Record, procedure: str) -> float | None:
    return float(record[procedure]["evaluations"])


def seconds(record: Record, procedure: str) -> float | None:
    return float(record[procedure]["seconds"])


def scratch_seconds(record: Record, procedure: str) -> float | None:
    slow = record.get("from_scratch")
    return None if slow is None else float(slow[procedure]["seconds"])


def compared(ours: float, paper: float, digits: int, near: float) -> Mark:
    """Whether a number equals the paper's at its digits, is within a tolerance, or differs."""
    if round(ours, digits) == round(paper, digits):
        return "same"
    return "near" if abs(ours - paper) <= near + 1e-12 else "far"


def share(x: float, digits: int = 1) -> str:
    """A share in per cent, with a minus sign instead of a hyphen."""
    return "" if np.isnan(x) else f"{100 * x:.{digits}f} %".replace("-", "−")


def count_quantiles(x: Floats, at: Sequence[float]) -> list[float]:
    """Quantiles of counts that are themselves counts."""
    return [float(q) for q in np.quantile(x, at, method="inverted_cdf")]


def milliseconds(x: float) -> str:
    return "" if np.isnan(x) else f"{1e3 * x:,.3g}" if 1e3 * x < 100 else f"{1e3 * x:,.0f}"


def number(x: float, digits: int = 3) -> str:
    """A number with at most `digits` decimals and no trailing zeros."""
    text = f"{x:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def listed(items: Sequence[str]) -> str:
    """a, b and c."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
