"""Poisson regression of counts: bike rides by weather, as rates per hour of observation (simulated)."""

import numpy as np

from dropstep import Significance, select

rng = np.random.default_rng(1)
names = ["temperature", "rain", "wind", "weekend", "humidity", "pressure"]
X = rng.normal(size=(400, 6))
hours = rng.uniform(0.5, 6, size=400)
rides = rng.poisson(hours * np.exp(1 + 0.5 * X[:, 0] - 0.4 * X[:, 1] + 0.1 * X[:, 3]))

path = select(X, rides, model="poisson", offset=np.log(hours))
print("per hour:", ", ".join(names[j] for j in path.selected))

levels = select(X, rides, model="poisson", offset=np.log(hours), criterion="deviance", enter=Significance(0.05))
print("at the level 0.05:", ", ".join(names[j] for j in levels.selected))

dispersed = rng.negative_binomial(2, 0.2, size=400)
print(*select(X, dispersed, model="poisson").notes)
