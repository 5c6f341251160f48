"""Several targets at once: which exercises explain the body measures of twenty men (Linnerud)?"""

from sklearn.datasets import load_linnerud

from dropstep import select

data = load_linnerud(as_frame=True)
for criterion in ("aic", "bic"):
    path = select(data.data, data.target, criterion=criterion)
    print(
        f"{criterion}: {', '.join(path.selected_names) or 'nothing'} ({path.score:.2f}; without any {path.start:.2f})"
    )
for name in data.target:
    path = select(data.data, data.target[name], criterion="aic")
    print(f"{name} alone: {', '.join(path.selected_names) or 'nothing'}")
