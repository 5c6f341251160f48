"""Many features, few rows: 7,129 genes and 72 patients (Golub's leukemia data, read from DROPSTEP_DATA)."""

import csv
import gzip
import os
import sys
from pathlib import Path

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from dropstep import Selector, select

folder = os.environ.get("DROPSTEP_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
file = Path(folder) / "golub_leukemia.csv.gz"
if not file.exists():
    sys.exit("set DROPSTEP_DATA to a folder with golub_leukemia.csv.gz: class in column 3, then one column per gene")

with gzip.open(file, "rt", newline="") as lines:
    table = np.array(list(csv.reader(lines))[1:])
X, y = table[:, 3:].astype(float), table[:, 2]

path = select(X, y)
print(f"with the test: genes {path.selected}, {path.n_evaluations:,} evaluations")
fixed = select(X, y, strategy="forward", enter=0.05, max_features=30)
traces = ", ".join(f"{fixed.steps[size - 1].score:,.4g}" for size in (1, 3, 10, 20, 30))
print(f"with a fixed threshold of 0.05 the trace diverges; with 1, 3, 10, 20 and 30 genes it is {traces}")

folds = StratifiedKFold(5, shuffle=True, random_state=0)
model = make_pipeline(Selector(), LinearDiscriminantAnalysis())
accuracy = cross_val_score(model, X, y, cv=folds).mean()
print(f"cross-validated accuracy {accuracy:.2f}; {np.mean(y == 'ALL'):.2f} of the patients have ALL")
