"""One way in: a file means the same to Python and to the command line, in memory and in blocks of rows."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import run
from dropstep import read, select
from dropstep.cli.naming import in_options

pytest.importorskip("pyarrow")
N = 60


def write(cells: dict[str, list[str]], *, separator: str = ",", newline: str = "\n", head: str | None = None) -> str:
    """A text of columns of cells."""
    rows = [separator.join(row) for row in zip(*cells.values(), strict=True)]
    return newline.join([separator.join(cells) if head is None else head, *rows]) + newline


def base() -> dict[str, list[str]]:
    """A number that matters, one that does not, and a target."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, N))
    y = 2 * a + 0.3 * rng.normal(size=N)
    return {name: [f"{v:.4f}" for v in values] for name, values in {"a": a, "b": b, "y": y}.items()}


def with_column(cells: Callable[[int], str], name: str = "c") -> dict[str, list[str]]:
    """The same with another column, whose cells are given by their row."""
    table = base()
    return {"a": table["a"], name: [cells(i) for i in range(N)], "b": table["b"], "y": table["y"]}


def colours(i: int) -> str:
    return ("red", " red", "blue", "green ")[i % 4]


TEXTS: dict[str, str] = {
    "plain": write(base()),
    "blanks around levels": write(with_column(colours)),
    "dates of days": write(with_column(lambda i: f"{i % 28 + 1:02d}/02/2020")),
    "dates of ISO": write(with_column(lambda i: f"2020-02-{i % 28 + 1:02d}")),
    "times": write(with_column(lambda i: f"2020-02-03T{i % 24:02d}:00:00")),
    "thousands": write(with_column(lambda i: f'"{i + 1},{i % 10}00"')),
    "decimal commas": write({k: [v.replace(".", ",") for v in c] for k, c in base().items()}, separator=";"),
    "one decimal comma": write(with_column(lambda i: '"1,5"' if i == 50 else f"{i}.5")),
    "blanks in the header": write(base(), head=" a , b, y"),
    "an empty name": write(with_column(lambda i: str(i % 7)), head="a,,b,y"),
    "a trailing separator": "".join(line + ",\n" for line in write(base()).splitlines()),
    "blank rows": write(base()).replace("\n", "\n\n", 4).replace("\n", "\n,,\n", 1),
    "a column of NA": write(with_column(lambda i: "NA")),
    "an empty column": write(with_column(lambda i: "")),
    "a column of NA that begins late": write(with_column(lambda i: "NA" if i < 50 else str(i))),
    "text that begins late": write(with_column(lambda i: str(i) if i < 50 else "none at all")),
    "one word among numbers": write(with_column(lambda i: "about 5" if i == 55 else str(i * i))),
    "fractions that begin late": write(with_column(lambda i: str(i) if i < 50 else f"{i}.25")),
    "gaps in numbers": write(with_column(lambda i: "" if i == 44 else str(i % 11))),
    "gaps in text": write(with_column(lambda i: "?" if i == 44 else "uvw"[i % 3])),
    "gaps in the target": write({**base(), "y": ["" if i == 7 else v for i, v in enumerate(base()["y"])]}),
    "infinity": write(with_column(lambda i: "inf" if i == 44 else str(i % 11))),
    "identifiers": write(with_column(lambda i: f"P{i:03d}", "key")),
    "integers named as identifiers": write(with_column(lambda i: str(i + 1), "id")),
    "marks of a split": write(with_column(lambda i: "train" if i % 3 else "test", "split")),
    "booleans": write(with_column(lambda i: ("true", "FALSE")[i % 2])),
    "booleans with gaps": write(with_column(lambda i: ("true", "false", "NA")[i % 3])),
    "yes and no": write(with_column(lambda i: ("yes", "no")[i % 2])),
    "a constant": write(with_column(lambda i: "5")),
    "a constant text": write(with_column(lambda i: "same")),
    "a copy of a feature": write({**base(), "copy": base()["a"]}),
    "a copy of the target": write({"z": base()["y"], **base()}),
    "a quoted cell of two lines": write(with_column(lambda i: '"two\nlines"' if i == 40 else "one")),
    "quotes that begin late": write(with_column(lambda i: '"x, y"' if i > 40 else "z")),
    "carriage returns": write(base(), newline="\r\n"),
    "tabs": write(base(), separator="\t"),
    "runs of blanks": write(base(), separator="   "),
    "no header": write(base()).split("\n", 1)[1],
    "a repeated name": write(base(), head="a,a,y"),
    "a short row": write(base()).replace("\n", "\n1,2\n", 41).replace("\n1,2\n", "\n", 40),
    "a header alone": "a,b,y\n",
    "classes": write({**base(), "y": ["pos" if float(v) > 0 else "neg" for v in base()["y"]]}),
    "classes with blanks": write({**base(), "y": ["pos " if float(v) > 0 else " neg" for v in base()["y"]]}),
    "classes of numbers": write({**base(), "y": ["1" if float(v) > 0 else "0" for v in base()["y"]]}),
    "a constant target": write({**base(), "y": ["1"] * N}),
    "dates as a target": write({**base(), "y": [f"2020-02-{i % 28 + 1:02d}" for i in range(N)]}),
    "long integers": write(with_column(lambda i: str(2**53 + 1 + i))),
    "hexadecimal": write(with_column(lambda i: hex(i))),
    "no target": write({"a": base()["a"], "b": base()["b"]}),
}
ENCODED: dict[str, bytes] = {
    "UTF-16": write(with_column(lambda i: "äöü"[i % 3])).encode("utf-16"),
    "a byte-order mark": write(base()).encode("utf-8-sig"),
    "latin-1": write(with_column(lambda i: "äöü"[i % 3])).encode("latin-1"),
    "a NUL byte": write(base()).encode().replace(b"\n", b"\n\0", 30),
    "no byte": b"",
}
FILES = {name: text.encode() for name, text in TEXTS.items()} | ENCODED
OF_BLOCKS = "a Gram matrix keeps few digits"  # in a note that advises to hold the rows in memory, which they are not
# Of these, the command line in memory lists the columns with counts, rows and cells, and blocks name the first row that
# was read; a target that is no column is looked for among names and numbers of columns by the command line.
WORDED = {
    "gaps": re.compile(r"values are missing|missing values|NaN or infinity|(?:missing or )?infinite value"),
    "no such column": re.compile("no such column|which X does not have"),
}
WAYS = ("", "--missing drop", "--missing level", "--exclude c", "--include c")


@pytest.fixture
def small_blocks(monkeypatch) -> Callable[[], None]:
    """Makes every file be read in blocks of a few rows."""

    def set_up() -> None:
        monkeypatch.setenv("DROPSTEP_LARGE_FILE", "1")
        monkeypatch.setattr("dropstep.backends.delimited.BLOCK", 600)

    return set_up


def by_command(capsys: Any, options: str) -> tuple[Any, ...]:
    """Selection, score and notes, or the message, of the command line."""
    code, out, err = run(capsys, f"select file.csv -t y {options} --format json")
    if code:
        return ("error", " ".join(err.split()).removeprefix("dropstep: "))
    document = json.loads(out)
    names = [name for entry in document["selected"] for name in entry["features"]]
    return names, document["score"], [note for note in document["notes"] if OF_BLOCKS not in note]


def by_python(options: str) -> tuple[Any, ...]:
    """The same of Python, in terms of options."""
    words = shlex.split(options)
    params = {key.removeprefix("--"): value for key, value in zip(words[::2], words[1::2], strict=True)}
    try:
        path = select(read("file.csv"), "y", **params)
    except ValueError as error:
        return ("error", " ".join(in_options(str(error)).split()))
    return list(path.selected_names), path.score, [in_options(note) for note in path.notes if OF_BLOCKS not in note]


def about(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    """A message, or what it is about and the columns with gaps, if each caller words it."""
    topic = next((topic for topic, said in WORDED.items() if answer[0] == "error" and said.search(answer[1])), None)
    if topic is None:
        return answer
    return topic, set(re.findall(r"'(c)'|\b(y)\b(?:' \(| has)", answer[1])) if topic == "gaps" else None


def alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two answers are the same, scores up to rounding."""
    if one[0] == "error" or other[0] == "error":
        return about(one) == about(other)
    return one[0] == other[0] and one[2] == other[2] and one[1] == pytest.approx(other[1], rel=1e-9)


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("name", FILES)
def test_a_file_means_the_same_everywhere(name, options, folder, capsys, small_blocks) -> None:
    """Selection, score, notes and messages do not depend on who asks, or on whether the rows are in memory."""
    if options.endswith(" c") and b"c," not in FILES[name].split(b"\n")[0]:
        pytest.skip("the file has no such column")
    Path("file.csv").write_bytes(FILES[name])
    answers = {"command line, memory": by_command(capsys, options), "Python, memory": by_python(options)}
    small_blocks()
    answers |= {"command line, blocks": by_command(capsys, options), "Python, blocks": by_python(options)}
    first = next(iter(answers.values()))
    assert all(alike(first, answer) for answer in answers.values()), answers
