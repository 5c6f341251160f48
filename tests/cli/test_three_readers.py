"""The three readers, with the commands and calls that they would type, on real tables: what each must see.

A biologist with many genes and few samples, a statistician with factors and missing values, and a data scientist whose
positives are rare.
"""

import csv
import gzip
import json
import re
import warnings
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from commands import answer, chosen, run
from dropstep import Selector, select


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def page_of(file: str) -> str:
    """The text of the first screen of a report: all that comes before the links to the sections."""
    html = Path(file).read_text(encoding="utf-8").split("<nav")[0]
    text = re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL))
    return " ".join(unescape(text).split())


# --- the biologist ---------------------------------------------------------------------------------------------------


def test_biologist_golub(data_dir, capsys):
    """72 samples, 7,129 genes: all three genes by name, how stable each is, and why it stopped."""
    file = data_dir / "golub_leukemia.csv.gz"
    code, out, err = run(capsys, f"select {file} -t class --exclude sample,split --report golub.html")
    assert code == 0
    assert "3 of 7,129 features selected: X95735_at, Y07604_at, L07633_at" in out
    assert re.search(r"Selected again on 100 half-samples: X95735_at \d+%, Y07604_at \d+%, L07633_at \d+%\.", out)
    assert re.search(r"error rate \d+\.\d% against 34\.\d%", out)
    assert re.search(r"best p = [\d.]+e-05 \(\w+\), needed 2\.8e-05\)", out)
    assert err.endswith("wrote golub.html\n")
    seen = page_of("golub.html")
    for gene in ("X95735_at", "Y07604_at", "L07633_at"):
        assert seen.count(gene) >= 2
    for part in ("Stability", "mean 378 in ALL, 3,286 in AML", "no features", "all 7,129 features", "What now?"):
        assert part in seen


def test_biologist_notes_come_first(data_dir, capsys):
    """Without --exclude, the sample number and the split are pointed out at the top of the report."""
    code, _, err = run(capsys, f"select {data_dir / 'golub_leukemia.csv.gz'} -t class --report golub.html --no-check")
    assert code == 0
    assert "note: probable identifier: 'sample'" in err
    seen = page_of("golub.html")
    assert seen.index("Probable identifier: 'sample'") < seen.index("Effect")
    assert "'split' seems to mark training and test rows" in seen


def test_biologist_transposed(data_dir, capsys):
    """Genes in rows, as many repositories deliver them: the error says --transpose, and with it all is as before."""
    with gzip.open(data_dir / "alon_colon.csv.gz", "rt", newline="") as stream:
        rows = list(csv.reader(stream))
    with open("colon.tsv", "w", newline="") as stream:
        names = ["gene", *(f"sample{i}" for i in range(1, len(rows)))]
        csv.writer(stream, delimiter="\t").writerows([names, *zip(*rows, strict=True)])
    code, _, err = run(capsys, "select colon.tsv -t class")
    assert code == 2
    assert err.rstrip().endswith("if rows are features and columns are samples, add --transpose")
    found = answer(capsys, "select colon.tsv -t class --transpose")
    assert chosen(found) == chosen(answer(capsys, f"select {data_dir / 'alon_colon.csv.gz'} -t class"))
    assert any("9 columns repeat an earlier one exactly" in note for note in found["notes"])


def test_biologist_riboflavin(data_dir, capsys):
    """A continuous trait: RMSE against the mean and against all genes."""
    code, out, _ = run(capsys, f"select {data_dir / 'riboflavin.csv.gz'} -t y --report r.html")
    assert code == 0
    assert re.search(r"Better than using no features: RMSE 0\.\d+ against 0\.9\d+", out)
    assert "coefficient" in page_of("r.html")


# --- the statistician ------------------------------------------------------------------------------------------------


def test_statistician_penguins(capsys):
    """Factors as a whole, missing values named with their columns, levels as coefficients, p-values and df."""
    penguins = pytest.importorskip("palmerpenguins").load_penguins()
    penguins.to_csv("penguins.csv", index=False)
    code, _, err = run(capsys, "select penguins.csv -t body_mass_g")
    assert code == 2
    assert "values are missing in 'sex' (11)" in err
    assert "choose --missing drop or --missing drop-columns" in err
    code, out, err = run(
        capsys, "select penguins.csv -t body_mass_g --missing drop --strategy both --criterion BIC -r p.html"
    )
    assert code == 0
    assert "note: ignored 11 of 344 rows, because values are missing" in err
    assert "species=Gentoo" in out
    assert "residual degrees of freedom" in out
    assert re.search(r"best gain = -\d\S* \(\w+\), needed more than 0\)", out)
    seen = page_of("p.html")
    assert "Ignored 11 of 344 rows, because values are missing." in seen
    assert re.search(r"species \d+% coefficients −\d+ \(Chinstrap\), 1,\d+ \(Gentoo\)", seen)


def test_statistician_cars(capsys):
    """A table of a package on PyPI: text, a date and missing values, by significance levels as in SAS."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, in the package itself
        pytest.importorskip("vega_datasets").data.cars().to_csv("cars.csv", index=False)
    line = "select cars.csv -t Miles_per_Gallon --missing drop --exclude Name"
    code, out, err = run(capsys, f"{line} --strategy stepwise --criterion rss --enter p0.15 --leave p0.15")
    assert code == 0
    assert "ignored columns with dates or lists: 'Year'" in err
    assert "Weight_in_lbs" in out
    assert "Origin=USA" in out or "Origin=Japan" in out
    assert re.search(r"Stopped because .*\(best p = 0\.\d+ \(\w+\), needed 0\.15\)\.", out)


def test_statistician_methods_paragraph(capsys):
    fair = pytest.importorskip("statsmodels.api").datasets.fair.load_pandas().data
    fair["affair"] = (fair["affairs"] > 0).astype(int)
    fair.drop(columns="affairs").to_csv("fair.csv", index=False)
    assert run(capsys, "select fair.csv -t affair --model logistic --report f.html")[0] == 0
    seen = page_of("f.html")
    assert re.search(r"rate_marriage 100% odds ratio 0\.489 \(0\.460 to 0\.520\)", seen)
    html = Path("f.html").read_text(encoding="utf-8")
    assert "among 8 candidates in 6,366 samples" in html
    assert r"\texttt{rate\_marriage}" in html


# --- the data scientist ----------------------------------------------------------------------------------------------


def rare() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Survey of 6,366 women (Fair 1978): about 6 % report many affairs."""
    fair = pytest.importorskip("statsmodels.api").datasets.fair.load_pandas().data
    y = (fair.pop("affairs") > 3.2).to_numpy().astype(int)
    return fair.to_numpy(), y, list(fair.columns)


def write_rare(file: str) -> None:
    X, y, names = rare()
    np.savetxt(file, np.c_[X, y], "%.4g", ",", header=",".join([*names, "many"]), comments="")


def test_data_scientist_six_percent(capsys):
    """The error rate would look good without any feature, so the verdict is by log loss."""
    _, y, _ = rare()
    assert 0.05 < y.mean() < 0.07
    write_rare("rare.csv")
    code, out, _ = run(capsys, "select rare.csv -t many --max-features 3 --report rare.html")
    assert code == 0
    assert "3 of 8 features selected: rate_marriage" in out
    assert re.search(r"log loss 0\.\d+ against 0\.2\d+", out)
    assert "Stopped because max_features=3 is reached." in out
    assert "all 8 features" in page_of("rare.html")


def test_data_scientist_habits():
    """What is typed first, coming from scikit-learn and mlxtend, is answered with the parameter to use."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    X, y, _ = rare()
    for params, use in (
        ({"estimator": LogisticRegression()}, "use model"),
        ({"n_features_to_select": 5}, "use max_features"),
        ({"direction": "forward"}, "use strategy='forward'"),
        ({"scoring": "roc_auc"}, "use criterion"),
    ):
        with pytest.raises(TypeError, match=use):
            Selector(**params)
    pipeline = make_pipeline(Selector(max_features=5), LogisticRegression(max_iter=5000)).fit(X, y)
    assert pipeline[:-1].get_feature_names_out().tolist() == [f"x{j}" for j in sorted(pipeline[0].selected_)]
    assert len(repr(pipeline[0].path_)) < 120


def test_data_scientist_reads_json(capsys):
    X, y, names = rare()
    write_rare("rare.csv")
    code, out, _ = run(capsys, "select rare.csv -t many --max-features 3 --format json")
    assert code == 0
    document = json.loads(out)
    assert next(iter(document)) == "selected"
    expected = [names[j] for j in select(X, y, max_features=3).selected]
    assert [entry["features"] for entry in document["selected"]] == [[name] for name in expected]
