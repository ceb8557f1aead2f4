"""Sphinx configuration: `make docs` builds docs/_build/html, with warnings as errors.

The pages need nothing from the network: formulas are MathML, which browsers draw by themselves.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode

import pgbn
from pgbn.report.mathml import aligned_mathml, inline_mathml

sys.path.insert(0, str(Path(__file__).parent))
from docstring_markup import to_rst

project = "pgbn"
author = "The pgbn developers"
release = version = pgbn.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "myst_nb"]
exclude_patterns = ["_build"]

# Code cells run when the pages are built; what they print is what the software does.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80
default_role = "py:obj"

html_theme = "furo"
html_title = f"pgbn {release}"
html_static_path = ["_static"]
html_css_files = ["pgbn.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
templates_path = ["_templates"]


def inline_formula(self: Any, node: Any) -> None:
    self.body.append(inline_mathml(node.astext()))
    raise SkipNode


def formula(self: Any, node: Any) -> None:
    lines = [line for line in node.astext().replace("\\\\", "\n").splitlines() if line.strip()]
    self.body.append(f'<div class="formula">{aligned_mathml(lines)}</div>')
    raise SkipNode


def process_docstring(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = to_rst(lines)


def unlink_repository(app: Any, name: str, source: list[str]) -> None:
    """Links to files outside docs/ work on the code's own pages; here only their text is shown."""
    source[0] = re.sub(r"\[([^\]\n]+)\]\((?:\.\./)+(?!docs)[^)\n]*\)", r"\1", source[0])


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (inline_formula, None), (formula, None))
    app.connect("autodoc-process-docstring", process_docstring)
    app.connect("source-read", unlink_repository)
