"""The derivation of a network's sampler, from Markdown to HTML with MathML."""

from __future__ import annotations

import re
from html import escape

from pgbn.explain.formulas import aligned_mathml, inline_mathml

__all__ = ["derivation_html"]

_PIECES = re.compile(r"(\\.|\$[^$]+\$|`[^`]+`)")
_BEGIN, _END = "$$\n\\begin{aligned}\n", "\n\\end{aligned}\n$$"


def derivation_html(markdown: str) -> str:
    """What `Network.explain("markdown")` gives, as HTML that needs no script to show formulas."""
    blocks = markdown.strip().split("\n\n")
    return "\n".join(_block(block) for block in blocks if block.strip())


def _block(block: str) -> str:
    if block.startswith("#"):
        marks, _, title = block.partition(" ")
        tag = "h4" if len(marks) > 2 else "h3"
        return f"<{tag}>{_prose(title)}</{tag}>"
    if block.startswith(_BEGIN) and block.endswith(_END):
        lines = block[len(_BEGIN) : -len(_END)].split(" \\\\\n")
        return f'<div class="formulas">{aligned_mathml(lines)}</div>'
    if block.startswith("- "):
        items = "".join(f"<li>{_prose(item[2:])}</li>" for item in block.split("\n"))
        return f"<ul>{items}</ul>"
    return f"<p>{_prose(block)}</p>"


def _prose(text: str) -> str:
    """Text with formulas between dollars, names between backticks and escaped characters."""
    out = []
    for piece in _PIECES.split(text):
        if len(piece) > 2 and piece[0] == piece[-1] == "$":
            out.append(inline_mathml(piece[1:-1]))
        elif len(piece) > 2 and piece[0] == piece[-1] == "`":
            out.append(f"<code>{escape(piece[1:-1])}</code>")
        elif len(piece) == 2 and piece[0] == "\\":
            out.append(escape(piece[1]))
        else:
            out.append(escape(piece))
    return "".join(out)
