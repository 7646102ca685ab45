"""Sphinx: furo theme, MyST Markdown, the command line from its own docstrings."""

from compilescope import __version__

project = "CompileScope"
author = "The CompileScope developers"
copyright = "The CompileScope developers, Apache-2.0"
release = version = __version__

extensions = ["myst_parser", "sphinx_click"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "examples"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

html_theme = "furo"
html_title = f"CompileScope {version}"
