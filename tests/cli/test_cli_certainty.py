"""--stability, --holdout, and rules that are calibrated on the data, on the command line."""

from pathlib import Path

import numpy as np
import pytest

from commands import answer, run


def test_stability_and_holdout_in_the_table(wine, capsys):
    code, out, err = run(capsys, f"select {wine} --target alcohol --exclude class --stability 10 --holdout 0.3")
    assert code == 0, err
    assert "The selection was repeated on 10 random halves of the rows." in out
    assert "false ones are expected" in out
    assert "rows that took no part in the selection, the share of the variance that is predicted (R²) is" in out
    assert "held-out rows" in out


def test_stability_and_holdout_in_json(wine, capsys):
    found = answer(capsys, f"select {wine} --target class --stability 6 --holdout 0.25")
    assert found["stability"]["n_halves"] == 6
    assert all(0 <= share <= 1 for share in found["stability"]["frequencies"].values())
    assert found["holdout"]["metric"] == "accuracy"
    assert 40 <= found["holdout"]["n_rows"] <= 48
    assert found["holdout"]["score"] > 0.8
    assert found["holdout"]["coefficients"] == []
    assert found["holdout"]["covariance"] is None
    plain = answer(capsys, f"select {wine} --target class")
    assert plain["stability"] is None
    assert plain["holdout"] is None


def test_the_report_says_it_in_plain_words(wine, capsys):
    line = f"select {wine} --target class --model logistic --max-features 2 --stability 4 --holdout 0.3 --report r.html"
    code, _, err = run(capsys, line)
    assert code == 0, err
    page = Path("r.html").read_text(encoding="utf-8")
    assert "How sure is the selection?" in page
    assert "What holds on other rows?" in page


def table(file, rows):
    file.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n", encoding="utf-8")
    return file


def test_what_is_said_where_little_is_found(tmp_path, capsys):
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((60, 2)).round(3)
    numeric = table(tmp_path / "noise.csv", [("a", "y"), *numbers.tolist()])
    _, out, _ = run(capsys, f"select {numeric} --target y --stability 4 --holdout 0.3")
    assert "No feature is selected on at least 75% of them." in out
    assert "false ones are expected" not in out
    kinds = ["rare"] * 3 + ["p"] * 57
    rare = table(tmp_path / "rare.csv", [("a", "kind"), *zip(numbers[:, 0], kinds, strict=True)])
    _, out, _ = run(capsys, f"select {rare} --target kind --stability 4")
    assert "On 2 of them nothing could be fitted, because the target hardly varies there" in out


def test_held_out_rows_that_equal_others_by_coincidence(tmp_path, capsys):
    rng = np.random.default_rng(0)
    sex, young = rng.choice(["m", "f"], 200), rng.choice(["yes", "no"], 200)
    lived = np.where((sex == "f") ^ (rng.random(200) < 0.2), "yes", "no")
    file = table(tmp_path / "discrete.csv", [("sex", "young", "lived"), *zip(sex, young, lived, strict=True)])
    found = answer(capsys, f"select {file} --target lived --model logistic --holdout 0.4")
    assert [row["name"] for row in found["holdout"]["coefficients"]] == ["sex=m"]
    assert found["holdout"]["covariance"] == "HC3"
    code, out, err = run(capsys, f"select {file} --target lived --model logistic --holdout 0.4")
    assert code == 0, err
    assert "The most frequent class has a share of" in out
    assert "fitted on these rows, with robust standard errors (HC3), are not biased by the selection" in out


def test_groups_of_rows_stay_together(tmp_path, capsys):
    """Rows of one person are alike, so that persons, not rows, are held out."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(20), 5)
    x = rng.standard_normal(20)[person]
    file = table(
        tmp_path / "persons.csv", [("x", "person", "y"), *zip(x, person, x + rng.standard_normal(100), strict=True)]
    )
    line = f"select {file} --target y --groups-column person --holdout 0.25 --stability 4"
    assert answer(capsys, line)["holdout"]["n_rows"] == 25
    code, _, err = run(capsys, f"select {file} --target y --groups-column person")
    assert code == 2
    assert "--groups-column applies to a scikit-learn estimator and to --criterion cv" in err
    assert "pass --groups-column where rows are divided (stability, compare, infer, report)" in err
    code, _, err = run(capsys, f"select {file} --target y --groups-column person --report {tmp_path / 'r.html'}")
    assert code == 0, err


def test_identifiers_that_repeat_are_noted(tmp_path, capsys):
    rng = np.random.default_rng(0)
    person = np.repeat(rng.permutation(30), 3)
    columns = (rng.standard_normal(90), person, rng.standard_normal(90))
    file = table(tmp_path / "persons.csv", [("x", "person", "y"), *zip(*columns, strict=True)])
    (note,) = [note for note in answer(capsys, f"select {file} --target y")["notes"] if "person" in note]
    assert note.startswith("'person' may identify persons or other units with several rows each")
    assert note.endswith("(stability, compare, infer, report), and use --exclude person")
    found = answer(capsys, f"select {file} --target y --groups-column person --holdout 0.25")
    assert not any("person" in note for note in found["notes"])


@pytest.mark.parametrize("rule", ["permutation:0.05", "knockoffs:0.3"])
@pytest.mark.no_cover  # the same lines for every permutation
def test_calibrated_rules(rule, wine, capsys):
    code, out, err = run(capsys, f"select {wine} --target class --strategy forward --enter {rule} --report r.html")
    assert code == 0, err
    assert "forward by trace" in out
    words = "permutations of the residuals" if rule.startswith("perm") else "a false discovery rate of 0.3"
    assert words in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--stability 5", "must be an even number of half-samples from 2; got '5'"),
        ("--stability many", "must be an even number of half-samples from 2; got 'many'"),
        ("--holdout 30", "must be a share of the rows between 0 and 1, such as 0.3; got '30'"),
        ("--holdout 0.001", "of 178 rows; both parts need at least 3"),
        ("--enter knockoffs:0.1", "judges a whole forward path"),
        ("--enter permutation:x", "must be permutation: and a share between 0 and 1; got 'permutation:x'"),
    ],
)
def test_options_that_are_refused(options, message, wine, capsys):
    code, _, err = run(capsys, f"select {wine} --target class {options}")
    assert code == 2
    assert message in err
