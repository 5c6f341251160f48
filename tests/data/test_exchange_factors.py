"""Moments of sites with factors: levels that only some of them have, names of targets, versions, damaged files."""

from __future__ import annotations

import zipfile
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dropstep import Moments, select
from sources import check, table

NUMBERS = ["a", "b", "c", "d", "e", "f", "whole"]
FACTORS = ["colour", "size"]


def sites(y: str, n: int = 3, seed: int = 0) -> tuple[pd.DataFrame, list[Moments]]:
    """A table whose last rows have a level of their own, and the moments of random parts of it."""
    frame = table(seed)[[*NUMBERS, *FACTORS, y]].sample(frac=1, random_state=seed)
    frame = pd.concat([frame[frame["size"] != "late"], frame[frame["size"] == "late"]])
    parts = np.array_split(np.arange(len(frame)), n)
    model = "linear" if y == "y" else "discriminant"
    return frame, [Moments.of(frame.iloc[rows].drop(columns=y), frame[y].iloc[rows], model=model) for rows in parts]


@pytest.mark.parametrize("y", ["y", "label"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_sum_of_sites_gives_the_path_of_all_rows(y: str, seed: int, tmp_path: Path) -> None:
    frame, moments = sites(y, seed=seed)
    assert len({m.feature_names for m in moments}) > 1
    for i, part in enumerate(moments):
        part.save(tmp_path / f"{i}.npz")
    loaded = [Moments.load(tmp_path / f"{i}.npz") for i in range(len(moments))]
    expected = select(frame, y)
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        path = select(reduce(add, [loaded[i] for i in order]))
        check(path, expected, can_reread=False)
        assert path.encoding is not None
        assert path.selected_names == expected.selected_names
        assert path.coefficients.targets == expected.coefficients.targets


def test_a_site_can_be_subtracted_again() -> None:
    _, (a, b, _) = sites("y")
    back = (a + b) - b
    kept = [j for j, name in enumerate(back.feature_names) if name in a.feature_names]
    order = [a.feature_names.index(back.feature_names[j]) for j in kept]
    np.testing.assert_allclose(back.means[:, kept], a.means[:, order], rtol=1e-9, atol=1e-12)
    scatter = a.scatter[np.ix_(order, order)]
    np.testing.assert_allclose(back.scatter[np.ix_(kept, kept)], scatter, rtol=1e-9, atol=1e-9)


def test_moments_of_a_factor_have_a_column_per_level() -> None:
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4], "colour": ["red", "blue", "red", "red"]})
    moments = Moments.of(frame, pd.Series([1.0, 2.0, 3.0, 5.0], name="price"))
    assert moments.feature_names == ("x", "colour=blue", "colour=red")
    assert moments.factors == ("", "colour", "colour")
    assert moments.features == ("x", "colour")
    assert moments.target_names == ("price",)
    indicators = np.column_stack([frame["x"], frame["colour"] == "blue", frame["colour"] == "red", [1.0, 2, 3, 5]])
    np.testing.assert_allclose(moments.means[0], indicators.mean(axis=0))
    centred = indicators - indicators.mean(axis=0)
    np.testing.assert_allclose(moments.scatter, centred.T @ centred, atol=1e-12)


def test_what_cannot_be_added() -> None:
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4], "colour": ["red", "blue", "red", "red"]})
    y = pd.Series([1.0, 2.0, 3.0, 5.0], name="price")
    moments = Moments.of(frame, y)
    with pytest.raises(ValueError, match="different targets cannot be combined: price and cost"):
        moments + Moments.of(frame, y.rename("cost"))
    with pytest.raises(ValueError, match="their feature names differ"):
        moments + Moments.of(frame.rename(columns={"colour": "color"}), y)
    with pytest.raises(ValueError, match="their feature names differ"):
        moments + Moments.of(frame.assign(colour=[1.0, 2, 3, 4]), y)
    with pytest.raises(ValueError, match="missing values in 'colour'"):
        Moments.of(frame.assign(colour=["red", None, "red", "red"]), y)


def _rewritten(file: Path, **changes: np.ndarray | None) -> Path:
    """The file with some arrays replaced, or removed."""
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays |= {name: value for name, value in changes.items() if value is not None}
    for name, value in changes.items():
        if value is None:
            del arrays[name]
    other = file.with_name("other.npz")
    with open(other, "wb") as stream:
        np.savez(stream, **arrays)
    return other


def test_versions(tmp_path: Path) -> None:
    file = tmp_path / "site.npz"
    Moments.of(np.eye(5), np.arange(5.0)).save(file)
    with zipfile.ZipFile(file) as archive:
        assert "version.npy" in archive.namelist()
    assert Moments.load(_rewritten(file, version=None)).n_features == 5  # version 1 had no entry of its own
    with pytest.raises(ValueError, match="it has version 3, and this version of dropstep reads versions up to 2"):
        Moments.load(_rewritten(file, version=np.array(3)))
    with pytest.raises(ValueError, match="version is 0"):
        Moments.load(_rewritten(file, version=np.array(0)))


def test_damaged_factors(tmp_path: Path) -> None:
    _, (moments, *_) = sites("y")
    file = tmp_path / "site.npz"
    moments.save(file)
    factors, names = np.array(moments.factors), np.array(moments.feature_names)
    with pytest.raises(ValueError, match="has the shape"):
        Moments.load(_rewritten(file, factors=factors[1:]))
    with pytest.raises(ValueError, match="is not named after its factor 'size'"):
        Moments.load(_rewritten(file, factors=np.where(factors == "colour", "size", factors)))
    apart = {"feature_names": np.r_[names[:-1], ["colour=zz"]], "factors": np.r_[factors[:-1], ["colour"]]}
    with pytest.raises(ValueError, match="do not stand together"):
        Moments.load(_rewritten(file, **apart))
    means = moments.means.copy()
    means[:, list(factors).index("colour")] = 1.5
    with pytest.raises(ValueError, match="which are shares of rows, are not between 0 and 1"):
        Moments.load(_rewritten(file, means=means))
    with pytest.raises(ValueError, match="it has factors, but no feature_names"):
        Moments.load(_rewritten(file, feature_names=None))
