"""HTML whose formulas are MathML, which browsers draw without a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pgbn.explain.document import Block, Equations, Heading, Items, Paragraph, prose_pieces
from pgbn.explain.formulas import aligned_mathml, inline_mathml

__all__ = ["html_body", "to_html"]

_STYLE = """
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 serif; }
p, ul, .formulas { overflow-x: auto; overflow-y: hidden; }
.formulas math { width: max-content; margin-left: 1.2rem; }
.formulas mtd { text-align: left; padding: .22em 0 .22em .35em; }
.formulas mtd:first-child { text-align: right; text-align: -webkit-right; }
"""


def to_html(blocks: Iterable[Block]) -> str:
    """A complete page that asks for nothing else."""
    every = list(blocks)
    title = next((_unmarked(b.text) for b in every if isinstance(b, Heading) and b.level == 1), "")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{html_body(every)}\n</body>\n</html>\n"
    )


def html_body(blocks: Iterable[Block], headings: Sequence[str] = ("h1", "h2", "h3")) -> str:
    """What stands in the body of a page; ``headings`` are the elements of levels 1, 2 and 3."""
    return "\n".join(_block(block, headings) for block in blocks)


def _block(block: Block, headings: Sequence[str]) -> str:
    match block:
        case Heading(level, text):
            tag = headings[level - 1]
            return f"<{tag}>{_prose(text)}</{tag}>"
        case Paragraph(text):
            return f"<p>{_prose(text)}</p>"
        case Equations(lines):
            return f'<div class="formulas">{aligned_mathml(lines)}</div>'
        case Items(items):
            return f"<ul>{''.join(f'<li>{_prose(item)}</li>' for item in items)}</ul>"


def _prose(text: str) -> str:
    out = ""
    for kind, piece in prose_pieces(text):
        if kind == "math":
            out += inline_mathml(piece)
        elif kind == "code":
            out += f"<code>{escape(piece)}</code>"
        else:
            out += escape(piece)
    return out


def _unmarked(text: str) -> str:
    return "".join(piece for _, piece in prose_pieces(text))
