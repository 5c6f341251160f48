"""p-values of partial Wilks' lambda that underflow, against sums of binomial probabilities in decimal arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import comb

import numpy as np
import pytest

from dropstep.models.tests import WilksTest
from dropstep.search.search import first_best


def log_tail(a: int, b: int, x: float) -> float:
    """log I_x(a, b) for whole a and b: a binomial variable of a + b - 1 trials is at least a."""
    with localcontext() as context:
        context.prec = 60
        n, p = a + b - 1, Decimal(x)
        return float(sum(comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(a, n + 1)).ln())


@pytest.mark.parametrize("rank", [2, 6, 20, 44])
@pytest.mark.parametrize("df", [200, 1_000, 4_000, 20_000])
@pytest.mark.parametrize("log_p", [-700.0, -1_500.0])
def test_p_values_that_underflow(rank: int, df: int, log_p: float) -> None:
    """One target, so that lambda is Beta((df - rank) / 2, rank / 2)."""
    a, b = (df - rank) // 2, rank // 2
    x = np.exp(log_p / a)
    found = WilksTest(1, float(df), regression=True).log_p_value(np.array([x]), 0.0, float(rank))
    assert found[0] == pytest.approx(log_tail(a, b, x), rel=1e-12)


def test_a_unit_whose_p_value_underflows_is_the_best() -> None:
    """SciPy's hypergeometric function is NaN here, which made the first unit the best."""
    log_p = WilksTest(5, 1999.0, regression=True).log_p_value(np.array([0.9, 0.24579336]), 29.0, 9.0)
    assert np.isfinite(log_p).all()
    assert first_best(-log_p, np.ones(2, dtype=bool)) == 1
