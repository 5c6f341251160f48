"""Sphinx configuration. The site is built offline, from the docstrings and the pages in this folder."""

import dropstep

project = "dropstep"
author = "the dropstep developers"
copyright = "2026, the dropstep developers"
version = release = dropstep.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"dropstep {release}"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

napoleon_google_docstring = False
napoleon_use_ivar = True  # documents an attribute once, even if it is described twice
autodoc_member_order = "bysource"
autodoc_mock_imports = ["pyspark"]  # which the extra `docs` does not install
autodoc_typehints = "none"  # the docstrings give the types
autodoc_inherit_docstrings = False  # scikit-learn's docstrings link to its own pages
autodoc_default_options = {
    "members": True,
    "exclude-members": "set_fit_request, set_partial_fit_request, set_score_request, set_transform_request",
}
