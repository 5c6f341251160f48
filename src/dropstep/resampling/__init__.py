"""Evaluation of selections."""
