"""A fingerprint of data and parameters that is the same in every process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def fingerprint(*values: Any) -> str:
    """SHA-256 of arrays, frames, estimators, callables, and collections of them."""
    digest = hashlib.sha256()
    for value in values:
        _update(digest, value)
    return digest.hexdigest()


def _update(digest: Any, value: Any) -> None:
    """Add a value, preceded by its type so that different values do not join into the same bytes."""
    digest.update(f"{type(value).__name__}:".encode())
    if hasattr(value, "tocsr") and hasattr(value, "nnz"):
        matrix = value.tocsr()
        _update(digest, [matrix.shape, matrix.indptr, matrix.indices, matrix.data])
    elif hasattr(value, "columns") and hasattr(value, "__getitem__"):  # a frame
        for name in value.columns:
            _update(digest, str(name))
            _update(digest, np.asarray(value[name]))
    elif hasattr(value, "get_params") and not isinstance(value, type):
        _update(digest, [type(value).__qualname__, value.get_params(deep=False)])
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            _update(digest, [str(key), value[key]])
    elif isinstance(value, list | tuple):
        digest.update(f"{len(value)};".encode())
        for item in value:
            _update(digest, item)
    elif isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        _update_array(digest, np.asarray(value))
    elif callable(value) and hasattr(value, "__qualname__"):
        _update_function(digest, value)
    elif isinstance(value, partial):
        _update(digest, [value.func, value.args, value.keywords])
    elif hasattr(value, "_score_func"):  # a scorer
        _update(digest, [repr(value), value._score_func])
    else:
        digest.update(ADDRESS.sub("", repr(value)).encode())


def _update_function(digest: Any, function: Any) -> None:
    """Add the name of a function or class, what a function does, and the values that it refers to."""
    digest.update(f"{function.__module__}.{function.__qualname__}".encode())
    if not hasattr(function, "__code__"):
        return
    _update_code(digest, function.__code__)
    cells = [cell.cell_contents for cell in function.__closure__ or () if not callable(cell.cell_contents)]
    _update(digest, [list(function.__defaults__ or ()), cells])


def _update_code(digest: Any, code: Any) -> None:
    """Add bytecode: functions without a name differ by it."""
    digest.update(code.co_code + repr(code.co_names).encode())
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            _update_code(digest, constant)
        else:
            _update(digest, constant)


def _update_array(digest: Any, array: Any) -> None:
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    digest.update(repr(array.tolist()).encode() if array.dtype.hasobject else np.ascontiguousarray(array).tobytes())
