"""Least squares: linear regression and discriminant analysis."""
