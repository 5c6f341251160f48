"""The public datasets, read by the readers of the tests; the folder is DROPSTEP_DATA, else shared/data next to the
repository.
"""

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
    """tests/datasets.py, which no package holds."""
    spec = importlib.util.spec_from_file_location("datasets", ROOT / "tests" / "datasets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folder() -> Path:
    """Where the public datasets are; FileNotFoundError where they are not."""
    found = Path(os.environ.get("DROPSTEP_DATA") or ROOT.parent / "shared" / "data")
    if not found.is_dir():
        raise FileNotFoundError("the public datasets are not there; set DROPSTEP_DATA to their folder")
    return found


def read(name: str, **words: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """X and y of a public dataset."""
    X, y, *_ = getattr(readers(), name)(folder(), **words)
    return X, y


def standardised(X: NDArray[Any]) -> NDArray[np.float64]:
    """Columns with mean 0 and variance 1; constant columns 0."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
