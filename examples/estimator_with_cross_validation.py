"""Features for a gradient boosting model, with missing values and text columns, by cross-validation (diabetes)."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

from dropstep import select

X, y = load_diabetes(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
X["sex"] = np.where(X["sex"] > 0, "b", "a")
X["clinic"] = rng.choice(["north", "south", "west"], size=len(X))  # of no use
X = X.astype({"sex": "category", "clinic": "category"})
X.loc[rng.uniform(size=len(X)) < 0.1, "bmi"] = np.nan

model = HistGradientBoostingRegressor(max_iter=30, categorical_features="from_dtype")
path = select(X, y, model=model, criterion="neg_mean_absolute_error", cv=5, random_state=0)
for step in path.steps:
    if step.action == "add":
        print(f"{step.phase:10} {path.names(step.features)[0]:4} {-step.score:5.1f} ± {step.score_std_error:.1f}")
print(f"{path.n_fits} fits, saved: {', '.join(f'{n} by {cause}' for cause, n in path.fits_saved.items())}")
