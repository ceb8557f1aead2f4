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
from pgbn.explain.formulas import aligned_mathml, inline_mathml

sys.path.insert(0, str(Path(__file__).parent))
from docstring_markup import to_rst

project = "pgbn"
author = "The pgbn developers"
release = version = pgbn.__version__
extensions = ["sphinx.ext.autodoc", "myst_nb"]
exclude_patterns = ["_build"]

# Code cells run when the pages are built; what they print is what the software does.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 80
default_role = "py:obj"

html_theme = "furo"
html_title = f"pgbn {release}"
html_static_path = ["_static"]
html_css_files = ["pgbn.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"


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


def show_signature(
    app: Any, what: str, name: str, value: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """Arrays of any shape as NDArray."""
    if signature is None:  # a property
        return None
    arrays = re.compile(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)\]\]")
    return arrays.sub(r"NDArray[\1]", signature), arrays.sub(r"NDArray[\1]", returns or "")


def skip_member(
    app: Any, what: str, name: str, value: Any, skipped: bool, options: Any
) -> bool | None:
    """scikit-learn adds methods for metadata, and one that its own pages explain."""
    return True if re.fullmatch(r"set_\w+_request|set_output", name) else None


def unlink_repository(app: Any, name: str, source: list[str]) -> None:
    """Links to files outside docs/ work on the code's own pages; here only their text is shown."""
    source[0] = re.sub(r"\[([^\]\n]+)\]\((?:\.\./)+(?!docs)[^)\n]*\)", r"\1", source[0])


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (inline_formula, None), (formula, None))
    app.connect("autodoc-process-docstring", process_docstring)
    app.connect("autodoc-process-signature", show_signature)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("source-read", unlink_repository)
