"""Information criteria: what every log likelihood is charged for the size of a selection."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special


def log_choices(n: int, size: Any) -> Any:
    """Logarithm of the number of sets of a size among n units; from half of n on, that of half (Chen and Chen 2008)."""
    size = np.clip(size, 0, n // 2)
    return special.gammaln(n + 1) - special.gammaln(size + 1) - special.gammaln(n - size + 1)
