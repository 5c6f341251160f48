"""Several targets: which exercises explain the body measurements of twenty men (Linnerud)?"""

from sklearn.datasets import load_linnerud

from dropstep import select

data = load_linnerud(as_frame=True)
for criterion in ("aic", "bic"):
    path = select(data.data, data.target, criterion=criterion)
    names = ", ".join(path.selected_names) or "nothing"
    print(f"{criterion}: {names} ({path.score:.2f}; empty selection {path.start:.2f})")
for name in data.target:
    path = select(data.data, data.target[name], criterion="aic")
    print(f"{name} alone: {', '.join(path.selected_names) or 'nothing'}")
