"""Values of options: numbers, levels, characters and lists, with the sentence that refuses others."""

from __future__ import annotations

import argparse
import math
from typing import Any

from dropstep.search.strategies import STRATEGIES
from dropstep.synonyms import alias_of, did_you_mean

RULES = {"permutation": "Permutation", "knockoffs": "Knockoffs"}


def integer_from(minimum: int) -> Any:
    def integer(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = minimum - 1
        if value < minimum:
            raise argparse.ArgumentTypeError(f"must be an integer of at least {minimum}; got {text!r}")
        return value

    return integer


def threshold(text: str) -> Any:
    """A number in units of the criterion, auto, a significance level (p0.05), or a rule such as permutation:0.05."""
    if text == "auto":
        return "auto"
    name, colon, value_text = text.partition(":")
    if colon and name in RULES:
        return _rule(name, value_text, text)
    try:
        value = float(text.removeprefix("p"))
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise argparse.ArgumentTypeError(f"must be auto, a number, or a significance level such as p0.05; got {text!r}")
    if not text.startswith("p"):
        return value
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"a significance level must lie between 0 and 1; got {text!r}")
    from dropstep.search.rules import Significance

    return Significance(value)


def _rule(name: str, value: str, text: str) -> Any:
    from dropstep.search import rules

    try:
        return getattr(rules, RULES[name])(float(value))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be {name}: and a share between 0 and 1; got {text!r}") from None


def character(text: str) -> str:
    if len(text) != 1 or not text.isascii():
        raise argparse.ArgumentTypeError(f"must be one character of ASCII; got {text!r}")
    return text


def separator(text: str) -> str:
    named = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    return named.get(text) or character(text)


def strategies(text: str) -> tuple[str, ...]:
    given = [name.strip() for name in text.split(",") if name.strip()]
    names = [alias_of(name, STRATEGIES) for name in given]
    if None in names or not names:
        hint = did_you_mean(given[names.index(None)], STRATEGIES) if names else ""
        raise argparse.ArgumentTypeError(f"unknown strategy in {text!r}; {hint}choose from {', '.join(STRATEGIES)}")
    return tuple(dict.fromkeys(name for name in names if name is not None))


def jobs_of(text: str) -> int:
    """A number of processes, as joblib counts them."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value == 0:
        raise argparse.ArgumentTypeError(f"must be an integer from 1, or -1 for one process per core; got {text!r}")
    return value


def seconds_of(text: str) -> float:
    """A positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds; got {text!r}")
    return value
