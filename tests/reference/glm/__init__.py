"""Generalized linear models and Cox regression in their textbook form: every candidate is refitted."""
