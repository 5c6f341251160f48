"""How many features? Choose the number by cross-validation, with the selection inside the folds (wine)."""

from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold

from dropstep import SelectorCV, compare

X, y = load_wine(return_X_y=True, as_frame=True)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
selector = SelectorCV(strategy="forward", cv=folds, choose="one_se").fit(X, y)

paths = selector.cv_paths_
for size, loss, error in zip(paths.sizes[:6], paths.mean, paths.std_error, strict=False):
    print(f"{size} feature{'' if size == 1 else 's'}: {paths.loss} {loss:.3f} (standard error {error:.3f})")
print(f"chosen: {selector.n_features_}, {', '.join(selector.get_feature_names_out())}")
print("first feature in each fold:", ", ".join(path[1].names[0] for path in paths.paths))

# The loss of the chosen size is optimistically biased; nested cross-validation is not.
nested = selector.nested_error(X, y)
print(f"nested cross-validation: {nested.loss} {nested.mean:.3f}, sizes {nested.sizes}")

print(compare(X, y, cv=folds, strategies=("dropping", "backward")).verdict)
