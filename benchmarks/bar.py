"""A bar: one performance target, measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """One target: a measured number and its limit."""

    what: str
    measured: float
    limit: float
    unit: str = ""
    at_least: bool = False
    note: str = ""

    @property
    def met(self) -> bool:
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def __str__(self) -> str:
        sign, verdict = (">=" if self.at_least else "<="), ("met" if self.met else "NOT MET")
        numbers = f"{self.measured:>10.4g} {sign} {self.limit:<6g} {self.unit:<9}"
        return f"{verdict:<8}{numbers}{self.what}{f'  ({self.note})' if self.note else ''}"


Bars = Iterator[Bar]


def milliseconds(seconds: float) -> str:
    """A time with its unit, in three digits."""
    return f"{seconds * 1e3:,.3g} ms" if seconds < 1 else f"{seconds:,.3g} s"
