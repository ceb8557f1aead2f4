"""The explanation before it is rendered: headings, paragraphs, equations and lists.

Prose marks formulas by ``$…$`` and names of nodes by backticks. A line of equations may contain
one ``&`` at which the lines are aligned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

# the alignment mark; an escaped ampersand is part of a name
_ALIGN = re.compile(r"(?<!\\)&")
_Show = Callable[[str], str]
_MARKED = re.compile(r"(\$[^$]*\$|`[^`]*`)")


@dataclass(frozen=True)
class Heading:
    """A heading; ``level`` 1 is the title."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of prose."""

    text: str


@dataclass(frozen=True)
class Equations:
    """Lines of LaTeX.

    ``labels``, one for each line, are for references in formats that number equations. A line
    without a label has no number."""

    lines: tuple[str, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Items:
    """A list, each item a line of prose."""

    items: tuple[str, ...]


Block = Heading | Paragraph | Equations | Items


def unaligned(line: str) -> str:
    """A line of equations without its alignment mark, which is the first ampersand."""
    return _ALIGN.sub("", line, count=1)


def align_parts(line: str) -> tuple[str, str]:
    """The parts before and after the alignment mark; a line without one is the second part."""
    parts = _ALIGN.split(line, maxsplit=1)
    return (parts[0], parts[1]) if len(parts) == 2 else ("", line)


def rendered(text: str, math: _Show, code: _Show, words: _Show) -> str:
    """A line of prose; each function renders its part: formulas, names and the rest."""
    out = ""
    for piece in _MARKED.split(text):
        if len(piece) > 1 and piece[0] == piece[-1] == "$":
            out += math(piece[1:-1])
        elif len(piece) > 1 and piece[0] == piece[-1] == "`":
            out += code(piece[1:-1].replace("＄", "$"))
        else:
            out += words(piece)
    return out


def code(name: str) -> str:
    """A name as it is written in a program; backticks and dollars would end it."""
    return "`" + name.replace("`", "'").replace("$", "＄") + "`"


def join(words: Iterable[str]) -> str:
    """ "a, b and c"."""
    every = list(words)
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"
