"""Cox regression: survival with censoring, tied times and a stratum per hospital (simulated)."""

import numpy as np

from dropstep import Cox, select

rng = np.random.default_rng(2)
X = rng.normal(size=(500, 200))
hospital = rng.integers(4, size=500)
hazard = np.exp(0.6 * X[:, 10] - 0.5 * X[:, 20] + 0.4 * X[:, 30] + 0.5 * hospital)
died, censored = rng.exponential(1 / hazard), rng.exponential(1.0, size=500)
y = np.column_stack([np.ceil(100 * np.minimum(died, censored)), died <= censored])  # days, event

path = select(X, y, model="cox", strata=hospital)
print(f"{int(y[:, 1].sum())} events; selected {path.selected}")
print(f"{path.n_evaluations} score tests, {path.n_fits} fits")

breslow = select(X, y, model=Cox(ties="breslow"), strata=hospital)
print(f"with Breslow's ties {breslow.selected}; deviance {breslow.score:.2f} instead of {path.score:.2f}")
