"""Skewed tables: where features and residual both have heavy tails, what enters by default is confirmed there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dropstep import Beam, SelectionPath, Significance, select

FDR = Significance(0.05, "fdr")
Draw = Callable[[np.random.Generator], tuple[Any, Any]]


def lognormal(rng: np.random.Generator, *shape: int, sigma: float = 1.0) -> Any:
    return np.exp(sigma * rng.normal(size=shape))


def overdispersed(rng: np.random.Generator, n: int) -> Any:
    """Counts with four times the variance of Poisson's."""
    return rng.poisson(rng.gamma(0.7, 3, size=n))


def rare_class(rng: np.random.Generator, n: int) -> Any:
    """A class of 1 %."""
    return (rng.permutation(n) < n // 100).astype(int)


# A model, the number of tables, how many of them at most select something, how many at least by the plain test, and a
# table of noise.
NOISE: dict[str, tuple[str, int, int, int, Draw]] = {
    "lognormal": (
        "linear", 30, 3, 20, lambda rng: (lognormal(rng, 200, 200, sigma=1.5), lognormal(rng, 200, sigma=1.5)),
    ),
    "lognormal, wide": ("linear", 30, 3, 20, lambda rng: (lognormal(rng, 60, 500), lognormal(rng, 60))),
    "few rows": ("linear", 20, 3, 5, lambda rng: (lognormal(rng, 12, 2000), lognormal(rng, 12))),
    "rare SNPs": (
        "linear", 40, 5, 12, lambda rng: (rng.binomial(2, 0.02, size=(200, 100)).astype(float), lognormal(rng, 200)),
    ),
    "mostly zeros": (
        "linear", 30, 4, 12, lambda rng: (lognormal(rng, 200, 100), lognormal(rng, 200) * (rng.random(200) < 0.1)),
    ),
    "two targets": ("linear", 20, 3, 10, lambda rng: (lognormal(rng, 100, 200), lognormal(rng, 100, 2))),
    "a class of 1 %": ("discriminant", 30, 4, 8, lambda rng: (lognormal(rng, 500, 50), rare_class(rng, 500))),
    "a class of 1 %, logistic": ("logistic", 30, 4, 0, lambda rng: (lognormal(rng, 500, 50), rare_class(rng, 500))),
    "overdispersed": ("poisson", 40, 5, 0, lambda rng: (rng.normal(size=(200, 50)), overdispersed(rng, 200))),
    "overdispersed, lognormal": ("poisson", 40, 5, 2, lambda rng: (lognormal(rng, 200, 50), overdispersed(rng, 200))),
    "gamma": ("gamma", 30, 4, 6, lambda rng: (lognormal(rng, 100, 100), lognormal(rng, 100, sigma=1.5))),
    "Cox": (
        "cox", 30, 4, 2,
        lambda rng: (lognormal(rng, 150, 100, sigma=2), np.column_stack([rng.random(150), rng.random(150) < 0.1])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOISE)
def test_noise_with_heavy_tails_gives_an_empty_selection(name: str) -> None:
    """The bounds are about three standard errors above 0.05; the plain test has many more false selections."""
    model, repeats, most, least, draw = NOISE[name]
    found = np.zeros(2, dtype=int)
    for repeat in range(repeats):
        X, y = draw(np.random.default_rng([repeat, *name.encode()]))
        found += [bool(select(X, y, model=model, enter=enter).selected) for enter in ("auto", FDR)]
    assert found[0] <= most
    assert found[1] >= least


@pytest.mark.parametrize("model", ["linear", "poisson"])
def test_groups_of_noise_with_heavy_tails_are_not_selected(model: str) -> None:
    """Units of several columns are tested along the direction of their score."""
    found = np.zeros(2, dtype=int)
    for repeat in range(20):
        rng = np.random.default_rng([30, repeat])
        X = lognormal(rng, 150, 90, sigma=1.5)
        y = lognormal(rng, 150, sigma=1.5) if model == "linear" else rng.poisson(lognormal(rng, 150, sigma=1.5))
        groups = np.arange(90) // 3
        found += [bool(select(X, y, model=model, groups=groups, enter=enter).selected) for enter in ("auto", FDR)]
    assert found[0] <= 3
    assert found[1] >= 8


def test_skewed_features_with_effects_are_found() -> None:
    """Four effects of 0.2 per standard deviation on the logarithm of counts."""
    found, false = [], []
    for repeat in range(10):
        rng = np.random.default_rng(repeat)
        X = lognormal(rng, 200, 50)
        y = rng.poisson(np.exp(0.5 + 0.2 * ((X - X.mean(axis=0)) / X.std(axis=0))[:, :4].sum(axis=1)))
        selected = select(X, y, model="poisson").selected
        found.append(sum(j < 4 for j in selected))
        false.append(sum(j >= 4 for j in selected))
    assert np.mean(found) >= 3
    assert np.mean(false) <= 0.5


# --- every move is confirmed -----------------------------------------------------------------------------------------


def spiked(share: float, *, hidden: bool = False) -> tuple[pd.DataFrame, Any]:
    """A normal feature with an effect, a spike in the row of the largest residual, and noise.

    One row is the largest with probability 1/200, which is more than 0.05 * 2 / 60. The spike explains more than the
    feature, unless it is hidden: then it does so only given the feature.
    """
    rng = np.random.default_rng(12)
    frame = pd.DataFrame(rng.normal(size=(200, 60)), columns=["x", "spike", *(f"noise{i}" for i in range(58))])
    e = lognormal(rng, 200, sigma=1.3)
    e = (e - e.mean()) / e.std()
    frame["spike"] = (e == e.max()) + 0.01 * frame["spike"]
    if hidden:
        frame.loc[e == e.max(), "x"] = -e.max() / share
    return frame, share * frame["x"].to_numpy() + e


def note_of(path: SelectionPath) -> str:
    (note,) = (note for note in path.notes if "far from normal" in note)
    return note


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"strategy": "forward"},
        {"strategy": "stepwise"},
        {"strategy": "bidirectional"},
        {"strategy": "forward_backward"},
        {"strategy": "fbed"},
        {"strategy": "floating"},
        {"strategy": "swap"},
        {"strategy": "beam"},
        {"strategy": Beam(width=2), "max_features": 1},
        {"max_features": 1},
        {"strategy": "swap", "max_features": 1},
        {"strategy": "floating", "max_features": 1},
        {"strategy": "fbed", "max_features": 1},
    ],
    ids=str,
)
def test_a_spike_is_refused_by_every_strategy(parameters: dict[str, Any]) -> None:
    """It would enter first, and in the place of the feature with the effect wherever features are exchanged."""
    X, y = spiked(0.4)
    path = select(X, y, **parameters)
    assert path.selected_names == ("x",)
    assert note_of(path).startswith(
        "spike: not selected although the plain test is significant, because it does not hold"
    )
    plain = select(X, y, enter=FDR, **parameters)
    assert "spike" in plain.selected_names
    assert all(step.test is None or step.test.confirmed is None for step in plain.steps)
    assert not any("far from normal" in note for note in plain.notes)


def test_what_was_dropped_is_confirmed_when_it_is_recalled() -> None:
    X, y = spiked(6.0, hidden=True)
    path, plain = select(X, y), select(X, y, enter=FDR)
    assert [(step.phase, step.features) for step in plain.steps if step.action == "add"] == [
        ("forward", (0,)),
        ("re-forward", (1,)),
    ]
    assert path.selected == (0,)
    assert note_of(path).startswith("spike: not selected")


def test_only_what_is_refused_is_named() -> None:
    X, y = spiked(0.4)
    assert not any("far from normal" in note for note in select(X, y, exclude=["spike"]).notes)
    assert not any("far from normal" in note for note in select(X, y, include=["spike"]).notes)
    names = X.assign(**{f"copy{i}": X["spike"] + 1e-3 * X["noise0"] * i for i in range(1, 8)})
    assert "and 3 more: not selected" in note_of(select(names, y))


def test_what_is_refused_in_the_tails_is_no_near_tie() -> None:
    assert not any("a matter of chance" in note for note in select(*spiked(0.4)).notes)


def test_rare_alleles_of_a_table_whose_rows_are_thinned() -> None:
    """Of 40,000 rows about 4 carry each allele; only some of the rows are read for tests in the tails."""
    found = np.zeros(2, dtype=int)
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X, y = rng.binomial(2, 5e-5, size=(40_000, 30)).astype(float), lognormal(rng, 40_000)
        found += [bool(select(X, y, model="linear", enter=enter).selected) for enter in ("auto", FDR)]
    assert found[0] <= 3
    assert found[1] >= 4
