"""How many features? Choose max_features by cross-validation, with the selection inside the folds (wine)."""

from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline

from dropstep import Selector

X, y = load_wine(return_X_y=True, as_frame=True)
steps = [("select", Selector(strategy="forward")), ("classify", LinearDiscriminantAnalysis())]
folds = StratifiedKFold(5, shuffle=True, random_state=0)
grid = {"select__max_features": [1, 2, 4, 8]}
search = GridSearchCV(Pipeline(steps), grid, cv=folds).fit(X, y)

results = search.cv_results_
for params, score in zip(results["params"], results["mean_test_score"], strict=True):
    print(f"max_features={params['select__max_features']}: accuracy {score:.3f}")
print("selected:", ", ".join(search.best_estimator_["select"].get_feature_names_out()))

# The best of four scores is optimistically biased; nested cross-validation is not.
print(f"nested cross-validation: accuracy {cross_val_score(search, X, y, cv=folds).mean():.3f}")
