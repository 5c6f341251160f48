"""Interrupting and resuming: the path so far is usable, and a resumed search is equal to an uninterrupted one."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer
from sklearn.naive_bayes import GaussianNB

from dropstep import Estimator, Selector, StopReason, select
from dropstep.models.estimator.checkpoint import Checkpoint
from dropstep.models.estimator.identity import fingerprint
from dropstep.search.limits import Limits
from models.estimator.problems import signal as signal_table

REACH: dict[str, Any] = {"enter": -math.inf, "drop": 0, "max_features": 3}


# --- killed ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
@pytest.mark.parametrize(("n_jobs", "n_trials"), [(1, 10), (2, 2)])
def test_a_killed_search_resumes(n_jobs: int, n_trials: int, tmp_path: Path) -> None:
    script = Path(__file__).with_name("killed.py")
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(n_jobs), str(n_trials)], capture_output=True, text=True
    )
    trials = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(trials) == n_trials, ran.stderr
    for trial in trials:
        assert trial["equal"]
        assert trial["repeated"] <= n_jobs
        assert 0 < trial["made"] < trial["wanted"] == trial["fits"]


# --- checkpoints -----------------------------------------------------------------------------------------------------


def counted() -> tuple[Any, list[int]]:
    fits: list[int] = []

    class Counted(LinearRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            fits.append(X.shape[1])
            return super().fit(X, y, sample_weight)

    Counted.__qualname__ = "Counted"
    return Counted(), fits


def test_a_finished_search_is_read_from_its_checkpoint(tmp_path: Path) -> None:
    X, y = signal_table()
    file = tmp_path / "fits"
    estimator, fits = counted()
    first = select(X, y, model=estimator, checkpoint=file, **REACH)
    assert len(fits) == first.n_fits
    assert len(file.read_bytes().splitlines()) == first.n_fits + 1
    second = select(X, y, model=estimator, checkpoint=str(file), max_time=100, n_jobs=1, **REACH)
    assert len(fits) == first.n_fits
    assert second == first == select(X, y, model=estimator, **REACH)


def test_every_prefix_of_a_checkpoint_resumes(tmp_path: Path) -> None:
    X, y = signal_table()
    file = tmp_path / "fits"
    whole = select(X, y, model=LinearRegression(), checkpoint=file, **REACH)
    content = file.read_bytes()
    for size in (0, 5, 100, 150, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:size])
        assert select(X, y, model=LinearRegression(), checkpoint=file, **REACH) == whole
        assert sorted(file.read_bytes().splitlines()) == sorted(content.splitlines())


def test_a_record_that_fails_its_checksum_is_fitted_again(tmp_path: Path) -> None:
    X, y = signal_table()
    file = tmp_path / "fits"
    whole = select(X, y, model=LinearRegression(), checkpoint=file, **REACH)
    lines = file.read_bytes().splitlines()
    lines[3] = lines[3].replace(b'"score":', b'"score":1')
    file.write_bytes(b"\n".join(lines) + b"\n")
    assert select(X, y, model=LinearRegression(), checkpoint=file, **REACH) == whole
    assert len(file.read_bytes().splitlines()) == len(lines) + 1


@pytest.mark.parametrize(
    "change",
    [
        {"X": 1},
        {"y": 1},
        {"model": LinearRegression(fit_intercept=False)},
        {"model": Estimator(LinearRegression(), racing=False)},
        {"criterion": "neg_mean_squared_error"},
        {"cv": 4},
        {"max_features": 2},
        {"strategy": "forward"},
        {"sample_weight": np.arange(80) + 1.0},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_checkpoint_of_other_data_or_parameters_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    X, y = signal_table()
    file = tmp_path / "fits"
    given: dict[str, Any] = {"model": LinearRegression(), **REACH}
    select(X, y, **given, checkpoint=file)
    before = file.read_bytes()
    X = np.where(np.arange(X.size).reshape(X.shape) == 7, 0.0, X) if "X" in change else X
    y = y + 1e-9 if "y" in change else y
    other = given | {name: value for name, value in change.items() if name not in ("X", "y")}
    with pytest.raises(ValueError, match=r"belongs to other data or parameters; choose another file, or delete it"):
        select(X, y, **other, checkpoint=file)
    assert file.read_bytes() == before


def test_functions_without_a_name_differ_by_their_code() -> None:
    def scorer(weight: float) -> Any:
        return lambda estimator, X, y: weight * estimator.score(X, y)

    assert fingerprint(scorer(1.0)) == fingerprint(scorer(1.0))
    assert fingerprint(scorer(1.0)) != fingerprint(scorer(2.0))
    assert fingerprint(lambda e, X, y: e.score(X, y)) != fingerprint(lambda e, X, y: -e.score(X, y))
    assert fingerprint(lambda e, X, y: 1) != fingerprint(lambda e, X, y: 2)
    assert fingerprint(partial(max, 1)) == fingerprint(partial(max, 1)) != fingerprint(partial(max, 2))
    nested = [fingerprint(lambda e: [x + 1 for x in e]), fingerprint(lambda e: [x + 2 for x in e])]
    assert nested[0] != nested[1]
    assert fingerprint(make_scorer(lambda y, z: 1)) != fingerprint(make_scorer(lambda y, z: 2))


def test_other_files_are_refused(tmp_path: Path) -> None:
    X, y = signal_table()
    file = tmp_path / "notes.txt"
    file.write_text("my notes\n")
    with pytest.raises(ValueError, match=r"is not a checkpoint of this version of dropstep; choose another file"):
        select(X, y, model=LinearRegression(), checkpoint=file)
    assert file.read_text() == "my notes\n"
    with pytest.raises(ValueError, match=r"is not a regular file; choose another one"):
        select(X, y, model=LinearRegression(), checkpoint=tmp_path)
    with pytest.raises(ValueError, match="checkpoint applies to a scikit-learn estimator"):
        select(X, y, checkpoint=file)


def sealed(document: Any) -> bytes:
    """A line with a checksum that matches."""
    text = (document if isinstance(document, str) else json.dumps(document)).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


@pytest.mark.parametrize(
    "content", [b'{"a": 1}', b"text", b"\x00\x01\x02", b"0", sealed("[]")[:-1], b"\n", sealed("{")]
)
def test_a_file_that_does_not_begin_as_a_checkpoint_is_kept(content: bytes, tmp_path: Path) -> None:
    X, y = signal_table()
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a checkpoint of this version of dropstep; choose another file"):
        select(X, y, model=LinearRegression(), checkpoint=file)
    assert file.read_bytes() == content


RECORD: dict[str, Any] = {"columns": [0], "fold": 0, "score": 0.5, "error": None, "warnings": []}


@pytest.mark.parametrize(
    "record",
    [
        "nothing",
        "[" * 100_000,
        "[]",
        {},
        {"schema": "dropstep.checkpoint/1"},
        *({name: value for name, value in RECORD.items() if name != gone} for gone in RECORD),
        RECORD | {"columns": 0},
        RECORD | {"columns": ["a"]},
        RECORD | {"columns": [[0]]},
        RECORD | {"fold": None},
        RECORD | {"score": "high"},
        RECORD | {"error": 5},
        RECORD | {"warnings": "none"},
        RECORD | {"warnings": [1]},
    ],
    ids=repr,
)
def test_a_line_that_is_no_record_is_refused_although_its_checksum_matches(record: Any, tmp_path: Path) -> None:
    X, y = signal_table()
    file = tmp_path / "fits"
    select(X, y, model=LinearRegression(), checkpoint=file, **REACH)
    content = file.read_bytes() + sealed(record) + b"torn"
    n_lines = content.count(b"\n")
    file.write_bytes(content)
    with pytest.raises(ValueError, match=rf"line {n_lines} of checkpoint '.*' is no record of a fit; choose another"):
        select(X, y, model=LinearRegression(), checkpoint=file, **REACH)
    assert file.read_bytes() == content


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_device_is_no_checkpoint() -> None:
    X, y = signal_table()
    with pytest.raises(ValueError, match=r"checkpoint '/dev/full' is not a regular file; choose another one"):
        select(X, y, model=LinearRegression(), checkpoint="/dev/full")


FULL_DISK = """
import resource, signal, sys
from sklearn.linear_model import LinearRegression
from dropstep import select
sys.path.insert(0, sys.argv[1])
from models.estimator.problems import signal as signal_table
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]),) * 2)
X, y = signal_table()
select(X, y, model=LinearRegression(), checkpoint=sys.argv[2], n_jobs=int(sys.argv[3]))
"""


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
@pytest.mark.parametrize("size", [10, 1000, 1010])
def test_a_full_disk_names_the_checkpoint_and_keeps_its_fits(size: int, tmp_path: Path) -> None:
    file = tmp_path / "fits"
    tests = str(Path(__file__).parents[2])
    words = [sys.executable, "-c", FULL_DISK, tests, str(file), "1", str(size)]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert ran.returncode == 1
    said = ran.stderr.splitlines()[-1]
    assert said.startswith(f"ValueError: checkpoint {str(file)!r} cannot be written (")
    assert said.endswith("; the fits before are kept, so the same call continues from there once there is space")
    X, y = signal_table()
    given: dict[str, Any] = {"model": LinearRegression()}
    assert select(X, y, checkpoint=file, **given) == select(X, y, **given)


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_a_full_disk_for_the_rows_of_several_processes(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FULL_DISK, str(Path(__file__).parents[2]), str(tmp_path / "fits"), "2", "1000"]
    (tmp_path / "tmp").mkdir()
    ran = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(tmp_path / "tmp")})
    assert ran.stderr.splitlines()[-1] == (
        f"ValueError: the rows cannot be copied to {str(tmp_path / 'tmp')!r} for several processes (File too large); "
        "set TMPDIR to a folder with more space, or use n_jobs=1"
    )
    assert os.listdir(tmp_path / "tmp") == []


def test_two_searches_on_one_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "fits"
    first = Checkpoint(file, "a")
    with pytest.raises(ValueError, match=r"is in use by another process; wait for it, or choose another file"):
        Checkpoint(file, "a")
    script = f"from dropstep.models.estimator.checkpoint import Checkpoint; Checkpoint({str(file)!r}, 'a')"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "is in use by another process" in ran.stderr
    first.close()
    Checkpoint(file, "a").close()


# --- limits ----------------------------------------------------------------------------------------------------------


def interrupting(at: int, times: int = 1) -> Any:
    """A progress callback that sends Ctrl-C at a fit."""

    def progress(done: int, remaining: int) -> None:
        if done == at:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    return progress


def test_the_first_interrupt_ends_the_search_with_the_path_so_far() -> None:
    X, y = signal_table()
    whole = select(X, y, model=LinearRegression(), strategy="forward", **REACH)
    path = select(X, y, model=LinearRegression(), strategy="forward", **REACH, progress=interrupting(30))
    assert path.stop is StopReason.INTERRUPTED
    assert path.n_fits == 30
    assert 0 < len(path.steps) < len(whole.steps)
    assert path.steps == whole.steps[: len(path.steps)]
    assert path.selected == whole.selected[: len(path.steps)]
    assert sorted(path.ranking) == [1, 2, 3, 4, 5, 6]
    assert "stopped because it was interrupted" in str(path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_interrupt_raises() -> None:
    X, y = signal_table()
    with pytest.raises(KeyboardInterrupt):
        select(X, y, model=LinearRegression(), **REACH, progress=interrupting(7, times=2))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_handlers_of_others_and_other_threads_are_respected() -> None:
    X, y = signal_table()
    seen: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        path = select(X, y, model=LinearRegression(), **REACH, progress=interrupting(7))
    finally:
        signal.signal(signal.SIGINT, previous)
    assert seen == [signal.SIGINT]
    assert path.stop is StopReason.MAX_FEATURES
    paths: list[Any] = []
    thread = threading.Thread(target=lambda: paths.append(select(X, y, model=LinearRegression(), **REACH)))
    thread.start()
    thread.join()
    assert paths == [select(X, y, model=LinearRegression(), **REACH)]


def test_time_is_limited() -> None:
    now = [0.0]
    limits = Limits(2.5, clock=lambda: now[0])
    assert limits.reason() is None
    now[0] = 2.5
    assert limits.reason() is StopReason.MAX_TIME
    X, y = signal_table()
    path = select(X, y, model=LinearRegression(), max_time=1e-9, **REACH)
    assert (path.stop, path.steps, path.n_fits) == (StopReason.MAX_TIME, (), 0)
    assert path.score == path.start
    included = select(X, y, model=LinearRegression(), max_time=1e-9, include=[1], **REACH)
    assert included.selected == (1,)
    assert included.n_fits == 5
    linear = select(X, y, max_time=1e-9, criterion="rss", enter=0)
    assert (linear.stop, len(linear.selected)) == (StopReason.MAX_TIME, 1)
    with pytest.raises(ValueError, match="max_time must be None or a positive number of seconds; got 0"):
        select(X, y, max_time=0)


def test_callbacks_end_the_search() -> None:
    X, y = signal_table()
    path = select(X, y, model=LinearRegression(), **REACH, callback=lambda step: step.action == "add")
    assert (path.stop, len(path.selected)) == (StopReason.CALLBACK, 1)
    path = select(X, y, model=LinearRegression(), **REACH, progress=lambda done, remaining: done >= 4)
    assert (path.stop, path.n_fits) == (StopReason.CALLBACK, 4)
    with pytest.raises(TypeError, match="progress must be a function of the fits done and those remaining; got 3"):
        select(X, y, model=LinearRegression(), progress=3)


def test_progress_counts_fits_and_estimates_those_to_come() -> None:
    X, y = signal_table()
    seen: list[tuple[int, int]] = []
    path = select(X, y, model=LinearRegression(), strategy="forward", **REACH,
                  progress=lambda done, remaining: seen.append((done, remaining)))  # fmt: skip
    assert [done for done, _ in seen] == list(range(1, path.n_fits + 1))
    assert all(remaining >= 0 for _, remaining in seen)
    halfway = seen[len(seen) // 2]
    assert 0.5 * path.n_fits < sum(halfway) < 2 * path.n_fits


# --- processes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error_score", ["drop", "raise"])
def test_results_do_not_depend_on_n_jobs(error_score: str, tmp_path: Path) -> None:
    X, y = signal_table()
    model = Estimator(GaussianNB(), error_score=error_score)
    one = select(X, y > 0, model=model, **REACH)
    two = select(X, y > 0, model=model, n_jobs=2, checkpoint=tmp_path / "fits", **REACH)
    assert two == one
    assert two.fits_saved == one.fits_saved


def test_a_selector_ends_on_a_callback_of_a_fit() -> None:
    callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

    class Watch(callback.FitCallback):  # type: ignore[name-defined]
        def __init__(self) -> None:
            self.names: list[str] = []

        def setup(self, estimator: Any, context: Any) -> None: ...

        def on_fit_task_begin(self, estimator: Any, context: Any, **ignored: Any) -> None: ...

        def on_fit_task_end(self, estimator: Any, context: Any, **ignored: Any) -> None:
            self.names.append(context.task_name)

        def teardown(self, estimator: Any, context: Any) -> None: ...

    watch = Watch()
    selector = Selector(model=LinearRegression(), max_features=2).set_callbacks(watch)
    selector.fit(*signal_table())
    fits = [name for name in watch.names if name.startswith("fit ") and " of about " in name]
    assert len(fits) == selector.path_.n_fits
    assert fits[0].startswith("fit 1 of about ")
