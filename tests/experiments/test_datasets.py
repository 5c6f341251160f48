"""The paper's datasets: their sizes, splits and files, and one sentence where something is wrong."""

from __future__ import annotations

import gzip
import hashlib
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.paper.datasets import DATASETS, File, Sample, Split, fetch, folder_of, load
from experiments.paper.datasets.fetch import checked
from experiments.paper.expected import TABLE_3

CONTENT = b"1;2;a\n3;4;b\n"
TOY = replace(
    DATASETS["biodegradation"],
    title="Toy",
    files=(File("toy.csv", hashlib.sha256(CONTENT).hexdigest()),),
)


@pytest.mark.parametrize("name", DATASETS)
def test_sizes_are_those_of_table_3(name: str, data_dir: Path) -> None:
    sample = load(name, data_dir)
    assert sample.X.shape[1] == TABLE_3[name].features
    assert len(np.unique(sample.y)) == TABLE_3[name].classes
    assert np.isfinite(sample.X).all()
    assert len(sample.X) == len(sample.y)
    if sample.n_train is not None:
        assert (sample.n_train, len(sample.y) - sample.n_train) == (TABLE_3[name].training, int(TABLE_3[name].testing))


def test_each_states_its_source() -> None:
    for dataset in DATASETS.values():
        assert dataset.doi.startswith("10.24432/")
        assert dataset.url.startswith(f"https://archive.ics.uci.edu/static/public/{dataset.uci}/")
        assert dataset.url.endswith(".zip")
        assert dataset.licence == "CC BY 4.0"
        assert all(len(file.sha256) == 64 for file in dataset.files)


# --- splits ----------------------------------------------------------------------------------------------------------


def sample(n: int = 12) -> Sample:
    return Sample(np.zeros((n, 2)), np.zeros(n), n_train=8, persons=np.arange(n) // 3)


@pytest.mark.parametrize("split", [Split("fixed"), Split("rows", 0.5), Split("rows", 0.75), Split("persons", 0.5)])
def test_every_row_is_on_one_side(split: Split) -> None:
    training, test = split.rows(sample(), [0, 1])
    assert sorted([*training, *test]) == list(range(12))
    assert len(training) == (8 if split.kind == "fixed" else round(12 * split.share))


def test_the_same_seed_gives_the_same_split_and_another_another() -> None:
    split = Split("rows", 0.5)
    first, again, other = (split.rows(sample(), [0, seed])[0].tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_no_person_is_on_both_sides() -> None:
    training, test = Split("persons", 0.5).rows(sample(), [0])
    persons = np.arange(12) // 3
    assert not set(persons[training]) & set(persons[test])


def test_labels_of_splits() -> None:
    labels = [split.label for split in (Split("fixed"), Split("rows", 0.5), Split("persons", 0.7), Split("rows", 1.0))]
    assert labels == ["UCI's own", "half of the rows at random", "70 % of the persons at random", "all rows"]


@pytest.mark.parametrize(
    ("split", "message"),
    [(Split("fixed"), "does not split this dataset"), (Split("persons"), "have no persons")],
)
def test_a_split_that_cannot_be(split: Split, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        split.rows(Sample(np.zeros((4, 1)), np.zeros(4)), [0])


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_may_be_plain_or_gzipped(packed: bool, tmp_path: Path) -> None:
    if packed:
        (tmp_path / "toy.csv.gz").write_bytes(gzip.compress(CONTENT))
    else:
        (tmp_path / "toy.csv").write_bytes(CONTENT)
    assert checked(TOY, TOY.files[0], tmp_path) == CONTENT


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^Toy needs toy\.csv .* not in .*; set --data or DROPSTEP_DATA"):
        checked(TOY, TOY.files[0], tmp_path)


def test_a_wrong_checksum(tmp_path: Path) -> None:
    (tmp_path / "toy.csv").write_bytes(CONTENT + b"5;6;a\n")
    with pytest.raises(ValueError, match=r"toy\.csv in .* is not the file of Toy: its SHA-256 is"):
        checked(TOY, TOY.files[0], tmp_path)


def test_a_broken_gzip(tmp_path: Path) -> None:
    (tmp_path / "toy.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match=r"toy\.csv\.gz in .* is not a gzip file"):
        checked(TOY, TOY.files[0], tmp_path)


class Uci:
    """A replacement for the network: answers with a zip, with something else, or not at all."""

    def __init__(self, members: dict[str, bytes] | bytes | None) -> None:
        self.members = members
        self.requested: list[str] = []

    def __call__(self, url: str, output_file: Any, pooch: Any) -> None:
        self.requested.append(url)
        if self.members is None:
            raise ConnectionRefusedError("no network")
        if isinstance(self.members, bytes):
            Path(output_file).write_bytes(self.members)
            return
        with zipfile.ZipFile(output_file, "w") as packed:
            for name, content in self.members.items():
                packed.writestr(name, content)


def test_files_are_fetched_once(tmp_path: Path) -> None:
    uci = Uci({"folder/toy.csv": CONTENT, "readme.txt": b""})
    assert fetch(TOY, tmp_path / "cache", uci) == tmp_path / "cache"
    fetch(TOY, tmp_path / "cache", uci)
    assert uci.requested == [TOY.url]
    assert [file.name for file in (tmp_path / "cache").iterdir()] == ["toy.csv"]
    assert TOY.read(checked(TOY, TOY.files[0], tmp_path / "cache")).y.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("members", "error", "message"),
    [
        (
            None,
            ConnectionError,
            "Toy could not be fetched from https://.*ConnectionRefusedError.*; connect to the network",
        ),
        (b"<html>", ValueError, "is not a zip file; try again later"),
        ({"other.csv": b""}, ValueError, r"has no toy\.csv; download that file elsewhere"),
        ({"toy.csv": b"other"}, ValueError, r"toy\.csv from https://.* is not the file of Toy"),
    ],
)
def test_a_wrong_answer_is_not_stored(members: Any, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        fetch(TOY, tmp_path, Uci(members))
    assert not list(tmp_path.iterdir())


def test_without_pooch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"needs pooch: pip install 'dropstep\[paper\]'; or download https://"):
        fetch(TOY, tmp_path)


def test_the_cache_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pooch

    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "toy.csv").write_bytes(CONTENT)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path)
    assert folder_of(TOY, None) == tmp_path / "paper"
    assert folder_of(TOY, tmp_path) == tmp_path
