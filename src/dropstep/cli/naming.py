"""Columns by name, number or range, and parameters of the library by option: their values, and messages about them."""

from __future__ import annotations

import argparse
import ast
import csv
import difflib
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from dropstep.parameters import ENTRIES
from dropstep.wording import listed, quoted, shortened

OF_COLUMNS = ("include", "exclude", "groups", "missing")  # parameters that depend on the columns of the file
# Parameters in messages of the library, and the options that correspond to them.
_FLAGS = {name: entry.flag for name, entry in ENTRIES.items() if entry.option is not None}
_QUOTED = re.compile(rf"\b({'|'.join(_FLAGS)})='([a-z_0-9]+)'")
_CHECKED = re.compile(rf"^({'|'.join(_FLAGS)})(?= must be )")
_OPTIONS = (
    (re.compile(r"MallowsCp\(sigma2=\.\.\.\)"), "--criterion cp:sigma2=..."),
    (re.compile(r"\buse exclude\b(?!=)"), "use --exclude"),
    (re.compile(r"\bdropstep\.stability\b"), "--stability"),
    *((re.compile(rf"\b{name}\b"), flag) for name, flag in _FLAGS.items() if "_" in name),
    (re.compile(r"\bsample_weight\b"), "--weights"),
    (re.compile(r"\bsample_groups\b"), "--groups-column"),
    (re.compile(r"\bconvert them to a categorical type\b"), "use --categorical"),
    (re.compile(r"\bomit decimal\b"), "omit --decimal"),
    (re.compile(r"\banother encoding\b"), "another --encoding"),
)
_EXCLUDE = re.compile(r"""\bexclude=(\[(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|, )*\])""")
_READ = re.compile(r"""(use )?dropstep\.read\(file, ((?:[^()'"]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*)\)""")
_SWITCHES = {"header": "--no-header", "transpose": "--transpose"}
MAX_LIST, MAX_QUOTE = 200, 100  # characters
_RANGE = re.compile(r"(\d+)-(\d+)", re.ASCII)
_LONG_QUOTE = re.compile(rf"'([^']{{{MAX_QUOTE},}})'")
_WHOLE = re.compile(r"-?\d+", re.ASCII)


def parameters_of(args: argparse.Namespace) -> dict[str, Any]:
    """The parameters of the library that the options give, except those that depend on the columns of the file."""
    return {name: getattr(args, name) for name in ENTRIES if name not in OF_COLUMNS and hasattr(args, name)}


def find_all(option: str, texts: Iterable[str] | None, names: Sequence[str]) -> tuple[int, ...]:
    """Indices of the columns that an option names, in the order given, each once."""
    found = [j for text in texts or () for j in _find_list(option, text, names)]
    return tuple(dict.fromkeys(found))


def find_one(option: str, text: str, names: Sequence[str]) -> int:
    """Index of the single column that an option names."""
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
    """Columns that a text denotes: a name takes precedence over a number, and a number over a range."""
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
            raise ValueError(f"{option} {text}: a range of columns must lie within 1 to {p}, the lower number first")
        return list(range(first - 1, last))
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.6) or _same_letters(text, names)
    hint = f"did you mean {quoted(near[0])}?" if near else f"the columns are {listed(names)}"
    raise ValueError(f"{option} {shortened(text)}: no such column; {hint}")


def _same_letters(text: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if name.lower() == text.lower()][:1]


def option_list(names: Sequence[str]) -> str:
    """Names as the argument of an option in a shell, or COLS if they are too long to show."""
    text = ",".join(f'"{name}"' if "," in name else name for name in names)
    if len(text) > MAX_LIST:
        return "COLS"
    return text if re.fullmatch(r"[\w.,:+-]+", text) else "'" + text.replace("'", "'\"'\"'") + "'"


def in_options(message: str, command: str = "select") -> str:
    """Replace parameters in a message of the library by the options of a command, and shorten long quotations."""
    message = _READ.sub(_as_options, message)
    message = _EXCLUDE.sub(lambda found: f"--exclude {option_list(ast.literal_eval(found[1]))}", message)
    message = _QUOTED.sub(lambda found: f"{_FLAGS[found[1]]} {found[2]}", message)
    message = _CHECKED.sub(lambda found: _FLAGS[found[1]], message)
    for pattern, option in _OPTIONS:
        message = pattern.sub(option, message)
    if command == "compare":
        message = re.sub(r"--strategy\b", "--strategies", message)
    return brief(message)


def _as_options(call: re.Match[str]) -> str:
    """The options that correspond to the arguments of a call of `dropstep.read`, after "add" instead of "use"."""
    parsed = ast.parse(f"read({call[2]})", mode="eval").body
    arguments = parsed.keywords if isinstance(parsed, ast.Call) else []
    given = ((str(argument.arg), ast.literal_eval(argument.value)) for argument in arguments)
    return ("add " if call[1] else "") + " ".join(_option(name, value) for name, value in given)


def _option(name: str, value: Any) -> str:
    if name in _SWITCHES:
        return _SWITCHES[name]
    if name == "categorical":
        return f"--categorical {option_list(value)}"
    if name == "na":
        return " ".join("--na TEXT" if text is ... else f"--na {shlex.quote(text)}" for text in value)
    return f"--{name} {repr(value) if str(value).isspace() or value == chr(39) else shlex.quote(str(value))}"


def brief(message: str) -> str:
    """Shorten long quotations in a message."""
    return _LONG_QUOTE.sub(lambda found: quoted(found[1]), message)
