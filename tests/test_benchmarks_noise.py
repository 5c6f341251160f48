"""The script that judges penalties computes what it says, and the corrected penalty keeps its promises."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from dropstep import select

sys.path.append(str(Path(__file__).resolve().parents[1]))  # benchmarks belong to no installed package

from benchmarks import noise
from benchmarks.noise import RULES, bartlett, calibrated, chen_chen, empty_share, penalty, violations

CORRECTED = pytest.mark.parametrize("rule", [calibrated, bartlett])


@CORRECTED
def test_noise_is_rejected_95_times_in_100_at_every_shape(rule):
    shapes = [(n, m) for n in (4, 5, 8, 12, 20, 50, 200, 1000) for m in (1, 2, 5, 50, 2000, 200_000)]
    assert min(empty_share(rule, *shape) for shape in shapes) >= 0.95 - 1e-12


@CORRECTED
def test_the_correction_vanishes_as_rows_grow(rule):
    assert [rule(1e9, 50, i) for i in (1, 2, 10, 40)] == pytest.approx(
        [math.log(1e9) + 2 * max(0.0, math.log((51 - i) / i)) for i in (1, 2, 10, 40)], rel=1e-6
    )


@CORRECTED
@pytest.mark.parametrize(("n", "m", "q"), [(8, 5, 1), (12, 20, 1), (30, 60, 1), (12, 5, 2), (30, 10, 3)])
def test_every_addition_is_charged(rule, n, m, q):
    """The penalty grows with rank, and with rank and units together; no move changes units alone."""
    assert violations(rule, n, m, q)[:2] == (0, 0)


def test_bartlett_is_finite_where_the_asymptotic_level_underflows():
    assert calibrated(1e6, 10, 1, d=300.0) == math.inf
    assert bartlett(1e6, 10, 1, d=300.0) == pytest.approx(chen_chen(1e6, 10, 1, d=300.0), rel=1e-3)


def test_bartlett_is_finite_up_to_the_last_residual_degree_of_freedom():
    for q in (1, 2, 3):
        for n in (8, 20, 60):
            assert math.isfinite(penalty(bartlett, n, 100, n - 1 - q, n - 1 - q, q))


@pytest.mark.parametrize(("d", "q"), [(1, 1), (3, 1), (1, 2), (2, 2)])
def test_the_quantile_has_its_level(d, q):
    """Against the determinants of simulated Wishart matrices, error and hypothesis."""
    n, level = 14, 0.1
    error = stats.wishart(n - 1 - d, np.eye(q)).rvs(20_000, random_state=0).reshape(-1, q, q)
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((20_000, d, q))
    statistic = n * np.log(np.linalg.det(error + Z.swapaxes(1, 2) @ Z) / np.linalg.det(error))
    assert np.mean(statistic > noise.quantile(level, n, d, d, q)) == pytest.approx(level, abs=0.008)


def test_the_exact_share_is_that_of_simulated_tables():
    for rule in ("chen-chen", "bartlett"):
        share = float(noise.noise_row([rule], 12, 20, 2000)[1])
        assert share == pytest.approx(empty_share(RULES[rule], 12, 20), abs=0.03)


def test_the_first_gain_is_that_of_a_search():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 7)), rng.normal(size=(20, 2))
    for y in (Y[:, 0], Y):
        step = select(X, y, strategy="forward", criterion="bic", enter=-math.inf, max_features=1).steps[0]
        assert noise.first_gain(X, y) == pytest.approx(step.gain + math.log(20) * y.size / 20)


def test_the_rule_of_the_library_decides_as_the_library_does():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, y = noise.normal(rng, 20, 10)
        enters = noise.first_gain(X, y) > noise.library(20, 10, 1)
        assert enters == bool(select(X, y, strategy="forward", criterion="ebic").selected)


def test_the_library_charges_for_size():
    charges = [noise.library(40, 30, i) for i in range(1, 11)]
    assert min(charges) > 0


def test_neighbours_have_the_correlation():
    X = noise.autoregressive(np.random.default_rng(0), 20_000, 4, 0.9)
    assert np.asarray(np.corrcoef(X.T))[0] == pytest.approx([1, 0.9, 0.81, 0.729], abs=0.02)
    assert X.var(axis=0) == pytest.approx(np.ones(4), abs=0.05)


def test_the_gain_of_a_factor_is_that_of_its_partial_f_test():
    units, y = noise.factor_table(40, 1.0, 0)
    code = units[0] @ np.arange(1, 8)
    f = stats.f_oneway(*(y[code == level] for level in range(8))).statistic
    assert noise.unit_gains(units, y)[0] == pytest.approx(40 * np.log1p(f * 7 / 32))


def test_bonferroni_is_the_partial_f_test():
    ratio = math.expm1(noise.bonferroni(30, 10, 2) / 30)
    assert special.fdtrc(1, 27, ratio * 27) == pytest.approx(0.05 / 10)


def test_it_prints_every_table(capsys, monkeypatch):
    monkeypatch.setattr(noise, "SHAPES", ((8, 1), (12, 20)))
    monkeypatch.setattr(noise, "RECOVERY", noise.RECOVERY[:1])
    noise.main(["--repeats", "4", "--only", "noise", "recovery", "factors"])
    printed = capsys.readouterr().out
    for title in ("share of empty selections", "exact in %", "true factor first", "two targets"):
        assert title in printed
    assert all(rule in printed for rule in RULES)
