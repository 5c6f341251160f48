"""Fixtures shared by all tests."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from commands import write_wine

# The same examples in every run: all randomness is seeded.
settings.register_profile("seeded", derandomize=True, deadline=None)
settings.load_profile("seeded")

# A shell ignores Ctrl-C in what it starts in the background; the tests of interrupts and their processes need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of public datasets: DROPSTEP_DATA, else shared/data next to the repository."""
    folder = Path(os.environ.get("DROPSTEP_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"the public datasets are not at {folder}; set DROPSTEP_DATA to their folder")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder, made the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def wine(folder) -> str:
    """A table in the current folder."""
    write_wine("wine.csv")
    return "wine.csv"


@pytest.fixture
def read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every source in blocks, also those whose size is known and small."""
    monkeypatch.setenv("DROPSTEP_LARGE_FILE", "0")
