"""One-line descriptions of strategies, models, criteria and solvers."""

from __future__ import annotations

STRATEGIES = {
    "forward": "add the candidate with the largest gain, while one may enter",
    "backward": "start from all features and remove the one with the smallest loss, while one may leave",
    "stepwise": "after every addition, remove the features that it made redundant",
    "bidirectional": "make the single best move, an addition or a removal, while one is allowed",
    "forward_backward": "forward to the end, then backward to the end",
    "dropping": "forward with early dropping, a second forward pass over dropped candidates, then one backward pass",
    "fbed": "forward with early dropping, repeated in rounds, then one backward pass",
    "floating": "after every addition, remove features while that beats the best selection of the smaller size so far",
    "swap": "forward to the end, then exchange a selected feature for a candidate while the score improves",
    "beam": "forward from the best sets of each size at once, then backward from the best set that cannot grow",
    "exhaustive": "the best set of all, which maximises the score less `enter` per feature",
}

MODELS = {
    "linear": "least squares for a continuous target",
    "discriminant": "discriminant analysis for a categorical target",
    "logistic": "logistic regression, multinomial for more than two classes; candidates are ranked by the score test",
    "poisson": "Poisson regression of counts, with log link; candidates are ranked by the score test",
    "negative_binomial": "negative binomial regression of overdispersed counts, with log link; candidates are ranked "
    "by the score test",
    "ordinal": "ordinal regression, with the same coefficients for all levels; candidates are ranked by the score test",
    "gamma": "gamma regression of positive numbers, with log link; candidates are ranked by the score test",
    "cox": "Cox regression of survival times; candidates are ranked by the score test",
}

CRITERIA = {
    "rss": "residual sum of squares",
    "r2": "coefficient of determination R², the share of the sum of squares that is explained",
    "adj_r2": "adjusted R²",
    "cp": "Mallows' Cp",
    "aic": "Akaike information criterion",
    "aicc": "Akaike information criterion corrected for small samples",
    "bic": "Bayesian information criterion",
    "ebic": "extended Bayesian information criterion, which also penalises the number of candidates searched",
    "hqc": "Hannan-Quinn information criterion",
    "sawa": "Sawa's Bayesian information criterion, BIC of SAS",
    "amemiya": "Amemiya's prediction criterion, PC of SAS",
    "press": "prediction sum of squares: squared errors of leave-one-out predictions",
    "deviance": "residual deviance",
    "trace": "trace of inv(Sw) Sb (Lawley-Hotelling), between-class relative to within-class scatter",
    "pillai": "Pillai's trace, the sum of the squared canonical correlations",
    "wilks": "Wilks' lambda, the share of the generalised variance that the classes do not explain",
    "roy": "Roy's largest root, the largest eigenvalue of inv(Sw) Sb",
}

SOLVERS = {
    "gram": "Gram matrix precomputed in one pass over the rows",
    "columns": "columns read as they are needed; no Gram matrix is precomputed",
    "fits": "the estimator is fitted for every evaluation",
}
