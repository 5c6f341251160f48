"""How many function calls a small selection makes."""

import cProfile
import pstats

import numpy as np

from dropstep import select

MOST = 1_250  # it makes 1,200; other versions of Python and NumPy count some more or fewer


def test_a_small_selection_makes_few_calls():
    """Of a small table the calls take the time, not the numbers; counted, they do not depend on the machine.

    Built-in functions are included. The count grows when a layer or a repeated computation is added to a step, or to
    what comes before and after the search. The first selection also imports modules.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 80))
    y = X[:, :4] @ [3, 2.1, 3.5, 0.8] + rng.normal(scale=np.sqrt(2), size=80)
    select(X, y)
    with cProfile.Profile() as profile:
        path = select(X, y)
    assert path.selected == (0, 2, 1, 3)
    assert pstats.Stats(profile).total_calls <= MOST  # type: ignore[attr-defined]
