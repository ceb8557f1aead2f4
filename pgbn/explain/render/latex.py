"""A LaTeX article that needs amsmath only."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from pgbn.explain.document import Block, Equations, Heading, Items, Paragraph, prose_pieces
from pgbn.explain.formulas.signs import NAMES
from pgbn.explain.names import clean_math, escape_character

__all__ = ["to_latex"]

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
    for kind, piece in prose_pieces(text):
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
