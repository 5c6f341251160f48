"""Information criteria: what minus twice a log-likelihood is charged for the size of a selection.

Every function takes the number of rows n and the number of parameters k, or an array of these.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special


def aic(n: float, k: Any) -> Any:
    """2 k (Akaike 1974)."""
    return 2.0 * k


def bic(n: float, k: Any) -> Any:
    """log(n) k (Schwarz 1978)."""
    return math.log(n) * k


def hqc(n: float, k: Any) -> Any:
    """2 log(log n) k (Hannan and Quinn 1979)."""
    return 2 * math.log(math.log(n)) * k


def aicc(n: float, k: Any, n_extra: float = 0) -> Any:
    """2 k n / (n - k - 1), AIC corrected for few rows (Hurvich and Tsai 1989); infinite if no room remains.

    With several targets, `n_extra` of the parameters do not reduce the denominator (Bedrick and Tsai 1994).
    """
    room = n - (k - n_extra) - 1
    return np.where(room > 0, 2 * n * k / np.where(room > 0, room, 1.0), np.inf)


def ebic(n: float, k: Any, n_units: Any, n_candidates: int, gamma: float) -> Any:
    """BIC, and 2 gamma times the log of the number of sets of so many units (Chen and Chen 2008)."""
    return bic(n, k) + 2 * gamma * log_choices(n_candidates, n_units)


def log_choices(n: int, size: Any) -> Any:
    """Logarithm of the number of sets of a size among n units; from half of n on, that of half (Chen and Chen 2008)."""
    size = np.clip(size, 0, n // 2)
    return special.gammaln(n + 1) - special.gammaln(size + 1) - special.gammaln(n - size + 1)
