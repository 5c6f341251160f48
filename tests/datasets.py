"""Readers of the public datasets: each takes the folder and returns X and y (and what else it says) as numpy arrays.

X is float64. Classes are kept as the file writes them: integers, or text.
"""

import csv
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _target_last(path: Path, delimiter: str | None = ",") -> tuple[Floats, NDArray]:
    table = np.loadtxt(path, delimiter=delimiter)
    return table[:, :-1].copy(), table[:, -1].astype(int)


def _text(path: Path) -> list[list[str]]:
    """Cells of a comma-separated file, gzipped or not."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as file:
        return list(csv.reader(file))


def _header(path: Path) -> list[str]:
    with gzip.open(path, "rt", newline="") as file:
        return next(csv.reader(file))


def optdigits(folder: Path, train: bool = True):
    """Optical digits: 3823 (test: 1797) x 64, ten classes; constant columns."""
    return _target_last(folder / ("optdigits.tra" if train else "optdigits.tes"))


def satellite(folder: Path, train: bool = True):
    """Landsat: 4435 (test: 2000) x 36, six classes."""
    return _target_last(folder / ("sat.trn" if train else "sat.tst"), delimiter=None)


def parkinson(folder: Path):
    """Parkinson speech: 756 x 753, two classes; the third array says which person spoke, three rows each."""
    table = np.loadtxt(folder / "pd_speech_features.csv.gz", delimiter=",", skiprows=2)
    return table[:, 1:-1].copy(), table[:, -1].astype(int), table[:, 0].astype(int)


def diabetes64(folder: Path):
    """Diabetes with products and squares: 442 x 64, regression."""
    table = np.loadtxt(folder / "diabetes64.csv.gz", delimiter=",", skiprows=1)
    return table[:, 1:].copy(), table[:, 0].copy()


def communities(folder: Path):
    """Communities and crime: 1994 x 99, regression; the 23 features with missing values are left out."""
    table = np.array(_text(folder / "communities.data.gz"))
    features = table[:, 5:-1]
    complete = (features != "?").all(axis=0)
    return features[:, complete].astype(float, order="C"), table[:, -1].astype(float)


def biodeg(folder: Path):
    """Biodegradation: 1055 x 41, classes RB and NRB."""
    path = folder / "biodeg.csv"
    return np.loadtxt(path, delimiter=";", usecols=range(41)), np.loadtxt(path, delimiter=";", usecols=41, dtype=str)


def ionosphere(folder: Path):
    """Ionosphere: 351 x 34, classes g and b; the second column is constant."""
    path = folder / "ionosphere.data"
    return np.loadtxt(path, delimiter=",", usecols=range(34)), np.loadtxt(path, delimiter=",", usecols=34, dtype=str)


def golub(folder: Path):
    """Leukemia: 72 x 7129, classes ALL and AML."""
    table = np.array(_text(folder / "golub_leukemia.csv.gz")[1:])
    return table[:, 3:].astype(float), table[:, 2]


def colon(folder: Path):
    """Colon: 62 x 2000, classes tumor and normal."""
    table = np.array(_text(folder / "alon_colon.csv.gz")[1:])
    return table[:, 1:].astype(float), table[:, 0]


def arcene(folder: Path, train: bool = True):
    """Arcene: 100 x 10000, classes 1 and -1; constant and repeated columns."""
    return _nips(folder, "arcene", train)


def madelon(folder: Path, train: bool = True):
    """Madelon, artificial: 2000 (validation: 600) x 500, classes 1 and -1."""
    return _nips(folder, "madelon", train)


def _nips(folder: Path, name: str, train: bool):
    part = f"{name}_{'train' if train else 'valid'}"
    return np.loadtxt(folder / f"{part}.data.gz"), np.loadtxt(folder / f"{part}.labels", dtype=int)


def spambase(folder: Path):
    """Spambase: 4601 x 57, classes 1 (spam) and 0."""
    return _target_last(folder / "spambase.data")


def mice(folder: Path, trait: str = "Obesity.BMI"):
    """Mice: 1814 x 10346 genotypes coded 0, 1, 2, regression on a trait; rows without the trait are left out."""
    path = folder / "mice_geno.csv.gz"
    X = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(1, len(_header(path))))
    header, *rows = _text(folder / "mice_pheno.csv.gz")
    column = header.index(trait)
    y = np.array([float(row[column]) if row[column] not in ("NA", "") else np.nan for row in rows])
    present = np.isfinite(y)
    return X[present], y[present]


def riboflavin(folder: Path):
    """Riboflavin: 71 x 4088, regression."""
    table = np.loadtxt(folder / "riboflavin.csv.gz", delimiter=",", skiprows=1)
    return table[:, 1:].copy(), table[:, 0].copy()


def musk2(folder: Path):
    """Musk version 2: 6598 x 166, classes 1 (musk) and 0; the third array says which molecule."""
    path = folder / "musk2.csv.gz"
    header = _header(path)
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    y, molecule = (table[:, header.index(name)].astype(int) for name in ("class", "molecule"))
    features = [j for j, name in enumerate(header) if name not in ("class", "molecule")]
    return np.ascontiguousarray(table[:, features]), y, molecule


def wheat(folder: Path):
    """Wheat: 599 x 1279 binary markers; y has four targets, the yield in four environments."""
    table = np.loadtxt(folder / "wheat.csv.gz", delimiter=",", skiprows=1)
    return table[:, 4:].copy(), table[:, :4].copy()


def isolet(folder: Path):
    """Spoken letters, the fifth group of speakers: 1559 x 617, 26 classes."""
    return _target_last(folder / "isolet5.data.gz")


def qsar(folder: Path):
    """Melting points: 4401 x 202 descriptors, regression; rank 195."""
    path = folder / "qsar_melting_point.csv.gz"
    y = np.loadtxt(path, delimiter=",", skiprows=1, usecols=0)
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(2, len(_header(path)))), y


def kdd(folder: Path):
    """KDD Cup 1999, the 10 % file: 494021 x 38 (the three text columns are left out), 23 classes."""
    with gzip.open(folder / "kddcup.data_10_percent.gz", "rt") as file:
        lines = file.read().splitlines()
    X = np.loadtxt(lines, delimiter=",", usecols=[0, *range(4, 41)])
    return X, np.array([line[line.rindex(",") + 1 :].rstrip(".") for line in lines])


def blogfeedback(folder: Path, train: bool = True):
    """Comments on blog posts: 52397 (test: 7624) x 280, regression; constant and repeated columns."""
    with zipfile.ZipFile(folder / "BlogFeedback.zip") as archive:
        names = sorted(name for name in archive.namelist() if ("train" in name) == train)
        table = np.concatenate([np.loadtxt(io.TextIOWrapper(archive.open(name)), delimiter=",") for name in names])
    return table[:, :-1].copy(), table[:, -1].copy()
