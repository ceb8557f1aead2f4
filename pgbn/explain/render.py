"""The formats of an explanation: a new one is a function of blocks and a line in `FORMATS`."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pgbn.errors import missing_attribute
from pgbn.explain.document import (
    Block,
    Equations,
    Heading,
    Items,
    Paragraph,
    align_parts,
    rendered,
)
from pgbn.explain.formulas import NAMES, aligned_mathml, fold, inline_mathml, to_unicode
from pgbn.explain.names import clean_math, escape_character

# ---- HTML whose formulas are MathML, which browsers draw without a script ----


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
    titles = (b.text for b in every if isinstance(b, Heading) and b.level == 1)
    title = rendered(next(titles, ""), str, str, str)
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
    return rendered(text, inline_mathml, lambda name: f"<code>{escape(name)}</code>", escape)


# ---- A LaTeX article that needs amsmath only ----


_TEXT = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
         "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
         "–": "--", "—": "---", "’": "'", "−": "$-$", "′": "$'$"}  # fmt: skip
_TEXT |= {character: "\\" + character for character in "_#%&{}$"}
_TEXT |= {sign: rf"$\{name}$" for sign, name in NAMES.items()} | {"…": r"\ldots{}"}


def _escape(text: str) -> str:
    return "".join(
        _TEXT.get(character) or (character if character.isascii() else escape_character(character))
        for character in unicodedata.normalize("NFC", text)
    )


def _latex(text: str) -> str:
    return rendered(text, _dollars, lambda name: rf"\texttt{{{_escape(name)}}}", _escape)


def _dollars(latex: str) -> str:
    return f"${latex}$"


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


# ---- Markdown with formulas between dollars, as Jupyter shows it ----


def _markdown(text: str) -> str:
    return rendered(text, _dollars, lambda name: f"`{name}`",
                    lambda words: re.sub(r"([\\*_<>\[\]$])", r"\\\1", words))  # fmt: skip


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


# ---- Unicode for a terminal ----


_WIDTH = 92


def _plain(text: str) -> str:
    return rendered(text, to_unicode, str, str)


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


FORMATS: dict[str, Callable[[Iterable[Block]], str]] = {
    "text": to_text,
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
}


# ---- What `explain` returns: text in a format, which a notebook shows as formulas ----


class Explanation(str):
    """A string that holds the explanation in one format, and its ``blocks`` for the others.

    Parameters
    ----------
    blocks : sequence
        Headings, paragraphs, equations and items.
    format : str
        "text", "markdown", "latex" or "html".

    Examples
    --------
    >>> import pgbn
    >>> network = pgbn.zoo.pfa(2)
    >>> text = network.explain()
    >>> isinstance(text, str) and text == pgbn.explain.Explanation(text.blocks)
    True
    """

    blocks: tuple[Block, ...]

    def __new__(cls, blocks: Sequence[Block], format: str = "text") -> Explanation:
        made = super().__new__(cls, FORMATS[format](blocks))
        made.blocks = tuple(blocks)
        return made

    def __getnewargs__(self) -> tuple[tuple[Block, ...]]:  # type: ignore[override]
        return (self.blocks,)

    if not TYPE_CHECKING:  # it would hide unknown attributes from type checkers

        def __getattr__(self, name: str) -> Any:
            write = 'pathlib.Path("model.txt").write_text(text, encoding="utf-8"): it is a str'
            raise missing_attribute(self, name, dict.fromkeys(("save", "write", "to_file"), write))

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return FORMATS["markdown"](self.blocks)
