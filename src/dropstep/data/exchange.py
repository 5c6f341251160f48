"""Exchange: the file format of moments, an uncompressed ``.npz`` archive without pickle, validated when it is read.

Version 2 added the names of the targets and of factors; a file without a version is of version 1.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dropstep.atomic import atomic_files
from dropstep.data.scale import MAX_LOG10, RESIDUAL_LOG10, is_extreme
from dropstep.data.table import MAX_ROWS

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

# Kinds of data type of each array (f is float64), and its number of dimensions.
REQUIRED = {"counts": ("f", 1), "means": ("f", 2), "scatter": ("f", 2), "n_targets": ("iu", 0)}
NAMES = ("feature_names", "target_names", "factors")
KINDS = REQUIRED | {"version": ("iu", 0), "labels": ("biufSU", 1)} | dict.fromkeys(NAMES, ("U", 1))
VERSION = 2

BLOCK_SIZE = 2**20  # elements of the scatter matrix that are checked at a time
MAX_ASYMMETRY = 1e-8  # of |S_ij - S_ji| / sqrt(S_ii S_jj)
MAX_CORRELATION = 1 + 1e-9  # of |S_ij| / sqrt(S_ii S_jj)
MEAN_ROUNDING = 1e-7  # standard deviation, relative to the mean, that rounding may have added when moments were added
CONSTANT_TOLERANCE = 1e-12  # standard deviation, relative to the mean, below which a column is constant
LOG10_TOLERANCE = 3.0  # powers of ten by which the range accepted here exceeds that of `Moments.of`
SHARE_ROUNDING = 1e-9  # by which a share of rows may exceed 0 and 1
MIN_EIGENVALUE = -1e-3  # of the correlation matrix; less than this is not rounding error
MAX_EIGENVALUE_COLUMNS = 1000  # number of columns up to which eigenvalues are checked


def write(file: str | FilePath, arrays: Mapping[str, Any]) -> None:
    """Write the arrays of moments to a file."""
    with atomic_files() as temporary, open(temporary(file), "wb") as stream:
        np.savez(stream, **arrays, version=np.array(VERSION))


def read(file: str | FilePath) -> dict[str, Any]:
    """Read the arrays of moments from a file.

    The size of an array is checked against its header before memory is allocated; entries are neither compressed nor
    overlapping, so the arrays together are not larger than the file.

    Parameters
    ----------
    file : str or Path
        The file.

    Returns
    -------
    dict of str to ndarray or int
        The fields of `Moments`.

    Raises
    ------
    ValueError
        If the file does not contain valid moments.
    """
    with open(file, "rb") as stream:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of NumPy, about headers
                arrays = _arrays(stream)
            _check_version(int(arrays.pop("version", np.array(1))))
            n_targets = int(arrays.pop("n_targets"))
            _check_shapes(arrays, n_targets)
            _check_values(arrays)
            _check_scatter(arrays["scatter"], arrays["means"], arrays["counts"], n_targets)
            return {**arrays, "n_targets": n_targets}
        except _InvalidError as error:
            reason = str(error)
    raise ValueError(f"{os.fspath(file)!r} does not contain valid moments: {reason}; write it again with Moments.save")


class _InvalidError(Exception):
    """The reason why a file is invalid."""


def _arrays(stream: BinaryIO) -> Arrays:
    """Arrays of an archive: every required one, none twice, and no unknown one."""
    arrays: Arrays = {}
    try:
        archive = zipfile.ZipFile(stream)
        if sum(info.compress_size for info in archive.infolist()) > os.fstat(stream.fileno()).st_size:
            raise _InvalidError("its entries overlap")
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name not in KINDS or name == info.filename:
                raise _InvalidError(f"it has an unknown entry {info.filename!r}")
            if name in arrays:
                raise _InvalidError(f"it has more than one entry {info.filename!r}")
            arrays[name] = _array(archive, info, name)
    except (_InvalidError, MemoryError):
        raise
    except Exception as error:  # zipfile and NumPy raise many types of exception on corrupt bytes
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise _InvalidError(f"it is not an intact .npz archive ({first_line})") from None
    if missing := [name for name in REQUIRED if name not in arrays]:
        raise _InvalidError(f"it has no entry {missing[0] + '.npy'!r}")
    return arrays


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    """One array in native byte order, read only if its header agrees with the size of its entry."""
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise _InvalidError(f"its entry {info.filename!r} is compressed, which is not supported")
    with archive.open(info) as stream:
        if (version := npy.read_magic(stream)) != (1, 0):
            raise _InvalidError(f"its entry {info.filename!r} has format version {version}, which is not supported")
        try:
            shape, _, dtype = npy.read_array_header_1_0(stream)
        except (MemoryError, RecursionError):  # of Python's parser, whatever the memory
            raise _InvalidError(f"the header of {info.filename!r} is nested too deeply") from None
        n_bytes = stream.tell() + math.prod(shape) * dtype.itemsize
    kinds, n_dimensions = KINDS[name]
    if dtype.kind not in kinds or (kinds == "f" and dtype.itemsize != 8) or not dtype.itemsize:
        raise _InvalidError(f"{name} has the type {dtype}")
    if len(shape) != n_dimensions or min(shape, default=0) < 0:
        raise _InvalidError(f"{name} has the shape {shape}")
    if n_bytes != info.file_size:
        raise _InvalidError(f"{name} has the shape {shape}, which does not match the size of its entry")
    with archive.open(info) as stream:
        array = npy.read_array(stream, allow_pickle=False)
    native = np.asarray(array, dtype=dtype.newbyteorder("="))
    if dtype.kind == "U" and np.any(np.ascontiguousarray(native).view(np.uint32) > sys.maxunicode):
        raise _InvalidError(f"{name} contains an invalid character")
    return native


def _check_version(version: int) -> None:
    if version > VERSION:
        raise _InvalidError(f"it has version {version}, and this version of dropstep reads versions up to {VERSION}")
    if version < 1:
        raise _InvalidError(f"version is {version}")


def _check_shapes(arrays: Arrays, n_targets: int) -> None:
    """Check that shapes are consistent."""
    labelled = "with" if "labels" in arrays else "without"
    if n_targets < 0 or (n_targets > 0) == ("labels" in arrays):
        raise _InvalidError(f"n_targets is {n_targets}, {labelled} class labels")
    size, n_classes = len(arrays["scatter"]), len(arrays["counts"])
    if size <= n_targets:
        raise _InvalidError(f"scatter has the shape {arrays['scatter'].shape}, with {n_targets} targets")
    expected: dict[str, tuple[int, ...]] = {"scatter": (size, size), "means": (n_classes, size)}
    expected |= {"labels": (n_classes,), "feature_names": (size - n_targets,), "factors": (size - n_targets,)}
    expected |= {"target_names": (max(n_targets, 1),)}
    for name, shape in expected.items():
        if name in arrays and arrays[name].shape != shape:
            raise _InvalidError(f"{name} has the shape {arrays[name].shape} instead of {shape}")
    if n_classes < 1 or (n_targets and n_classes > 1):
        raise _InvalidError(f"counts has the shape {arrays['counts'].shape}, {labelled} labels")


def _check_values(arrays: Arrays) -> None:
    """Check counts, means, labels and names."""
    for name, array in arrays.items():
        if name != "scatter" and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise _InvalidError(f"{name} contains {array[~np.isfinite(array)][0]}")
    counts, labels, names = arrays["counts"], arrays.get("labels"), arrays.get("feature_names", np.empty(0))
    if counts.min() < 0 or not 0 < counts.sum() <= MAX_ROWS:
        shown = ", ".join(f"{count:g}" for count in counts[:3]) + (", ..." if len(counts) > 3 else "")
        raise _InvalidError(f"counts, which are numbers of rows, are {shown}")
    if labels is not None and not np.all(ascending := labels[1:] > labels[:-1]):
        before, after = labels[(at := int(np.argmin(ascending))) : at + 2].tolist()
        raise _InvalidError(f"labels are not sorted and distinct: {before!r} precedes {after!r}")
    for name, count in Counter(names.tolist()).most_common(1):
        if count > 1:
            raise _InvalidError(f"feature_names has {name!r} {count} times")
    if "factors" in arrays:
        _check_factors(arrays["factors"].tolist(), names.tolist(), arrays["means"][counts > 0])


def _check_factors(factors: list[str], names: list[str], means: Floats) -> None:
    """Check that the columns of a factor are named after it, stand together, and have shares as their means."""
    if len(names) != len(factors):
        raise _InvalidError("it has factors, but no feature_names")
    owners = [factor or name for factor, name in zip(factors, names, strict=True)]
    for j, (factor, name) in enumerate(zip(factors, names, strict=True)):
        if factor and not name.startswith(f"{factor}="):
            raise _InvalidError(f"the column {name!r} is not named after its factor {factor!r}")
        if owners[j] in owners[:j] and (owners[j - 1] != owners[j] or not factor):
            raise _InvalidError(f"the columns of {owners[j]!r} do not stand together")
        if factor and not np.all((means[:, j] > -SHARE_ROUNDING) & (means[:, j] < 1 + SHARE_ROUNDING)):
            raise _InvalidError(f"the means of {name!r}, which are shares of rows, are not between 0 and 1")


def _check_scatter(scatter: Floats, means: Floats, counts: Floats, n_targets: int) -> None:
    """Check that the scatter matrix is symmetric and positive semidefinite, up to rounding error."""
    diagonal = np.diagonal(scatter)
    if not diagonal.min() >= 0:
        j = int(np.argmin(diagonal >= 0))
        raise _InvalidError(f"scatter[{j}, {j}] is {diagonal[j]:g}")
    with np.errstate(over="ignore", invalid="ignore"):
        between = counts @ means**2
        _check_scale(diagonal, between, len(diagonal) - n_targets)
        scale = np.hypot(np.sqrt(diagonal), MEAN_ROUNDING * np.sqrt(between))
        step = max(1, BLOCK_SIZE // len(scatter))
        for start in range(0, len(scatter), step):
            _check_block(scatter, scale, slice(start, start + step))
    if len(scale) <= MAX_EIGENVALUE_COLUMNS:
        scale = np.where(scale > 0, scale, 1.0)
        smallest = float(np.linalg.eigvalsh(scatter / scale[:, None] / scale).min())
        if smallest < MIN_EIGENVALUE:
            raise _InvalidError(
                f"scatter is not positive semidefinite: its correlation matrix has the eigenvalue {smallest:g}"
            )


def _check_scale(diagonal: Floats, between: Floats, p: int) -> None:
    """Check that float64 can represent the squares of every column that is not a small constant."""
    squares, limit = diagonal + between, MAX_LOG10 + LOG10_TOLERANCE
    features = is_extreme(squares[:p], diagonal[p:], limit)
    targets = is_extreme(squares[p:], np.empty(0), limit + RESIDUAL_LOG10)
    extreme = np.r_[features, targets] & ((diagonal > CONSTANT_TOLERANCE**2 * between) | (squares > 1))
    if extreme.any():
        j = int(np.argmax(extreme))
        raise _InvalidError(f"the squares of column {j}, with scatter {diagonal[j]:g}, are out of the range of float64")


def _check_block(scatter: Floats, scale: Floats, rows: slice) -> None:
    """Check that some rows of the scatter matrix are finite, symmetric, and satisfy |S_ij| <= sqrt(S_ii S_jj)."""
    block, bound = scatter[rows], np.outer(scale[rows], scale)
    if (bad := ~(np.abs(block) <= MAX_CORRELATION * bound)).any():
        i, j = np.argwhere(bad)[0]
        raise _InvalidError(f"scatter[{rows.start + i}, {j}] is {block[i, j]:g}, but must not exceed {bound[i, j]:g}")
    if (bad := ~(np.abs(block - scatter[:, rows].T) <= MAX_ASYMMETRY * bound)).any():
        i, j = np.argwhere(bad)[0] + [rows.start, 0]
        raise _InvalidError(f"scatter[{i}, {j}] is {scatter[i, j]:g}, but scatter[{j}, {i}] is {scatter[j, i]:g}")
