"""The public datasets, read from DROPSTEP_DATA, or from shared/data next to the repository."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]


@cache
def readers() -> ModuleType:
    """The module tests/datasets.py, which is not part of a package."""
    spec = importlib.util.spec_from_file_location("datasets", ROOT / "tests" / "datasets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folder() -> Path:
    """The folder of the public datasets; FileNotFoundError if it does not exist."""
    found = Path(os.environ.get("DROPSTEP_DATA") or ROOT.parent / "shared" / "data")
    if not found.is_dir():
        raise FileNotFoundError("the public datasets were not found; set DROPSTEP_DATA to their folder")
    return found


def read(name: str, **params: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """X and y of a public dataset."""
    X, y, *_ = getattr(readers(), name)(folder(), **params)
    return X, y


def standardised(X: NDArray[Any]) -> NDArray[np.float64]:
    """Columns with mean 0 and variance 1; constant columns 0."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
