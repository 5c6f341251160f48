"""Logistic regression: which measurements of a tumour separate benign from malignant, and what refits cost."""

from sklearn.datasets import load_breast_cancer

from dropstep import Logistic, select

X, y = load_breast_cancer(return_X_y=True, as_frame=True)

for shortlist in (8, None):
    path = select(X, y, model=Logistic(shortlist), strategy="forward", criterion="bic")
    print(f"{path.n_evaluations} score tests, {path.n_fits} fits: {', '.join(path.selected_names)}")

for step in path.steps:
    print(f"{path.names(step.features)[0]:18} gain {step.gain:7.2f}  bic {step.score:7.2f}")
print(path.stop)
