"""A dataset of the paper: where it comes from, how it is read, how it is split."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class File:
    """A file as UCI has it; the SHA-256 is that of the unpacked file, so a gzipped copy serves as well."""

    name: str
    sha256: str


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that were read.

    Attributes
    ----------
    X, y : features and classes, training rows first.
    n_train : how many are UCI's training rows; None where UCI leaves the split to the user.
    persons : who each row comes from; None where rows are independent.
    """

    X: Floats
    y: NDArray[Any]
    n_train: int | None = None
    persons: NDArray[np.int_] | None = None


@dataclass(frozen=True)
class Split:
    """A way to make training and test rows: UCI's own, rows at random, or persons at random.

    `share` is the part that goes to training.
    """

    way: Literal["fixed", "rows", "persons"]
    share: float = 0.5

    @property
    def random(self) -> bool:
        return self.way != "fixed" and self.share < 1

    @property
    def says(self) -> str:
        if self.way == "fixed":
            return "UCI's own"
        if self.share == 1:
            return "all rows"
        part = "half" if self.share == 0.5 else f"{100 * self.share:.0f} %"
        return f"{part} of the {self.way} at random"

    def rows(self, sample: Sample, seed: list[int]) -> tuple[Rows, Rows]:
        """Training and test rows, ascending; the same for the same seed."""
        n = len(sample.y)
        if self.way == "fixed":
            if sample.n_train is None:
                raise ValueError("UCI has no training rows of its own here; split 'rows' at random")
            training = np.arange(n) < sample.n_train
        else:
            labels = np.arange(n) if self.way == "rows" else sample.persons
            if labels is None:
                raise ValueError("rows of this dataset belong to no person; split 'rows' at random")
            kinds = np.unique(labels)
            chosen = np.random.default_rng(seed).permutation(kinds)[: round(self.share * len(kinds))]
            training = np.isin(labels, chosen)
        return np.flatnonzero(training), np.flatnonzero(~training)


@dataclass(frozen=True)
class Dataset:
    """One dataset of the paper.

    Attributes
    ----------
    name : short name, as in the commands and results.
    title : the paper's name.
    uci, uci_name, doi, licence, citation : where it comes from.
    archive : name of the zip that UCI offers.
    files : what is needed of it.
    read : the files, unpacked, in order, to a sample.
    splits : ways to split it, the main one first.
    alpha, beta : the paper's thresholds.
    """

    name: str
    title: str
    uci: int
    uci_name: str
    doi: str
    citation: str
    archive: str
    files: tuple[File, ...]
    read: Callable[..., Sample]
    splits: tuple[Split, ...]
    alpha: float = 0.05
    beta: float = 0.05
    licence: str = "CC BY 4.0"

    @property
    def url(self) -> str:
        return f"https://archive.ics.uci.edu/static/public/{self.uci}/{self.archive}"


def table_of(content: bytes, delimiter: str | None = ",", skiprows: int = 0) -> Floats:
    """A table of numbers."""
    return np.loadtxt(io.BytesIO(content), delimiter=delimiter, skiprows=skiprows)


def table_with_text_class(content: bytes, delimiter: str) -> tuple[Floats, NDArray[np.str_]]:
    """Numbers, and the class in the last column as it is written."""
    cells = [line.split(delimiter) for line in content.decode().splitlines() if line.strip()]
    return np.array([row[:-1] for row in cells], dtype=np.float64), np.array([row[-1].strip() for row in cells])


def train_and_test(train: Floats, test: Floats) -> Sample:
    """A sample from UCI's training and test tables, whose last column is the class."""
    both = np.concatenate([train, test])
    return Sample(both[:, :-1].copy(), both[:, -1].astype(int), n_train=len(train))
