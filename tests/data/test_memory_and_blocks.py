"""The decisions about a table are the same in memory and in blocks: the selection, the score, notes and messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dropstep import Selector, compare, infer, select, stability
from dropstep.backends.arrow import BatchSource, orders_of

N = 63
ROWS = 7  # of a block
_rng = np.random.default_rng(7)
FRAME = pd.DataFrame(_rng.normal(size=(N, 3)), columns=list("abc"))
FRAME["town"] = _rng.choice(["oslo", "rome", "bern"], N)
FRAME["y"] = FRAME["a"] + 2.0 * (FRAME["town"] == "rome") + 0.5 * _rng.normal(size=N)
DAYS = pd.date_range("2020-01-31", periods=N)


@dataclass(frozen=True)
class Content:
    """A table, the parameters of the selection, and what is said of it.

    Attributes
    ----------
    frame : DataFrame
    says : str
        What a note, or the message, contains; empty if nothing is said.
    refused : bool
        Whether it is a message.
    parameters : dict
    y : str or list of str
    """

    frame: pd.DataFrame
    says: str = ""
    refused: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)
    y: Any = "y"


def gaps(name: str, *rows: int, value: Any = None) -> pd.DataFrame:
    """The table without a value in some rows."""
    frame = FRAME.copy()
    frame.loc[list(rows), name] = np.nan if value is None and frame[name].dtype == float else value
    return frame


def with_column(values: Any, name: str = "extra") -> pd.DataFrame:
    return FRAME.assign(**{name: values})


def content(frame: pd.DataFrame, says: str = "", *, refused: bool = False, y: Any = "y", **parameters: Any) -> Content:
    return Content(frame, says, refused, parameters, y)


TEXT_DATES = DAYS.strftime("%d/%m/%Y")
IDS = [f"r{i}" for i in range(N)]
SIZES = pd.Categorical(_rng.choice(["s", "m", "l"], N), ["s", "m", "l", "xl"], ordered=True)
FLAGS = pd.array([True, False, None] * (N // 3), dtype="boolean")
IGNORED_DATES = "ignored columns with dates or lists: 'extra' (derive numbers such as the year)"
NO_DATES = "'extra' holds dates or lists, which cannot be features; derive numbers first"
NUMERALS = "X contains numbers stored as text in 'extra' (such as "
TOO_MANY = "ignored text columns with too many levels, probably identifiers: 'extra' (63 levels)"
IN_A_NUMBER = "row 12: X contains NaN or infinity in 'a' (2 rows in total); remove these rows"
IN_A_FACTOR = "row 12: X contains missing values in 'town' (2 rows in total); use missing='level'"
IN_Y = "row 12: y has 2 missing or infinite values (NaN, None or inf); remove these rows"
LOST = "ignored 2 of 63 rows, because values are missing"
DIGITS = "'extra' holds integers that lose digits in double precision (for identifiers, use exclude=['extra']; for"

CONTENTS: dict[str, Content] = {
    "numbers and text": content(FRAME),
    "dates": content(with_column(DAYS), IGNORED_DATES),
    "dates, included": content(with_column(DAYS), NO_DATES, refused=True, include="extra"),
    "dates, excluded": content(with_column(DAYS), exclude="extra"),
    "dates, in a group": content(with_column(DAYS), NO_DATES, refused=True, groups=[["a", "extra"]]),
    "dates as text": content(with_column(TEXT_DATES), IGNORED_DATES),
    "dates as text, included": content(with_column(TEXT_DATES), NO_DATES, refused=True, include="extra"),
    "dates as text, excluded": content(with_column(TEXT_DATES), exclude="extra"),
    "dates as text with gaps": content(with_column(np.where(np.arange(N) % 9, TEXT_DATES, None)), IGNORED_DATES),
    "dates as text with gaps, drop": content(
        with_column(np.where(np.arange(N) % 9, TEXT_DATES, None)), IGNORED_DATES, missing="drop"
    ),
    "dates as the target": content(FRAME.assign(y=DAYS), "y contains dates or times", refused=True),
    "lists": content(with_column(pd.Series([[1.0]] * N)), IGNORED_DATES),
    "identifiers": content(with_column(IDS), TOO_MANY),
    "identifiers, included": content(with_column(IDS), "include forces in 62 features", refused=True, include="extra"),
    "identifiers, excluded": content(with_column(IDS), exclude="extra"),
    "identifiers with gaps": content(with_column([None, *IDS[1:]]), "'extra' (62 levels)"),
    "identifiers with gaps, drop": content(with_column([None, *IDS[1:]]), "'extra' (62 levels)", missing="drop"),
    "identifiers of complete rows": content(
        gaps("y", *range(40, N)).assign(extra=[f"t{i % 21}" for i in range(N)]), "'extra' (21 levels)", missing="drop"
    ),
    "numbered rows": content(with_column(np.arange(N)[::-1]), "probable identifier: 'extra'"),
    "units by name": content(
        with_column(np.arange(N) % 21 * 1000, "patient"), "'patient' may identify persons or other units"
    ),
    "units by name, text": content(with_column([f"p{i % 21}" for i in range(N)], "patient"), "'patient' may identify"),
    "marks of test rows": content(with_column(np.arange(N) % 2 == 0, "is_train"), "'is_train' seems to mark training"),
    "numerals as text": content(with_column(["1.5", "2", "3"] * (N // 3)), NUMERALS, refused=True),
    "numerals with thousands": content(with_column([f"1,{i:03d}" for i in range(N)]), NUMERALS, refused=True),
    "numerals and words": content(with_column(["1.5", "2", "none"] * (N // 3)), "(such as 'none')", refused=True),
    "numerals, excluded": content(with_column(["1.5", "2", "3"] * (N // 3)), exclude="extra"),
    "few numerals": content(with_column(["1.5", "two", "three"] * (N // 3))),
    "blank number": content(with_column(np.nan), "ignored blank column: 'extra'"),
    "blank number, drop": content(with_column(np.nan), "ignored blank column: 'extra'", missing="drop"),
    "blank among numbers": content(
        FRAME.assign(extra=np.nan, more=np.nan)[["a", "b", "extra", "more", "y"]],
        "ignored blank columns: 'extra', 'more'",
    ),
    "blank text, drop": content(
        with_column(pd.Series([None] * N, dtype="string")), "ignored blank column: 'extra'", missing="drop"
    ),
    "blank, included": content(
        with_column(np.nan),
        "row 1: X contains NaN or infinity in 'extra' (63 rows in total)",
        refused=True,
        include="extra",
    ),
    "booleans": content(with_column(np.arange(N) % 3 == 0)),
    "booleans with gaps": content(with_column(FLAGS), "row 3: X contains missing values in 'extra'", refused=True),
    "booleans with gaps, drop": content(with_column(FLAGS), "ignored 21 of 63 rows", missing="drop"),
    "booleans with gaps, level": content(with_column(FLAGS), missing="level"),
    "ordered categories": content(with_column(SIZES)),
    "gaps in a number": content(gaps("a", 11, 50), IN_A_NUMBER, refused=True),
    "gaps in a number, level": content(gaps("a", 11, 50), IN_A_NUMBER, refused=True, missing="level"),
    "gaps in a number, drop": content(gaps("a", 11, 50), LOST, missing="drop"),
    "gaps in an excluded number": content(gaps("a", 11, 50), exclude="a"),
    "gaps in a factor": content(gaps("town", 11, 50), IN_A_FACTOR, refused=True),
    "gaps in a factor, level": content(gaps("town", 11, 50), missing="level"),
    "gaps in a factor, drop": content(gaps("town", 11, 50), LOST, missing="drop"),
    "gaps in the target": content(gaps("y", 11, 50), IN_Y, refused=True),
    "gaps in the target, level": content(gaps("y", 11, 50), IN_Y, refused=True, missing="level"),
    "gaps in the target, drop": content(gaps("y", 11, 50), LOST, missing="drop"),
    "gaps and a blank column": content(
        gaps("a", 11, 50).assign(extra=np.nan), "row 12: X contains NaN or infinity in 'a' (2 rows", refused=True
    ),
    "infinite values": content(gaps("a", 11, 50, value=np.inf), IN_A_NUMBER, refused=True),
    "infinite values, drop": content(
        gaps("a", 11, 50, value=-np.inf), "ignored 2 of 63 rows, because values are infinite", missing="drop"
    ),
    "no complete row": content(
        FRAME.assign(a=FRAME["a"].where(np.arange(N) % 2 == 0), b=FRAME["b"].where(np.arange(N) % 2 == 1)),
        "none of the 63 rows is complete, because values are missing",
        refused=True,
        missing="drop",
    ),
    "constant columns": content(FRAME.assign(one=1.0, word="same")),
    "constant target": content(FRAME.assign(y=0.5), "y is constant (0.5)", refused=True),
    "constant counts": content(FRAME.assign(y=7), "y has only one class (7)", refused=True),
    "one class": content(FRAME.assign(y="p"), "y has only one class (p)", refused=True),
    "a repeated number": content(with_column(FRAME["a"]), "'extra' repeats 'a' exactly"),
    "a repeated factor": content(with_column(FRAME["town"]), "'extra' repeats 'town' exactly"),
    "repeated, excluded": content(with_column(FRAME["a"]), exclude="extra"),
    "several repeated": content(
        FRAME.assign(d=FRAME["a"], e=FRAME["b"]), "2 columns repeat an earlier one exactly ('d' repeats 'a')"
    ),
    "a copy of the target": content(with_column(3 - 2 * FRAME["y"]), "'extra' determines the target exactly"),
    "a factor that separates": content(
        FRAME.assign(y=np.where(FRAME["town"] == "rome", "p", "q")), "'town': levels that separate some classes"
    ),
    "integers that lose digits": content(with_column(2**60 + 10 * _rng.permutation(N).astype(np.int64) ** 2), DIGITS),
    "classes": content(FRAME.assign(y=np.where(FRAME["y"] > 0.5, "high", "low"))),
    "several targets": content(FRAME, y=["y", "c"]),
    "weights": content(FRAME.assign(w=np.arange(N) % 4), sample_weight="w"),
    "weights with gaps": content(
        FRAME.assign(w=np.where(np.arange(N) == 11, np.nan, 1.0)),
        "row 12: sample_weight contains NaN or infinity (1 row in total)",
        refused=True,
        sample_weight="w",
    ),
    "weights with gaps, drop": content(
        FRAME.assign(w=np.where(np.arange(N) == 11, np.nan, 1.0)), "ignored 1 of 63", sample_weight="w", missing="drop"
    ),
    "negative weights": content(
        FRAME.assign(w=np.where(np.arange(N) > 10, -1.0, 1.0)),
        "row 12: sample_weight must not be negative; it is -1",
        refused=True,
        sample_weight="w",
    ),
    "offset with gaps": content(
        FRAME.assign(y=np.arange(N) % 3, o=np.where(np.arange(N) == 11, np.nan, 0.5)),
        "row 12: offset contains NaN or infinity (1 row in total)",
        refused=True,
        model="poisson",
        offset="o",
    ),
    "offset with gaps, drop": content(
        FRAME.assign(y=np.arange(N) % 3, o=np.where(np.arange(N) == 11, np.nan, 0.5)),
        "ignored 1 of 63 rows",
        model="poisson",
        offset="o",
        missing="drop",
    ),
}


def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def in_blocks(frame: pd.DataFrame) -> list[pa.RecordBatch]:
    return arrow(frame).to_batches(max_chunksize=ROWS)


class Sized(BatchSource):
    """Record batches whose size is known."""

    n_bytes = 1000


def held(frame: pd.DataFrame) -> Sized:
    blocks = in_blocks(frame)
    return Sized(blocks[0].schema, blocks, orders=orders_of(blocks[0]))


def outcome(X: Any, y: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """What a user sees of a selection, or the message."""
    try:
        path = select(X, y, **parameters)
    except ValueError as error:
        return {"message": str(error)}
    return {
        "selected": path.selected_names,
        "steps": [(step.phase, step.action, step.features) for step in path.steps],
        "score": pytest.approx(path.score, rel=1e-9),
        "excluded": path.excluded,
        "levels": None if path.encoding is None else path.encoding.levels,
        "notes": [note for note in path.notes if "keeps few digits" not in note],
    }


@pytest.mark.parametrize("read", [in_blocks, held], ids=["blocks", "held"])
@pytest.mark.parametrize("name", CONTENTS)
def test_the_same_in_memory_and_in_blocks(name: str, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = CONTENTS[name]
    monkeypatch.delenv("DROPSTEP_LARGE_FILE", raising=False)
    expected = outcome(one.frame, one.y, one.parameters)
    assert outcome(read(one.frame), one.y, one.parameters) == expected
    assert ("message" in expected) == one.refused
    said = [expected["message"]] if one.refused else expected["notes"]
    assert any(one.says in sentence for sentence in said) if one.says else not said


def test_a_source_that_fits_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that whatever needs the rows works, for every caller; a limit in bytes overrides the share of free memory."""
    monkeypatch.delenv("DROPSTEP_LARGE_FILE", raising=False)
    assert select(held(FRAME), "y", criterion="press") == select(FRAME, "y", criterion="press")
    path = select(held(FRAME), "y", solver="columns")
    assert path == select(FRAME, "y", solver="columns")
    assert path.fingerprint is not None
    assert select(held(FRAME), "y", criterion="cv").selected == select(FRAME, "y", criterion="cv").selected
    assert Selector().fit(held(FRAME), "y").path_ == select(FRAME, "y")
    assert stability(held(FRAME), "y", n_pairs=2).n_pairs == 2
    assert len(compare(held(FRAME), "y", strategies=["forward"], cv=3).to_frame())
    assert infer(path, held(FRAME), "y", split=0.5, n_splits=2).n_splits == 2
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", "1000")
    with pytest.raises(ValueError, match="X is read in blocks of rows"):
        select(held(FRAME), "y", solver="columns")
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", "1001")
    assert select(held(FRAME), "y", solver="columns").selected == path.selected
    monkeypatch.setattr(Sized, "n_bytes", 2**62)
    monkeypatch.delenv("DROPSTEP_LARGE_FILE")
    with pytest.raises(ValueError, match="X is read in blocks of rows"):
        select(held(FRAME), "y", solver="columns")


def test_notes_of_a_reader_are_among_those_of_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("1", "10000"):
        monkeypatch.setenv("DROPSTEP_LARGE_FILE", limit)
        source = held(FRAME)
        source.notes = ("two columns have no name",)
        assert select(source, "y").notes == ("two columns have no name",)
