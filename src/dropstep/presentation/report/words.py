"""What the parameters of a search mean."""

from __future__ import annotations

STRATEGIES = {
    "dropping": "forward with early dropping, forward once more with the dropped candidates recalled, then backward",
    "forward": "add the feature that gains most, while one may enter",
    "backward": "start from every feature, and remove the one that loses least, while one may leave",
    "stepwise": "after every addition, remove the features that it made redundant",
    "forward_backward": "forward to the end, then backward to the end",
    "fbed": "forward with early dropping, in rounds, then backward",
    "floating": "after every addition, remove while that beats the best selection seen of the smaller size",
    "swap": "forward to the end, then exchange a selected feature for a candidate while that improves the score",
}

MODELS = {
    "linear": "least squares: the features explain a number",
    "discriminant": "separation of classes: the features tell the classes of the target apart",
}

CRITERIA = {
    "rss": "residual sum of squares; less is better",
    "r2": "share of the sum of squares that is explained; more is better",
    "adj_r2": "R² with both sums of squares divided by their degrees of freedom; more is better",
    "cp": "Mallows' Cp, the residual with a charge for every feature; less is better",
    "aic": "Akaike's information criterion, the fit with a charge for every feature; less is better",
    "aicc": "Akaike's criterion corrected for few rows; less is better",
    "bic": "the Bayesian information criterion, the fit with a charge for every feature; less is better",
    "ebic": "the extended Bayesian criterion, which also charges for the search over many features; less is better",
    "trace": "trace of inv(Sw) Sb, scatter between classes over scatter within them; more is better",
    "pillai": "Pillai's trace, the sum of the squared canonical correlations; more is better",
    "wilks": "Wilks' lambda, the share of scatter that the classes do not explain; less is better",
    "roy": "the largest eigenvalue of inv(Sw) Sb; more is better",
}

SOLVERS = {
    "gram": "Gram matrix precomputed in one pass over the rows",
    "columns": "rows of the Gram matrix computed on demand",
}
