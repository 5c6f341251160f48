"""Data: tables, targets, weights, groups, moments, and the design matrix."""
