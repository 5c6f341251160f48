"""The command line, through main(argv): requests, help, formats, progress and exit codes."""

import gzip
import inspect
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import dropstep
from commands import answer, run
from dropstep.cli import main, naming, output
from dropstep.cli.output import as_json
from dropstep.cli.parser import build_parser
from dropstep.cli.values import criterion_of
from dropstep.search.rules import Significance


def test_every_parameter_of_selector_has_an_option():
    names = set(inspect.signature(dropstep.Selector).parameters)
    args = build_parser().parse_args(["select", "x.csv", "--target", "y"])
    assert names <= vars(args).keys()


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("auto", "auto"),
        ("bic", "bic"),
        ("cp:sigma2=2", dropstep.MallowsCp(sigma2=2.0)),
        ("cp:sigma2=2,per_sample", dropstep.MallowsCp(sigma2=2.0, per_sample=True)),
        ("cp:per_sample=no", dropstep.MallowsCp()),
        ("ebic:gamma=0.5,n_candidates=9", dropstep.EBIC(gamma=0.5, n_candidates=9)),
    ],
)
def test_criteria_take_parameters(text, made):
    assert criterion_of(text) == made


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--criterion cpp", "unknown criterion 'cpp'; did you mean 'cp'? choose from auto, rss"),
        ("--criterion cp:sigma=1", "cp takes sigma2, per_sample; got 'sigma'"),
        ("--criterion cp:sigma2=x", "sigma2 must be a number; got 'x'"),
        ("--criterion cp:per_sample=7", "per_sample must be true or false"),
        ("--criterion cp:sigma2=-1", "sigma2 must be a positive finite number"),
        ("--criterion bic:gamma=1", "bic takes no parameters"),
        ("--criterion trace --model linear", "criterion 'trace' does not fit model 'linear'"),
        ("--enter often", "must be auto, a number, or a significance level such as p0.05; got 'often'"),
        ("--leave nan", "must be auto, a number, or a significance level such as p0.05; got 'nan'"),
        ("--drop p", "must be auto, a number, or a significance level such as p0.05; got 'p'"),
        ("--enter p0.15/m", "must be auto, a number, or a significance level such as p0.05; got 'p0.15/m'"),
        ("--enter p15", "a significance level must lie between 0 and 1; got 'p15'"),
        ("--leave p0", "a significance level must lie between 0 and 1; got 'p0'"),
        ("--max-features 0", "must be a whole number from 1; got '0'"),
        ("--max-features many", "must be a whole number from 1; got 'many'"),
        ("--strategy fbed:rounds=-1", "rounds must be a whole number from 0"),
        ("--strategy beam:width=0", "width must be a whole number from 1; got 0"),
        ("--strategy exhaustive:best=2", "exhaustive takes n_best; got 'best'"),
        ("--target ''", "--target is empty"),
        ("--separator ab", "must be one character"),
        ("--strategy best", "unknown strategy 'best'"),
        (
            "--strat dropping",
            "dropstep select: unrecognized arguments: --strat dropping; did you mean --strategy? (see dropstep",
        ),
        (
            "--decimal ,",
            "holds numbers written like '14.23'; omit --decimal",
        ),
        ("--exclude clas", "--exclude clas: no such column; did you mean 'class'?"),
        ("--exclude 99", "--exclude 99: columns are numbered from 1 to 14"),
        ("--exclude 9-3", "a range of columns"),
        ("--exclude class", "--target names 'class', which another option names as well"),
        ("--weights 1,2", "--weights 1,2: no such column"),
        ("--weights 1-2", "--weights takes one column"),
        ("--include class", "--include names 'class', which the target, --exclude or another option names already"),
        ("--groups ash,hue --groups hue,proline", "--groups names 'hue' in more than one group"),
        ("--strategy stepwise --enter 0.01 --leave 0.02", "choose leave <= enter"),
        ("--include ash,hue --max-features 1", "more than --max-features"),
    ],
)
def test_requests_that_cannot_be_met(wine, capsys, options, sentence):
    code, out, err = run(capsys, f"select wine.csv --target class {options}")
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("option", ["enter", "leave", "drop"])
@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("auto", "auto"),
        ("0.5", 0.5),
        ("-2", -2.0),
        ("-inf", -math.inf),
        ("p0.15", Significance(0.15)),
        ("p.05", Significance(0.05)),
        ("p1e-4", Significance(1e-4)),
    ],
)
def test_thresholds_are_numbers_or_significance_levels(option, text, made):
    args = build_parser().parse_args(["select", "x.csv", "--target", "y", f"--{option}={text}"])
    assert getattr(args, option) == made


@pytest.mark.skipif(not hasattr(dropstep, "Significance"), reason="select takes no Significance yet")
def test_a_significance_level_reaches_the_search(wine, capsys):
    document = answer(capsys, "select wine.csv --target class --enter p0.0001 --leave p0.0001")
    X = np.loadtxt(wine, delimiter=",", skiprows=1)
    level = dropstep.Significance(1e-4)
    path = dropstep.select(X[:, :-1], X[:, -1], model="discriminant", enter=level, leave=level)
    assert [step["features"] for step in document["selected"]] == [
        [list(document["ranking"])[j]] for j in path.selected
    ]
    assert run(capsys, "select wine.csv --target class --enter p0.0001 --report wine.html")[0] == 0
    assert "p0.0001" in run(capsys, "select wine.csv --target class --enter p0.0001 --format json")[1]


def test_the_library_speaks_in_options(folder, capsys):
    rng = np.random.default_rng(0)
    np.savetxt("wide.csv", rng.normal(size=(10, 20)), delimiter=",")
    err = run(capsys, "select wide.csv --no-header --target -1 --criterion cp")[2]
    assert "give it as --criterion cp:sigma2=..., or use --criterion ebic" in err
    assert "use --strategy dropping" in run(capsys, "select wide.csv --no-header --target 1 --strategy backward")[2]


def test_values_may_begin_with_a_minus_sign():
    line = "select x.csv --target -1 --exclude -3,-2 --enter -inf --leave -1e-3 --na -999 --na -"
    args = build_parser().parse_args(line.split())
    assert (args.target, args.exclude, args.na) == ("-1", ["-3,-2"], ["-999", "-"])
    assert (args.enter, args.leave) == (-math.inf, -0.001)


def test_columns_are_found_by_name_number_and_range():
    names = ["a", "b,c", "2", "d-e", "f"]
    find = naming.find_all
    assert find("--x", ["a", "b,c"], names) == (0, 1)
    assert find("--x", ['"b,c",f'], names) == (1, 4)
    assert find("--x", ["2"], names) == (2,)  # a name before a number
    assert find("--x", ["1,-1,3-4,1"], names) == (0, 4, 2, 3)
    assert find("--x", ["d-e"], names) == (3,)
    assert naming.option_list(["a b", "it's", "x,y"]) == """'a b,it'"'"'s,"x,y"'"""


def test_control_characters_are_not_obeyed(folder, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=20)
    rows = "\n".join(f"{a},{b}" for a, b in zip(x, 2 * x + 0.1 * rng.normal(size=20), strict=True))
    Path("bell.csv").write_text(f"\x1b[2Jbell\a,y\n{rows}\n")
    code, out, _ = run(capsys, "select bell.csv --target y")
    assert code == 0
    assert "\\x1b[2Jbell\\x07" in out
    assert "\x1b" not in out


# --- around the commands ---------------------------------------------------------------------------------------------


def test_help_has_examples_that_work_as_they_stand(folder, capsys, monkeypatch):
    helps = []
    for words in ([], ["select", "--help"], ["compare", "--help"]):
        assert main(words) == 0
        helps.append(capsys.readouterr().out)
    assert max(len(line) for text in helps for line in text.splitlines() if "sklearn" not in line) <= 80 + 20
    make = re.search(r"^  (python -c .*?\"$)", helps[0], re.MULTILINE | re.DOTALL)[1]
    subprocess.run(make.replace("python", shlex.quote(sys.executable), 1), shell=True, check=True)
    examples = re.findall(r"^  ((?:gzip .*)?dropstep (?:select|compare) .*)$", "\n".join(helps), re.MULTILINE)
    assert len(examples) == 14
    for line in examples:
        _, piped, last = line.rpartition("| dropstep ")
        if piped:
            stdin = io.TextIOWrapper(io.BytesIO(gzip.compress(Path("wine.csv").read_bytes())))
            monkeypatch.setattr(sys, "stdin", stdin)
        code, out, err = run(capsys, last.removeprefix("dropstep "))
        assert (code, re.sub(r"(?:wrote|note:) .*\n", "", err)) == (0, ""), line
        assert out


def test_version_and_unknown_commands(capsys):
    assert run(capsys, "--version") == (0, f"dropstep {dropstep.__version__}\n", "")
    code, _, err = run(capsys, "choose x.csv")
    assert code == 2
    assert err.count("\n") == 1
    code, _, err = run(capsys, "select x.csv")
    assert (code, err) == (
        2,
        "dropstep select: the following arguments are required: --target, the column to explain (see dropstep select "
        "--help)\n",
    )


def test_traceback_only_on_request(folder, capsys):
    assert "Traceback" not in run(capsys, "select none.csv --target y")[2]
    err = run(capsys, "select none.csv --target y --traceback")[2]
    assert "Traceback" in err
    assert err.splitlines()[-1] == "dropstep: none.csv: no such file"


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (KeyboardInterrupt(), 130, "dropstep: interrupted"),
        (MemoryError(), 2, "not enough memory for this table"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (ImportError("to_frame needs pandas: pip install 'dropstep[frames]'"), 2, "pip install 'dropstep[frames]'"),
        (np.linalg.LinAlgError("SVD did not converge"), 1, "internal error in dropstep (LinAlgError: SVD did"),
        (ZeroDivisionError("by zero"), 1, "internal error in dropstep (ZeroDivisionError: by zero); --traceback"),
    ],
)
def test_exit_codes(wine, capsys, monkeypatch, error, code, sentence):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("dropstep.cli.select_command.select", fail)
    assert main(["select", wine, "--target", "class", "--output", "few.csv"]) == code
    assert sentence in capsys.readouterr().err
    assert os.listdir() == ["wine.csv"]


def test_a_reader_that_goes_away(wine):
    shell = f"{shlex.quote(sys.executable)} -m dropstep select {wine} --target class | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "141")  # 0 when everything fitted into the pipe before it closed


def test_json_has_no_numbers_that_json_lacks():
    text = as_json({"a": [float("inf"), float("nan"), 1.5], "b": (1, None)})
    assert json.loads(text) == {"a": [None, None, 1.5], "b": [1, None]}


COMMON = ["schema", "dropstep", "command", "file", "rows", "columns", "target"]
SEARCH = [
    "strategy",
    "model",
    "criterion",
    "greater_is_better",
    "solver",
    "n_candidates",
    "n_evaluations",
    "n_fits",
    "fits_saved",
    "r2",
    "adj_r2",
    "df_resid",
    "effect",
    "coefficients",
    "steps",
    "ranking",
]
FILE = [name for name in COMMON if name != "columns"]
KEYS = {
    "select": [
        "selected",
        "evidence",
        "score",
        "start",
        "stop",
        *FILE,
        *SEARCH,
        "subsets",
        "stability",
        "holdout",
        "caveat",
        "notes",
    ],
    "plan": [
        *(*COMMON, "strategy", "solver", "first_scan", "max_evaluations", "max_fits", "table_bytes", "gram_bytes"),
        "notes",
    ],
    "compare": [*FILE, "measure", "folds", "seed", "strategies", "verdict", "notes"],
}


def keys_of(value) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(key for item in value.values() for key in keys_of(item))}
    return {key for item in value for key in keys_of(item)} if isinstance(value, list) else set()


@pytest.mark.parametrize("name", KEYS)
def test_json_is_stable_and_documented(wine, capsys, name):
    """A change of these keys is a change of the version of the document, and of docs/json.md."""
    lines = {"plan": "select wine.csv --dry-run", "compare": "compare wine.csv --strategies dropping"}
    line = f"{lines.get(name, 'select wine.csv')} --target class"
    document = answer(capsys, line)
    assert document["schema"] == f"dropstep.{name}/{2 if name == 'plan' else 3}"
    assert list(document) == KEYS[name]
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", page))))
    data = {**document, "ranking": {}, "target": {"names": [], "classes": None}}
    if name == "compare":
        data["strategies"] = [{**row, "errors": list(row["errors"].values())} for row in document["strategies"]]
    assert keys_of(data) <= documented
    if name != "compare":
        assert document == answer(capsys, line)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals_only(monkeypatch, capsys):
    times = iter(range(100))
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with output.Progress(clock=lambda: float(next(times))) as line:
        line.update("reading x.csv")
        line.update("forward: 1 selected", 1, 4)
        line.restart()
        line.update("forward: 2 selected", 2, 4, bound=True)
    shown = screen.getvalue().split("\r\x1b[K")
    assert shown[1:] == [
        "reading x.csv, 1 s",
        "forward: 1 selected, 2 s, about 6 s left",
        "forward: 2 selected, 1 s, at most 1 s left",
        "",
    ]
    for words, stream in ({"quiet": True}, Terminal()), ({}, io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with output.Progress(**words) as line:
            line.update("reading")
        assert stream.getvalue() == ""


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (61, "1 min 01 s"), (3700, "1 h 01 min")])
def test_durations_read_at_a_glance(seconds, text):
    assert output.duration(seconds) == text


def test_iris_from_pandas_with_its_index(folder, capsys):
    frame = load_iris(as_frame=True).frame
    frame["target"] = load_iris().target_names[frame["target"]]
    frame.to_csv("iris.csv")
    code, out, err = run(capsys, "select iris.csv --target target")
    assert code == 0
    assert "columns without a name are named by position: c1" in err
    assert "probable identifier: 'c1'" in err
    assert "petal length" in out
