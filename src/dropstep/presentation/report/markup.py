"""HTML and SVG from Python: everything that is not marked as HTML already is escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable
from html import escape
from typing import Any

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_JOINT = re.compile(r"([_./:]+)(?=[^_./:])")
_VOID = {"br", "col", "link", "meta"}


class Html(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


def text(value: object) -> Html:
    """A value as HTML: escaped, without characters that HTML and UTF-8 do not allow."""
    return value if isinstance(value, Html) else Html(escape(_UNFIT.sub("\ufffd", str(value))))


def join(parts: Iterable[object], between: object = "") -> Html:
    """Parts in a row, each escaped."""
    return Html(text(between).join(text(part) for part in parts))


def tag(name: str, /, *children: object, **attributes: Any) -> Html:
    """An element. An underscore at the end of an attribute's name is left out, others are hyphens; None is left out."""
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            shown = f"{value:.6g}" if isinstance(value, float) else value
            words.append(f'{key.rstrip("_").replace("_", "-")}="{text(shown)}"')
    if name in _VOID:
        return Html(f"<{' '.join(words)}>")
    return Html(f"<{' '.join(words)}>{join(children)}</{name}>")


def named(name: str) -> Html:
    """The name of a feature: its direction of writing is its own, and a long one breaks at its joints."""
    return tag("bdi", Html(_JOINT.sub(r"\1<wbr>", text(name))))


def names(features: Iterable[str], most: int = 8, struck: Container[str] = ()) -> Html:
    """Names of features in a row, some struck through; past the first few, how many more there are."""
    every = list(features)
    shown = (tag("s", named(name)) if name in struck else named(name) for name in every[:most])
    return join([join(shown, ", "), _more(every, most)])


def plain_names(features: Iterable[str], most: int = 8) -> str:
    """The same where no element may stand."""
    every = list(features)
    return ", ".join(every[:most]) + _more(every, most)


def _more(every: list[str], most: int) -> str:
    return f" and {len(every) - most:,} more" if len(every) > most else ""


def number(value: float, digits: int = 4) -> str:
    """A number for a reader: a few significant digits, thousands apart, a true minus sign."""
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = math.floor(math.log10(abs(value))) if value else 0
    if not -5 <= size < 9:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    decimals = 0 if float(value).is_integer() else max(0, digits - 1 - size)
    return f"{value:,.{decimals}f}".replace("-", "−")


def short(value: float) -> str:
    """A round number, such as those along an axis, without zeros at its end."""
    shown = number(value, 6)
    return shown.rstrip("0").rstrip(".") if "." in shown and "e" not in shown else shown


def count(n: int, one: str, many: str | None = None) -> str:
    """A number of things: 1 feature, 1,200 features."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
