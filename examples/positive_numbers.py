"""Gamma regression: positive numbers whose spread grows with their mean, such as costs (diabetes)."""

from sklearn.datasets import load_diabetes

from dropstep import select

X, y = load_diabetes(return_X_y=True, as_frame=True)

for model in ("linear", "gamma"):
    path = select(X, y, model=model, strategy="bidirectional", criterion="bic")
    print(f"{model}: {', '.join(path.selected_names)}")
