"""dropstep select, through main(argv): answers, notes, files and plans."""

import csv
import gzip
import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

import dropstep
from commands import answer, chosen, run, write_people
from dropstep.cli.facts import _bytes
from dropstep.cli.output import output_files


@pytest.fixture
def people(folder) -> str:
    write_people("people.csv")
    return "people.csv"


def test_the_answer_is_that_of_the_library(wine, capsys):
    told = answer(capsys, "select wine.csv --target class")
    data = load_wine()
    path = dropstep.select(np.loadtxt(wine, delimiter=",", skiprows=1)[:, :-1], data.target)
    assert chosen(told) == [data.feature_names[j] for j in path.selected]
    assert told["score"] == pytest.approx(path.score, rel=1e-12)
    assert told["n_evaluations"] == path.n_evaluations
    assert [step["action"] for step in told["steps"]] == [step.action for step in path.steps]
    assert list(told["ranking"].values()) == list(path.ranking)
    assert (told["stop"]["reason"], told["stop"]["nearest"]["value"]) == ("enter", pytest.approx(path.nearest.value))


def test_the_table_for_people(wine, capsys):
    code, out, err = run(capsys, "select wine.csv --target class")
    assert (code, err) == (0, "")
    assert out.startswith("wine.csv: 178 rows\nfeatures: 13 (13 numbers)\ntarget: class, 3 classes: 0 (59), 1 (71), 2")
    assert re.search(r"^1  flavanoids +2.6734  2.67344  3.6e-50  forward$", out, re.MULTILINE)
    assert re.search(r"^coefficient +0 +1 +2$", out, re.MULTILINE)
    assert re.search(r"^\(intercept\) +-65.669 +33.656 +3.6275$", out, re.MULTILINE)
    assert "\n\n9 of 13 features selected: flavanoids, color_intensity" in out
    assert "dropping by trace (discriminant): score 12.5558, 69 evaluations.\nStopped because no candidate's" in out
    assert out.rstrip().endswith("Dropped: 4 (0 entered later); removed: 0.")


def test_json_has_the_coefficients_and_tests_of_the_path(wine, capsys):
    told = answer(capsys, "select wine.csv --target alcohol --max-features 3")
    table = np.loadtxt(wine, delimiter=",", skiprows=1)
    names = Path(wine).read_text().splitlines()[0].split(",")
    at = names.index("alcohol")
    path = dropstep.select(np.delete(table, at, axis=1), table[:, at], max_features=3)
    fit = path.coefficients
    assert (told["r2"], told["adj_r2"], told["df_resid"]) == pytest.approx((path.r2, path.adj_r2, fit.df_resid))
    assert {row["target"] for row in told["coefficients"]} == {"alcohol"}
    assert [row["name"] for row in told["coefficients"]] == ["(intercept)", *chosen(told)]
    for row, own in zip(told["coefficients"], fit.rows(), strict=True):
        assert [row[name] for name in own._fields[2:]] == pytest.approx(own[2:], rel=1e-9)
    for step, made in zip(told["steps"], path.steps, strict=True):
        assert (step["test"] is None) == (made.test is None)
        if made.test is not None:
            assert step["test"]["p_value"] == pytest.approx(made.test.p_value, rel=1e-9)
            assert step["test"]["df"] == pytest.approx(made.test.df)


def test_coefficients_of_categories_and_several_targets(people, capsys):
    _, out, _ = run(capsys, "select people.csv --target income,age --exclude id,weight,code --quiet")
    lines = out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("target  coefficient"))
    assert lines[head].split()[2:] == ["estimate", "std.", "error", "t", "p"]
    names = [line.split()[:2] for line in lines[head + 2 : lines.index("", head)]]
    assert ["income", "(intercept)"] in names
    assert ["age", "(intercept)"] in names
    assert any(name.startswith("town=") for _, name in names)
    assert "optimistically biased" in out


def test_nothing_selected_is_said(folder, capsys):
    rng = np.random.default_rng(0)
    np.savetxt("noise.csv", rng.normal(size=(50, 4)), delimiter=",", header="a,b,c,y", comments="")
    code, out, _ = run(capsys, "select noise.csv --target y")
    assert code == 0
    assert "None of the 3 features is selected." in out


def test_csv_output(wine, capsys):
    code, out, _ = run(capsys, "select wine.csv --target alcohol --format csv --max-features 2")
    rows = list(csv.reader(io.StringIO(out)))
    assert code == 0
    assert rows[0] == ["order", "feature", "phase", "action", "gain", "score"]
    assert [row[:3] for row in rows[1:]] == [["1", "proline", "forward"], ["2", "color_intensity", "forward"]]


def test_categories_are_chosen_whole_and_oddities_are_pointed_out(people, capsys):
    code, out, err = run(capsys, "select people.csv --target income --exclude weight --format json --columns")
    told = json.loads(out)
    assert code == 0
    assert set(chosen(told)) == {"work", "town"}
    assert told["ranking"].keys() == {"id", "age", "town", "member", "work", "noise"}
    types = {column["name"]: (column["type"], column["role"]) for column in told["columns"]}
    assert types["town"] == ("text", "feature")
    assert types["born"] == ("date", "ignored")
    assert types["code"] == ("text", "ignored")
    assert types["income"] == ("number", "target")
    assert "probable identifier: 'id' (to ignore it, use --exclude id)" in err
    assert "ignored columns with dates or lists: 'born'" in err
    assert "probably identifiers: 'code' (120 levels)" in err
    assert len(told["notes"]) == err.count("note: ") == 3
    assert run(capsys, "select people.csv --target income --quiet")[2] == ""


def test_groups_include_and_exclude(people, capsys):
    line = "select people.csv --target income --exclude id,weight,code --groups age,noise --include age,noise"
    told = answer(capsys, line)
    assert told["steps"][0]["phase"] == "start"
    assert set(told["steps"][0]["features"]) == {"age", "noise"}
    assert {"age", "noise", "work", "town"} == set(chosen(told))
    grouped = answer(capsys, "select people.csv --target income --groups work,noise --exclude id,town")
    assert [entry["features"] for entry in grouped["selected"]] == [["work", "noise"]]
    assert grouped["ranking"]["work"] == grouped["ranking"]["noise"] == 1


def test_weights_count_rows(people, capsys, folder):
    told = answer(capsys, "select people.csv --target income --weights weight --exclude id")
    header, *rows = csv.reader(Path(people).read_text().splitlines())
    with open("longer.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([header, *(row for row in rows for _ in range(int(row[8])))])
    longer = answer(capsys, "select longer.csv --target income --exclude id,weight,code")
    assert chosen(told) == chosen(longer)
    assert told["score"] == pytest.approx(longer["score"], rel=1e-9)


def test_numbers_may_stand_for_categories(folder, capsys):
    rng = np.random.default_rng(1)
    code = rng.integers(0, 3, 90)
    y = np.array([0.0, 5.0, 0.0])[code] + 0.1 * rng.normal(size=90)
    np.savetxt("codes.csv", np.c_[code, y], delimiter=",", header="code,y", comments="", fmt="%g")
    assert chosen(answer(capsys, "select codes.csv --target y --categorical code")) == ["code"]
    assert chosen(answer(capsys, "select codes.csv --target y")) == []


def test_missing_values_are_an_explicit_choice(folder, capsys):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3)).round(3).astype(str)
    y = (X[:, 0].astype(float) * 2 + 0.1 * rng.normal(size=40)).round(3)
    X[3, 1], X[5:9, 2] = "?", "NA"
    table = np.c_[X, y.astype(str)]
    np.savetxt("gaps.csv", table, "%s", ",", header="a,b,c,y", comments="")
    code, out, err = run(capsys, "select gaps.csv --target y")
    assert (code, out) == (2, "")
    assert "values are missing in 'c' (4), 'b' (1), in 5 of 40 rows; choose --missing drop" in err
    by_rows = answer(capsys, "select gaps.csv --target y --missing drop --output kept.csv")
    assert by_rows["rows"] == {"read": 40, "used": 35}
    assert by_rows["notes"] == ["ignored 5 of 40 rows, because values are missing"]
    assert len(Path("kept.csv").read_text().splitlines()) == 41
    by_columns = answer(capsys, "select gaps.csv --target y --missing drop-columns")
    assert by_columns["rows"] == {"read": 40, "used": 40}
    assert by_columns["ranking"] == {"a": 1}
    assert answer(capsys, "select gaps.csv --target y --exclude b,c")["notes"] == []
    assert (
        "'b' is required as a feature, but values are missing there; use --missing drop"
        in run(capsys, "select gaps.csv --target y --include b --missing drop-columns")[2]
    )
    assert "choose --missing" in run(capsys, "select gaps.csv --target c --exclude b")[2]
    without_target = answer(capsys, "select gaps.csv --target c --missing drop-columns --model linear")
    assert without_target["rows"] == {"read": 40, "used": 36}
    assert without_target["ranking"].keys() == {"a", "y"}
    assert len(without_target["notes"]) == 2


def test_what_the_options_ask_of_columns(people, capsys):
    for options, sentence in {
        "--weights noise": "--weights must not be negative; it is",
        "--weights town": "--weights town: the column must be numeric; got text",
        "--include born": "'born' holds dates or lists, which cannot be features",
        "--include code": "include forces in 119 features, but 120 rows can estimate 118 at most",
        "--include member --na yes --na no --missing drop": "none of the 120 rows is complete, because",
    }.items():
        code, _, err = run(capsys, f"select people.csv --target income {options}")
        assert code == 2
        assert sentence in err


def test_parquet_needs_pyarrow(wine, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run(capsys, "select wine.csv --target class --output few.parquet")
    assert (code, err) == (
        2,
        "dropstep: --output few.parquet: writing Parquet files needs pyarrow: pip install 'dropstep[cli]'\n",
    )
    assert run(capsys, "select wine.csv --target class --output few.csv")[0] == 0


def test_no_permission_to_write(wine, capsys, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "no permission to write" in run(capsys, "select wine.csv --target class --output few.csv")[2]


def test_sizes_read_at_a_glance():
    assert [_bytes(n) for n in (5, 12e3, 3.4e6, 5.67e9)] == ["5 bytes", "12 KB", "3 MB", "5.7 GB"]


def test_several_targets(people, capsys):
    told = answer(capsys, "select people.csv --target income,work --exclude id,weight")
    assert told["target"] == {"names": ["income", "work"], "classes": None}
    code, _, err = run(capsys, "select people.csv --target income,town")
    assert code == 2
    assert "several targets must be numbers, but 'town' is text" in err


def test_a_column_that_knows_the_class_is_left_out_with_a_note(people, capsys):
    lines = Path(people).read_text().splitlines()
    copied = [lines[0] + ",again", *(f"{line},{line.split(',')[3].lower()}" for line in lines[1:])]
    Path("leak.csv").write_text("\n".join(copied))
    told = answer(capsys, "select leak.csv --target town")
    assert "'again': levels that separate some classes from the others perfectly" in " ".join(told["notes"])
    without = answer(capsys, "select leak.csv --target town --exclude again")
    assert chosen(told) == chosen(without) != []
    assert told["score"] == without["score"]
    assert not any("'again'" in note for note in without["notes"])


def test_a_column_that_knows_the_number_is_pointed_out(folder, capsys):
    rng = np.random.default_rng(5)
    y = rng.normal(size=30).round(3)
    np.savetxt("copy.csv", np.c_[rng.normal(size=30), 1e6 - 3 * y, y], "%.10g", ",", header="a,b,y", comments="")
    told = answer(capsys, "select copy.csv --target y")
    assert chosen(told)[0] == "b"
    assert "'b' determines the target exactly" in told["notes"][0]


@pytest.mark.parametrize("form", ["csv", "tsv", "csv.gz", "parquet"])
def test_output_keeps_rows_and_values(people, capsys, form):
    told = answer(capsys, f"select people.csv --target income --exclude weight --output few.{form}")
    header, *rows = csv.reader(Path(people).read_text().splitlines())
    kept = [j for j, name in enumerate(header) if name in {*chosen(told), "income"}]
    if form == "parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table("few.parquet")
        assert table.column_names == [header[j] for j in kept]
        assert table["income"].to_pylist() == [float(row[-1]) for row in rows]
        assert table["town"].to_pylist() == [row[3] for row in rows]
    else:
        opened = gzip.open if form.endswith("gz") else open
        with opened(f"few.{form}", "rt", newline="") as file:
            written = list(csv.reader(file, delimiter="\t" if form == "tsv" else ","))
        assert written == [[row[j] for j in kept] for row in (header, *rows)]
    assert sorted(os.listdir()) == sorted(["people.csv", f"few.{form}"])


def test_report_and_output_are_written_together(wine, capsys):
    code, _, err = run(capsys, "select wine.csv --target class --report wine.html --output few.csv")
    assert (code, err) == (0, "wrote few.csv\nwrote wine.html\n")
    page = Path("wine.html").read_text(encoding="utf-8")
    assert "flavanoids" in page
    assert "dropstep select wine.csv --target class --report wine.html --output few.csv" in page
    assert sorted(os.listdir()) == ["few.csv", "wine.csv", "wine.html"]


def test_files_are_whole_or_not_there(folder):
    Path("old.txt").write_text("old")

    def write() -> None:
        with output_files() as temporary:
            Path(temporary("new.txt")).write_text("new")
            Path(temporary("old.txt")).write_text("new")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write()
    assert os.listdir() == ["old.txt"]
    assert Path("old.txt").read_text() == "old"


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--output few.xlsx", "the name must end with one of .csv"),
        ("--output wine.csv", "this is the input file"),
        ("--output none/few.csv", "there is no directory 'none'"),
        ("--report sub.html", "this is not a regular file"),
        ("--report wine.txt", "the name must end with one of .html"),
    ],
)
def test_output_that_cannot_be_written_is_refused_before_any_work(wine, capsys, option, sentence, monkeypatch):
    Path("sub.html").mkdir()
    monkeypatch.setattr("dropstep.cli.select_command.any_design", lambda *_: pytest.fail("work was done"))
    code, out, err = run(capsys, f"select wine.csv --target class {option}")
    assert (code, out) == (2, "")
    assert sentence in err


def test_dry_run_says_what_it_would_cost_and_does_nothing(people, capsys, monkeypatch):
    monkeypatch.setattr("dropstep.cli.select_command.select", lambda *_, **__: pytest.fail("a search was made"))
    line = "select people.csv --target income --exclude weight --dry-run --output few.csv"
    code, out, _ = run(capsys, line)
    assert code == 0
    assert re.search(r"^town +text +feature +4 levels, e.g. Kyiv$", out, re.MULTILINE)
    assert re.search(r"^born +date +ignored", out, re.MULTILINE)
    assert "evaluations: 6 for the first feature, at most 21 for one forward pass" in out
    assert "memory: 8 KB for 120 x 8 numbers" in out
    assert "would write few.csv" in out
    told = answer(capsys, line)
    assert told["schema"] == "dropstep.plan/2"
    assert (told["first_scan"], told["table_bytes"]) == (6, 120 * 8 * 8)
    rows = list(csv.reader(io.StringIO(run(capsys, line + " --format csv")[1])))
    assert rows[0] == ["column", "type", "role", "values"]
    assert len(rows) == 11
    assert os.listdir() == ["people.csv"]
