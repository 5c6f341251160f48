"""dropstep select on every public dataset that holds its target, with no option but the target and --no-header."""

import json

import pytest

from dropstep.cli import main

# File, options, and how many features are selected of how many.
ANSWERED = [
    ("biodeg.csv", "--no-header --target -1", 15, 41),
    ("ionosphere.data", "--no-header --target -1", 6, 34),
    ("optdigits.tra", "--no-header --target -1", 54, 64),
    ("optdigits.tes", "--no-header --target -1", 54, 64),
    ("sat.trn", "--no-header --target c37", 31, 36),
    ("sat.tst", "--no-header --target 37", 24, 36),
    ("spambase.data", "--no-header --target -1", 44, 57),
    ("isolet5.data.gz", "--no-header --target -1", None, 617),
    ("musk2.csv.gz", "--target class", None, 167),
    ("golub_leukemia.csv.gz", "--target class", 3, 7131),
    ("alon_colon.csv.gz", "--target class", 1, 2000),
    ("singh_prostate.csv.gz", "--target class", 2, 12600),
    ("riboflavin.csv.gz", "--target y", 4, 4088),
    ("diabetes64.csv.gz", "--target y", 7, 64),
    ("wheat.csv.gz", "--target y1,y2,y3,y4", 19, 1279),
    ("qsar_melting_point.csv.gz", "--target y", None, 203),
    # With what the refusals below ask for:
    ("clean1.data", "--no-header --target -1 --exclude c1", None, 166),
    ("communities.data.gz", "--no-header --target -1 --missing drop-columns", None, 101),
    ("pd_speech_features.csv.gz", "--skip 1 --target class --exclude id", None, 753),
    ("mice_pheno.csv.gz", "--target Obesity.BMI --missing drop", 2, 35),
]
REFUSED = [
    ("communities.data.gz", "--no-header --target -1", "and 20 more columns, in 1,871 of 1,994 rows; choose --missing"),
    ("pd_speech_features.csv.gz", "--target class", "if the names are in the next line, add --skip 1"),
    ("mice_pheno.csv.gz", "--target Obesity.BMI", "'Biochem.Potassium' (1661)"),
    ("BlogFeedback.zip", "--no-header --target -1", "this is a zip archive"),
    ("spambase.data", "--target -1", "add --no-header"),
    ("ionosphere.data", "--target -1", "add --no-header"),
]


@pytest.mark.parametrize(("file", "options", "size", "features"), ANSWERED)
def test_a_sensible_answer(data_dir, capsys, file, options, size, features):
    code = main(["select", str(data_dir / file), *options.split(), "--format", "json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    told = json.loads(out)
    assert len(told["ranking"]) == features
    assert len(told["selected"]) == size if size is not None else 1 < len(told["selected"]) < features
    assert told["stop"]["reason"] == "enter"


@pytest.mark.parametrize(("file", "options", "sentence"), REFUSED)
def test_a_sentence_that_says_what_is_needed(data_dir, capsys, file, options, sentence):
    code = main(["select", str(data_dir / file), *options.split()])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_columns_that_are_like_ids_are_pointed_out(data_dir, capsys):
    assert main(["select", str(data_dir / "golub_leukemia.csv.gz"), "--target", "class", "--max-features", "1"]) == 0
    assert "probable identifier: 'sample'" in capsys.readouterr().err
    assert main(["select", str(data_dir / "clean1.data"), "--no-header", "--target", "-1", "--exclude", "1"]) == 0
    assert "probably identifiers: 'c2' (476 levels)" in capsys.readouterr().err


def test_a_name_that_determines_the_class_is_left_out(data_dir, capsys):
    file = str(data_dir / "clean1.data")
    told = []
    for options in ([], ["--exclude", "1"]):
        assert main(["select", file, "--no-header", "--target", "-1", *options, "--format", "json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert "'c1': levels that separate some classes from the others perfectly" in " ".join(told[0]["notes"])
    assert told[0]["score"] == told[1]["score"]
