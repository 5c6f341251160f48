"""Projection: the linear algebra that least squares and generalised linear models share."""
