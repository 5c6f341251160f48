"""A dataset of the paper: its source, its reader and its splits."""

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
    """A file of UCI; the SHA-256 is that of the uncompressed file, so a gzipped copy serves as well."""

    name: str
    sha256: str


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of a dataset.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, training rows first.
    y : ndarray of shape (n_samples,)
        Classes.
    n_train : int or None
        Number of UCI's training rows; None where UCI has no split.
    persons : ndarray of shape (n_samples,) or None
        The person each row was recorded from; None where rows are independent.
    """

    X: Floats
    y: NDArray[Any]
    n_train: int | None = None
    persons: NDArray[np.int_] | None = None


@dataclass(frozen=True)
class Split:
    """A split into training and test rows.

    Attributes
    ----------
    kind : {"fixed", "rows", "persons"}
        UCI's own split, rows at random, or persons at random.
    share : float
        Share of the rows or persons that are used for training.
    """

    kind: Literal["fixed", "rows", "persons"]
    share: float = 0.5

    @property
    def random(self) -> bool:
        return self.kind != "fixed" and self.share < 1

    @property
    def label(self) -> str:
        if self.kind == "fixed":
            return "UCI's own"
        if self.share == 1:
            return "all rows"
        part = "half" if self.share == 0.5 else f"{100 * self.share:.0f} %"
        return f"{part} of the {self.kind} at random"

    def rows(self, sample: Sample, seed: list[int]) -> tuple[Rows, Rows]:
        """Training and test rows, ascending, determined by the seed."""
        n = len(sample.y)
        if self.kind == "fixed":
            if sample.n_train is None:
                raise ValueError("UCI does not split this dataset; split 'rows' at random")
            training = np.arange(n) < sample.n_train
        else:
            labels = np.arange(n) if self.kind == "rows" else sample.persons
            if labels is None:
                raise ValueError("the rows of this dataset have no persons; split 'rows' at random")
            kinds = np.unique(labels)
            chosen = np.random.default_rng(seed).permutation(kinds)[: round(self.share * len(kinds))]
            training = np.isin(labels, chosen)
        return np.flatnonzero(training), np.flatnonzero(~training)


@dataclass(frozen=True)
class Dataset:
    """One dataset of the paper.

    Attributes
    ----------
    name : str
        Short name, as in the results.
    title : str
        The paper's name.
    uci : int
        Number in the UCI repository.
    uci_name, doi, citation, licence : str
        Its source.
    archive : str
        Name of UCI's zip file.
    files : tuple of File
        The files that are read.
    read : callable
        Maps the uncompressed contents of the files to a Sample.
    splits : tuple of Split
        Splits, the main one first.
    alpha, beta : float
        The paper's thresholds.
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
    """Numbers, and the class in the last column as text."""
    cells = [line.split(delimiter) for line in content.decode().splitlines() if line.strip()]
    return np.array([row[:-1] for row in cells], dtype=np.float64), np.array([row[-1].strip() for row in cells])


def train_and_test(train: Floats, test: Floats) -> Sample:
    """A sample from UCI's training and test tables, whose last column is the class."""
    both = np.concatenate([train, test])
    return Sample(both[:, :-1].copy(), both[:, -1].astype(int), n_train=len(train))
