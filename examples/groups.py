"""Groups: a measurement and its square come and go together, and sex is in from the start (diabetes)."""

from sklearn.datasets import load_diabetes

from dropstep import select

X, y = load_diabetes(return_X_y=True, as_frame=True)
curved = [name for name in X if name != "sex"]  # the square of a feature with two values says nothing new
wide = X.join(X[curved].pow(2).add_suffix("^2"))
groups = [["sex"], *([name, f"{name}^2"] for name in curved)]

path = select(wide, y, criterion="bic", groups=groups, include="sex")
for step in path.steps:
    if step.action == "add":
        print(f"{step.phase:10} {' and '.join(path.names(step.features)):18} gain {step.gain:7.2f}")
print(path.stop)

alone = select(wide, y, criterion="bic", include="sex")
print("each on its own:", ", ".join(alone.selected_names))
