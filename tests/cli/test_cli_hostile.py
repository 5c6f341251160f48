"""Files and options that are made to do harm: nothing hangs, nothing is executed, and memory stays in proportion."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import run, write_people, write_wine
from dropstep import select

MAX_MEMORY = 700 * 2**20  # bytes of the process; Python and the libraries take 150 MB of it
MEASURED = """
import sys
from dropstep.cli import main
code = main(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(code, int(peak) * 1024, file=sys.stderr)
"""


def memory(*arguments: str) -> tuple[int, int, str]:
    """Exit code, peak memory in bytes and standard error of a command that has a process of its own."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak memory of a process is read from /proc")
    done = subprocess.run([sys.executable, "-c", MEASURED, *arguments], capture_output=True, text=True, check=True)
    *err, last = done.stderr.splitlines()
    code, peak = map(int, last.split())
    return code, peak, "\n".join(err)


# --- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("last", "p"), [("", 100_000), ("1", 20_000), ('"', 20_000)])
@pytest.mark.no_cover  # the same lines for every column
def test_rows_of_separators_take_linear_time(folder, capsys, last, p):
    names = ",".join(f"x{j}" for j in range(p))
    Path("wide.csv").write_text("\n".join([names, *["," * (p - 1) + last] * 20]) + "\n")
    code, _, err = run(capsys, f"select wide.csv --target x{p - 1}")
    assert code == 2
    assert err.startswith("dropstep: wide.csv: " if last != "1" else "dropstep: wide.csv: no feature remains")
    assert "internal error" not in err


def test_a_quote_that_is_never_closed_takes_linear_time(folder, capsys):
    Path("quote.csv").write_text("a,b\n1,2\n" + '"' + "\n" * 2**23)
    assert run(capsys, "columns quote.csv") == (0, "a\nb\n", "")


@pytest.mark.parametrize("size", ["1", "10000000"])
def test_a_cell_of_many_digits_takes_linear_time(folder, capsys, monkeypatch, size):
    rows = [f"{i % 7},{i % 5}" for i in range(30)]
    Path("digits.csv").write_text("\n".join(["a,y", *rows, "1" * 10**6 + "x,1"]) + "\n")
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", size)
    assert run(capsys, "select digits.csv --target y")[0] in (0, 2)


# --- memory ----------------------------------------------------------------------------------------------------------


def write_rows_csv(file: str) -> None:
    with gzip.open(file, "wb") as stream:
        stream.write(b"a,b,y\n")
        for _ in range(80):
            stream.write(b"1,2,3\n4,5,6\n2,7,1\n" * 100_000)


def write_line_csv(file: str) -> None:
    with gzip.open(file, "wb") as stream:
        stream.write(b"a,b,y\n1,2,3\n4,")
        for _ in range(200):
            stream.write(b"0" * 2**20)


def write_header_csv(file: str) -> None:
    with gzip.open(file, "wb") as stream:
        for _ in range(200):
            stream.write(b"a" * 2**20)


def write_rows_parquet(file: str) -> None:
    n = 10**6
    table = pa.table({"a": np.zeros(n), "b": np.arange(n) % 7.0, "y": np.arange(n) % 5.0})
    with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for _ in range(25):
            writer.write_table(table)


def write_rows_arrow(file: str) -> None:
    n = 10**6
    batch = pa.record_batch({"a": np.zeros(n), "b": np.arange(n) % 7.0, "y": np.arange(n) % 5.0})
    with pa.OSFile(file, "wb") as out:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(out, batch.schema, options=options) as writer:
            for _ in range(25):
                writer.write_batch(batch)


def write_text_parquet(file: str) -> None:
    numbers = np.random.default_rng(0).normal(size=(2, 100))
    texts = ["x" * 3 * 10**8, *["y"] * 99]
    table = pa.table({"t": texts, "a": numbers[0], "y": numbers[1]})
    pq.write_table(table, file, compression="zstd", use_dictionary=False)


BOMBS = {
    "rows.csv.gz": (write_rows_csv, 0, ""),
    "line.csv.gz": (write_line_csv, 2, "a row is longer than 32 MB, so this is not a table"),
    "header.csv.gz": (write_header_csv, 2, "a row is longer than 32 MB, so this is not a table"),
    "rows.parquet": (write_rows_parquet, 0, ""),
    "rows.arrow": (write_rows_arrow, 0, ""),
    "text.parquet": (write_text_parquet, 2, "the values of column 't' have more than 64 kB each, so they cannot be"),
}


@pytest.mark.parametrize("file", BOMBS)
def test_a_compressed_table_takes_memory_in_proportion(folder, monkeypatch, file):
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", str(2**27))
    write, expected, sentence = BOMBS[file]
    write(file)
    assert Path(file).stat().st_size < 2**20
    code, peak, err = memory("select", file, "--target", "y")
    assert code == expected
    assert sentence in err
    assert peak < MAX_MEMORY
    _, peak, _ = memory("columns", file)
    assert peak < MAX_MEMORY


def test_the_excluded_column_of_long_texts_is_not_read(folder, capsys):
    write_text_parquet("text.parquet")
    code, peak, err = memory("select", "text.parquet", "--target", "y", "--exclude", "t")
    assert (code, err) == (0, "")
    assert peak < MAX_MEMORY


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("rows.csv.gz", "this table has more than 100 MB of text, which does not fit into the free memory; remove"),
        ("rows.parquet", "the table in this Parquet file has more than 400 MB, which does not fit into the free"),
        ("rows.arrow", "the table in this Arrow file has more than 400 MB, which does not fit into the free memory"),
    ],
)
def test_a_table_that_must_be_in_memory_is_refused_if_it_does_not_fit(folder, capsys, monkeypatch, file, sentence):
    BOMBS[file][0](file)
    for module in ("content", "delimited", "files"):
        monkeypatch.setattr(f"dropstep.backends.{module}.free_memory", lambda: 1600 * 2**20)
    code, _, err = run(capsys, f"compare {file} --target y")
    assert code == 2
    assert sentence in err


def test_names_of_a_large_file_come_from_its_beginning(folder, capsys):
    with open("long.csv", "w", encoding="utf-16") as stream:
        stream.write('a,"b\nc",y\n')
        stream.writelines(f'{i},"é\n{i}",1\n' for i in range(700_000))
    assert Path("long.csv").stat().st_size > 2**23
    assert run(capsys, "columns long.csv") == (0, "a\nb\\nc\ny\n", "")


# --- what is run -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["os:system:command='touch run'", "subprocess:Popen:args=['touch','run']", "os:path"])
def test_only_estimators_are_called(folder, capsys, model):
    write_wine("wine.csv")
    code, _, err = run(capsys, f'select wine.csv --target class --model "{model}"')
    assert code == 2
    assert "is not an estimator of scikit-learn: it must be a class with fit and get_params" in err
    assert not Path("run").exists()


def test_values_of_parameters_may_contain_commas(folder, capsys):
    write_wine("wine.csv")
    model = "sklearn.tree:DecisionTreeClassifier:class_weight={0:1,1:2,2:1},criterion='gini',max_depth=2"
    code, out, err = run(capsys, f'select wine.csv --target class --max-features 1 --cv 2 --model "{model}"')
    assert (code, err) == (0, "")
    assert "(DecisionTreeClassifier)" in out


def test_names_cannot_control_the_terminal(folder, capsys):
    Path("names.csv").write_text("a\x1b[31m,b\x07,y\n1,2,3\n2,4,5\n")
    assert run(capsys, "columns names.csv") == (0, "a\\x1b[31m\nb\\x07\ny\n", "")


# --- tables without features, and other numerals ---------------------------------------------------------------------


def test_a_file_whose_only_column_identifies_rows_is_refused(folder, capsys, monkeypatch):
    rng = np.random.default_rng(0)
    Path("id.csv").write_text("id,y\n" + "".join(f"P{i:03d},{rng.normal():.4f}\n" for i in range(60)))
    for size in ("1", "1000000"):
        monkeypatch.setenv("DROPSTEP_LARGE_FILE", size)
        with pytest.raises(ValueError, match=r"^no feature remains: .* identifiers: 'id' \(60 levels\)$"):
            select("id.csv", "y")
        code, _, err = run(capsys, "select id.csv --target y")
        assert code == 2
        assert "no feature remains" in err


@pytest.mark.parametrize("size", ["1", "1000000"])
def test_decimal_commas_are_named_with_the_option_that_reads_them(folder, capsys, monkeypatch, size):
    rng = np.random.default_rng(0)
    rows = ["a;y", *(f"{a:.4f};{y:.4f}".replace(".", ",") for a, y in rng.normal(size=(60, 2)))]
    Path("comma.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", size)
    code, _, err = run(capsys, "select comma.csv --target y")
    assert code == 2
    assert "holds numbers written like '" in err
    assert err.endswith("; add --decimal , for a decimal comma\n")
    assert run(capsys, "select comma.csv --target y --decimal ,")[0] == 0
    with pytest.raises(
        ValueError,
        match=r"comma.csv: column 'y' holds numbers written like '.*'; use dropstep\.read\(file, d",
    ):
        select("comma.csv", "y")


# --- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["1", "1000000"])
@pytest.mark.parametrize("skip", [1_000, 99_999_999_999])
def test_more_lines_than_there_are_may_be_skipped(folder, capsys, monkeypatch, size, skip):
    write_wine("wine.csv")
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", size)
    code, _, err = run(capsys, f"select wine.csv --target class --skip {skip}")
    assert code == 2
    assert err.startswith("dropstep: wine.csv: nothing remains ")
    assert err.endswith(f"after skipping {skip:,} lines\n")


def test_those_who_transpose_are_not_advised_to(folder, capsys):
    write_people("people.csv")
    err = run(capsys, "select people.csv --target income --transpose --missing drop")[2]
    assert err.endswith("a row of the first column has that name; omit --transpose\n")


def test_text_among_numbers_in_a_later_file_is_no_damage(folder, capsys):
    numbers = np.random.default_rng(0).normal(size=(2, 50))
    Path("d").mkdir()
    pq.write_table(pa.table({"a": numbers[0], "y": numbers[1]}), "d/1.parquet")
    pq.write_table(pa.table({"a": [*map(str, numbers[0][1:]), "none"], "y": numbers[1]}), "d/2.parquet")
    sentence = (
        "d/2.parquet: column 'a' has the type string, and its values cannot be converted to double, the type in the "
        "first file; convert them, or use "
    )
    with pytest.raises(ValueError, match=re.escape(sentence + "exclude=['a']")):
        select("d/*.parquet", "y")
    assert run(capsys, "select 'd/*.parquet' --target y") == (2, "", f"dropstep: {sentence}--exclude a\n")


# --- what the fuzzer found -------------------------------------------------------------------------------------------

N = 40


def numbers(j: int) -> np.ndarray:
    return np.random.default_rng(j).normal(size=N)


@pytest.mark.parametrize("size", ["1", "1000000"])
@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"town": pa.array(["Oslo", "Rome", None, "Kyiv"] * 10).dictionary_encode()}, "--missing level", ""),
        ({"day": pa.array([2**31 - 1] * N, pa.date32())}, "", "note: ignored columns with dates or lists: 'day'"),
        ({"d": pa.array([2**62] * N, pa.duration("s"))}, "", "note: ignored columns with dates or lists: 'd'"),
        (
            {"t": pa.array(range(N), pa.timestamp("s", "No/Where"))},
            "",
            "note: ignored columns with dates or lists: 't'",
        ),
        ({"y": pa.array([0, 2**64 - 1, 2**63, 5] * 10, pa.uint64())}, "", ""),
        ({"b": pa.array([[1]] * N)}, "--target b,y", "dropstep: "),
    ],
)
def test_types_of_columns(folder, capsys, monkeypatch, size, columns, options, sentence):
    x = numbers(1)
    pq.write_table(pa.table({"a": x, "y": x + numbers(2)} | columns), "table.parquet")
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", size)
    target = "" if "--target" in options else "--target y"
    code, _, err = run(capsys, f"select table.parquet {target} {options}")
    assert code == (2 if sentence == "dropstep: " else 0)
    assert err.startswith(sentence)


@pytest.mark.parametrize("size", ["1", "1000000"])
@pytest.mark.parametrize(
    ("head", "encoding", "options", "code", "sentence"),
    [
        ("a,y", "utf-16", "", 0, ""),
        ("a\ud800,y", "utf-8", "", 2, "; use another --encoding, e.g. --encoding latin-1"),
        ("a,y", "utf-8", "--encoding hex", 2, "unknown encoding 'hex'; choose another --encoding"),
        ("a,y", "utf-8", "--encoding no-such", 2, "unknown encoding 'no-such'; choose another --encoding"),
        ("a,y", "utf-8", "--encoding punycode", 2, "unknown encoding 'punycode'; choose another --encoding"),
        ("a,y", "utf-8", "--encoding undefined", 2, "unknown encoding 'undefined'; choose another --encoding"),
        ("a,y", "utf-8", "--encoding utf-32", 2, "; use another --encoding, e.g. --encoding latin-1"),
        ("a,y", "utf-8", "--separator \u00e9", 2, "--separator: must be one character of ASCII; got"),
        ("a,y", "utf-8", "--decimal \u00e9", 2, "--decimal: must be one character of ASCII; got"),
        ("a,y", "utf-8", "--na \udcff", 0, ""),
    ],
)
def test_encodings_and_marks(folder, capsys, monkeypatch, size, head, encoding, options, code, sentence):
    lines = [head, *(f"{a:.3f},{a + e:.3f}" for a, e in zip(numbers(1), numbers(2), strict=True))]
    Path("table.csv").write_bytes("\n".join(lines).encode(encoding, "surrogatepass"))
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", size)
    found, _, err = run(capsys, f"select table.csv --target y {options}")
    assert found == code
    assert sentence in err


def test_a_criterion_of_held_out_rows_needs_them_in_memory(folder, capsys, monkeypatch):
    write_wine("wine.csv")
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", "1")
    code, _, err = run(capsys, "select wine.csv --target alcohol --criterion cv")
    assert code == 2
    assert err == (
        "dropstep: wine.csv: --criterion cv needs all rows in memory, but the file is read in blocks; use another one "
        "such as ebic\n"
    )


def test_folds_of_lone_rows(folder, capsys):
    Path("two.csv").write_text("a,b,town\n1,2,x\n2,1,z\n")
    code, _, err = run(capsys, "compare two.csv --target town --folds 2")
    assert (code, err) == (2, "dropstep: 2 folds require a class of at least 2 rows; the largest has 1\n")
    rows = [f"{a:.3f},{i // 4}" for i, a in enumerate(numbers(1))]
    Path("four.csv").write_text("\n".join(["a,y", *rows]) + "\n")
    expected = "5 folds require a class of at least 5 rows; the largest has 4\n"
    for model in ("discriminant --criterion cv", "sklearn.naive_bayes:GaussianNB"):
        code, _, err = run(capsys, f"select four.csv --target y --categorical y --model {model}")
        assert code == 2
        assert err.endswith(expected)
    Path("three.csv").write_text("a,b,town\n0,4,p\n2,0,r\n5,9,p\n")
    code, _, err = run(capsys, "compare three.csv --target town --folds 2 --strategies forward")
    assert code == 0
    assert err.endswith("the training rows of a fold have no class of two rows or more; use fewer folds\n")


def test_damaged_arrow_buffers_are_refused(folder, capsys, monkeypatch):
    table = pa.table({"a": numbers(1), "town": ["Oslo", "Rome"] * (N // 2), "y": numbers(2)})
    offsets = np.arange(0, 4 * (N + 1), 4, dtype="<i4").tobytes()
    for file, make in (("table.arrow", pa.ipc.new_file), ("table.arrows", pa.ipc.new_stream)):
        with make(file, table.schema) as writer:
            writer.write_table(table)
        content = Path(file).read_bytes()
        assert content.count(offsets) == 1
        Path(file).write_bytes(content.replace(offsets, offsets[:40] + b"\xff\xff\xff\x7f" + offsets[44:]))
        for size in ("1", "1000000"):
            monkeypatch.setenv("DROPSTEP_LARGE_FILE", size)
            code, _, err = run(capsys, f"select {file} --target y")
            assert code == 2
            assert "damaged or truncated" in err
