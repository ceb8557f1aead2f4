"""The formats of an explanation: a new one is a function of blocks and a line in `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pgbn.explain.document import Block
from pgbn.explain.render.html import to_html
from pgbn.explain.render.latex import to_latex
from pgbn.explain.render.markdown import to_markdown
from pgbn.explain.render.text import to_text

__all__ = ["FORMATS"]

FORMATS: dict[str, Callable[[Iterable[Block]], str]] = {
    "text": to_text,
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
}
