"""Notes on identifiers, on marks of training and test rows, and on features that determine the target."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dropstep import Moments, StopReason, select
from dropstep.data.factor import factor_of
from dropstep.data.leakage import is_disconnected, meeting
from dropstep.data.target import as_target

N = 60
_rng = np.random.default_rng(3)
X = pd.DataFrame({"a": _rng.normal(size=N), "b": _rng.normal(size=N), "t": _rng.choice(["u", "v", "w"], N)})
Y = (X["a"] + 0.5 * _rng.normal(size=N)).rename("y")
CLASSES = np.where(Y > 0, "ill", "well")


def notes(table: Any, y: Any = Y, **params: Any) -> str:
    return " | ".join(select(table, y, **params).notes)


# --- identifiers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("row", np.arange(N)),
        ("shuffled", _rng.permutation(N) + 1000),
        ("descending", np.arange(N, 0, -1).astype(float)),
        ("id", _rng.integers(0, 10**6, N)),
        ("patient_id", _rng.integers(0, 6, N)),
        ("customerId", _rng.integers(0, 6, N)),
        ("user ID", _rng.integers(0, 6, N)),
    ],
)
def test_probable_identifiers(name: str, values: Any) -> None:
    said = notes(X.assign(**{name: values}))
    assert said == f"probable identifier: {name!r} (to ignore it, use exclude=[{name!r}])"
    assert notes(X.assign(**{name: values}), exclude=name) == ""
    assert notes(X.drop(columns="t").assign(**{name: values})) == said


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("count", _rng.integers(0, 40, N)),
        ("gap", np.r_[np.arange(N - 1), N]),
        ("id", _rng.normal(size=N)),
        ("valid_id", _rng.integers(0, 2, N)),
        ("acid", _rng.integers(0, 9, N)),
        ("steps", np.arange(N) / 2),
    ],
)
def test_what_is_no_identifier(name: str, values: Any) -> None:
    assert notes(X.assign(**{name: values})) == ""


def test_several_identifiers() -> None:
    table = X.assign(one=np.arange(N), two=np.arange(N)[::-1])
    assert notes(table) == "probable identifiers: 'one', 'two' (to ignore them, use exclude=['one', 'two'])"
    many = X.assign(**{f"id{j}": np.arange(N) + j for j in range(7)})
    assert notes(many).endswith("'id4' and 2 more (to ignore them, use exclude)")


def test_arrays_have_no_names_to_suspect() -> None:
    assert notes(np.c_[X[["a", "b"]], np.arange(N)]) == ""


def test_text_that_identifies_rows_is_ignored() -> None:
    table = X.assign(
        who=[f"P{i}" for i in range(N)], town=[f"T{i % 31}" for i in range(N)], trade=[f"W{i % 30}" for i in range(N)]
    )
    path = select(table, Y)
    assert path.notes == (
        "ignored text columns with too many levels, probably identifiers: 'who' (60 levels), 'town' (31 levels)",
    )
    assert path.excluded == (3, 4)
    assert path.ranking[3] == path.ranking[4] == max(path.ranking)
    again = select(table, Y, exclude=["who", "town"])
    assert (again.steps, again.notes) == (path.steps, ())
    assert select(table.astype({"town": "category"}), Y).excluded == (3,)
    included = select(table, Y, include="town", strategy="forward")
    assert included.excluded == (3,)
    assert included.selected[0] == 4
    assert select(table, Y, groups=[["town", "a"]]).excluded == (3,)
    levels = pd.Categorical([f"L{i}" for i in range(1002)])
    wide = pd.DataFrame({"level": levels, "a": _rng.normal(size=1002)})
    assert "'level' (more than 1000 levels)" in notes(wide, _rng.normal(size=1002))


def test_levels_are_counted_in_the_rows_that_are_used() -> None:
    table = X.assign(town=[f"T{i % 20}" for i in range(N)])
    y = Y.where(np.arange(N) < 25)
    path = select(table, y, missing="drop")
    assert path.notes[0].endswith("probably identifiers: 'town' (20 levels)")
    assert path.notes[1] == "ignored 35 of 60 rows, because values are missing"
    assert path.excluded == (3,)


# --- training and test rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("part", _rng.choice(["train", "test"], N)),
        ("role", _rng.choice(["Training", "Validation", "TEST"], N)),
        ("fold", _rng.integers(0, 5, N)),
        ("cv_fold", _rng.integers(0, 5, N).astype(float)),
        ("is_train", _rng.random(N) < 0.8),
        ("Split", _rng.integers(0, 2, N)),
    ],
)
def test_marks_of_training_rows(name: str, values: Any) -> None:
    said = notes(X.assign(**{name: values}))
    assert said == f"{name!r} seems to mark training and test rows; if so, use exclude=[{name!r}]"
    assert notes(X.assign(**{name: values}), exclude=[name]) == ""


@pytest.mark.parametrize(
    ("name", "values"),
    [("fold", _rng.normal(size=N)), ("train", _rng.choice(["ICE", "TGV"], N)), ("folder", _rng.integers(0, 5, N))],
)
def test_what_marks_nothing(name: str, values: Any) -> None:
    assert notes(X.assign(**{name: values})) == ""


# --- the target ------------------------------------------------------------------------------------------------------

COPIES = {
    "copy": lambda y: y,
    "linear": lambda y: 1e6 - 3e-4 * y,
    "float32": lambda y: y.astype(np.float32).astype(float),
    "rounded": lambda y: y.round(7),
}


@pytest.mark.parametrize("solver", ["columns", "gram"])
@pytest.mark.parametrize("copy", COPIES)
def test_copies_of_a_number_are_noted(copy: str, solver: str) -> None:
    table = X.assign(again=COPIES[copy](Y))
    known = "determines the target exactly; if unavailable at prediction time (target leakage), use"
    sentence = f"'again' {known} exclude=['again']"
    assert sentence in notes(table, solver=solver)
    numbers = table.drop(columns="t").to_numpy(dtype=float)
    assert f"column 2 {known} exclude=[2]" in notes(numbers, solver=solver)
    assert "determines" not in notes(table, exclude="again", solver=solver)
    weights = np.arange(N) % 3
    assert sentence in notes(table.assign(again=table["again"].where(weights > 0, 7)), sample_weight=weights)


def test_close_is_not_a_copy() -> None:
    assert "determine" not in notes(X.assign(again=Y + 1e-3 * X["b"]))


def test_one_of_several_targets() -> None:
    said = notes(X.assign(again=Y, more=2 * X["b"]), np.c_[Y, X["b"] + 0.1 * _rng.normal(size=N)])
    assert "'again' determines the target" in said
    assert "'b', 'more' each determine the target exactly" in notes(X.assign(more=2 * X["b"]), X["b"])


def test_a_factor_that_determines_a_number() -> None:
    codes = _rng.integers(0, 4, N)
    table = X.assign(grade=np.array(list("pqrs"))[codes])
    path = select(table, np.array([1.5, 2.0, -1.0, 4.0])[codes], model="linear")
    assert "'grade' determines the target exactly" in path.notes[0]
    assert path.stop is StopReason.EXACT
    assert "determine" not in notes(table, np.array([1.5, 2.0, -1.0, 4.0])[codes] + 1e-4 * X["a"])


def test_moments_suffice_to_find_copies() -> None:
    assert "column 2 determines the target exactly" in " ".join(select(Moments.of(np.c_[X[["a", "b"]], Y], Y)).notes)
    assert "determine" not in " ".join(select(Moments.of(np.c_[X[["a", "b"]], X["b"] + Y], Y)).notes)


def test_a_factor_that_determines_the_class_is_left_out() -> None:
    table = X.assign(copy=np.where(CLASSES == "ill", "yes", np.where(X["b"] > 0, "no", "never")))
    path = select(table, CLASSES)
    assert path.notes == (
        "'copy': levels that separate some classes from the others perfectly, which makes every criterion infinite; "
        "not considered in the search: if it is a copy of the target, exclude it, and if not, it suffices to separate "
        "them",
    )
    without = select(table, CLASSES, exclude="copy")
    assert (path.selected, path.score) == (without.selected, without.score)
    assert without.notes == ()
    assert without.selected


@pytest.mark.parametrize("baseline", [0, 1, 2])
def test_what_separates_one_class_does_not_depend_on_the_coding(baseline: int) -> None:
    """A level that occurs in all rows of one class and in no other makes every criterion infinite."""
    y = np.repeat(["p", "q", "r"], 20)
    levels = np.roll(["one", "two", "three"], baseline)
    values = np.where(y == "p", "one", np.where(np.arange(N) % 2, "two", "three"))
    table = X.assign(code=pd.Categorical(values, categories=levels))
    path = select(table, y)
    assert "'code': levels that separate some classes" in path.notes[0]
    assert path.score == select(table, y, exclude="code").score


def test_separation_is_a_rank_deficit_within_classes() -> None:
    """The theorem: the levels separate classes if and only if their scatter within classes has a smaller rank."""
    for seed, k, c in itertools.product(range(25), (2, 3, 5), (2, 3, 4)):
        rng = np.random.default_rng([seed, k, c])
        n = int(rng.integers(2 * c, 16))
        codes, classes = rng.integers(0, k, n), np.r_[np.arange(c), np.arange(c), rng.integers(0, c, n - 2 * c)]
        weights = None if seed % 2 else np.where(np.arange(n) < 2 * c, 1.0, rng.integers(0, 2, n))
        rows = slice(None) if weights is None else weights > 0
        one_hot = np.eye(k)[codes][rows]
        within = one_hot - (np.eye(c)[classes[rows]] @ np.linalg.pinv(np.eye(c)[classes[rows]])) @ one_hot
        total = one_hot - one_hot.mean(axis=0)
        deficit = np.linalg.matrix_rank(within, tol=1e-9) < np.linalg.matrix_rank(total, tol=1e-9)
        target = as_target(classes, n, "discriminant", weights)
        factor = factor_of(codes.tolist())
        assert is_disconnected(meeting(factor, factor.levels, target, weights)) == deficit


def units(kind: str) -> dict[str, Any]:
    """Identifiers of 40 units with 3 rows each."""
    order = np.random.default_rng(1).permutation(120)
    values = np.repeat(np.random.default_rng(2).permutation(40), 3)
    kinds: dict[str, dict[str, Any]] = {
        "runs of integers": {"where": values},
        "named integers": {"subject": values[order]},
        "unequal counts": {"molecule": (np.arange(120) % 7) ** 2 + np.arange(120) // 4},
        "named text": {"patient_id": [f"p{v}" for v in values[order]]},
        "runs of text": {"where": [f"p{v}" for v in values]},
        "few values": {"subject": np.arange(120) % 4},
        "distinct values": {"subject": np.arange(120)},
        "shuffled integers": {"where": values[order]},
        "shuffled text": {"where": [f"p{v}" for v in values[order]]},
        "numbers": {"subject": values + 0.5},
        "runs of unequal length": {"where": np.sort(np.random.default_rng(3).integers(0, 40, 120))},
    }
    return kinds[kind]


@pytest.mark.parametrize("source", ["table", "blocks"])
@pytest.mark.parametrize(
    ("kind", "noted"),
    [
        ("runs of integers", False),
        ("named integers", True),
        ("unequal counts", True),
        ("named text", True),
        ("runs of text", False),
        ("few values", False),
        ("distinct values", False),
        ("shuffled integers", False),
        ("shuffled text", False),
        ("numbers", False),
        ("runs of unequal length", False),
    ],
)
def test_identifiers_of_several_rows_each_are_noted(kind: str, noted: bool, source: str) -> None:
    rng = np.random.default_rng(0)
    column = units(kind)
    (name,) = column
    frame = pd.DataFrame({"a": rng.standard_normal(120), **column, "y": rng.standard_normal(120)})
    X = frame if source == "table" else pa.table(frame).to_batches(max_chunksize=50)
    found = [note for note in select(X, "y").notes if "several rows each" in note]
    assert [note.startswith(f"'{name}' may identify persons") for note in found] == [True] * noted
    if noted and source == "table":
        assert found[0].endswith(f"(stability, compare, infer, report), and use exclude=['{name}']")
        assert not any(name in note for note in select(frame, "y", exclude=[name]).notes)
