"""A LaTeX article that needs amsmath only."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

from pgbn.explain.document import Block, Equations, Heading, Items, Paragraph, prose_pieces
from pgbn.explain.formulas.fold import fold
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


_PREAMBLE = r"""\documentclass[10pt,a4paper]{article}
\usepackage{amsmath}
\setlength{\textwidth}{17cm}
\setlength{\oddsidemargin}{-0.6cm}
\setlength{\topmargin}{-2.2cm}
\setlength{\textheight}{26.5cm}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt plus 2pt}
\setlength{\jot}{1pt}
\AtBeginDocument{\setlength{\abovedisplayskip}{2pt plus 2pt}%
\setlength{\belowdisplayskip}{2pt plus 2pt}}
\allowdisplaybreaks
\sloppy
"""


def _equations(lines: Sequence[str], labels: Sequence[str], known: set[str]) -> str:
    """The lines below each other; with numbers, and labels to refer to, if they have labels."""
    if not labels:
        body = " \\\\\n".join(_folded(line) for line in lines)
        return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"
    numbered = [
        rf"{_folded(line)} \label{{{_label(label, known)}}}"
        for line, label in zip(lines, labels, strict=True)
    ]
    body = " \\\\\n".join(numbered)
    return f"\\begin{{align}}\n{body}\n\\end{{align}}"


def _folded(line: str) -> str:
    """A line that is no wider than the page; only the last of its pieces has a number."""
    return " \\notag \\\\\n".join(fold(clean_math(line)))


def _label(text: str, known: set[str]) -> str:
    """eq:step-9-scores, and eq:step-9-scores-2 for the next line of the same name."""
    base = "eq:" + re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")
    label, number = base, 1
    while label in known:
        number += 1
        label = f"{base}-{number}"
    known.add(label)
    return label


def to_latex(blocks: Iterable[Block]) -> str:
    """A complete article that needs amsmath only."""
    parts, title, known = [], "", set[str]()
    for block in blocks:
        match block:
            case Heading(1, text):
                title = _latex(text)
            case Heading(level, text):
                command = "section" if level == 2 else "subsection"
                parts.append(rf"\{command}*{{{_latex(text)}}}")
            case Paragraph(text):
                parts.append(_latex(text))
            case Equations(lines, labels):
                parts.append(_equations(lines, labels, known))
            case Items(items):
                body = "\n".join(rf"\item {{}}{_latex(item)}" for item in items)
                parts.append(f"\\begin{{itemize}}\n{body}\n\\end{{itemize}}")
    shown = f"\\begin{{center}}\n\\LARGE {title}\n\\end{{center}}\n\n" if title else ""
    head = f"{_PREAMBLE}\\begin{{document}}\n{shown}"
    return f"{head}{_joined(parts)}\n\n\\end{{document}}\n"


def _joined(parts: Sequence[str]) -> str:
    """Blank lines end paragraphs. A display belongs to the paragraph before it; after a heading
    it would begin with an empty line, which is taken back."""
    text = ""
    for before, part in pairwise(["", *parts]):
        display = part.startswith(r"\begin{align")
        heading = before.startswith((r"\section", r"\subsection"))
        gap = "\n" if display and not before.startswith("\\") else "\n\n"
        back = "\\vspace{-\\baselineskip}\n" if display and heading else ""
        text += gap * bool(before) + back + part
    return text
