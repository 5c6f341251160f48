"""Groups: a measurement and its square are added and removed together, and sex is always included (diabetes)."""

from sklearn.datasets import load_diabetes

from dropstep import select

X, y = load_diabetes(return_X_y=True, as_frame=True)
numeric = [name for name in X if name != "sex"]  # the square of a binary feature is redundant
wide = X.join(X[numeric].pow(2).add_suffix("^2"))
groups = [["sex"], *([name, f"{name}^2"] for name in numeric)]

path = select(wide, y, criterion="bic", groups=groups, include="sex")
for step in path.steps:
    if step.action == "add":
        print(f"{step.phase:10} {' and '.join(path.names(step.features)):18} gain {step.gain:7.2f}")
print(path.stop)

ungrouped = select(wide, y, criterion="bic", include="sex")
print("without groups:", ", ".join(ungrouped.selected_names))
