"""Rows in blocks: moments of blocks are added, and a fold is held out by subtraction (digits)."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from dropstep import Moments, select

X, y = load_digits(return_X_y=True)
folds = np.array_split(np.random.default_rng(0).permutation(len(X)), 5)
blocks = [Moments.of(X[rows], y[rows], model="discriminant") for rows in folds]
total = sum(blocks[1:], blocks[0])

print("whole table:", len(select(X, y).selected), "features; from five blocks:", len(select(total).selected))

errors = []
for rows, block in zip(folds, blocks, strict=True):
    selected = list(select(total - block, max_features=20).selected)  # without another pass over the rows
    train = np.setdiff1d(np.arange(len(X)), rows)
    model = LinearDiscriminantAnalysis().fit(X[train][:, selected], y[train])
    errors.append(1 - model.score(X[rows][:, selected], y[rows]))
print(f"error with 20 of 64 pixels, selected within each fold: {np.mean(errors):.3f}")
