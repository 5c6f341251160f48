"""Generalized linear models and Cox regression: score tests rank all candidates, refits confirm the best."""
