"""Any scikit-learn estimator, scored by cross-validation."""
