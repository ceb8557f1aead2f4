r"""LaTeX → a tree: ``\theta_{k}`` → (Command("theta"), Script("_", (Char("k"),))).

A reader of what `Network.explain` writes, not of LaTeX in general: nothing is refused, and a
command that nobody knows is a `Command` without arguments.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from pgbn.explain.formulas.signs import ARGUMENTS

__all__ = ["Blank", "Char", "Command", "Environment", "Group", "Item", "Row", "Script", "parse"]

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|:=|\d+(?:\.\d+)?|\s+|.", re.DOTALL)


@dataclass(frozen=True)
class Char:
    """A character, a number or ``:=``."""

    text: str


@dataclass(frozen=True)
class Blank:
    """White space between tokens, which a formula does not show."""


@dataclass(frozen=True)
class Command:
    r"""``\name`` with its arguments; fewer than it takes where the formula ends early."""

    name: str
    arguments: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Group:
    """``{…}``."""

    body: Row


@dataclass(frozen=True)
class Script:
    """``^{…}`` or ``_{…}``, behind what it belongs to."""

    place: str
    body: Row


@dataclass(frozen=True)
class Environment:
    r"""``\begin{name} … & … \\ … \end{name}``: rows of cells."""

    name: str
    rows: tuple[tuple[Row, ...], ...]


Item = Char | Blank | Command | Group | Script | Environment
Row = tuple[Item, ...]


def parse(latex: str) -> Row:
    """The tree of a formula, up to a closing brace that nothing opened."""
    return _Parser(latex).row()


class _Parser:
    """A recursive descent over the tokens of one formula."""

    def __init__(self, latex: str) -> None:
        self.tokens: list[str] = _TOKEN.findall(latex)
        self.at = 0

    def next(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def row(self, ends: Collection[str] = ()) -> Row:
        """Everything before a closing brace, one of the ``ends``, or the end."""
        items: list[Item] = []
        while (token := self.next()) is not None and token != "}" and token not in ends:
            items.append(self.item())
        return tuple(items)

    def item(self) -> Item:
        token = self.tokens[self.at]
        self.at += 1
        if token.isspace() or token == "\\":  # a backslash at the very end commands nothing
            return Blank()
        if token == "{":
            return Group(self.braced())
        if token in ("^", "_"):
            return Script(token, self.argument() or ())
        if token == r"\begin":
            return self.environment()
        if token.startswith("\\") and len(token) > 1:
            name = token[1:]
            read = (self.argument() for _ in range(ARGUMENTS.get(name, 0)))
            return Command(name, tuple(row for row in read if row is not None))
        return Command(" ") if token == "~" else Char(token)

    def braced(self) -> Row:
        """The inside of a group whose opening brace is behind us."""
        body = self.row()
        self.at += 1
        return body

    def argument(self) -> Row | None:
        """A group or a single item; None at the end. Of a number, that is its first digit."""
        while (token := self.next()) is not None and token.isspace():
            self.at += 1
        if token is None:
            return None
        if token == "{":
            self.at += 1
            return self.braced()
        if token[0].isdigit() and len(token) > 1:
            self.tokens[self.at] = token[1:]
            return (Char(token[0]),)
        return (self.item(),)

    def environment(self) -> Environment:
        name = "".join(item.text for item in self.argument() or () if isinstance(item, Char))
        rows, cells = [], []
        while True:
            cells.append(self.row(("&", r"\\", r"\end")))
            token = self.next()
            self.at += 1
            if token == "&":
                continue
            rows.append(tuple(cells))
            cells = []
            if token != r"\\":
                break
        self.argument()  # the name again
        return Environment(name, tuple(rows))
