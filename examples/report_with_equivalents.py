"""A report, and candidates that could replace each selected feature (breast cancer)."""

from pathlib import Path

from sklearn.datasets import load_breast_cancer

from dropstep import select

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
path = select(X, y, max_features=4, equivalents=True)
for feature in path.selected:
    (name,) = path.names((feature,))
    others = [f"{path.names((other,))[0]} (loss {loss:.2f})" for other, loss in path.equivalents[feature]]
    print(f"{name}: loss without it {path.losses[feature]:.2f}; near-equivalents: {', '.join(others) or 'none'}")

path.report("cancer.html", title="Breast cancer", data={"rows": len(X)})
print("written:", *Path().glob("*.html"))
