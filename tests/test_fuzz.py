"""Files that were changed at random are read or refused, and what `make fuzz` looks for is found."""

import gzip
import os
from pathlib import Path

import pytest

from bounded import Process, ProcessEndedError
from commands import run as run_command
from dropstep import select
from fuzz_files import _of_checkpoint, _of_output, is_worded, minimised, run
from mutations import BINARY_OPTIONS, Mutation, binaries, moments, mutation, texts

FIRST, COUNT = 0, 120
SENTENCE = "dropstep: table.csv: this file is empty\n"

needs_limits = pytest.mark.skipif(os.name == "nt", reason="processes have no limits of memory there")


@needs_limits
def test_changed_files_are_read_or_refused():
    """The mutations that `make fuzz TARGET=files` starts with."""
    result = run(FIRST, count=COUNT)
    assert result.n_done == COUNT
    assert {"returned", "refused"} <= result.outcomes.keys()
    assert {kind: found[0][0].number for kind, found in result.findings.items()} == {}


@needs_limits
def test_damaged_metadata_of_a_parquet_file_do_not_end_the_process():
    """Found by the fuzzer: pyarrow aborts where it reads the metadata of a damaged column."""
    assert run(815776, count=1).findings == {}


def test_a_number_is_a_mutation():
    assert [mutation(i) for i in range(40)] == [mutation(i) for i in range(40)]


@pytest.mark.parametrize("large", [False, True])
def test_the_files_are_read_before_they_are_changed(folder, capsys, monkeypatch, large):
    """Otherwise what is changed in them would not be read either."""
    if large:
        monkeypatch.setenv("DROPSTEP_LARGE_FILE", "1")
    refused = {}
    for i, text in enumerate(texts()):
        if large and text.separator == " ":  # refused
            continue
        Path(f"{i}.csv").write_bytes(gzip.compress(text.encoded()) if text.gzipped else text.encoded())
        code, _, err = run_command(capsys, f"select {i}.csv --target y --no-check {text.options}")
        refused |= {f"{i}.csv": err} if code else {}
    for file, data in binaries().items():
        Path(file).write_bytes(data)
        code, _, err = run_command(capsys, f"select {file} --target y --no-check {BINARY_OPTIONS}")
        refused |= {file: err} if code else {}
    for i, data in enumerate(moments()):
        Path(f"{i}.npz").write_bytes(data)
        code, _, err = run_command(capsys, f"moments select {i}.npz")
        refused |= {f"{i}.npz": err} if code else {}
    assert refused == {}


def raised(call):
    with pytest.raises(BaseException) as caught:  # noqa: PT011 (its type is what is tested)
        call()
    return caught.value


def test_errors_of_the_library_are_worded(folder):
    assert is_worded(raised(lambda: select([[1.0], [2.0]], [1.0, 2.0, 3.0])))
    assert is_worded(raised(lambda: os.stat("missing.csv")))
    assert is_worded(MemoryError())


@pytest.mark.parametrize(
    "call",
    [
        lambda: {"a": 1}["x"],
        lambda: int("x"),
        lambda: b"\xff".decode(),
        lambda: select([[1.0]], [1.0], enter=1 / 0),
        lambda: exec("raise OSError('corrupt')"),
    ],
)
def test_errors_of_others_are_not_worded(call):
    assert not is_worded(raised(call))


@pytest.mark.parametrize(
    ("command", "code", "out", "err", "expected"),
    [
        ("columns", 2, "", SENTENCE, []),
        ("columns", 0, "a\n", "note: a\nnote: b\n", []),
        ("columns", 1, "", SENTENCE, ["exit code 1"]),
        ("columns", 2, "", "", ["standard error is not one sentence"]),
        ("columns", 2, "", SENTENCE + "Traceback\n", ["standard error is not one sentence"]),
        ("columns", 2, "", "dropstep: \x1b[31m\n", ["control characters on standard error"]),
        ("columns", 2, "", f"dropstep: {'x' * 9_999}\n", ["a sentence is too long"]),
        ("columns", 2, "a\n", SENTENCE, ["output despite an error"]),
        ("columns", 0, "", "x.py:1: RuntimeWarning: overflow\n", ["standard error contains more than notes"]),
        ("columns", 0, "a\x07\n", "", ["control characters on standard output"]),
        ("select --format json", 0, '{"a": NaN}', "", ["standard output is not JSON"]),
        ("select --format json", 0, '{"a": 1}', "", []),
    ],
)
def test_what_is_printed_is_judged(command, code, out, err, expected):
    assert [finding.what for finding in _of_output(command.split(), code, out, err)] == expected


@pytest.mark.parametrize(
    ("before", "after", "n_findings"),
    [
        (b"head\none\n", b"head\none\ntwo\n", 0),
        (b"head\none\nto", b"head\none\ntwo\n", 0),
        (b"he", b"head\none\n", 0),
        (b"", b"head\n", 0),
        (b"text", b"text", 0),
        (b"text", b"head\n", 1),
        (b"text", b"text\nhead\n", 1),
        (b"head\none\n", b"head\n", 1),
        (b"head\n", None, 1),
    ],
)
def test_only_a_checkpoint_is_continued(before, after, n_findings):
    assert len(list(_of_checkpoint(before, after, b"head\n"))) == n_findings


@needs_limits
def test_a_process_that_ends_is_replaced():
    process = Process(eval, seconds=1, memory=2**32)
    assert process.perform("6 * 7") == 42
    with pytest.raises(ProcessEndedError, match="no end within 1 s") as hung:
        process.perform("__import__('time').sleep(30)")
    assert "in _serve" in hung.value.trace
    with pytest.raises(ProcessEndedError, match="signal SIGSEGV"):
        process.perform("__import__('signal').raise_signal(11)")
    assert process.perform("6 * 7") == 42
    process.close()


@needs_limits
def test_a_finding_is_minimised():
    command = "open(open('table.csv').read()[5:] and 'new', 'w')"
    planted = Mutation(0, {"table.csv": b"a,b\n1,2\n" * 9}, command)
    smaller = minimised(planted, ("a file was created", ""))
    assert smaller.command == command
    assert len(smaller.files["table.csv"]) == 6
