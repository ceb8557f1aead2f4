"""Three renderings of the same document: plain text, Markdown and a LaTeX article."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable

from pgbn.explain.document import Block, Equations, Heading, Items, Paragraph, align_parts
from pgbn.explain.formulas import to_unicode
from pgbn.explain.formulas.signs import NAMES
from pgbn.explain.names import clean_math, escape_character

__all__ = ["to_latex", "to_markdown", "to_text"]

_WIDTH = 92
_MARKED = re.compile(r"(\$[^$]*\$|`[^`]*`)")


def _pieces(text: str) -> Iterable[tuple[str, str]]:
    """(kind, content) of the pieces of a prose line: "math", "code" or "prose"."""
    for piece in _MARKED.split(text):
        if piece.startswith("$") and piece.endswith("$") and len(piece) > 1:
            yield "math", piece[1:-1]
        elif piece.startswith("`") and piece.endswith("`") and len(piece) > 1:
            yield "code", piece[1:-1].replace("＄", "$")
        elif piece:
            yield "prose", piece


# ---- plain text -------------------------------------------------------------------------


def _plain(text: str) -> str:
    return "".join(to_unicode(piece) if kind == "math" else piece for kind, piece in _pieces(text))


def _plain_equations(lines: Iterable[str]) -> str:
    pairs = [tuple(map(to_unicode, align_parts(line))) for line in lines]
    width = max((len(left) for left, right in pairs if right), default=0)
    return "\n".join(f"    {left:>{width}} {right}".rstrip() for left, right in pairs)


def to_text(blocks: Iterable[Block]) -> str:
    """Unicode for a terminal."""
    parts = []
    for block in blocks:
        match block:
            case Heading(level, text):
                title = _plain(text)
                line = {1: "═", 2: "─"}.get(level, "╌")
                parts.append(f"{title}\n{line * len(title)}")
            case Paragraph(text):
                parts.append(textwrap.fill(_plain(text), _WIDTH, break_long_words=False))
            case Equations(lines):
                parts.append(_plain_equations(lines))
            case Items(items):
                parts.append("\n".join(
                    textwrap.fill(_plain(item), _WIDTH, initial_indent="  • ",
                                  subsequent_indent="    ", break_long_words=False)
                    for item in items))  # fmt: skip
    return "\n\n".join(parts) + "\n"


# ---- Markdown ---------------------------------------------------------------------------


def _markdown(text: str) -> str:
    out = ""
    for kind, piece in _pieces(text):
        if kind == "math":
            out += f"${piece}$"
        elif kind == "code":
            out += f"`{piece}`"
        else:
            out += re.sub(r"([\\*_<>\[\]$])", r"\\\1", piece)
    return out


def to_markdown(blocks: Iterable[Block]) -> str:
    """Markdown with formulas between dollars, as Jupyter shows it."""
    parts = []
    for block in blocks:
        match block:
            case Heading(level, text):
                parts.append(f"{'#' * level} {_markdown(text)}")
            case Paragraph(text):
                parts.append(_markdown(text))
            case Equations(lines):
                body = " \\\\\n".join(lines)
                parts.append(f"$$\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n$$")
            case Items(items):
                parts.append("\n".join(f"- {_markdown(item)}" for item in items))
    return "\n\n".join(parts) + "\n"


# ---- LaTeX ------------------------------------------------------------------------------

_TEXT = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
         "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
         "–": "--", "—": "---", "’": "'", "−": "$-$", "′": "$'$"}  # fmt: skip
_TEXT |= {character: "\\" + character for character in "_#%&{}$"}
_TEXT |= {sign: rf"$\{name}$" for sign, name in NAMES.items()} | {"…": r"\ldots{}"}


def _escape(text: str) -> str:
    out = ""
    for character in unicodedata.normalize("NFC", text):
        if character in _TEXT:
            out += _TEXT[character]
        elif character.isascii():
            out += character
        else:
            out += escape_character(character)
    return out


def _latex(text: str) -> str:
    out = ""
    for kind, piece in _pieces(text):
        if kind == "math":
            out += f"${piece}$"
        elif kind == "code":
            out += rf"\texttt{{{_escape(piece)}}}"
        else:
            out += _escape(piece)
    return out


_PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage{amsmath}
\setlength{\textwidth}{17cm}
\setlength{\oddsidemargin}{-0.5cm}
\setlength{\topmargin}{-1.5cm}
\setlength{\textheight}{24cm}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt plus 2pt}
\allowdisplaybreaks
\sloppy
"""


def to_latex(blocks: Iterable[Block]) -> str:
    """A complete article that needs amsmath only."""
    parts, title = [], ""
    for block in blocks:
        match block:
            case Heading(1, text):
                title = _latex(text)
            case Heading(level, text):
                command = "section" if level == 2 else "subsection"
                parts.append(rf"\{command}*{{{_latex(text)}}}")
            case Paragraph(text):
                parts.append(_latex(text))
            case Equations(lines):
                body = " \\\\\n".join(clean_math(line) for line in lines)
                parts.append(f"\\begin{{align*}}\n{body}\n\\end{{align*}}")
            case Items(items):
                body = "\n".join(rf"\item {{}}{_latex(item)}" for item in items)
                parts.append(f"\\begin{{itemize}}\n{body}\n\\end{{itemize}}")
    head = f"{_PREAMBLE}\\title{{{title}}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n\n"
    return head + "\n\n".join(parts) + "\n\n\\end{document}\n"
