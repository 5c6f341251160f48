"""HTML elements from Python; everything that is not marked as HTML is escaped."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from html import escape
from typing import Any

from dropstep.wording import more

_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BREAK = re.compile(r"([_./:]+)(?=[^_./:])")
MAX_UNBROKEN = 20  # characters of a name that is kept in one line
_VOID = {"br", "col", "link", "meta"}


class Html(str):
    """Text that is HTML already and is not escaped again."""

    __slots__ = ()


def text(value: object) -> Html:
    """Escape a value, and replace characters that HTML or UTF-8 do not allow."""
    return value if isinstance(value, Html) else Html(escape(_INVALID.sub("\ufffd", str(value))))


def join(parts: Iterable[object], separator: object = "") -> Html:
    """Join parts, each escaped."""
    return Html(text(separator).join(text(part) for part in parts))


def tag(name: str, /, *children: object, **attributes: Any) -> Html:
    """Make an element.

    Parameters
    ----------
    name : str
        Name of the element.
    *children : object
        Content, escaped unless it is `Html`.
    **attributes : object
        Attributes; a trailing underscore of a name is omitted, other underscores become hyphens, and attributes that
        are None are omitted.

    Returns
    -------
    Html
        The element.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None:
            formatted = f"{value:.6g}" if isinstance(value, float) else value
            parts.append(f'{key.rstrip("_").replace("_", "-")}="{text(formatted)}"')
    if name in _VOID:
        return Html(f"<{' '.join(parts)}>")
    return Html(f"<{' '.join(parts)}>{join(children)}</{name}>")


def table(heads: Sequence[Html], rows: Sequence[Html], caption: str | None = None, **attributes: Any) -> Html:
    """Make a table from its head cells and its rows."""
    top = [] if caption is None else [tag("caption", caption)]
    return tag("table", *top, tag("thead", tag("tr", *heads)), tag("tbody", *rows), **attributes)


def feature_name(name: str) -> Html:
    """Isolate the name of a feature from the surrounding text direction, and let a long one break at punctuation."""
    escaped = text(name)
    return tag("bdi", Html(_BREAK.sub(r"\1<wbr>", escaped)) if len(name) > MAX_UNBROKEN else escaped)


def feature_names(features: Iterable[str], limit: int = 8, struck: Container[str] = ()) -> Html:
    """List the names of features, some struck through; past `limit`, only how many more there are."""
    names = list(features)
    listed = (tag("s", feature_name(name)) if name in struck else feature_name(name) for name in names[:limit])
    return join([join(listed, ", "), more(names, limit)])
