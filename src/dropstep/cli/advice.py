"""Problems of a file in terms of the options that solve them."""

from __future__ import annotations

import shlex

from dropstep.readers import errors
from dropstep.readers.columns import MixedCells, NumberFormat
from dropstep.wording import counted, quoted

MAX_ADVICE = 100  # characters of options in a message

ADVICE: dict[type[errors.ReadError], str] = {
    errors.UnknownEncodingError: "choose another --encoding, such as utf-8, latin-1 or cp1252",
    errors.DecodingError: "add --encoding, e.g. --encoding latin-1",
    errors.NulByteError: "for UTF-16, add --encoding utf-16",
    errors.RaggedRowError: "correct the file, or give its separator with --separator",
    errors.UnnamedColumnsError: "if the names are in the next line, add --skip 1",
    errors.NumericHeaderError: "if the file has no header, add --no-header",
}


def with_advice(error: errors.ReadError) -> str:
    """The message of an error of the readers, followed by the option that may solve it."""
    if isinstance(error, errors.NumberFormatError):
        return f"{error.column} {problem_of(error.problem)}"
    advice = ADVICE.get(type(error))
    return f"{error}; {advice}" if advice else str(error)


def problem_of(problem: NumberFormat | MixedCells) -> str:
    """Describe why a column is not numeric, and the options that would read it."""
    if isinstance(problem, NumberFormat):
        return f"holds numbers written like {quoted(problem.example)}; {_separators(problem)}"
    marks = " ".join(f"--na {shlex.quote(text)}" for text in (problem.example, *problem.missing))
    return (
        f"holds {counted(problem.n_numbers, 'number')} and "
        f"{counted(problem.n_others, 'cell that is not a number', 'cells that are not numbers')} "
        f"(e.g. {quoted(problem.example)}); correct the file, mark it as missing "
        f"({marks if len(marks) <= MAX_ADVICE else '--na TEXT'}), or use --categorical to read the column as text"
    )


def _separators(problem: NumberFormat) -> str:
    if problem.decimal == ".":
        return "omit --decimal"
    if problem.thousands is None:
        return "add --decimal , for a decimal comma"
    if problem.ambiguous:
        return "add --thousands , for thousands, or --decimal , for a decimal comma"
    mark = repr(problem.thousands) if problem.thousands.isspace() or problem.thousands == "'" else problem.thousands
    return f"add --thousands {mark}" + (" --decimal ," if problem.decimal == "," else "")
