r"""LaTeX → MathML, which browsers draw by themselves: ``\theta_{k}`` → <msub><mi>θ</mi>…</msub>.

Only what `Network.explain` writes is known; any other command is shown by its name.
"""

from __future__ import annotations

import re
from html import escape

from pgbn.explain.names import GREEK

__all__ = ["aligned_mathml", "inline_mathml"]

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|:=|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_LETTERS = {"ell": "ℓ", **GREEK}
_SIGNS = {
    "sim": "∼", "cdot": "·", "ldots": "…", "propto": "∝", "mid": "|", "ge": "≥", "le": "≤",
    "infty": "∞", "to": "→", "in": "∈", "times": "×", "int": "∫", "ne": "≠", "lvert": "|",
    "rvert": "|", "Longrightarrow": "⟹", "Rightarrow": "⇒", "-": "−", "'": "′",
}  # fmt: skip
_RELATIONS = {"=", ":=", "∼", "≥", "≤", "∝", "≠", "∈", "→", "⟹", "⇒"}
_LARGE = {"sum": "∑", "prod": "∏"}
_WORDS = {"ln", "log", "exp", "max", "min"}
_SPACES = {",": 0.17, ";": 0.28, " ": 0.3, "quad": 1.0, "qquad": 2.0}
_ACCENTS = {"hat": "^", "tilde": "~", "bar": "¯"}
_SIZES = {"bigl", "bigr", "Bigl", "Bigr", "big", "left", "right"}
_SILENT = {"textstyle", "displaystyle", "!"}


def inline_mathml(latex: str) -> str:
    """A formula in a line of text."""
    return f"<math>{_Parser(latex).row()}</math>"


def aligned_mathml(lines: list[str]) -> str:
    """A block of formulas, aligned at the first ``&`` of each line."""
    rows = []
    for line in lines:
        parts = re.split(r"(?<!\\)&", line, maxsplit=1)
        left, right = parts if len(parts) == 2 else ("", parts[0])
        cells = "".join(f"<mtd>{_Parser(part).row()}</mtd>" for part in (left, right))
        rows.append(f"<mtr>{cells}</mtr>")
    return f'<math display="block"><mtable>{"".join(rows)}</mtable></math>'


def _operator(sign: str, attributes: str = "") -> str:
    """Relations stand apart from both sides, at the beginning of a cell too."""
    infix = ' form="infix"' if sign in _RELATIONS else ""
    return f"<mo{infix}{attributes}>{escape(sign)}</mo>"


class _Parser:
    """A recursive descent over the tokens of one formula."""

    def __init__(self, latex: str) -> None:
        self.tokens: list[str] = [t for t in _TOKEN.findall(latex) if not t.isspace()]
        self.at = 0

    def row(self) -> str:
        """Everything up to a closing brace or the end."""
        items = []
        while self.at < len(self.tokens) and self.tokens[self.at] != "}":
            items.append(self.scripted())
        self.at += 1
        return items[0] if len(items) == 1 else f"<mrow>{''.join(items)}</mrow>"

    def scripted(self) -> str:
        """An atom with what stands below and above it."""
        large = self.tokens[self.at].removeprefix("\\") in _LARGE
        base = "<mrow></mrow>" if self.tokens[self.at] in ("_", "^") else self.atom()
        marks: dict[str, str] = {}
        while self.at < len(self.tokens) and self.tokens[self.at] in ("_", "^", "'"):
            token = self.tokens[self.at]
            self.at += 1
            if token == "'":
                marks["^"] = marks.get("^", "") + "<mo>′</mo>"
            else:
                marks[token] = marks.get(token, "") + self.argument()
        if not marks:
            return base
        marks = {place: f"<mrow>{mark}</mrow>" for place, mark in marks.items()}
        kind = ("munder", "mover", "munderover") if large else ("msub", "msup", "msubsup")
        if len(marks) == 2:
            return f"<{kind[2]}>{base}{marks['_']}{marks['^']}</{kind[2]}>"
        tag = kind[0] if "_" in marks else kind[1]
        return f"<{tag}>{base}{''.join(marks.values())}</{tag}>"

    def argument(self) -> str:
        """A group in braces or a single atom."""
        return self.atom() if self.at < len(self.tokens) else ""

    def atom(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        if token == "{":
            return self.row()
        if token.startswith("\\") and len(token) > 1:
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{escape(token)}</mn>"
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>"
        return _operator(_SIGNS.get(token, token), ' stretchy="false"')

    def command(self, name: str) -> str:
        if name in _LETTERS:
            upright = ' mathvariant="normal"' if name[0].isupper() else ""
            return f"<mi{upright}>{_LETTERS[name]}</mi>"
        if name in _LARGE:
            return f"<mo>{_LARGE[name]}</mo>"
        if name in _SIGNS:
            return _operator(_SIGNS[name])
        if name in _WORDS:
            following = self.tokens[self.at] if self.at < len(self.tokens) else "("
            apart = "" if following in ("(", "^", "_") else '<mspace width="0.17em"></mspace>'
            return f"<mi>{name}</mi>{apart}"
        if name in _SPACES:
            return f'<mspace width="{_SPACES[name]}em"></mspace>'
        if name in _ACCENTS:
            return f'<mover accent="true">{self.argument()}<mo>{_ACCENTS[name]}</mo></mover>'
        if name in ("mathrm", "text", "operatorname", "mathit"):
            return f'<mi mathvariant="normal">{escape(self.letters())}</mi>'
        if name == "frac":
            return f"<mfrac>{self.argument()}{self.argument()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.argument()}</msqrt>"
        if name in _SIZES:  # the delimiter that follows may grow
            return self.argument().replace(' stretchy="false"', "", 1)
        if name in _SILENT:
            return ""
        return f"<mtext>{escape(name)}</mtext>"  # an escaped character, or a command not known

    def letters(self) -> str:
        """The raw text of a group in braces."""
        if self.at >= len(self.tokens) or self.tokens[self.at] != "{":
            return ""
        end = self.at + 1
        while end < len(self.tokens) and self.tokens[end] != "}":
            end += 1
        text = "".join(self.tokens[self.at + 1 : end])
        self.at = end + 1
        return re.sub(r"\\(.)", r"\1", text)
