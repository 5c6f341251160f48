"""Presentation: tables, figures and reports of a path."""
