"""Exchange: the file format of moments, an uncompressed ``.npz`` archive without pickles, validated when it is read."""

from __future__ import annotations

import math
import os
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dropstep.data.scale import LIMIT, MARGIN, is_extreme
from dropstep.data.table import MOST_ROWS

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

# The kinds of data of each array (f is float64), and its number of dimensions.
REQUIRED = {"counts": ("f", 1), "means": ("f", 2), "scatter": ("f", 2), "n_targets": ("iu", 0)}
KINDS = REQUIRED | {"labels": ("biufSU", 1), "feature_names": ("U", 1)}

BLOCK = 2**20  # numbers of the scatter that are checked at a time
SYMMETRIC = 1e-8  # the largest |S_ij - S_ji| / sqrt(S_ii S_jj)
CORRELATED = 1e-9  # by how much |S_ij| / sqrt(S_ii S_jj) may exceed 1
MEAN_ROUNDING = 1e-7  # part of a mean that rounding may have added to a standard deviation when moments were added
CONSTANT = 1e-12  # a column with a standard deviation below this part of its mean is constant
SLACK = 3.0  # powers of ten between the range that `Moments.of` accepts and the range that is refused here
DEFINITE = 1e-3  # the most negative eigenvalue of the correlations that is rounding
FEW = 1000  # columns up to which the eigenvalues are checked


def write(file: str | FilePath, arrays: Mapping[str, Any]) -> None:
    """Write the arrays of moments."""
    with open(file, "wb") as stream:
        np.savez(stream, **arrays)


def read(file: str | FilePath) -> dict[str, Any]:
    """Read the arrays of moments.

    The size of an array is checked from its header before the array is allocated; entries are not compressed, so that
    no array is larger than the file.

    Raises
    ------
    ValueError
        If the file holds no valid moments.
    """
    with open(file, "rb") as stream:
        try:
            arrays = _arrays(stream)
            n_targets = int(arrays.pop("n_targets"))
            _check_shapes(arrays, n_targets)
            _check_values(arrays)
            _check_scatter(arrays["scatter"], arrays["means"], arrays["counts"], n_targets)
            return {**arrays, "n_targets": n_targets}
        except _InvalidError as error:
            why = str(error)
    raise ValueError(f"{os.fspath(file)!r} holds no valid moments: {why}; write it again with Moments.save")


class _InvalidError(Exception):
    """What is wrong with the file."""


def _arrays(stream: BinaryIO) -> Arrays:
    """Every required array once, and no unknown one."""
    arrays: Arrays = {}
    try:
        archive = zipfile.ZipFile(stream)
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name not in KINDS or name == info.filename:
                raise _InvalidError(f"it has an unknown entry {info.filename!r}")
            if name in arrays:
                raise _InvalidError(f"it has two entries {info.filename!r}")
            arrays[name] = _array(archive, info, name, os.fstat(stream.fileno()).st_size)
    except (_InvalidError, MemoryError):
        raise
    except Exception as error:  # zipfile and numpy raise a dozen types on corrupt bytes
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise _InvalidError(f"it is not an intact .npz archive ({first_line})") from None
    if absent := [name for name in REQUIRED if name not in arrays]:
        raise _InvalidError(f"it has no entry {absent[0] + '.npy'!r}")
    return arrays


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, file_size: int) -> NDArray[Any]:
    """One array in the byte order of this machine, read once its header agrees with the size of its entry."""
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise _InvalidError(f"its entry {info.filename!r} is compressed, which is not supported")
    with archive.open(info) as stream:
        if (version := npy.read_magic(stream)) != (1, 0):
            raise _InvalidError(f"its entry {info.filename!r} has format version {version}, which is not supported")
        shape, _, dtype = npy.read_array_header_1_0(stream)
        n_bytes = stream.tell() + math.prod(shape) * dtype.itemsize
    kinds, n_dimensions = KINDS[name]
    if dtype.kind not in kinds or (kinds == "f" and dtype.itemsize != 8):
        raise _InvalidError(f"{name} has the type {dtype}")
    if len(shape) != n_dimensions or min(shape, default=0) < 0:
        raise _InvalidError(f"{name} has the shape {shape}")
    if n_bytes != info.file_size or n_bytes > file_size:
        raise _InvalidError(f"{name} has the shape {shape}, which does not match the size of its entry")
    with archive.open(info) as stream:
        array = npy.read_array(stream, allow_pickle=False)
    if dtype.kind == "U":
        array.tolist()  # raises if a character is invalid
    return np.asarray(array, dtype=dtype.newbyteorder("="))


def _check_shapes(arrays: Arrays, n_targets: int) -> None:
    """Shapes that agree with each other."""
    labelled = "with" if "labels" in arrays else "without"
    if n_targets < 0 or (n_targets > 0) == ("labels" in arrays):
        raise _InvalidError(f"n_targets is {n_targets}, {labelled} class labels")
    size, n_classes = len(arrays["scatter"]), len(arrays["counts"])
    if size <= n_targets:
        raise _InvalidError(f"scatter has the shape {arrays['scatter'].shape}, with {n_targets} targets")
    wanted: dict[str, tuple[int, ...]] = {"scatter": (size, size), "means": (n_classes, size)}
    wanted |= {"labels": (n_classes,), "feature_names": (size - n_targets,)}
    for name, shape in wanted.items():
        if name in arrays and arrays[name].shape != shape:
            raise _InvalidError(f"{name} has the shape {arrays[name].shape} instead of {shape}")
    if n_classes < 1 or (n_targets and n_classes > 1):
        raise _InvalidError(f"counts has the shape {arrays['counts'].shape}, {labelled} labels")


def _check_values(arrays: Arrays) -> None:
    """Counts, means, labels and names; the scatter is checked by itself."""
    for name, array in arrays.items():
        if name != "scatter" and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise _InvalidError(f"{name} contains {array[~np.isfinite(array)][0]}")
    counts, labels, names = arrays["counts"], arrays.get("labels"), arrays.get("feature_names", np.empty(0))
    if counts.min() < 0 or not 0 < counts.sum() <= MOST_ROWS:
        shown = ", ".join(f"{count:g}" for count in counts[:3]) + (", ..." if len(counts) > 3 else "")
        raise _InvalidError(f"counts, which are numbers of rows, are {shown}")
    if labels is not None and not np.all(ascending := labels[1:] > labels[:-1]):
        before, after = labels[(at := int(np.argmin(ascending))) : at + 2].tolist()
        raise _InvalidError(f"labels are not sorted and distinct: {before!r} precedes {after!r}")
    for name, count in Counter(names.tolist()).most_common(1):
        if count > 1:
            raise _InvalidError(f"feature_names has {name!r} {count} times")


def _check_scatter(scatter: Floats, means: Floats, counts: Floats, n_targets: int) -> None:
    """A scatter matrix is symmetric and positive semidefinite, so |S_ij| <= sqrt(S_ii S_jj), up to rounding."""
    diagonal = np.diagonal(scatter)
    if not diagonal.min() >= 0:
        j = int(np.argmin(diagonal >= 0))
        raise _InvalidError(f"scatter[{j}, {j}] is {diagonal[j]:g}")
    with np.errstate(over="ignore", invalid="ignore"):
        between = counts @ means**2
        _check_scale(diagonal, between, len(diagonal) - n_targets)
        scale = np.hypot(np.sqrt(diagonal), MEAN_ROUNDING * np.sqrt(between))
        step = max(1, BLOCK // len(scatter))
        for start in range(0, len(scatter), step):
            _check_block(scatter, scale, slice(start, start + step))
    if len(scale) <= FEW:
        scale = np.where(scale > 0, scale, 1.0)
        least = float(np.linalg.eigvalsh(scatter / scale[:, None] / scale).min())
        if least < -DEFINITE:
            raise _InvalidError(f"scatter is not positive semidefinite: its correlations have the eigenvalue {least:g}")


def _check_scale(diagonal: Floats, between: Floats, p: int) -> None:
    """Squares in the range of float64, unless they are of a small constant."""
    squares, limit = diagonal + between, LIMIT + SLACK
    features = is_extreme(squares[:p], diagonal[p:], limit)
    targets = is_extreme(squares[p:], np.empty(0), limit + MARGIN)
    extreme = np.r_[features, targets] & ((diagonal > CONSTANT**2 * between) | (squares > 1))
    if extreme.any():
        j = int(np.argmax(extreme))
        raise _InvalidError(f"the squares of column {j}, with scatter {diagonal[j]:g}, are out of the range of float64")


def _check_block(scatter: Floats, scale: Floats, rows: slice) -> None:
    """Some rows of the scatter: finite, symmetric, and no correlation beyond 1."""
    block, bound = scatter[rows], np.outer(scale[rows], scale)
    if (bad := ~(np.abs(block) <= (1 + CORRELATED) * bound)).any():
        i, j = np.argwhere(bad)[0]
        raise _InvalidError(
            f"scatter[{rows.start + i}, {j}] is {block[i, j]:g}, where at most {bound[i, j]:g} is possible"
        )
    if (bad := ~(np.abs(block - scatter[:, rows].T) <= SYMMETRIC * bound)).any():
        i, j = np.argwhere(bad)[0] + [rows.start, 0]
        raise _InvalidError(f"scatter[{i}, {j}] is {scatter[i, j]:g}, but scatter[{j}, {i}] is {scatter[j, i]:g}")
