"""Files of all kinds: what `read` makes of them, and that it does not depend on the blocks."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dropstep.backends.delimited
from dropstep import read
from dropstep.data.factor import Factor, Unusable
from dropstep.data.frame import Frame
from dropstep.data.table import Table

N = 40
RNG = np.random.default_rng(5)
A, B = RNG.normal(size=N).round(3), RNG.normal(size=N).round(3)
PLAIN = "a,b,word\n1,2.5,red\n-3,+4e2,blue\n"


def table(head: str = "a,b,y", columns: Any = (A, B, A), separator: str = ",") -> str:
    return "\n".join([head, *(separator.join(map(str, row)) for row in zip(*columns, strict=True)), ""])


def late(cells: dict[int, str], values: Any = B) -> list[str]:
    """Numbers with other cells in some rows."""
    return [cells.get(i, str(value)) for i, value in enumerate(values)]


def with_line(line: str, at: int = 5) -> str:
    lines = table().splitlines()
    return "\n".join([*lines[:at], line, *lines[at:]])


def comma(values: Any) -> list[str]:
    return [str(value).replace(".", ",") for value in values]


def with_late(*cells: str) -> str:
    """A table whose column b ends with some cells."""
    return table(columns=(A, [*map(str, B[: N - len(cells)]), *cells], A))


TOWNS = ["Rome", " Rome", "Oslo", "NA"] * 10
FILES: dict[str, Any] = {
    "blanks around levels": table("a,town,y", (A, TOWNS, A)),
    "dates": table(columns=(A, ["01/02/2020", "2020-01-31"] * 20, A)),
    "thousands": table(columns=(A, ['"1,000"', '"12,345"'] * 20, A)),
    "thousands, given": (table(columns=(A, ['"1,000"', '"12,345"'] * 20, A)), {"thousands": ","}),
    "thousands late": with_late('"1,000"'),
    "a header with blanks": table("a, b, y"),
    "no name": table("a,,y"),
    "most without a name": table(",,y"),
    "a trailing separator": table().replace("\n", ",\n"),
    "a trailing separator, values late": table().replace("\n", ",\n")[:-2] + ",5\n",
    "blank rows": table().replace("\n", "\n\n,,\n"),
    "a column of NA": table(columns=(A, ["NA"] * N, A)),
    "a column without values until late": table(columns=(A, [""] * 39 + ["7"], A)),
    "a column without values until text": table(columns=(A, [""] * 39 + ["red"], A)),
    "UTF-16": table().encode("utf-16"),
    "UTF-8 with a mark": table().encode("utf-8-sig"),
    "latin-1": table(columns=(A, ["Köln"] * N, A)).encode("latin-1"),
    "latin-1, given": (table(columns=(A, ["Köln"] * N, A)).encode("latin-1"), {"encoding": "latin-1"}),
    "latin-1 late": table(columns=(A, ["Koln"] * 39 + ["Köln"], A)).encode("latin-1"),
    "a quote late": table(columns=(A, [*["red"] * 35, *['"a, ""b""\n"'] * 5], A)),
    "cells of several lines": table(columns=(A, ['"two\nlines, or\r\nthree"', '"one"'] * 20, A)),
    "quotes within cells": table(columns=(A, ["5'11\"", '6"', '"a ""b"" c"', "x"] * 10, A)),
    "stray quotes and lines": table(columns=(A, ['6"', '"a\nb"', "x", '"y"', "z"] * 8, A)),
    "long header": table(",".join(["a" * 300, "b", "y"])),
    "runs of blanks": table("a  b  y", separator="   "),
    "tabs": table("a\tb\ty", separator="\t"),
    "carriage returns": table().replace("\n", "\r"),
    "both": table().replace("\n", "\r\n"),
    "text late": with_late("none"),
    "text late, given": (with_late("none"), {"na": ["none"]}),
    "much text late": table(columns=(A, [*B[:10], *(["red", "blue"] * 15)], A)),
    "numbers late": table(columns=(A, [*(["red", "blue"] * 5), *B[10:]], A)),
    "text late, as categories": (with_late("none"), {"categorical": ["b"]}),
    "numbers as categories": (table("a,c,y", (A, [1, 2.5, 10, "1.0", "NA"] * 8, A)), {"categorical": ["c"]}),
    "fractions late": table(columns=(A, [*range(39), 0.5], A)),
    "decimal comma": table("a;b;y", map(comma, (A, B, A)), ";"),
    "decimal comma, given": (table("a;b;y", map(comma, (A, B, A)), ";"), {"decimal": ","}),
    "decimal comma late": table("a;b;y", (A, [*range(35), *comma(B[:5])], A), ";"),
    "decimal point, comma given": (table("a;b;y", separator=";"), {"decimal": ","}),
    "signs and blanks": table(columns=(A, ["+1", " 2 ", "3", " NA"] * 10, A)),
    "signs late": with_late("+1", " 2\t", "\u00a03", " NA", "NAN"),
    "NaN as text": (with_late("nan"), {"na": [""]}),
    "numbers that are missing": (table(columns=(A, ["-9", " -9", "1", "2"] * 10, A)), {"na": ["-9"]}),
    "hexadecimal": table(columns=(A, ["0x1F", "0x2"] * 20, A)),
    "hexadecimal late": table(columns=(A, [*range(38), "0x1F", "0x2"], A)),
    "infinite": with_late("inf", "-Infinity", "1e400"),
    "many digits": table("id,b,y", ([10**17 + i for i in range(N)], B, A)),
    "many digits late": table("id,b,y", ([*range(35), *(10**17 + i for i in range(5))], B, A)),
    "many digits as categories": (
        table("id,b,y", ([10**17 + i % 3 for i in range(N)], B, A)),
        {"categorical": ["id"]},
    ),
    "booleans": table(columns=(A, ["true", "FALSE"] * 20, A)),
    "booleans with gaps": table(columns=(A, ["True", "False", "?", "True"] * 10, A)),
    "booleans until late": table(columns=(A, ["true", "false"] * 19 + ["maybe", "true"], A)),
    "dates until late": table(columns=(A, ["2020-01-31"] * 39 + ["soon"], A)),
    "ragged": with_line("1,2"),
    "ragged late": table() + "1,2\n",
    "a NUL byte": with_line("1,\0,2"),
    "a NUL byte late": table() + "1,\0,2\n",
    "no rows": "a,b,y\n",
    "one column": table("y", (A,)),
    "numbers in the header": table("1,2,3"),
    "the same number twice": table("1,1,3"),
    "the same name twice": table("a,a,y"),
    "no header": (table("1,2,3"), {"header": False}),
    "lines before the header": ("made by hand\n\n" + table(), {"skip": 2}),
    "more lines to skip than there are": (table(), {"skip": 999}),
    "transposed": ("name,p,q\na,1,2\nb,3,4\ntown,Rome,Oslo\n", {"transpose": True}),
    "gzip": gzip.compress(table().encode()),
    "truncated gzip": gzip.compress(table().encode())[:-20],
    "unknown encoding": (table(), {"encoding": "klingon"}),
}


def outcome(file: Path, **parameters: Any) -> Any:
    """Types, values and notes of a file, or the message."""
    try:
        source = read(file, **parameters)
        rows = source.rows()
        types = [(column.name, column.kind, column.whole) for column in source.columns]
        return types, [values_of(rows, j) for j in range(len(types))], source.notes
    except ValueError as error:
        return str(error)


def values_of(rows: Table | Frame, j: int) -> Any:
    column: Any = rows.values[:, j] if isinstance(rows, Table) else rows.columns[j]
    if isinstance(column, Unusable):
        return column.what
    if not isinstance(column, Factor):
        return [column.dtype.name, *map(str, column.tolist())]
    return [column.declared, *(None if code < 0 else column.levels[code] for code in column.codes)]


@pytest.mark.parametrize("kind", FILES)
def test_blocks_give_what_one_block_gives(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, parameters = FILES[kind] if isinstance(FILES[kind], tuple) else (FILES[kind], {})
    file = tmp_path / "table.csv"
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    known = outcome(file, **parameters)
    for size in (7, 40, 300):
        monkeypatch.setattr(dropstep.backends.delimited, "BLOCK", size)
        assert outcome(file, **parameters) == known
