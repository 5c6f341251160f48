"""Naming: columns by name, by number or by range, options in place of words of Python, and names safe to show."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable, Sequence

from dropstep.readers.wording import quoted, shortened

# What the library says to those who call it from Python, in words of the command line.
_SAID = (
    (re.compile(r"MallowsCp\(sigma2=\.\.\.\)"), "--criterion cp:sigma2=..."),
    (re.compile(r"\b(strategy|model|criterion)='([a-z_0-9]+)'"), r"--\1 \2"),
    (re.compile(r"\bmax_features\b"), "--max-features"),
    (re.compile(r"\bsample_weight\b"), "--weights"),
)
LONGEST_LIST, LONGEST_QUOTE = 200, 100  # characters
_RANGE = re.compile(r"(\d+)-(\d+)", re.ASCII)
_LONG_QUOTE = re.compile(rf"'([^']{{{LONGEST_QUOTE},}})'")
_WHOLE = re.compile(r"-?\d+", re.ASCII)


def find_all(option: str, texts: Iterable[str] | None, names: Sequence[str]) -> tuple[int, ...]:
    """Columns in the order they are given, each once."""
    found = [j for text in texts or () for j in _find_list(option, text, names)]
    return tuple(dict.fromkeys(found))


def find_one(option: str, text: str, names: Sequence[str]) -> int:
    """One column."""
    found = _find(option, text.strip(), names)
    if len(found) != 1:
        raise ValueError(f"{option} takes one column; got {quoted(text)}")
    return found[0]


def _find_list(option: str, text: str, names: Sequence[str]) -> list[int]:
    if text in names:
        return [names.index(text)]
    parts = next(csv.reader([text], skipinitialspace=True), [])
    return [j for part in parts if part.strip() for j in _find(option, part.strip(), names)]


def _find(option: str, text: str, names: Sequence[str]) -> list[int]:
    """Columns that one word means: a name before a number, a number before a range."""
    p = len(names)
    if text in names:
        return [names.index(text)]
    if _WHOLE.fullmatch(text):
        number = int(text)
        if number == 0 or abs(number) > p:
            raise ValueError(f"{option} {text}: columns are numbered from 1 to {p}, or from the last by -1 to -{p}")
        return [number - 1 if number > 0 else p + number]
    if between := _RANGE.fullmatch(text):
        first, last = int(between[1]), int(between[2])
        if not 1 <= first <= last <= p:
            raise ValueError(f"{option} {text}: a range of columns goes from 1 to {p} at most, the lower number first")
        return list(range(first - 1, last))
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.6) or _same_letters(text, names)
    hint = f"did you mean {quoted(near[0])}?" if near else f"there are {listed(names)}"
    raise ValueError(f"{option} {shortened(text)}: there is no such column; {hint}")


def _same_letters(text: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if name.lower() == text.lower()][:1]


def listed(names: Sequence[str], most: int = 5) -> str:
    """A few names, and how many more there are."""
    shown = ", ".join(quoted(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def option_list(names: Sequence[str]) -> str:
    """Names as they may stand after an option in a shell; COLS where they are too long to show."""
    text = ",".join(f'"{name}"' if "," in name else name for name in names)
    if len(text) > LONGEST_LIST:
        return "COLS"
    return text if re.fullmatch(r"[\w.,:+-]+", text) else "'" + text.replace("'", "'\"'\"'") + "'"


def printable(text: str) -> str:
    """Text without anything that a terminal would obey: control characters are shown by their code."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def in_options(message: str, command: str = "select") -> str:
    """A message of the library with the options of a command in place of parameters, long quotations shortened."""
    for pattern, words in _SAID:
        message = pattern.sub(words, message)
    if command == "compare":
        message = re.sub(r"--strategy\b", "--strategies", message)
    return brief(message)


def brief(message: str) -> str:
    """A message with long quotations shortened."""
    return _LONG_QUOTE.sub(lambda found: quoted(found[1]), message)
