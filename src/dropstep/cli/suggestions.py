"""What a user probably meant: commands and options that are misspelt, a table without a command, a missing target."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence

from dropstep.cli.naming import listed

TABLES = (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".gz")


def command_hint(text: str, commands: Iterable[str]) -> str:
    """The sentence for a command that does not exist."""
    names = list(commands)
    if os.path.isfile(text) or text.lower().endswith(TABLES):
        return f"{text!r} is not a command; to select features of that table: dropstep select {text} --target COLUMN"
    near = difflib.get_close_matches(text.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"the commands are {', '.join(names)}"
    return f"unknown command {text!r}; {hint}"


def option_hint(unknown: Sequence[str], options: Iterable[str]) -> str:
    """The sentence for arguments that a command does not have."""
    first = unknown[0].partition("=")[0]
    names = [name for name in options if name.startswith("--")]
    near = [name for name in names if len(first) > 3 and name.startswith(first)]
    near = near or (difflib.get_close_matches(first, names, n=1) if first.startswith("-") else [])
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unrecognized arguments: {' '.join(unknown)}{hint}"


def target_hint(file: str) -> str:
    """The sentence for a command line without a target, with the columns of the file if it can be read."""
    from dropstep.cli.columns import column_names

    sentence = "the following arguments are required: --target, the column to explain"
    if file == "-":
        return sentence
    try:
        names = column_names(file)
    except (OSError, ValueError):
        return sentence
    return f"{sentence}; the columns are {listed(names, 8)}"


def stands_in_first_column(target: str, names: Sequence[str], first: Sequence[object]) -> bool:
    """True if a target is no column, but a cell of the first column: the table is probably transposed."""
    return target not in names and target in {str(cell).strip() for cell in first}
