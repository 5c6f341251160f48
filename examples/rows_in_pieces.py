"""Rows in blocks: the moments of blocks add up, and a fold is held out by subtraction (digits)."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from dropstep import Moments, select

X, y = load_digits(return_X_y=True)
folds = np.array_split(np.random.default_rng(0).permutation(len(X)), 5)
parts = [Moments.of(X[rows], y[rows], model="discriminant") for rows in folds]
total = sum(parts[1:], parts[0])

print("whole table:", len(select(X, y).selected), "features; from five parts:", len(select(total).selected))

errors = []
for rows, part in zip(folds, parts, strict=True):
    chosen = list(select(total - part, max_features=20).selected)  # no second pass over the rows
    rest = np.setdiff1d(np.arange(len(X)), rows)
    model = LinearDiscriminantAnalysis().fit(X[rest][:, chosen], y[rest])
    errors.append(1 - model.score(X[rows][:, chosen], y[rows]))
print(f"error with 20 of 64 pixels, selected within each fold: {np.mean(errors):.3f}")
