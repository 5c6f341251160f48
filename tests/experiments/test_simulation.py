"""The simulated regressions: drawn as the paper describes, and selected as from scratch."""

from __future__ import annotations

import numpy as np
import pytest

from examples.from_scratch import FromScratch, per_sample_cp
from experiments.paper.expected import TABLE_4
from experiments.paper.procedures import PROCEDURES, in_turn
from experiments.paper.simulation import (
    COEFFICIENT_LAWS,
    CORRELATION_LAWS,
    CPS,
    invalid_trial,
    table_1_trial,
    table_2_trial,
    table_4_choice_trial,
    table_4_rows,
    table_4_trial,
)

REPEATS = 60


def test_the_regression_of_table_4() -> None:
    X, y = table_4_rows(0, 0, 50, noise=0.0)
    assert X.shape == (80, 50)
    np.testing.assert_allclose(y, 4.5 + 3 * X[:, 0] + 2.1 * X[:, 1] + 3.5 * X[:, 6] + 0.8 * X[:, 11])
    loud = table_4_rows(0, 0, 50, noise=2.0)
    np.testing.assert_array_equal(loud[0], X)
    assert np.var(
        np.concatenate([table_4_rows(0, r, 20, 2.0)[1] - table_4_rows(0, r, 20, 0.0)[1] for r in range(50)])
    ) == (pytest.approx(2.0, rel=0.1))


def test_table_4_with_the_per_sample_cp() -> None:
    """A reduced table 4: the averages are the paper's within the standard error of so few draws."""
    for p in (50, 80):
        records = [table_4_trial(0, repeat, p, "per sample") for repeat in range(REPEATS)]
        for procedure in PROCEDURES:
            features = np.array([record[procedure]["features"] for record in records])
            error = features.std() / np.sqrt(REPEATS)
            assert abs(features.mean() - TABLE_4[p][procedure].features) < 0.1 + 3 * error
        evaluations = {procedure: sum(r[procedure]["evaluations"] for r in records) for procedure in PROCEDURES}
        assert evaluations["dropping"] < 0.8 * evaluations["forward_backward"] < 0.8 * evaluations["stepwise"]
        assert all(record["agree"] for record in records if "agree" in record)
        assert sum("agree" in record for record in records) == REPEATS // 10


def test_the_textbook_cp_selects_far_more() -> None:
    features = [table_4_trial(0, repeat, 60, "textbook")["stepwise"]["features"] for repeat in range(20)]
    assert np.mean(features) > 8


def test_the_textbook_cp_has_no_sigma2_at_p_80() -> None:
    with pytest.raises(ValueError, match="which 80 rows cannot fit"):
        table_4_choice_trial(0, 0, 80, "textbook estimated")


def test_low_noise_gives_exactly_four() -> None:
    assert {table_4_choice_trial(0, repeat, 70, "noise 0.2")["features"] for repeat in range(20)} == {4}


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_the_search_selects_the_set_of_the_procedure_from_scratch(procedure) -> None:
    for repeat in range(5):
        X, y = table_4_rows(1, repeat, 30, 2.0)
        task = CPS["per sample"].task(X, y)
        slow = FromScratch(per_sample_cp(task.X, task.y, 2.0 / y.var()), 30, 0.01, 0.01).run(procedure)
        assert set(slow) == set(task.path(procedure).selected)


def test_each_procedure_is_first_equally_often() -> None:
    assert {in_turn(repeat)[0] for repeat in range(3)} == set(PROCEDURES)
    assert all(set(in_turn(repeat)) == set(PROCEDURES) for repeat in range(3))


# --- table 1 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", COEFFICIENT_LAWS)
def test_coefficients(law: str) -> None:
    rng = np.random.default_rng(0)
    assert COEFFICIENT_LAWS[law](rng, 20).shape == (20,)


def test_a_reduced_table_1() -> None:
    """Few features need no backward step; twenty of similar strength do."""
    few = [table_1_trial(0, repeat, 4, "repeated", "per sample")["removals"] for repeat in range(30)]
    many = [table_1_trial(0, repeat, 20, "ones", "per sample")["removals"] for repeat in range(30)]
    falling = [table_1_trial(0, repeat, 20, "falling", "per sample")["removals"] for repeat in range(30)]
    assert np.mean(few) < 0.1
    assert np.mean(falling) < 0.1
    assert np.mean(many) > 0.4


# --- table 2 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [0.3, 0.7])
@pytest.mark.parametrize("law", CORRELATION_LAWS)
def test_every_law_gives_correlation_matrices(law: str, most: float) -> None:
    C = CORRELATION_LAWS[law](np.random.default_rng(0), 80, most)
    np.testing.assert_allclose(np.diagonal(C), 1.0)
    np.testing.assert_allclose(C, C.T)
    assert np.linalg.eigvalsh(C)[0] > -1e-10
    if law.startswith("one"):
        assert C[np.triu_indices(80, 1)].min() >= 0
        assert C[np.triu_indices(80, 1)].max() <= most


def test_uniform_correlations_are_not_positive_definite() -> None:
    assert all(invalid_trial(0, repeat, 0.3)["smallest"] < -0.1 for repeat in range(10))


def test_a_reduced_table_2() -> None:
    for law in CORRELATION_LAWS:
        records = [table_2_trial(0, repeat, 0.7, law, "per sample") for repeat in range(20)]
        assert np.mean([record["removals"] for record in records]) <= 0.1
        assert all(0 < record["average"] < record["highest"] + 1e-12 <= 0.7 + 0.2 for record in records)
